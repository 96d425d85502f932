package engine

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"net/http"
	"testing"

	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/sql/syntax"
	"github.com/hengedb/henge/internal/testkit/slt"
	"github.com/hengedb/henge/internal/vector"
)

// Options steer how Direct and Serve run statements. The zero value is how a server does.
type Options struct {
	// BatchRows is the size of batches and Threads the number of goroutines of a scan; 0: the
	// defaults.
	BatchRows, Threads int
	// SegmentRows cuts loads into segments of at most that many rows, 0: as loaded.
	SegmentRows int
	// Live keeps segments in memory, as those that still grow are.
	Live bool
	// Servers is how many servers hold the segments, two of them each, 0: this process reads all. Only
	// Serve knows of it.
	Servers int
	// FanIn is how many servers' parts are merged in one place; 0: the default. Servers merge the
	// others'.
	FanIn int
	// Asked, if not nil, is called with each request that a server gets. No part is then asked for
	// twice because it is late.
	Asked func(server string, r *dispatch.Request)
	// Broken lets the first server break off each answer, sooner or later.
	Broken bool
	// MemoryBytes is the memory that a query may take before it spills, 0: any.
	MemoryBytes int64
	// TextRoom is what the texts that a function makes for rows computed at once may take together, 0:
	// the default.
	TextRoom int64
	// Disk counts what is spilled; nil: nobody wants to know.
	Disk *budget.Budget
	// BroadcastRowLimit is the number of rows from which the smaller side of a join is not broadcast,
	// 0: the default.
	BroadcastRowLimit float64
	// SemiJoinMinRows is the number of rows from which a scan is reduced by the keys of a join, 0: the
	// default.
	SemiJoinMinRows float64
	// RulesOff names rewrite rules that are not applied.
	RulesOff []string
	// Kept keeps the groups of single segments, and answers from what was kept: each statement is run
	// twice. Where there are Servers they keep them, and so does who asks them. Kept groups take
	// KeptBytes, 0: 64 MiB.
	Kept      bool
	KeptBytes int64
	// Reprint parses each statement, prints it, and runs what was printed.
	Reprint bool

	relay *http.Client // by which a server asks others; nil: it is none
}

func newDispatcher(s *Store, o Options, client *http.Client) *dispatch.Dispatcher {
	var c clock.Clock = &hurried{Clock: clock.System()}
	if o.Asked != nil {
		c = s.clock
	}
	return dispatch.New(dispatch.Options{Client: client, FanIn: o.FanIn, Clock: c, Log: s.log})
}

func newBroker(t testing.TB, s *Store, o Options) *broker.Broker {
	spill, err := budget.OpenSpillDir(t.TempDir(), o.Disk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := spill.Close(); err != nil {
			t.Error(err)
		}
	})
	options := broker.Options{
		Threads: o.Threads, BatchRows: o.BatchRows, Memory: budget.Root(o.MemoryBytes), Spill: spill, Lookups: s.lookups,
		BroadcastRowLimit: o.BroadcastRowLimit, SemiJoinMinRows: o.SemiJoinMinRows, Clock: s.clock, Log: s.log,
	}
	if o.Kept {
		options.Segments = exec.SegmentCache{
			Use: true, Populate: true, MaxEntry: 1 << 20,
			Rows: exec.NewRowCache(exec.RowCacheOptions{MaxBytes: cmp.Or(o.KeptBytes, 64<<20), Memory: budget.Root(0)}),
		}
		options.Remote = options.Segments
	}
	if o.Servers > 0 {
		servers := startServers(t, s, o)
		options.Servers = servers
		options.Dispatcher = newDispatcher(s, o, servers.client)
	}
	if o.relay != nil {
		options.Dispatcher = newDispatcher(s, o, o.relay)
	}
	return broker.New(s.published, s, nil, &broker.Externals{}, options)
}

// Direct answers statements over a Store.
type Direct struct {
	*Store
	broker  *broker.Broker
	options Options
}

// New returns a Direct over an empty Store.
func New(t testing.TB, o Options) *Direct {
	s := NewStore(t)
	s.SegmentRows, s.Live = o.SegmentRows, o.Live
	return &Direct{Store: s, broker: newBroker(t, s, o), options: o}
}

// Query implements slt.Engine.
func (d *Direct) Query(ctx context.Context, s *slt.Statement) (*slt.Answer, error) {
	var out bytes.Buffer
	err := exec.Protect(func() error { return d.run(ctx, s, &out) })
	if err != nil {
		return nil, err
	}
	return decodeAnswer(out.Bytes())
}

// Prepare parses and binds a statement.
func (d *Direct) Prepare(ctx context.Context, s *slt.Statement) (*broker.Prepared, error) {
	text := s.SQL
	if d.options.Reprint {
		if script, err := syntax.Parse(text); err == nil {
			text = syntax.Print(script)
		}
	}
	req := &query.Request{SQL: text, Context: map[string]any{}, Dialect: "service"}
	maps.Copy(req.Context, s.Context)
	for _, p := range s.Params {
		req.Parameters = append(req.Parameters, query.Parameter{Type: p.Type, Value: p.Value})
	}
	return d.broker.Prepare(ctx, req, sql.Native)
}

// Open optimizes a statement and builds its operators. The caller closes the operator, then calls
// done.
func (d *Direct) Open(ctx context.Context, p *broker.Prepared) (op exec.Operator, done func(), err error) {
	if d.options.Kept { // the first time fills the cache
		op, done, err := d.open(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		err = exec.Drain(ctx, op, func(*vector.Batch) error { return nil })
		op.Close()
		done()
		if err != nil {
			return nil, nil, err
		}
	}
	return d.open(ctx, p)
}

func (d *Direct) open(ctx context.Context, p *broker.Prepared) (op exec.Operator, done func(), err error) {
	node := d.broker.OptimizeWithout(ctx, p, d.options.RulesOff)
	env, done := d.broker.Env(p, "query")
	env.Segments = d.broker.SegmentCache(true, true)
	env.Expr.TextRoom = d.options.TextRoom
	op, err = exec.Build(ctx, node, env)
	if err != nil {
		done()
		return nil, nil, err
	}
	return op, done, nil
}

func (d *Direct) run(ctx context.Context, s *slt.Statement, out *bytes.Buffer) error {
	p, err := d.Prepare(ctx, s)
	if err != nil {
		return err
	}
	if p.Explain || p.Analyze {
		return slt.Unable{Reason: "EXPLAIN is answered by the Broker"}
	}
	stringify, err := querycontext.StringifyArrays.Read(p.Context)
	if err != nil {
		return err
	}
	columns := make([]result.Column, len(p.Columns))
	for i, c := range p.Columns {
		columns[i] = result.Column{Name: c.Name, Type: c.Type}
	}
	w := result.NewWriter(out, columns, result.Options{
		Format: result.Array, Header: true, SQLTypesHeader: true, Zone: p.Zone, StringifyArrays: stringify,
	})
	op, done, err := d.Open(ctx, p)
	if err != nil {
		return err
	}
	defer done()
	defer op.Close()
	if err := exec.Drain(ctx, op, w.Batch); err != nil {
		return err
	}
	return w.Close()
}
