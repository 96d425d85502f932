package broker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/lookup"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/timeline"
)

const day = 24 * 60 * 60 * 1000

// segmentOf returns a segment of the nth day of 1970 with the given version and columns ("name
// TYPE", with "multi" or "metric" behind).
func segmentOf(dataSource string, n int64, version string, columns ...string) *timeline.Segment {
	list := []timeline.Column{{Name: timeline.TimeColumn, Type: "LONG"}}
	for _, text := range columns {
		var name, kind, more string
		_, _ = fmt.Sscan(text, &name, &kind, &more) // the third word may be missing
		list = append(list, timeline.Column{Name: name, Type: kind, MultiValue: more == "multi", Metric: more == "metric"})
	}
	return &timeline.Segment{
		ID:    timeline.SegmentID{DataSource: dataSource, Interval: chrono.Interval{Start: n * day, End: (n + 1) * day}, Version: version},
		Shard: timeline.Numbered{Core: 1}, Schema: timeline.NewSchema(list), Size: 10, Rows: 3, BinaryVersion: timeline.BinaryVersion,
	}
}

func stateOf(segments ...*timeline.Segment) *timeline.State {
	return timeline.NewState(1, slices.Values(segments))
}

func columnsOf(t *testing.T, segments ...*timeline.Segment) []string {
	t.Helper()
	table, err := catalog{pin{state: stateOf(segments...)}, &schemaCache{}, &lookup.View{}, nil}.Table(t.Context(), sql.SchemaData, "ds")
	if err != nil {
		t.Fatal(err)
	}
	if table == nil {
		return nil
	}
	var out []string
	for _, c := range table.Columns {
		text := c.Name + " " + c.Type.String()
		if c.Type.Multi {
			text += " multi"
		}
		if !c.Type.Nullable {
			text += " not null"
		}
		out = append(out, text)
	}
	return out
}

