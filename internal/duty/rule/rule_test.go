package rule

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
)

func interval(t *testing.T, text string) chrono.Interval {
	t.Helper()
	iv, err := chrono.ParseInterval(text)
	if err != nil {
		t.Fatal(err)
	}
	return iv
}

// TestPeriodRulesAtTheirBorders is the worked table of the specification: now is 2026-03-10T12:00Z
// and the period P7D.
func TestPeriodRulesAtTheirBorders(t *testing.T) {
	now, err := chrono.ParseInstant("2026-03-10T12:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	columns := []string{
		`{"type":"loadByPeriod","period":"P7D"}`, `{"type":"loadByPeriod","period":"P7D","includeFuture":false}`,
		`{"type":"dropByPeriod","period":"P7D"}`, `{"type":"dropByPeriod","period":"P7D","includeFuture":false}`,
		`{"type":"dropBeforeByPeriod","period":"P7D"}`,
	}
	rules, err := Parse([]byte("[" + strings.Join(columns, ",") + "]"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		segment string
		want    []bool
	}{
		{"2026-03-02/P1D", []bool{false, false, false, false, true}},
		{"2026-03-03/P1D", []bool{true, true, false, false, false}},
		{"2026-03-03T11/PT1H", []bool{false, false, false, false, true}},
		{"2026-03-03T12/PT1H", []bool{true, true, true, true, false}},
		{"2026-03-05/P1D", []bool{true, true, true, true, false}},
		{"2026-03-10/P1D", []bool{true, true, true, false, false}},
		{"2026-03-10T12/PT1H", []bool{true, false, true, false, false}},
		{"2026-03-20/P1D", []bool{true, false, true, false, false}},
		{chrono.Eternity.String(), []bool{true, true, false, false, false}},
	} {
		iv := chrono.Eternity
		if test.segment != chrono.Eternity.String() {
			iv = interval(t, test.segment)
		}
		got := make([]bool, len(rules))
		for i, r := range rules {
			got[i] = r.Matches(iv, now)
		}
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("segment %s: %s", test.segment, d)
		}
	}
}

func TestIntervalRulesAtTheirBorders(t *testing.T) {
	rules, err := Parse([]byte(`[{"type":"loadByInterval","interval":"2026-01-01/2026-02-01"},{"type":"dropByInterval","interval":"2026-01-01/2026-02-01"},
		{"type":"broadcastByInterval","interval":"2026-01-01/2026-02-01"}]`))
	if err != nil {
		t.Fatal(err)
	}
	for segment, want := range map[string][3]bool{
		"2026-01-31/P1D": {true, true, true}, "2026-01-26/P7D": {true, false, true}, "2026-02-01/P1D": {false, false, false},
	} {
		for i, r := range rules {
			if got := r.Matches(interval(t, segment), 0); got != want[i] {
				t.Errorf("%s on %s: %v", r.Type(), segment, got)
			}
		}
	}
}

func TestFirstMatchOfTheListsDecides(t *testing.T) {
	own, err := Parse([]byte(`[{"type":"dropByInterval","interval":"2026-01-01/2026-02-01"}]`))
	if err != nil {
		t.Fatal(err)
	}
	for segment, want := range map[string]Action{"2026-01-05/P1D": Drop, "2026-02-05/P1D": Load} {
		if r, ok := Find(interval(t, segment), 0, own, LoadForever(1)); !ok || r.Action != want {
			t.Errorf("segment %s: %v, %v", segment, r.Type(), ok)
		}
	}
	if _, ok := Find(interval(t, "2026-02-05/P1D"), 0, own, nil); ok {
		t.Error("a rule matched although none does")
	}
}

