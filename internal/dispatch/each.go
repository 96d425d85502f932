package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
)

// Each divides segments among servers and concurrently calls ask for the share of each; numbers are
// indexes into segments. If a server fails for a reason of its own (Call determines that), other
// servers get its share, until none is left.
func (d *Dispatcher) Each(ctx context.Context, q *Query, segments []Segment, ask func(ctx context.Context, server *Server, numbers []int) error) error {
	type key struct { // a segment may be visible in several parts
		id      string
		visible chrono.Interval
	}
	numbers := map[key]int{}
	for i := range segments {
		numbers[key{segments[i].ID, segments[i].Visible}] = i
	}
	g := exec.NewGroup(ctx)
	var do func(ctx context.Context, segments []Segment, never map[string]bool, attempt int) error
	do = func(ctx context.Context, segments []Segment, never map[string]bool, attempt int) error {
		shares, err := d.place(q, segments, never)
		if err != nil {
			return err
		}
		for _, s := range shares {
			g.Go(func(ctx context.Context) error {
				own := make([]int, len(s.segments))
				for i := range s.segments {
					own[i] = numbers[key{s.segments[i].ID, s.segments[i].Visible}]
				}
				run := &running{d: d, q: q}
				err := run.attentive(ctx, s, func(ctx context.Context) error { return ask(ctx, s.server, own) })
				if err == nil || !retries(ctx, err, attempt) {
					return given(s.server, err)
				}
				d.broke(ctx, q, s.server, err)
				excluded := map[string]bool{s.server.Name: true}
				maps.Copy(excluded, never)
				if none := do(ctx, run.again(s.segments), excluded, attempt+1); none != nil {
					return given(s.server, err)
				}
				return nil
			})
		}
		return nil
	}
	if err := do(ctx, segments, nil, 1); err != nil {
		g.Stop()
		return err
	}
	return g.Wait()
}

// maxEachAnswer bounds what is believed of an answer.
const maxEachAnswer = 1 << 30

// Call sends a JSON body to a server and decodes its response.
func (d *Dispatcher) Call(ctx context.Context, server *Server, path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding a request to server [%s]: %w", server.Name, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("asking server [%s]: %w", server.Name, err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := d.o.Client.Do(req)
	if err != nil {
		return &broken{fmt.Errorf("asking server [%s]: %w", server.Name, err)}
	}
	defer resp.Body.Close() // it was only read
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 512)) // only makes the message better
		return &broken{fault.Unavailable("Server [%s] has refused a part of the query with status [%d]", server.Name, resp.StatusCode).
			WithCause(errors.New(string(text)))}
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxEachAnswer)).Decode(out); err != nil {
		return &broken{fmt.Errorf("reading the answer of server [%s]: %w", server.Name, err)}
	}
	return nil
}
