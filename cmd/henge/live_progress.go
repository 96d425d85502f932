package main

import (
	"fmt"
	"io"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// How often progress is shown: on a terminal one line is drawn anew, elsewhere each takes a line.
const (
	liveDrawn = 200 * time.Millisecond
	liveLines = 10 * time.Second
)

// liveProgress shows how far rows that are sent as they come have come.
type liveProgress struct {
	w      io.Writer
	clock  clock.Clock
	began  time.Time
	ticker clock.Ticker
	drawn  bool

	// seen and seenAt are what was shown last, for the rate since then.
	seen   int64
	seenAt time.Time
	last   time.Time // of the last acknowledgement; zero: there was none
	ack    string
	weak   bool // an answer did not promise that rows count once
}

func newLiveProgress(w io.Writer, c clock.Clock) liveProgress {
	every := liveLines
	if isTerminal(w) {
		every = liveDrawn
	}
	now := c.Now()
	return liveProgress{w: w, clock: c, began: now, seenAt: now, ticker: c.NewTicker(every)}
}

func (p *liveProgress) stop() { p.ticker.Stop() }

func (p *liveProgress) ticks() <-chan time.Time { return p.ticker.C() }

func (p *liveProgress) acknowledged(a *pushAnswer) {
	p.last, p.ack = p.clock.Now(), a.Acknowledgement
	if a.Guarantee != "" && a.Guarantee != "exactlyOnce" {
		p.weak = true
	}
}

// show prints the rows, their rate and the last acknowledgement.
func (p *liveProgress) show(l *liveLoad) {
	if p.clock == nil { // nothing is sent yet
		return
	}
	now := p.clock.Now()
	since := now.Sub(p.seenAt)
	terminal := isTerminal(p.w)
	if terminal && since < liveDrawn || !terminal && since < liveLines {
		return
	}
	sent := l.taken - l.begins
	text := fmt.Sprintf("%s rows, %s rows/s", grouped(sent), grouped(int64(float64(sent-p.seen)/max(since.Seconds(), 1e-3))))
	if !p.last.IsZero() {
		text += fmt.Sprintf(", last acknowledgement (%s) %s ago", p.ack, now.Sub(p.last).Round(time.Millisecond))
	}
	p.seen, p.seenAt = sent, now
	if terminal {
		fmt.Fprintf(p.w, "\r%-78s", text)
		p.drawn = true
		return
	}
	fmt.Fprintln(p.w, text)
}

// line ends the line that was drawn.
func (p *liveProgress) line() {
	if p.drawn {
		fmt.Fprintln(p.w)
	}
	p.drawn = false
}

// end prints the summary.
func (p *liveProgress) end(l *liveLoad) {
	if p.clock == nil {
		return
	}
	p.line()
	took := p.clock.Now().Sub(p.began)
	sent := l.taken - l.begins
	fmt.Fprintf(p.w, "%s of %s in %s (%s rows/s), %s", counted(sent, "row"), l.name, took.Round(time.Millisecond),
		grouped(int64(float64(sent)/max(took.Seconds(), 1e-3))), counted(l.requests, "request"))
	if l.skipped > 0 {
		fmt.Fprintf(p.w, ", %s skipped", wasWere(l.skipped, "row"))
	}
	if l.repeated > 0 {
		fmt.Fprintf(p.w, ", %s repeated", wasWere(l.repeated, "request"))
	}
	fmt.Fprintln(p.w, ".")
	if p.weak {
		fmt.Fprintln(p.w, "Note: The server does not guarantee that each row counts once.")
	}
}