func TestColumnsOfADataSource(t *testing.T) {
	for name, tc := range map[string]struct {
		segments []*timeline.Segment
		want     []string
	}{
		"one segment": {
			[]*timeline.Segment{segmentOf("ds", 0, "1", "b STRING", "m LONG metric", "a DOUBLE", "tags STRING multi", "list ARRAY<LONG>", "j COMPLEX<json>")},
			[]string{"__time TIMESTAMP not null", "b VARCHAR", "a DOUBLE", "tags VARCHAR multi", "list BIGINT ARRAY", "j COMPLEX<json>", "m BIGINT"},
		},
		"the newest decides the order, older ones add at the end": {
			[]*timeline.Segment{segmentOf("ds", 0, "2", "c STRING", "a STRING"), segmentOf("ds", 1, "1", "a STRING", "old STRING", "sum LONG metric"), segmentOf("ds", 2, "3", "new STRING", "count LONG metric")},
			[]string{"__time TIMESTAMP not null", "new VARCHAR", "c VARCHAR", "a VARCHAR", "old VARCHAR", "count BIGINT", "sum BIGINT"},
		},
		"columns of what was replaced are gone": {
			[]*timeline.Segment{segmentOf("ds", 0, "1", "a STRING", "gone LONG"), segmentOf("ds", 0, "2", "a DOUBLE")},
			[]string{"__time TIMESTAMP not null", "a DOUBLE"},
		},
		"a tombstone says nothing": {
			[]*timeline.Segment{segmentOf("ds", 0, "1", "a STRING"), timeline.NewTombstone(segmentOf("ds", 3, "9").ID)},
			[]string{"__time TIMESTAMP not null", "a VARCHAR"},
		},
		"a type of a newer release is left out": {
			[]*timeline.Segment{segmentOf("ds", 0, "1", "a STRING", "x QUATERNION")},
			[]string{"__time TIMESTAMP not null", "a VARCHAR"},
		},
		"other datasources do not matter": {[]*timeline.Segment{segmentOf("other", 0, "1", "a STRING")}, nil},
		"only tombstones":                 {[]*timeline.Segment{timeline.NewTombstone(segmentOf("ds", 3, "9").ID)}, nil},
	} {
		if diff := cmp.Diff(tc.want, columnsOf(t, tc.segments...)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A column that differs between segments gets the least restrictive type (spec/sql.md, section
// 6.1), whichever segment is newer.
func TestTypesWiden(t *testing.T) {
	for _, tc := range []struct{ a, b, want string }{
		{"LONG", "LONG", "BIGINT"},
		{"LONG", "FLOAT", "FLOAT"},
		{"LONG", "DOUBLE", "DOUBLE"},
		{"FLOAT", "DOUBLE", "DOUBLE"},
		{"LONG", "STRING", "VARCHAR"},
		{"DOUBLE", "STRING", "VARCHAR"},
		{"STRING", "STRING multi", "VARCHAR multi"},
		{"LONG", "STRING multi", "VARCHAR multi"},
		{"ARRAY<LONG>", "STRING multi", "VARCHAR ARRAY"},
		{"LONG", "COMPLEX<json>", "COMPLEX<json>"},
		{"ARRAY<LONG>", "COMPLEX<json>", "COMPLEX<json>"},
		{"LONG", "ARRAY<LONG>", "BIGINT ARRAY"},
		{"LONG", "ARRAY<STRING>", "VARCHAR ARRAY"},
		{"ARRAY<LONG>", "ARRAY<DOUBLE>", "DOUBLE ARRAY"},
		{"COMPLEX<hyperUnique>", "LONG", "VARCHAR"},
		{"COMPLEX<hyperUnique>", "COMPLEX<hyperUnique>", "COMPLEX<hyperUnique>"},
	} {
		want := []string{"__time TIMESTAMP not null", "x " + tc.want}
		for _, versions := range [][2]string{{"1", "2"}, {"2", "1"}} {
			got := columnsOf(t, segmentOf("ds", 0, versions[0], "x "+tc.a), segmentOf("ds", 1, versions[1], "x "+tc.b))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s and %s: %s", tc.a, tc.b, diff)
			}
		}
	}
}

func TestNamesAndOtherSchemas(t *testing.T) {
	c := catalog{pin{state: stateOf(segmentOf("b", 0, "1"), segmentOf("a", 0, "1"))}, &schemaCache{}, &lookup.View{}, nil}
	if diff := cmp.Diff([]string{"a", "b"}, c.Names(t.Context(), sql.SchemaData)); diff != "" {
		t.Error(diff)
	}
	if names := c.Names(t.Context(), sql.SchemaLookup); names != nil {
		t.Errorf("lookups %v", names)
	}
	if table, err := c.Table(t.Context(), sql.SchemaLookup, "a"); table != nil || err != nil {
		t.Errorf("a datasource as a lookup: %v, %v", table, err)
	}
}

// Planning looks at each state of a datasource once.
func TestSchemasAreRemembered(t *testing.T) {
	var cache schemaCache
	columns := func(s *timeline.State) []plan.Column { return cache.of("ds", pin{state: s}).columns }
	first := stateOf(segmentOf("ds", 0, "1", "a STRING"))
	before := columns(first)
	if again := columns(first); &before[0] != &again[0] {
		t.Error("the same state was looked at twice")
	}
	second := first.Apply(2, timeline.Added(segmentOf("ds", 1, "2", "b STRING")))
	if got := columns(second); len(got) != 3 {
		t.Errorf("after a change: %v", got)
	}
	if got := columns(first); len(got) != 2 {
		t.Errorf("an older state: %v", got)
	}
}

func TestWidenIsSymmetric(t *testing.T) {
	types := []expr.Type{
		expr.Of(expr.BigInt), expr.Of(expr.Float), expr.Of(expr.Double), expr.Of(expr.Varchar), expr.MultiString, expr.JSON, expr.ComplexOf("hyperUnique"),
		expr.ArrayOf(expr.Of(expr.BigInt)), expr.ArrayOf(expr.Of(expr.Varchar)),
	}
	for _, a := range types {
		for _, b := range types {
			if x, y := Widen(a, b), Widen(b, a); x != y {
				t.Errorf("%s with %s is %s, the other way %s", a, b, x, y)
			}
			if x := Widen(Widen(a, b), a); x != Widen(a, b) {
				t.Errorf("%s with %s is %s, and with %s again %s", a, b, Widen(a, b), a, x)
			}
		}
	}
}

// What is known of all rows of a datasource is what a walk over its visible segments counts: a
// chunk that a newer one interrupts is read on both sides of it.
func TestRowsOfADataSource(t *testing.T) {
	with := func(s *timeline.Segment, days, rows int64) *timeline.Segment {
		s.ID.Interval.End = s.ID.Interval.Start + days*day
		s.Rows = rows
		return s
	}
	for name, tc := range map[string]struct {
		segments []*timeline.Segment
		rows     float64
		stored   int64
	}{
		"nothing":         {nil, 0, 0},
		"days":            {[]*timeline.Segment{segmentOf("ds", 0, "1", "a STRING"), segmentOf("ds", 1, "1", "b STRING")}, 6, 6},
		"one is hidden":   {[]*timeline.Segment{segmentOf("ds", 0, "1", "a STRING"), with(segmentOf("ds", 0, "2", "a STRING"), 1, 5)}, 5, 5},
		"half is hidden":  {[]*timeline.Segment{with(segmentOf("ds", 0, "1", "a STRING"), 2, 30), segmentOf("ds", 1, "2", "a STRING")}, 18, 33},
		"interrupted":     {[]*timeline.Segment{with(segmentOf("ds", 0, "1", "a STRING"), 3, 30), segmentOf("ds", 1, "2", "a STRING")}, 23, 63},
		"a tombstone":     {[]*timeline.Segment{segmentOf("ds", 0, "1", "a STRING"), timeline.NewTombstone(segmentOf("ds", 0, "2").ID)}, 0, 0},
		"unknown numbers": {[]*timeline.Segment{segmentOf("ds", 0, "1", "a STRING"), with(segmentOf("ds", 1, "1", "a STRING"), 1, -1)}, 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			state := stateOf(tc.segments...)
			e := (&schemaCache{}).of("ds", pin{state: state})
			walked, all := int64(0), &tables{pinned: state, state: state}
			for _, s := range all.visible(&plan.Scan{DataSource: "ds"}) {
				walked += max(s.Rows, 0)
			}
			if e.rows != tc.rows || e.stored != tc.stored || walked != tc.stored || visibleRows(state.Timeline("ds"), chrono.Eternity) != tc.rows {
				t.Errorf("%v rows, %d stored, %d walked over, want %v and %d", e.rows, e.stored, walked, tc.rows, tc.stored)
			}
		})
	}
}
