package agg_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/testkit/engine"
	"github.com/hengedb/henge/internal/testkit/slt"
)

var rewrite = flag.Bool("rewrite", false, "write the answers into the script of PRODUCT")

// A new aggregate is one literal: nothing outside this package is told of PRODUCT, and all parts of
// the engine answer it.
func TestANewAggregateIsOneLiteral(t *testing.T) {
	agg.Add(t, agg.Product)
	script, err := slt.Parse("testdata/newcomer.slt")
	if err != nil {
		t.Fatal(err)
	}
	const spillBytes = 24 << 10
	spilled, fragments := budget.DiskRoot(budget.Unlimited), make(chan bool, 1)
	for _, c := range []slt.Config{
		{Name: slt.DefaultConfig, New: func(t testing.TB) slt.Engine { return engine.New(t, engine.Options{}) }},
		{Name: "threads", New: func(t testing.TB) slt.Engine {
			return engine.New(t, engine.Options{SegmentRows: 2, BatchRows: 3, Threads: 3})
		}},
		{Name: "kept", New: func(t testing.TB) slt.Engine { return engine.New(t, engine.Options{SegmentRows: 2, Kept: true}) }},
		{Name: "spill", New: func(t testing.TB) slt.Engine {
			return engine.New(t, engine.Options{SegmentRows: 2, BatchRows: 2, MemoryBytes: spillBytes, Disk: spilled})
		}},
		{Name: "fragments", New: func(t testing.TB) slt.Engine {
			return engine.Serve(t, engine.Options{SegmentRows: 2, Threads: 2, Servers: 7, FanIn: 2, Asked: func(string, *dispatch.Request) {
				select {
				case fragments <- true:
				default:
				}
			}})
		}},
	} {
		t.Run(c.Name, func(t *testing.T) { slt.Run(t, script, c, *rewrite) })
		if *rewrite {
			return
		}
	}
	if spilled.Peak() == 0 {
		t.Error("the spill configuration has spilled nothing")
	}
	if len(fragments) == 0 {
		t.Error("no server was asked for a fragment")
	}
}

// EXPLAIN PLAN FOR names it, in both forms.
func TestANewAggregateIsExplained(t *testing.T) {
	agg.Add(t, agg.Product)
	e := engine.Serve(t, engine.Options{})
	script, err := slt.Parse("testdata/newcomer.slt")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Load(t.Context(), script.Records[0].(*slt.Load)); err != nil {
		t.Fatal(err)
	}
	for _, native := range []bool{true, false} {
		got, err := e.Query(t.Context(), &slt.Statement{
			SQL: "EXPLAIN PLAN FOR SELECT k, PRODUCT(x) FROM d GROUP BY 1", Context: map[string]any{"useNativeQueryExplain": native},
		})
		if err != nil {
			t.Fatal(err)
		}
		if text := got.Rows[0][0].(string); !strings.Contains(strings.ToUpper(text), "PRODUCT") {
			t.Errorf("the plan does not name PRODUCT: %s", text)
		}
	}
}

// Without its line in the table the aggregate is not known.
func TestANewAggregateNeedsItsLine(t *testing.T) {
	e := engine.New(t, engine.Options{})
	_, err := e.Query(t.Context(), &slt.Statement{SQL: "SELECT PRODUCT(x) FROM (VALUES (1)) AS t(x)"})
	if err == nil || !strings.Contains(err.Error(), "PRODUCT") {
		t.Errorf("the error is %v, want one that names PRODUCT", err)
	}
}
