package grammar_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/testkit/engine"
	"github.com/hengedb/henge/internal/testkit/grammar"
	"github.com/hengedb/henge/internal/testkit/oracle"
	"github.com/hengedb/henge/internal/testkit/slt"
	"github.com/hengedb/henge/internal/vector"
)

var (
	seed     = flag.Uint64("seed", 0, "play only the round of this seed")
	first    = flag.Uint64("first", 1, "the seed of the first random round")
	duration = flag.Duration("duration", 0, "how long random rounds are played behind the first one, which covers the table")
	update   = flag.Bool("update", false, "write the tables of docs/testing.md")
	ask      = flag.String("ask", "", "only run this statement over the tables of -seed, and show what everyone says")
	every    = flag.Bool("every", false, "go on behind a difference, and list all of them")
)

// world is the same tables in engines that run statements in different ways, and for the oracle.
type world struct {
	maker  *grammar.Maker
	random *rand.Rand
	tables oracle.Tables
	// plain runs statements without rewrite rules, over one segment; other in a random way.
	plain, other *engine.Direct
	options      engine.Options
	// asked counts statements, known those that the oracle answered, empty those without rows.
	asked, known, empty int
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{maker: grammar.New(seed), random: rand.New(rand.NewPCG(seed, 9)), tables: oracle.Tables{}}
	r := rand.New(rand.NewPCG(seed, 1))
	w.options = engine.Options{BatchRows: r.IntN(8), Threads: r.IntN(4), SegmentRows: r.IntN(12), Reprint: r.IntN(4) == 0,
		Kept: r.IntN(4) == 0, Live: r.IntN(4) == 0,
		BroadcastRowLimit: float64(r.IntN(2)), SemiJoinMinRows: float64(r.IntN(2))}
	if r.IntN(4) == 0 {
		w.options.MemoryBytes = 64 << 10
	}
	for _, rule := range plan.RuleNames() {
		if r.IntN(5) == 0 {
			w.options.RulesOff = append(w.options.RulesOff, rule)
		}
	}
	w.plain, w.other = engine.New(t, engine.Options{RulesOff: plan.RuleNames()}), engine.New(t, w.options)
	id := int64(1)
	for _, name := range []string{"t", "u"} {
		table, err := w.maker.Rows(map[string]int{"t": 24, "u": 10}[name], id)
		if err != nil {
			t.Fatal(err)
		}
		id += 50
		w.tables[name] = table
		for _, e := range []*engine.Direct{w.plain, w.other} {
			if err := e.Load(t.Context(), &slt.Load{DataSource: name, Version: "1", Table: *table}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}

// rows runs a statement. With tables it asks the oracle, too: want is nil where that does not know.
func rows(ctx context.Context, e *engine.Direct, sql string, tables oracle.Tables) (got, want [][]any, err error) {
	err = exec.Protect(func() error {
		p, err := e.Prepare(ctx, &slt.Statement{SQL: sql, Context: map[string]any{"useApproximateCountDistinct": false}})
		if err != nil {
			return err
		}
		if tables != nil {
			if want, err = oracle.Run(p.Plan, tables); err != nil {
				want = nil
			} else if want == nil {
				want = [][]any{}
			}
		}
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
				got = append(got, row)
			}
			return nil
		})
	})
	return got, want, err
}

// try runs the statements of a case and compares them. The answer is what is wrong, "" if nothing
// is.
func (w *world) try(ctx context.Context, statements []string, ordered bool) string {
	base, want, err := rows(ctx, w.plain, statements[0], w.tables)
	if err != nil {
		return fmt.Sprintf("%s\n%v", statements[0], err)
	}
	w.asked++
	if len(base) == 0 {
		w.empty++
	}
	if want != nil {
		w.known++
		if d := oracle.Differ(want, base, ordered); d != "" {
			return fmt.Sprintf("%s\nwant is the oracle's, got that of the plain engine\n%s", statements[0], d)
		}
	}
	for i, s := range statements {
		got, _, err := rows(ctx, w.other, s, nil)
		if f := fault.Find(err); f != nil && f.Legacy == fault.LegacyResourceLimit && w.options.MemoryBytes > 0 {
			continue // too little memory even with spilling is no wrong answer
		}
		if err != nil {
			return fmt.Sprintf("%s\n%v", s, err)
		}
		w.asked++
		if d := oracle.Differ(base, got, ordered); d != "" {
			if i == 0 {
				return fmt.Sprintf("%s\nwant is the plain engine's\n%s", s, d)
			}
			return fmt.Sprintf("%s\nwant is that of the plain engine for\n%s\n%s", s, statements[0], d)
		}
	}
	return ""
}

// rounds plays rounds from the first seed on for as long as *duration, at least one. Differences
// are errors at once, or, with -every, at the end.
func rounds(t *testing.T, name string, round func(w *world, note func(cell, difference string))) {
	start := clock.System().Now()
	differences := map[string]string{}
	var asked, known, empty int
	from := cmp.Or(*seed, *first)
	s := from
	for ; s == from || *seed == 0 && clock.System().Now().Sub(start) < *duration; s++ {
		ok := t.Run(fmt.Sprint(s), func(t *testing.T) { // a test of its own, so that its segments are closed behind it
			w := newWorld(t, s)
			round(w, func(cell, d string) {
				d = fmt.Sprintf("%s\nseed %d, %+v\n%s", cell, s, w.options, d)
				if !*every {
					t.Fatal(d)
				}
				differences[cell] = d
			})
			asked, known, empty = asked+w.asked, known+w.known, empty+w.empty
		})
		if !ok {
			t.Fatalf("play this round again with -run %s -seed %d", name, s)
		}
	}
	for _, cell := range slices.Sorted(maps.Keys(differences)) {
		t.Error(differences[cell])
	}
	t.Logf("seeds %d to %d: %d statements, %d of them known to the oracle, %d without rows", from, s-1, asked, known, empty)
}