func TestRulesAreWrittenWithTheirDefaults(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"loadForever"}`: `{"tieredReplicants":{"_default_tier":2},"useDefaultTierForNull":true,"type":"loadForever"}`,
		`{"type":"loadForever","tieredReplicants":null,"useDefaultTierForNull":false}`: `{"tieredReplicants":{},"useDefaultTierForNull":false,"type":"loadForever"}`,
		`{"type":"loadForever","tieredReplicants":{}}`:                                 `{"tieredReplicants":{},"useDefaultTierForNull":true,"type":"loadForever"}`,
		`{"period":"P1M","type":"loadByPeriod","tieredReplicants":{"hot":1}}`:          `{"period":"P1M","includeFuture":true,"tieredReplicants":{"hot":1},"useDefaultTierForNull":true,"type":"loadByPeriod"}`,
		`{"type":"broadcastByPeriod","period":"P1D","includeFuture":"false"}`:          `{"period":"P1D","includeFuture":false,"type":"broadcastByPeriod"}`,
		`{"type":"dropForever","frob":[1]}`:                                            `{"type":"dropForever"}`,
		`{"type":"dropByPeriod","period":"PT36H","includeFuture":false}`:               `{"period":"PT36H","includeFuture":false,"type":"dropByPeriod"}`,
		`{"type":"dropBeforeByPeriod","period":"P1Y"}`:                                 `{"period":"P1Y","type":"dropBeforeByPeriod"}`,
		`{"type":"dropByInterval","interval":"2012-01-01/2013-01-01"}`:                 `{"interval":"2012-01-01T00:00:00.000Z/2013-01-01T00:00:00.000Z","type":"dropByInterval"}`,
		`{"type":"broadcastForever","colocatedDataSources":["a"]}`:                     `{"type":"broadcastForever"}`,
		`{"type":"broadcastByPeriod","period":"P1D"}`:                                  `{"period":"P1D","includeFuture":true,"type":"broadcastByPeriod"}`,
	} {
		list, err := Parse([]byte("[" + in + "]"))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		got, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != "["+want+"]" {
			t.Errorf("%s\n gave %s\n want %s", in, got, want)
		}
	}
}

func TestBadRulesAreRefused(t *testing.T) {
	for in, want := range map[string]string{
		`null`:                                   "Rules cannot be null.",
		`{}`:                                     "must be a list",
		`"x"`:                                    "must be a list",
		`[{}]`:                                   "no member [type]",
		`[1]`:                                    "must be a list",
		`[{"type":"frob"}]`:                      "[frob] is unknown",
		`[{"type":[1]}]`:                         "[type]",
		`[{"type":"loadByPeriod"}]`:              "period must be specified",
		`[{"type":"loadByPeriod","period":"x"}]`: "[x]",
		`[{"type":"dropByInterval"}]`:            "interval must be specified",
		`[{"type":"dropByInterval","interval":"x"}]`:                   "[x]",
		`[{"type":"loadForever","tieredReplicants":{"t":-1}}]`:         "Invalid number of replicas for tier [t]. Value [-1] must be positive.",
		`[{"type":"loadForever","tieredReplicants":{"t":null}}]`:       "Invalid number of replicas for tier [t]. Value must not be null.",
		`[{"type":"loadForever","tieredReplicants":{"t":"x"}}]`:        "not a whole number",
		`[{"type":"loadForever","tieredReplicants":{"t":3e9}}]`:        "not a whole number",
		`[{"type":"loadForever","tieredReplicants":{"t":1.5}}]`:        "not a whole number",
		`[{"type":"loadByPeriod","period":"P1D","includeFuture":"x"}]`: "[includeFuture]",
	} {
		if _, err := Parse([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"type":"loadByPeriod","period":"P1M","tieredReplicants":{"hot":2}}]`))
	f.Add([]byte(`[{"type":"dropByInterval","interval":"2012/2013"}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := Parse(text)
		if err != nil {
			return
		}
		once, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(once)
		if err != nil {
			t.Fatalf("%s does not come back: %v", once, err)
		}
		if twice, _ := json.Marshal(again); string(twice) != string(once) {
			t.Errorf("%s came back as %s", once, twice)
		}
	})
}
