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

// Parts of plans that the reference gave for statements over columns of whole numbers (i) and of fractions (d, x, f).
func TestExplainsOfNumbers(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT COUNT(*) FROM c_types WHERE x = 3", `{"type":"equals","column":"x","matchValueType":"DOUBLE","matchValue":3.0}`},
		{"SELECT COUNT(*) FROM c_types WHERE f IN (3, 4.5)", `{"type":"equals","column":"f","matchValueType":"FLOAT","matchValue":3.0},{"type":"equals","column":"f","matchValueType":"FLOAT","matchValue":4.5}`},
		{"SELECT COUNT(*) FROM c_types WHERE i = x", `"expression":"(CAST(\"i\", 'DOUBLE') == \"x\")"`},
		{"SELECT x > l, x >= 3 FROM c_types", `"expression":"(\"x\" > \"l\")"`},
		{"SELECT x > l, x >= 3 FROM c_types", `"expression":"(\"x\" >= 3)"`},
		{"SELECT x = 3 FROM c_types", `"expression":"(\"x\" == 3.0)"`},
		{"SELECT SUM(CASE WHEN s2 = 'red' THEN d ELSE 0 END) FROM c_types", `"expression":"case_searched((\"s2\" == 'red'),\"d\",0.0)"`},
		{"SELECT AVG(CASE WHEN s2 = 'red' THEN 1 ELSE 0 END) FROM c_types", `{"type":"count","name":"a0:count"}]`},
		{"SELECT AVG(CASE WHEN s2 = 'red' THEN i END) FROM c_types", `{"type":"longSum","name":"a0:sum","fieldName":"i"},"filter":{"type":"equals","column":"s2"`},
	} {
		s, err := prepare("EXPLAIN PLAN FOR " + c.sql)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Explanation(nil)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got.Plan, c.want) {
			t.Errorf("%s: plan %s\nwant it with %s", c.sql, got.Plan, c.want)
		}
	}
}
