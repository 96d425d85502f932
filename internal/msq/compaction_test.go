package msq

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The segments of a REPLACE that is asked to remember how it wrote them say so, as segments of a
// compaction do.
func TestReplaceStoresCompactionState(t *testing.T) {
	const index = `"indexSpec":{"bitmap":{"type":"roaring"},"dimensionCompression":"lz4","stringDictionaryEncoding":{"type":"utf8"},` +
		`"metricCompression":"lz4","longEncoding":"longs"}`
	const columns = `"dimensionsSpec":{"dimensions":[{"type":"string","name":"k","multiValueHandling":"SORTED_ARRAY","createBitmapIndex":true},` +
		`{"type":"long","name":"n","multiValueHandling":"SORTED_ARRAY","createBitmapIndex":false}],"dimensionExclusions":[],` +
		`"includeAllDimensions":false,"useSchemaDiscovery":false},"metricsSpec":[],"transformSpec":null`
	const granularity = `"granularitySpec":{"type":"uniform","segmentGranularity":"DAY","queryGranularity":{"type":"none"},"rollup":false,"intervals":[` +
		`"-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z"]}`
	for name, c := range map[string]struct {
		cluster []int
		context map[string]any
		want    string
	}{
		"rows": {context: map[string]any{"storeCompactionState": true}, want: `{"partitionsSpec":{"type":"dynamic","maxRowsPerSegment":3000000,` +
			`"maxTotalRows":9223372036854775807},` + columns + `,` + index + `,` + granularity + `}`},
		"ranges": {cluster: []int{1}, context: map[string]any{"storeCompactionState": "true", "rowsPerSegment": 3, "indexSpec": `{"bitmap":{"type":"concise"}}`},
			want: `{"partitionsSpec":{"type":"range","targetRowsPerSegment":null,"maxRowsPerSegment":3,"partitionDimensions":["k"],"assumeGrouped":false},` +
				columns + `,"indexSpec":{"bitmap":{"type":"concise"},"dimensionCompression":"lz4","longEncoding":"longs","metricCompression":"lz4",` +
				`"stringDictionaryEncoding":{"type":"utf8"}},` + granularity + `}`},
		"not asked": {context: map[string]any{}, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			w := insert(t)
			w.Replace, w.ReplaceAll, w.Cluster = true, true, c.cluster
			if _, _, err := b.run(w, c.context); err != nil {
				t.Fatal(err)
			}
			if len(b.meta.used) == 0 {
				t.Fatal("nothing was published")
			}
			for _, s := range b.meta.used {
				got := ""
				if s.Details != nil {
					got = string(s.Details.LastCompactionState)
				}
				if d := cmp.Diff(c.want, got); d != "" || got != "" && !json.Valid([]byte(got)) {
					t.Error(d)
				}
			}
		})
	}
	b := newBench(t)
	if _, _, err := b.run(insert(t), map[string]any{"storeCompactionState": true}); err != nil || b.meta.used[0].Details != nil {
		t.Errorf("an INSERT adds to segments that others wrote: %v, %v", err, b.meta.used[0].Details)
	}
}
