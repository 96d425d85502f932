package nativequery

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/jsontext"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// However servers divide the segments and in whatever order they merge, the answer is that of one
// that has them all.
func TestAnalysesAreMergedInAnyOrder(t *testing.T) {
	kinds := []vector.Type{vector.String, vector.Long, vector.Double}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		r := &analysesRequest{Merge: true, Asked: []string{"cardinality", "size", "interval", "minmax", "querygranularity", "timestampspec", "rollup", "aggregators"}}
		n := 2 + random.IntN(6)
		var parts, again []*analysis
		for at := range n {
			info := &segment.Info{Rows: random.IntN(100), Rollup: random.IntN(4) > 0, QueryGranularity: []string{"DAY", "DAY", "HOUR", ""}[random.IntN(4)]}
			if random.IntN(3) == 0 {
				info.Metadata = json.RawMessage(`{"timestampSpec":{"column":"t","format":"iso","missingValue":null}}`)
			}
			for _, c := range random.Perm(5)[:random.IntN(6)] {
				info.Columns = append(info.Columns, segment.ColumnInfo{
					Name: fmt.Sprint("c", c), Type: kinds[max(0, random.IntN(12)-9)], Multi: random.IntN(4) == 0, Nulls: random.IntN(2), Distinct: random.IntN(9),
					Size: int64(random.IntN(99)), Min: fmt.Sprint(random.IntN(9)), Max: fmt.Sprint(random.IntN(9)), MinExact: random.IntN(4) > 0,
					MaxExact: random.IntN(4) > 0, Metric: []string{"", "", "longSum", "longMax"}[random.IntN(4)],
				})
			}
			day := int64(random.IntN(5)) * 86400000
			l := &query.Listed{At: at, ID: fmt.Sprint("s", at), Interval: chrono.Interval{Start: day, End: day + 86400000}, Size: int64(random.IntN(999))}
			parts, again = append(parts, analyze(r, l, info)), append(again, analyze(r, l, info))
		}
		one := parts[0]
		for _, p := range parts[1:] {
			one.merge(p)
		}
		for len(again) > 1 { // two of them meet, and are sent
			i, j := random.IntN(len(again)), random.IntN(len(again))
			if i == j {
				continue
			}
			again[i].merge(again[j])
			text, err := json.Marshal(again[i].send())
			if err != nil {
				t.Fatal(err)
			}
			var s sentAnalysis
			if err := json.Unmarshal(text, &s); err != nil {
				t.Fatal(err)
			}
			again[i] = s.analysis()
			again = append(again[:j], again[j+1:]...)
		}
		how := []lang.AggregatorMerge{lang.MergeStrict, lang.MergeLenient, lang.MergeEarliest, lang.MergeLatest}[seed%4]
		var texts [2]string
		for i, a := range []*analysis{one, again[0]} {
			shown, err := a.finish(how)
			if err != nil {
				t.Fatal(err)
			}
			text, err := jsontext.Marshal(shown)
			if err != nil {
				t.Fatal(err)
			}
			texts[i] = string(text)
		}
		if d := cmp.Diff(texts[0], texts[1]); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
}
