package workbench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// A live tail is the newest rows of a datasource, and then those that come: every look is a small
// query of its own under the rights and limits of the caller, of the rows that are not much older
// than the newest known one. Rows that were given before are told by what they are, row by row.

// event is a line of a tail, or the data of a server-sent event.
type event struct {
	// Type is columns, rows, alive or end.
	Type    string            `json:"type"`
	Columns []shownHead       `json:"columns,omitempty"`
	Rows    []json.RawMessage `json:"rows,omitempty"`
	// Truncated says of rows that more came at once than a tail gives: the newest are there.
	Truncated bool   `json:"truncated,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

type shownHead struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// tailing is one live tail.
type tailing struct {
	api    *API
	r      *http.Request
	w      http.ResponseWriter
	events bool // server-sent ones, not lines of JSON
	name   string
	rows   int // at most at a time

	columns []shownHead
	newest  *int64
	// given are the rows of the last looks, each by its hash, with how often there are.
	given map[uint64]int
	seed  maphash.Seed
}

// tail answers the newest rows of a datasource and those that come, until the client leaves.
func (a *API) tail(w http.ResponseWriter, r *http.Request) error {
	t := &tailing{api: a, r: r, w: w, name: r.PathValue("dataSource"), seed: maphash.MakeSeed(), given: map[uint64]int{}}
	every, err := t.read()
	if err != nil {
		return err
	}
	select {
	case a.tails <- struct{}{}:
		defer func() { <-a.tails }()
	default:
		return fault.Capacity("[%d] live tails are open, which are as many as there may be; close one first", maxTails)
	}
	// The first look may fail, which is still an answer with a status.
	rows, truncated, err := t.look(r.Context())
	if err != nil {
		return err
	}
	edge.Decoded(r.Context())
	media := "application/x-ndjson"
	if t.events {
		media = "text/event-stream"
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy passes each event on at once
	if err := t.send(event{Type: "columns", Columns: t.columns}); err != nil {
		return nil //nolint:nilerr // nobody listens
	}
	if err := t.send(event{Type: "rows", Rows: rows, Truncated: truncated}); err != nil {
		return nil //nolint:nilerr // likewise
	}
	if err := t.follow(every); r.Context().Err() == nil {
		_ = t.send(event{Type: "end", Reason: fault.Classify(err).Message}) // nobody may listen any more
	}
	return nil
}

// read reads the parameters, and returns how often the tail looks.
func (t *tailing) read() (every time.Duration, err error) {
	every, t.rows = tailEvery, tailRows
	if err := edge.OnlyParameters(t.r, "rows", "every"); err != nil {
		return 0, err
	}
	q := t.r.URL.Query()
	if text := q.Get("rows"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxTailRows {
			return 0, fault.InvalidInput("Value [%s] of [rows] is not a number between [1] and [%d]", text, maxTailRows)
		}
		t.rows = n
	}
	if text := q.Get("every"); text != "" {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ms < leastEvery.Milliseconds() || ms > mostEvery.Milliseconds() {
			return 0, fault.InvalidInput("Value [%s] of [every] is not a number of milliseconds between [%d] and [%d]",
				text, leastEvery.Milliseconds(), mostEvery.Milliseconds())
		}
		every = time.Duration(ms) * time.Millisecond
	}
	for _, accept := range t.r.Header.Values("Accept") {
		t.events = t.events || strings.Contains(accept, "text/event-stream")
	}
	return every, nil
}

// follow looks again and again until the client leaves, a look fails, or the tail has lasted as
// long as it may.
func (t *tailing) follow(every time.Duration) error {
	ctx, c := t.r.Context(), t.api.o.Clock
	began := c.Now()
	said := began
	for {
		if err := c.Sleep(ctx, every); err != nil {
			return err
		}
		now := c.Now()
		if now.Sub(began) >= tailLasts {
			return fault.Canceled("A live tail ends after [%s]; begin it again", tailLasts)
		}
		rows, truncated, err := t.look(ctx)
		if err != nil {
			return err
		}
		switch {
		case len(rows) > 0:
			err = t.send(event{Type: "rows", Rows: rows, Truncated: truncated})
		case now.Sub(said) >= tailAlive: // and so it is noticed that the client has left
			err = t.send(event{Type: "alive"})
		default:
			continue
		}
		if err != nil {
			return err
		}
		said = now
	}
}

// send writes an event and sends it on its way.
func (t *tailing) send(e event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encoding a live tail: %w", err)
	}
	if t.events {
		text = append([]byte("data: "), append(text, '\n')...)
	}
	if _, err := t.w.Write(append(text, '\n')); err != nil {
		return err
	}
	if err := http.NewResponseController(t.w).Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// statement asks for the newest rows, in the second look only for those near the newest known one.
func (t *tailing) statement() string {
	text := `SELECT * FROM "` + strings.ReplaceAll(t.name, `"`, `""`) + `"`
	if t.newest != nil {
		text += ` WHERE "` + segment.TimeColumn + `" >= MILLIS_TO_TIMESTAMP(` + strconv.FormatInt(*t.newest-tailOverlap.Milliseconds(), 10) + `)`
	}
	// One row more tells whether there are more.
	return text + ` ORDER BY "` + segment.TimeColumn + `" DESC LIMIT ` + strconv.Itoa(t.rows+1)
}

