package sql

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
)

// leastExplained is how many of the recorded EXPLAIN statements give the recorded PLAN. It only grows.
const leastExplained = 239

// The PLAN of a statement is JSON that says the same as the reference's.
func TestCorpusExplains(t *testing.T) {
	same, total := 0, 0
	for _, r := range readCorpus(t) {
		if !strings.HasPrefix(strings.ToUpper(r.SQL), "EXPLAIN") || r.Error != nil || len(r.Rows) == 0 {
			continue
		}
		total++
		s, err := r.prepare()
		if err != nil {
			t.Logf("%s: %v", r.SQL, err)
			continue
		}
		context := map[string]any{"timeout": json.Number("10000")}
		maps.Copy(context, s.Context)
		got, err := s.Explanation(context)
		if err != nil {
			t.Errorf("%s: %v", r.SQL, err)
			continue
		}
		want := r.Rows[0]
		if !sameJSON(got.Resources, want[1]) || !sameJSON(got.Attributes, want[2]) {
			t.Errorf("%s: resources %s, attributes %s, want %s, %s", r.SQL, got.Resources, got.Attributes, want[1], want[2])
		}
		if sameJSON(got.Plan, want[0]) {
			same++
		} else {
			t.Logf("%s %v\n  got  %s\n  want %s", r.SQL, r.Context, got.Plan, want[0])
		}
	}
	t.Logf("%d of %d explained alike", same, total)
	if same < leastExplained {
		t.Errorf("only %d plans are like the recorded ones, %d were before", same, leastExplained)
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return reflect.DeepEqual(x, y)
}
