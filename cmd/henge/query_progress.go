package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/querycontext"
)

// queryProgress is how far a query has come. What is not known is zero.
type queryProgress struct {
	Elapsed   int64    `json:"elapsedMs"`
	Returned  int64    `json:"rowsReturned"`
	RowsRead  int64    `json:"rowsRead"`
	BytesRead int64    `json:"bytesRead"`
	Memory    int64    `json:"memoryBytes"`
	Percent   *float64 `json:"percent"`
	ETA       *int64   `json:"etaMs"`
}

const (
	// followAfter is how long a query runs before its progress is shown, followEvery how often it is.
	followAfter, followEvery = 700 * time.Millisecond, 300 * time.Millisecond
	followPatience           = 2 * time.Second
)

// follow shows how far a query has come, on a terminal, until stop is called.
func (s *session) follow(ctx context.Context, id string) (stop func()) {
	if !isTerminal(s.err) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		drawn := 0
		for wait := followAfter; s.clock.Sleep(ctx, wait) == nil; wait = followEvery {
			if p, ok := s.progress(ctx, id); ok && ctx.Err() == nil {
				text := p.line()
				fmt.Fprintf(s.err, "\r%-*s", drawn, text)
				drawn = len(text)
			}
		}
		if drawn > 0 {
			fmt.Fprintf(s.err, "\r%-*s\r", drawn, "")
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
}

// progress asks how far a query has come.
func (s *session) progress(ctx context.Context, id string) (p queryProgress, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, followPatience)
	defer cancel()
	if s.local != nil {
		return s.local.progress()
	}
	if s.client.call(ctx, http.MethodGet, "/service-ext/console/progress/"+url.PathEscape(id), nil, &p) == nil {
		return p, true
	}
	var rows []queryProgress // a server that does not tell more
	err := s.client.call(ctx, http.MethodPost, "/service/v2/sql", map[string]any{
		"query": `SELECT duration AS "elapsedMs", num_rows AS "rowsReturned", memory AS "memoryBytes" FROM sys.queries ` +
			"WHERE state = 'RUNNING' AND id = " + literal(id),
		"resultFormat": "object", "context": map[string]any{querycontext.SQLQueryID.Key(): topID + newID()},
	}, &rows)
	if err != nil || len(rows) != 1 {
		return p, false
	}
	return rows[0], true
}

// line is what is shown.
func (p *queryProgress) line() string {
	seconds := max(float64(p.Elapsed)/1000, 1e-3)
	var parts []string
	if p.Percent != nil {
		bar, _ := (&progressBar{total: 1000}).draw(int64(*p.Percent*10), seconds)
		parts = append(parts, fmt.Sprintf("%s %.0f%%", bar, *p.Percent))
	}
	parts = append(parts, time.Duration(p.Elapsed*int64(time.Millisecond)).Round(100*time.Millisecond).String())
	if p.RowsRead > 0 {
		parts = append(parts, fmt.Sprintf("%s rows (%s rows/s)", grouped(p.RowsRead), grouped(int64(float64(p.RowsRead)/seconds))))
	}
	if p.BytesRead > 0 {
		parts = append(parts, shownBytes(p.BytesRead))
	}
	if p.Returned > 0 {
		parts = append(parts, counted(p.Returned, "row")+" returned")
	}
	if p.Memory > 0 {
		parts = append(parts, "memory "+shownBytes(p.Memory))
	}
	if p.ETA != nil {
		parts = append(parts, time.Duration(*p.ETA*int64(time.Millisecond)).Round(time.Second).String()+" left")
	}
	return strings.Join(parts, ", ")
}

// shownBytes writes a number of bytes for people.
func shownBytes(n int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	x, unit := float64(n), 0
	for ; x >= 1000 && unit < len(units)-1; unit++ {
		x /= 1000
	}
	if unit == 0 || x >= 100 {
		return fmt.Sprintf("%.0f %s", x, units[unit])
	}
	return fmt.Sprintf("%.1f %s", x, units[unit])
}

// beforeFirst calls first before something is written.
type beforeFirst struct {
	io.Writer
	first func()
}

// Write implements io.Writer.
func (b *beforeFirst) Write(p []byte) (int, error) {
	b.first()
	return b.Writer.Write(p)
}
