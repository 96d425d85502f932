package agg

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/vector"
)

func TestMetrics(t *testing.T) {
	for text, params := range map[string][]any{
		"SUM":                   nil,
		"DS_HLL(14,'HLL_8')":    {int64(14), "HLL_8"},
		"X(1.5e+00,'it''s',-3)": {1.5, "it's", int64(-3)},
	} {
		s, err := ParseMetric(text, HLLType)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(params, s.Params); d != "" {
			t.Errorf("%s: %s", text, d)
		}
		if got := s.Metric(); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	for _, bad := range []string{"X(", "X(1", "X('a", "X(a)", "X(,)"} {
		if _, err := ParseMetric(bad, vector.Long); err == nil || err.Error() != "The metric ["+bad+"] of a segment can't be read" {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
