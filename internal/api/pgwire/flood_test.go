package pgwire

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/vector"
)

// flood is an engine whose every query gives the same number of rows of two whole numbers.
type flood struct {
	tables
	rows   int
	given  atomic.Int64 // rows
	closed atomic.Int64 // queries
}

func (f *flood) columns() []result.Column {
	return []result.Column{{Name: "a", Type: expr.Of(expr.BigInt)}, {Name: "b", Type: expr.Of(expr.BigInt)}}
}

func (f *flood) Describe(context.Context, *query.Request) (*query.Description, error) {
	return &query.Description{Columns: f.columns()}, nil
}

func (f *flood) Start(context.Context, *query.Query, *query.Request) (query.Rows, error) {
	return &flowing{flood: f, left: f.rows}, nil
}

// flowing are the rows of one query of a flood.
type flowing struct {
	*flood
	left  int
	at    int64
	batch *vector.Batch
}

const floodBatch = 4096

func (f *flowing) Columns() []result.Column { return f.columns() }
func (f *flowing) Zone() *chrono.Zone       { return chrono.UTC }
func (f *flowing) StringifyArrays() bool    { return false }
func (f *flowing) ResponseContext() string  { return "{}" }
func (f *flowing) Close()                   { f.closed.Add(1) }

func (f *flowing) Next(ctx context.Context) (*vector.Batch, error) {
	if f.left == 0 {
		return nil, io.EOF
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if f.batch == nil {
		f.batch = &vector.Batch{Cols: []*vector.Vector{vector.FromLongs(make([]int64, floodBatch)), vector.FromLongs(make([]int64, floodBatch))}}
	}
	f.batch.N = min(f.left, floodBatch)
	for i := range f.batch.N {
		f.batch.Cols[0].Longs[i], f.batch.Cols[1].Longs[i] = f.at, -f.at
		f.at++
	}
	f.left -= f.batch.N
	f.given.Add(int64(f.batch.N))
	return f.batch, nil
}

// TestAClientThatStopsReading keeps its query waiting with a part of its rows, and can be ended.
func TestAClientThatStopsReading(t *testing.T) {
	t.Parallel()
	e := &flood{rows: 10_000_000}
	s, address := openOn(t, e, nil)
	for name, end := range map[string]func(c *client){
		"it goes away":    func(c *client) { _ = c.conn.Close() },
		"it is cancelled": func(c *client) { s.cancel(c.key.ProcessID, c.key.SecretKey) },
		"it terminates":   func(c *client) { _, _ = c.conn.Write([]byte{'X', 0, 0, 0, 4}); _ = c.conn.Close() },
	} {
		e.given.Store(0)
		closed := e.closed.Load()
		c := login(t, address)
		if tcp, ok := c.conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(64 << 10)
		}
		c.f.Send(&pgproto3.Query{String: "select a, b from wiki"})
		if err := c.f.Flush(); err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			if _, err := c.f.Receive(); err != nil {
				t.Fatal(err)
			}
		}
		end(c)
		if name == "it is cancelled" { // what was sent before is still read
			if got := shown(c.answer()); !strings.HasSuffix(got, "|ERROR 57014|I") {
				t.Errorf("%s: ...%s", name, got[max(len(got)-100, 0):])
			}
			_ = c.conn.Close()
		}
		for e.closed.Load() == closed || s.Count() > 0 {
			continue
		}
		if n := e.given.Load(); n == 0 || n > int64(e.rows)/2 {
			t.Errorf("%s: %d rows were made", name, n)
		}
	}
}

