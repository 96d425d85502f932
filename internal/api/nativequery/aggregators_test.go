package nativequery

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

func TestAggregatorsOfASegment(t *testing.T) {
	got := aggregatorsOf(&segment.Info{Columns: []segment.ColumnInfo{
		{Name: "k", Type: vector.String},
		{Name: "n", Type: vector.Long, Metric: "COUNT"},
		{Name: "d", Type: vector.Double, Metric: "MAX"},
	}})
	want := map[string]any{
		"n": map[string]any{"type": "longSum", "name": "n", "fieldName": "n"},
		"d": map[string]any{"type": "doubleMax", "name": "d", "fieldName": "d"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMergeAggregators(t *testing.T) {
	sum, other, text := map[string]any{"n": "sum"}, map[string]any{"n": "max", "m": "min"}, map[string]any{"s": "any"}
	for _, c := range []struct {
		how        lang.AggregatorMerge
		a, b, want map[string]any
	}{
		{lang.MergeStrict, sum, text, map[string]any{"n": "sum", "s": "any"}},
		{lang.MergeStrict, sum, other, nil},
		{lang.MergeStrict, sum, nil, nil},
		{lang.MergeStrict, nil, sum, nil},
		{lang.MergeLenient, sum, other, map[string]any{"n": nil, "m": "min"}},
		{lang.MergeLenient, sum, nil, sum},
		{lang.MergeLenient, nil, sum, sum},
		{lang.MergeEarliest, sum, other, sum},
		{lang.MergeEarliest, nil, other, other},
		{lang.MergeLatest, sum, other, other},
		{lang.MergeLatest, sum, nil, sum},
	} {
		if diff := cmp.Diff(c.want, mergeAggregators(c.how, c.a, c.b)); diff != "" {
			t.Errorf("%s of %v and %v: %s", c.how, c.a, c.b, diff)
		}
	}
}

// What segments without aggregators are together says nothing, which fits nothing; the first of
// them alone fits all.
func TestAggregatorsOfSegmentsWithout(t *testing.T) {
	none, sum := []byte(`{}`), []byte(`{"n":"sum"}`)
	for _, c := range []struct {
		how  lang.AggregatorMerge
		said []saidAt
		want map[string]any
	}{
		{lang.MergeStrict, []saidAt{{0, 0, none}, {1, 1, sum}}, map[string]any{"n": "sum"}},
		{lang.MergeStrict, []saidAt{{0, 1, none}, {2, 2, sum}}, nil},
		{lang.MergeLenient, []saidAt{{0, 1, none}, {2, 2, sum}}, map[string]any{"n": "sum"}},
	} {
		got, err := foldSaid(c.how, c.said)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.how, diff)
		}
	}
}

func TestGranularityOf(t *testing.T) {
	for name, want := range map[string]any{
		"SIX_HOUR": "SIX_HOUR", "DAY": "DAY", "NONE": map[string]string{"type": "none"}, "ALL": map[string]string{"type": "all"}, "weekly": "weekly",
	} {
		if diff := cmp.Diff(want, granularityOf(name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
