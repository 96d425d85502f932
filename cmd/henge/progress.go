package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// progressBar redraws one line on a terminal; elsewhere it prints nothing.
type progressBar struct {
	w     io.Writer
	clock clock.Clock
	began time.Time
	total int64
	drawn bool
}

const barWidth = 30

func (b *progressBar) show(p taskProgress) {
	if !isTerminal(b.w) {
		return
	}
	seconds := b.clock.Now().Sub(b.began).Seconds()
	bar, left := b.draw(p.bytesRead, seconds)
	fmt.Fprintf(b.w, "\r%s %s rows, %s rows/s, %s left   ", bar, grouped(p.rowsRead), grouped(int64(float64(p.rowsRead)/max(seconds, 1e-3))), left)
	b.drawn = true
}

// draw returns a bar, and how long the rest takes.
func (b *progressBar) draw(done int64, seconds float64) (bar, left string) {
	share := 0.0
	if b.total > 0 {
		share = min(float64(done)/float64(b.total), 1)
	}
	left = "--"
	if share > 0.01 {
		left = time.Duration(seconds / share * (1 - share) * float64(time.Second)).Round(time.Second).String()
	}
	full := int(share * barWidth)
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", barWidth-full) + "]", left
}

func (b *progressBar) end() {
	if b.drawn {
		fmt.Fprintln(b.w)
	}
}

// readBar shows how much of the files was looked at, or sent, once that takes longer than a moment.
type readBar struct {
	progressBar
	doing string
	next  time.Time
}

func newReadBar(w io.Writer, c clock.Clock, doing string, total int64) *readBar {
	now := c.Now()
	return &readBar{progressBar: progressBar{w: w, clock: c, began: now, total: total}, doing: doing, next: now.Add(500 * time.Millisecond)}
}

func (b *readBar) show(read int64) {
	now := b.clock.Now()
	if now.Before(b.next) || !isTerminal(b.w) {
		return
	}
	b.next = now.Add(200 * time.Millisecond)
	bar, left := b.draw(read, now.Sub(b.began).Seconds())
	fmt.Fprintf(b.w, "\r%s %s the files: %s MB, %s left   ", bar, b.doing, grouped(read>>20), left)
	b.drawn = true
}

// grouped writes a number with thousands separators.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
