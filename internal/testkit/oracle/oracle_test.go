package oracle_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/testkit/engine"
	"github.com/hengedb/henge/internal/testkit/oracle"
	"github.com/hengedb/henge/internal/testkit/slt"
	"github.com/hengedb/henge/internal/vector"
)

var (
	seed     = flag.Uint64("seed", 0, "play only the round of this seed")
	first    = flag.Uint64("first", 1, "the seed of the first random round")
	duration = flag.Duration("duration", 2*time.Second, "how long random rounds are played")
)

// TestRandomQueries compares the engine with the oracle. Rounds with fixed seeds come first, so
// that a plain run always plays the same ones for as long as time allows.
func TestRandomQueries(t *testing.T) {
	var n tally
	play := func(seed uint64, queries int) bool { // a test of its own, so that its segments are closed behind it
		return t.Run(fmt.Sprint(seed), func(t *testing.T) { round(t, &n, seed, queries) })
	}
	if *seed != 0 {
		play(*seed, 200)
		return
	}
	start := clock.System().Now()
	for s := *first; clock.System().Now().Sub(start) < *duration; s++ {
		if !play(s, 20) {
			t.Fatalf("play this round again with -run RandomQueries -seed %d", s)
		}
	}
	t.Logf("%d queries, %d without rows, %d refused for want of memory", n.queries, n.empty, n.refused)
	if 2*n.empty > n.queries || 5*n.refused > n.queries {
		t.Errorf("of %d queries %d have no rows and %d were refused: this tests too little", n.queries, n.empty, n.refused)
	}
}

// tally counts what became of queries.
type tally struct{ queries, empty, refused int }

// round makes two tables, an engine with random settings, and queries.
func round(t *testing.T, n *tally, seed uint64, queries int) {
	t.Helper()
	g := oracle.NewGenerator(seed)
	o := options(rand.New(rand.NewPCG(seed, 1)))
	e := engine.New(t, o)
	tables := oracle.Tables{}
	rows := 60
	if seed%5 == 0 {
		rows = 500
	}
	for _, name := range []string{"t", "u"} {
		table, err := g.Table(map[string]int{"t": rows, "u": rows / 4}[name])
		if err != nil {
			t.Fatal(err)
		}
		tables[name] = table
		month, err := chrono.ParseGranularity("MONTH")
		if err != nil {
			t.Fatal(err)
		}
		load := &slt.Load{DataSource: name, Version: "1", Table: *table}
		if seed%2 == 0 && len(table.Rows) > 0 {
			load.Granularity = &month
		}
		if err := e.Load(t.Context(), load); err != nil {
			t.Fatal(err)
		}
	}
	for range queries {
		sql, ordered := g.Query()
		if d := compare(t.Context(), n, e, tables, sql, ordered); d != "" {
			t.Errorf("seed %d, %+v\n%s\n%s", seed, o, sql, d)
			return
		}
	}
}

// options are a random way to run a query.
func options(r *rand.Rand) engine.Options {
	o := engine.Options{BatchRows: r.IntN(8), Threads: r.IntN(4), SegmentRows: r.IntN(20), Reprint: r.IntN(4) == 0, Kept: r.IntN(4) == 0}
	if r.IntN(3) == 0 {
		o.MemoryBytes = 20 << 10 << r.IntN(3)
	}
	if r.IntN(3) == 0 { // for few rows at once, rarely too little for one
		o.TextRoom = 40 + r.Int64N(60)
	}
	if r.IntN(2) == 0 {
		o.BroadcastRowLimit = 1
	}
	if r.IntN(2) == 0 {
		o.SemiJoinMinRows = 1
	}
	for _, rule := range plan.RuleNames() {
		if r.IntN(4) == 0 {
			o.RulesOff = append(o.RulesOff, rule)
		}
	}
	return o
}

func compare(ctx context.Context, n *tally, e *engine.Direct, tables oracle.Tables, sql string, ordered bool) string {
	p, err := e.Prepare(ctx, &slt.Statement{SQL: sql, Context: map[string]any{"useApproximateCountDistinct": false}})
	if err != nil {
		return fmt.Sprintf("preparing: %v", err)
	}
	want, err := oracle.Run(p.Plan, tables)
	if err != nil {
		return fmt.Sprint(err)
	}
	n.queries++
	if len(want) == 0 {
		n.empty++
	}
	got, err := rowsOf(ctx, e, p)
	if f := fault.Find(err); f != nil && f.Legacy == fault.LegacyResourceLimit {
		n.refused++
		return "" // too little memory even with spilling is no wrong answer
	}
	if err != nil {
		return fmt.Sprintf("running: %v", err)
	}
	return oracle.Differ(want, got, ordered)
}

// rowsOf runs a statement.
func rowsOf(ctx context.Context, e *engine.Direct, p *broker.Prepared) (rows [][]any, err error) {
	err = exec.Protect(func() error {
		op, done, err := e.Open(ctx, p)
		if err != nil {
			return err
		}
		defer done()
		defer op.Close()
		return exec.Drain(ctx, op, func(b *vector.Batch) error {
			b = b.Compact()
			for i := range b.N {
				row := make([]any, len(b.Cols))
				for c, v := range b.Cols {
					row[c] = v.ValueAt(i)
				}
				rows = append(rows, row)
			}
			return nil
		})
	})
	return rows, err
}