// look asks once, and returns the rows that were not given before, the oldest first.
func (t *tailing) look(ctx context.Context) (rows []json.RawMessage, truncated bool, err error) {
	a := t.api
	id, access := query.NewID(), auth.Of(t.r.Context())
	settings := map[string]any{querycontext.SQLQueryID.Key(): id}
	ctx, done, err := query.Deadline(ctx, clock.Deadline(0), nil, a.o.DefaultTimeout, a.o.MaxTimeout)
	if err != nil {
		return nil, false, err
	}
	defer done()
	req := &query.Request{
		SQL: t.statement(), Context: settings, ID: id, User: edge.UserOf(t.r), Access: access,
		Dialect: edge.DialectOf(t.r.Context()).Name,
	}
	ctx, q, err := a.running.Enter(ctx, query.Arrival{
		ID: id, SQL: req.SQL, Identity: req.User, Context: settings, Access: req.Access, Door: "tail",
	})
	if err != nil {
		return nil, false, err
	}
	defer func() { q.End(ctx, err) }()
	answer, err := a.engine.Start(ctx, q, req)
	if err != nil {
		return nil, false, query.Cause(ctx, err)
	}
	defer answer.Close()
	if t.columns == nil {
		for _, c := range answer.Columns() {
			t.columns = append(t.columns, shownHead{c.Name, c.Type.String()})
		}
	} else if len(answer.Columns()) != len(t.columns) {
		return nil, false, fault.Canceled("The columns of datasource [%s] have changed; begin the tail again", t.name)
	}
	lines, times, err := read(ctx, answer)
	if err != nil {
		return nil, false, query.Cause(ctx, err)
	}
	q.Wrote(int64(len(lines)))
	rows, truncated = t.fresh(lines, times)
	return rows, truncated, nil
}

// read returns the rows of an answer as lines of JSON arrays, and their times.
func read(ctx context.Context, answer query.Rows) (lines [][]byte, times []int64, err error) {
	var buf bytes.Buffer
	at := -1
	for i, c := range answer.Columns() {
		if c.Name == segment.TimeColumn {
			at = i
		}
	}
	w := result.NewWriter(&buf, answer.Columns(), result.Options{
		Format: result.ArrayLines, Zone: chrono.UTC, StringifyArrays: answer.StringifyArrays(),
	})
	for {
		var b *vector.Batch
		if b, err = answer.Next(ctx); err != nil {
			break
		}
		if b = b.Compact(); at >= 0 {
			for i := range b.N {
				times = append(times, b.Cols[at].LongAt(i))
			}
		}
		if err := w.Batch(b); err != nil {
			return nil, nil, err
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	if err := w.Close(); err != nil {
		return nil, nil, err
	}
	for line := range bytes.SplitSeq(buf.Bytes(), []byte{'\n'}) {
		if len(line) > 0 {
			lines = append(lines, line)
		}
	}
	return lines, times, nil
}

// fresh returns the rows among lines that were not given before, and notes them all. Equal rows
// count by how many there are.
func (t *tailing) fresh(lines [][]byte, times []int64) (rows []json.RawMessage, truncated bool) {
	truncated = len(lines) > t.rows
	lines = lines[:min(len(lines), t.rows)]
	now := make(map[uint64]int, len(lines))
	for _, line := range lines {
		h := maphash.Bytes(t.seed, line)
		if now[h]++; now[h] > t.given[h] {
			rows = append(rows, json.RawMessage(line))
		}
	}
	truncated = truncated && len(rows) == len(lines) && len(t.given) > 0
	t.given = now
	if len(times) > 0 && (t.newest == nil || times[0] > *t.newest) {
		t.newest = &times[0]
	}
	for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
		rows[i], rows[j] = rows[j], rows[i]
	}
	return rows, truncated
}
