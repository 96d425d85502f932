// Package sql runs the scripts of this folder: statements with their expected results, by feature,
// under every configuration of the engine. Package testkit/slt describes the scripts.
package sql

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/testkit/engine"
	"github.com/hengedb/henge/internal/testkit/engine/whole"
	"github.com/hengedb/henge/internal/testkit/slt"
)

var rewrite = flag.Bool("rewrite", false, "write the answers of the default configuration into the scripts; the diff is the review")

// configs are the ways every script runs: the answers must not depend on them.
var configs = []slt.Config{
	{Name: slt.DefaultConfig, New: direct(engine.Options{})},
	{Name: "batch3", New: direct(engine.Options{BatchRows: 3})},
	{Name: "segments", New: direct(engine.Options{SegmentRows: 2, Threads: 3, SemiJoinMinRows: 1})},
	{Name: "live", New: direct(engine.Options{SegmentRows: 7, Threads: 2, Live: true})},
	{Name: "spill", New: direct(engine.Options{SegmentRows: 2, BatchRows: 2, MemoryBytes: spillBytes, Disk: spilled, SemiJoinMinRows: 1})},
	{Name: "kept", New: direct(engine.Options{SegmentRows: 2, Threads: 3, Kept: true})},
	{Name: "norules", New: direct(engine.Options{RulesOff: plan.RuleNames()})},
	{Name: "reprint", New: direct(engine.Options{Reprint: true}), Moved: true},
	{Name: "http", New: func(t testing.TB) slt.Engine { return engine.Serve(t, engine.Options{}) }},
	{Name: "fragments", New: func(t testing.TB) slt.Engine {
		return engine.Serve(t, engine.Options{SegmentRows: 2, Threads: 2, Servers: 3, BroadcastRowLimit: 1, SemiJoinMinRows: 1})
	}},
	{Name: "tree", New: func(t testing.TB) slt.Engine {
		return engine.Serve(t, engine.Options{SegmentRows: 2, Threads: 2, Servers: 7, FanIn: 2})
	}},
	{Name: "broken", New: func(t testing.TB) slt.Engine {
		return engine.Serve(t, engine.Options{SegmentRows: 2, Threads: 2, Servers: 5, FanIn: 2, Broken: true})
	}},
	{Name: "server", New: func(t testing.TB) slt.Engine { return whole.New(t) }},
	{Name: "admission", New: func(t testing.TB) slt.Engine { return whole.NewAdmitting(t) }},
	{Name: "cluster", New: func(t testing.TB) slt.Engine { return whole.NewCluster(t) }},
}

// spillBytes is so little that a few rows are too much: a query gets half of it.
const spillBytes = 24 << 10

// spilled counts the bytes that the spill configuration wrote, so that it can't stop spilling
// unnoticed.
var spilled = budget.DiskRoot(budget.Unlimited)

func direct(o engine.Options) func(testing.TB) slt.Engine {
	return func(t testing.TB) slt.Engine { return engine.New(t, o) }
}

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("*/*.slt")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("there are no scripts")
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.ToSlash(file), ".slt")
		t.Run(name, func(t *testing.T) {
			script, err := slt.Parse(file)
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range configs {
				if *rewrite && i > 0 {
					break
				}
				t.Run(c.Name, func(t *testing.T) { slt.Run(t, script, c, *rewrite) })
			}
		})
	}
	if flag.Lookup("test.run").Value.String() == "" && !*rewrite && spilled.Peak() == 0 {
		t.Error("the spill configuration has spilled nothing: lower spillBytes")
	}
}
