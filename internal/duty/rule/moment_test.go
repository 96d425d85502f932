package rule

import (
	"testing"

	"github.com/hengedb/henge/internal/chrono"
)

// TestAMomentFindsWhatRulesMatch asks about segments at every border of every kind of rule, one by
// one and at once.
func TestAMomentFindsWhatRulesMatch(t *testing.T) {
	now, err := chrono.ParseInstant("2026-03-10T12:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	own, err := Parse([]byte(`[{"type":"dropByInterval","interval":"2026-03-01/P2D"},{"type":"loadByPeriod","period":"PT6H","includeFuture":false},
		{"type":"broadcastByInterval","interval":"2026-03-09/P1D"},{"type":"dropByPeriod","period":"P1D","includeFuture":false}]`))
	if err != nil {
		t.Fatal(err)
	}
	others, err := Parse([]byte(`[{"type":"dropBeforeByPeriod","period":"P7D"},{"type":"loadByPeriod","period":"P2D"},{"type":"loadByPeriod","period":"P-1000000Y"}]`))
	if err != nil {
		t.Fatal(err)
	}
	both := append(append(List{}, own...), others...)
	m := At(now, own, others)
	if m.Len() != len(both) {
		t.Fatalf("[%d] rules of [%d]", m.Len(), len(both))
	}
	found := map[int]int{}
	const hour = chrono.Hour
	for start := now - 12*24*hour; start < now+3*24*hour; start += hour {
		for _, length := range []int64{1, hour, 24 * hour, 7 * 24 * hour} {
			iv := chrono.Interval{Start: start, End: start + length}
			got := m.Find(iv)
			found[got]++
			for i, r := range both {
				if i == got {
					break
				}
				if r.Matches(iv, now) {
					t.Fatalf("interval [%s]: rule [%d] was found, rule [%d] matches", iv, got, i)
				}
			}
			want, ok := Find(iv, now, own, others)
			if ok != (got >= 0) || ok && want.Type() != m.Rule(got).Type() {
				t.Fatalf("interval [%s]: rule [%d] was found, [%s] is the first", iv, got, want.Type())
			}
		}
	}
	for i := -1; i < len(both)-1; i++ { // the last one begins after everything
		if found[i] == 0 {
			t.Errorf("rule [%d] was found for no segment", i)
		}
	}
	if found[len(both)-1] > 0 {
		t.Error("a period that begins after everything matches")
	}
}