// TestRowsInPortions fetches a long answer by portals and cursors, whose rest is never made.
func TestRowsInPortions(t *testing.T) {
	t.Parallel()
	e := &flood{rows: 10_000_000}
	_, address := openOn(t, e, func(o *Options) { o.Memory = budget.Root(1 << 20) })
	c := login(t, address)
	c.f.Send(&pgproto3.Parse{Query: "select a, b from wiki"})
	c.f.Send(&pgproto3.Bind{ResultFormatCodes: []int16{1}})
	c.f.Send(&pgproto3.Execute{MaxRows: 10})
	c.f.Send(&pgproto3.Execute{MaxRows: 2})
	c.f.Send(&pgproto3.Close{ObjectType: 'P'})
	c.f.Send(&pgproto3.Execute{MaxRows: 2}) // behind its end
	c.f.Send(&pgproto3.Sync{})
	if got := shown(c.exchange()); strings.Count(got, "suspended") != 2 || !strings.HasSuffix(got, "|ERROR 34000|I") {
		t.Errorf("%q", got)
	}
	for _, step := range []struct{ sql, want string }{
		{"begin; declare c cursor for select a, b from wiki; fetch 1 c; move 9999 c; fetch 1 c",
			"BEGIN|DECLARE CURSOR|0,0|FETCH 1|MOVE 9999|10000,-10000|FETCH 1|T"},
		{"fetch backward 1 c", "ERROR 55000|E"}, {"rollback", "ROLLBACK|I"},
		{"begin; declare c scroll cursor for select a, b from wiki", "BEGIN|ERROR 53200|E"}, {"rollback; fetch c", "ROLLBACK|ERROR 34000|I"},
	} {
		if got := c.query(step.sql); got != step.want {
			t.Errorf("%s: got %s, want %s", step.sql, got, step.want)
		}
	}
	e.rows = maxScrollRows + 1
	_, address = openOn(t, e, nil) // with memory for the rows
	c = login(t, address)
	if got := c.query("declare c scroll cursor with hold for select a, b from wiki"); got != "ERROR 54000|I" {
		t.Error(got)
	}
	e.rows = 5000
	for _, step := range []struct{ sql, want string }{
		{"declare c scroll cursor with hold for select a, b from wiki", "DECLARE CURSOR|I"}, {"fetch last c", "4999,-4999|FETCH 1|I"},
		{"fetch prior c; fetch first c; move all c; fetch backward 1 c; close c",
			"4998,-4998|FETCH 1|0,0|FETCH 1|MOVE 4999|4999,-4999|FETCH 1|CLOSE CURSOR|I"},
	} {
		if got := c.query(step.sql); got != step.want {
			t.Errorf("%s: got %s, want %s", step.sql, got, step.want)
		}
	}
	if e.given.Load() > 2_500_000 {
		t.Errorf("%d rows were made", e.given.Load())
	}
	other := login(t, address)
	c.f.Send(&pgproto3.Parse{Name: "s", Query: "select 1"})
	c.f.Send(&pgproto3.Bind{DestinationPortal: "p", PreparedStatement: "s"})
	c.f.Send(&pgproto3.Flush{})
	if err := c.f.Flush(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // ParseComplete, BindComplete
		if _, err := c.f.Receive(); err != nil {
			t.Fatal(err)
		}
	}
	other.f.Send(&pgproto3.Execute{Portal: "p"}) // of another session
	other.f.Send(&pgproto3.Sync{})
	if got := shown(other.exchange()); got != "ERROR 34000|I" {
		t.Errorf("a portal of another session: %s", got)
	}
	if got := other.query("execute s"); got != "ERROR 26000|I" {
		t.Errorf("a statement of another session: %s", got)
	}
}

// BenchmarkRows counts rows of two columns in binary over loopback, which a client only skips.
func BenchmarkRows(b *testing.B) {
	e := &flood{rows: 1_000_000}
	_, address := openOn(b, e, nil)
	c := login(b, address)
	conn, buffer := c.conn, make([]byte, 1<<20)
	request, err := (&pgproto3.Parse{Query: "select a, b from wiki"}).Encode(nil)
	for _, m := range []pgproto3.FrontendMessage{&pgproto3.Bind{ResultFormatCodes: []int16{1}}, &pgproto3.Execute{}, &pgproto3.Sync{}} {
		if err == nil {
			request, err = m.Encode(request)
		}
	}
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := conn.Write(request); err != nil {
			b.Fatal(err)
		}
		for last := byte(0); last != 'Z'; { // frames are skipped
			n, err := io.ReadAtLeast(conn, buffer, 6)
			if err != nil {
				b.Fatal(err)
			}
			if n >= 6 && buffer[n-6] == 'Z' && binary.BigEndian.Uint32(buffer[n-5:]) == 5 {
				last = 'Z'
			}
		}
	}
	b.ReportMetric(float64(e.rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