// pending are cells that the engine answers wrongly, with what is wrong.
var pending = map[string]string{}

// TestProductions runs a statement of each production with each type, and with more time ever
// more of them.
func TestProductions(t *testing.T) {
	var table grammar.Table
	rounds(t, "Productions", func(w *world, note func(string, string)) {
		for _, p := range grammar.Productions {
			for _, of := range grammar.Types {
				column := of.Name
				switch {
				case p.Classes == 0 && of == grammar.Types[0]:
					column = grammar.AnyType
				case !p.Makes(of):
					continue
				}
				d := w.try(t.Context(), w.maker.Make(p, of).Statements, p.Ordered)
				if cell := p.Key() + " / " + column; d != "" && pending[cell] == "" {
					note(cell, d)
					continue
				}
				table.Count(p.Key(), column)
			}
		}
	})
	if cells := table.Empty(); len(cells) > 0 {
		t.Errorf("nobody made a statement of %d cells: %s", len(cells), strings.Join(cells, ", "))
	}
	document(t, "productions", table.Markdown())
}

// TestFrames runs every frame of a window, with and without ORDER BY and exclusions.
func TestFrames(t *testing.T) {
	var table grammar.Table
	rounds(t, "Frames", func(w *world, note func(string, string)) {
		for _, f := range grammar.Frames {
			for _, column := range grammar.FrameColumns {
				if !f.Makes(column) {
					continue
				}
				if d := w.try(t.Context(), w.maker.Frame(f, column), false); d != "" {
					note(f.String()+" / "+column, d)
					continue
				}
				table.Count(f.String(), column)
			}
		}
	})
	var rows []string
	for _, f := range grammar.Frames {
		rows = append(rows, f.String())
		for _, c := range grammar.FrameColumns {
			if f.Makes(c) && !table.Has(f.String(), c) {
				t.Errorf("nobody made a statement with %s / %s", f, c)
			}
		}
	}
	document(t, "frames", table.Grid("Frame", rows, grammar.FrameColumns))
}

// TestPairs compares values of every pair of types by joins, semi joins, anti joins and those
// that know of NULL. Two types that cannot be
// compared are refused by all of them.
func TestPairs(t *testing.T) {
	var table grammar.Table
	rounds(t, "Pairs", func(w *world, note func(string, string)) {
		for _, a := range comparable() {
			for _, b := range comparable() {
				refused := ""
				for kind := range grammar.PairKinds {
					statements := w.maker.Pair(kind, a, b)
					if _, _, err := rows(t.Context(), w.plain, statements[0], nil); err != nil {
						if f := fault.Find(err); f == nil || f.Category != fault.CategoryInvalidInput || kind > 0 && refused == "" {
							note(a.Name+" / "+b.Name, fmt.Sprintf("%s\n%v, and other statements are not refused", statements[0], err))
						}
						refused = err.Error()
						continue
					}
					if refused != "" {
						note(a.Name+" / "+b.Name, fmt.Sprintf("%s\nis answered, and other statements are refused: %s", statements[0],
							refused))
					}
					if d := w.try(t.Context(), statements, false); d != "" {
						note(a.Name+" / "+b.Name, d)
					}
				}
				if refused == "" {
					table.Count(a.Name, b.Name)
				}
			}
		}
	})
	var names []string
	for _, a := range comparable() {
		names = append(names, a.Name)
	}
	document(t, "pairs", table.Grid("Compared", names, names))
}

// comparable are the types whose values are compared with those of others.
func comparable() (out []*grammar.Type) {
	for _, of := range grammar.Types {
		if of.Class&grammar.Plain != 0 {
			out = append(out, of)
		}
	}
	return out
}

// document compares a table with that of docs/testing.md, or writes it there. With other seeds
// there may be more in it, so it is left alone.
func document(t *testing.T, name, table string) {
	t.Helper()
	if *seed != 0 || *first != 1 {
		return
	}
	const path = "../../../docs/testing.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, found := strings.Cut(string(text), begin)
	_, behind, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table of %s", path, name)
	}
	want := before + begin + table + end + behind
	switch {
	case want == string(text):
	case !*update:
		t.Errorf("the table of %s in %s is not current: write it with go test ./internal/testkit/grammar -update", name, path)
	default:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAsk shows what the engines and the oracle say of one statement, for who looks into a
// difference.
func TestAsk(t *testing.T) {
	if *ask == "" {
		t.Skip("no -ask")
	}
	w := newWorld(t, max(*seed, 1))
	plain, want, err := rows(t.Context(), w.plain, *ask, w.tables)
	t.Logf("plain: %v %v", plain, err)
	t.Logf("oracle: %v", want)
	other, _, err := rows(t.Context(), w.other, *ask, nil)
	t.Logf("%+v: %v %v", w.options, other, err)
}
