package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestNativeAnswersBySegment asks what depends on how segments divide the rows, as Druid was asked.
func TestNativeAnswersBySegment(t *testing.T) {
	shared := server.Shared(t)
	s := server.Start(t, server.Options{})
	s.LoadGolden(t.Context(), t, shared)
	const (
		types  = `"dataSource":"g_types","intervals":["2020/2022"]`
		hours  = `"dataSource":"g_hours","intervals":["2015-09-12T00/2015-09-12T02"]`
		rows   = `"aggregations":[{"type":"count","name":"rows"}]`
		by     = `"context":{"bySegment":true}`
		firsts = `"segment":"g_hours_2015-09-12T00:00:00.000Z_2015-09-12T01:00:00.000Z_V","interval":"2015-09-12T00:00:00.000Z/2015-09-12T01:00:00.000Z"}}`
		month  = `"segment":"g_types_2021-12-01T00:00:00.000Z_2022-01-01T00:00:00.000Z_V","interval":"2021-12-01T00:00:00.000Z/2022-01-01T00:00:00.000Z"}}`
	)
	described := func(rest string) string { return `{"queryType":"segmentMetadata",` + types + rest + `}` }
	for _, c := range []struct{ name, body, want string }{
		{"buckets", `{"queryType":"timeseries",` + hours + `,"granularity":"all",` + rows + `,` + by + `}`,
			`[{"timestamp":"2015-09-12T00:00:00.000Z","result":{"results":[{"timestamp":"2015-09-12T00:00:00.000Z","result":{"rows":13}}],` + firsts},
		{"groups without their limit", `{"queryType":"groupBy",` + hours + `,"granularity":"all","dimensions":["channel"],` + rows + `,"limitSpec":{"type":"default","limit":1},` + by + `}`,
			`"channel":"#fr.wikipedia"`},
		{"groups without subtotals", `{"queryType":"groupBy",` + types + `,"granularity":"all","dimensions":["s","l"],` + rows + `,"subtotalsSpec":[["l"],[]],"filter":{"type":"selector","dimension":"mv","value":"z"},` + by + `}`,
			`{"timestamp":"2021-12-01T00:00:00.000Z","result":{"results":[{"version":"v1","timestamp":"2020-01-01T00:00:00.000Z","event":{"s":"ab","l":"100","rows":1}}],` + month},
		{"the best", `{"queryType":"topN",` + hours + `,"granularity":"all","dimension":"channel","metric":"rows","threshold":1,` + rows + `,` + by + `}`,
			`"result":[{"channel":"#en.wikipedia","rows":9}]}],` + firsts},
		{"both ends", `{"queryType":"timeBoundary","dataSource":"g_types",` + by + `}`,
			`{"timestamp":"2021-12-01T00:00:00.000Z","result":{"results":[{"timestamp":"2021-12-01T00:00:00.000Z","result":{"maxTime":"2021-12-31T23:59:59.000Z",` +
				`"minTime":"2021-12-31T23:59:59.000Z"}}],` + month + `]`},
		{"the last time", `{"queryType":"dataSourceMetadata","dataSource":"g_types",` + by + `}`,
			`[{"timestamp":"2021-12-01T00:00:00.000Z","result":{"results":[{"timestamp":"2021-12-01T00:00:00.000Z","result":{"maxIngestedEventTime":"2021-12-31T23:59:59.000Z"}}],` + month + `]`},
		{"descriptions", described(`,"analysisTypes":[],"toInclude":{"type":"none"},` + by), `"rollup":null}],` + month + `]`},
		{"bounds of texts in lists", described(`,"toInclude":{"type":"list","columns":["mv"]}`), `"hasMultipleValues":true,"hasNulls":true,"size":0,"cardinality":3,"minValue":null,"maxValue":"y"`},
		{"lists are said to have no nulls", described(`,"toInclude":{"type":"list","columns":["al"]}`),
			`"columns":{"al":{"typeSignature":"ARRAY<LONG>","type":"ARRAY","hasMultipleValues":false,"hasNulls":false`},
		{"nested data that is nothing but texts", `{"queryType":"segmentMetadata","dataSource":"g_types","intervals":["2021/2022"],"toInclude":{"type":"list","columns":["n","as"]}}`,
			`"columns":{"as":{"typeSignature":"COMPLEX<json>","type":"json","hasMultipleValues":false,"hasNulls":false,"size":0,"cardinality":null,"minValue":null,"maxValue":null,` +
				`"errorMessage":null},"n":{"typeSignature":"STRING","type":"STRING","hasMultipleValues":false,"hasNulls":true,"size":0,"cardinality":0,`},
		{"bounds of long texts", `{"queryType":"segmentMetadata","dataSource":"wikiticker","intervals":["2015-09-12T00/2015-09-12T01"],"toInclude":{"type":"list","columns":["comment"]}}`,
			`"minValue":"+[[Category:British songwriters]]; +[[Category:British record producers]] using [[WP:HC|HotCat]]"`},
		{"no aggregators of several segments", `{"queryType":"segmentMetadata",` + hours + `,"merge":"true","analysisTypes":["aggregators"]}`, `"aggregators":null`},
		{"how rows were loaded", described(`,"merge":true,"analysisTypes":["timestampSpec","queryGranularity","rollup"],"toInclude":{"type":"none"}`),
			`"timestampSpec":{"column":"t","format":"iso","missingValue":null},"queryGranularity":{"type":"none"},"rollup":false`},
		{"how rows of a statement were loaded", `{"queryType":"segmentMetadata",` + hours + `,"merge":true,"analysisTypes":["timestampSpec"],"toInclude":{"type":"none"}}`,
			`"timestampSpec":{"column":"__time","format":"millis","missingValue":null}`},
		{"the default interval in spite of others", described(`,"usingDefaultInterval":true,"toInclude":{"type":"none"}`), `[{"id":"g_types_2021-12-01`},
		{"types of a segment's columns", `{"queryType":"scan",` + types + `,"columns":["as","n"],"limit":0}`,
			`"events":[{"as":[],"n":"plain"}],"rowSignature":[{"name":"as","type":"COMPLEX<json>"},{"name":"n","type":"STRING"}]}]`},
		{"the first segment's types", `{"queryType":"scan",` + types + `,"columns":["as","n"],"limit":1,"offset":1}`,
			`"events":[{"as":["only"],"n":{"k":{"z":2.5}}}],"rowSignature":[{"name":"as","type":"ARRAY<STRING>"},{"name":"n","type":"COMPLEX<json>"}]}]`},
		{"a scan of a union, table by table", `{"queryType":"scan","dataSource":{"type":"union","dataSources":["g_types","g_hours"]},` +
			`"intervals":["2015-09-12T00/2015-09-12T01","2020/2021"],` +
			`"columns":["cnt","l"],"filter":{"type":"or","fields":[{"type":"selector","dimension":"countryName","value":"Australia"},{"type":"selector","dimension":"l","value":"0"}]},` +
			`"limit":2,"resultFormat":"compactedList"}`, `[{"segmentId":"g_hours_2015-09-12T00:00:00.000Z_2015-09-12T01:00:00.000Z_V","columns":["cnt","l"],"events":[[1,null]],` +
			`"rowSignature":[{"name":"cnt","type":"LONG"},{"name":"l"}]},{"segmentId":"g_types_2020-02-01T00:00:00.000Z_2020-03-01T00:00:00.000Z_V","columns":["cnt","l"],` +
			`"events":[[null,0]],"rowSignature":[{"name":"cnt"},{"name":"l","type":"LONG"}]}]`},
		{"a scan of old clients", `{"queryType":"scan",` + types + `,"columns":["s"],"limit":1,"legacy":true,"resultFormat":"compactedList"}`,
			`"columns":["timestamp","s"],"events":[["2020-01-01T00:00:00.000Z","a"]],"rowSignature":[{"name":"timestamp","type":"LONG"},{"name":"s","type":"STRING"}]}]`},
		{"times as numbers", `{"queryType":"timeseries",` + types + `,"granularity":"year",` + rows + `,"descending":"true","context":{"serializeDateTimeAsLong":true}}`,
			`[{"timestamp":1609459200000,"result":{"rows":1}},{"timestamp":1577836800000,"result":{"rows":5}}]`},
		{"groups of rows with one value", `{"queryType":"groupBy",` + types + `,"granularity":"all","dimensions":["s"],"limitSpec":{"type":"default","limit":1},"context":{"groupByEnableMultiValueUnnesting":false}}`, `"event":{"s":`},
		{"groups of a topN", `{"queryType":"topN",` + types + `,"granularity":"all","dimension":"mv","metric":"rows","threshold":1,` + rows + `,"context":{"groupByEnableMultiValueUnnesting":false}}`, `"rows":`},
		{"only unpublished segments", `{"queryType":"timeseries",` + hours + `,"granularity":"all",` + rows + `,"context":{"realtimeSegmentsMode":"exclusive"}}`, `"result":{"rows":0}`},
		{"descriptions of unpublished segments", described(`,"context":{"realtimeSegmentsOnly":true}`), `[]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, _, got := post(t, s, "/service/v2", c.body)
			if got = segmentVersion.ReplaceAllString(got, `_V"`); status != http.StatusOK || !strings.Contains(got, c.want) {
				t.Errorf("status %d\n%s, want in it\n%s", status, got, c.want)
			}
		})
	}
	for _, c := range []struct{ name, body, want string }{
		{"groups of rows with several values", `{"queryType":"groupBy",` + types + `,"granularity":"all","dimensions":[{"type":"default","dimension":"mv","outputName":"x"}],"context":{"groupByEnableMultiValueUnnesting":"false"}}`,
			`Encountered multi-value dimension [x] that cannot be processed with 'groupByEnableMultiValueUnnesting' set to false.`},
		{"unknown segments", `{"queryType":"timeseries",` + hours + `,"granularity":"all",` + rows + `,"context":{"realtimeSegmentsMode":"all"}}`,
			`Expected key [realtimeSegmentsMode] to be one of [include, exclude, exclusive], but got [all]`},
		{"a scan", `{"queryType":"scan",` + types + `,` + by + `}`, "can't be set for a scan"},
		{"a word that is no way to vectorize", `{"queryType":"timeBoundary","dataSource":"g_types","context":{"vectorize":"maybe"}}`, "Expected key [vectorize] to be one of [true, false, force]"},
		{"a strategy that never was", `{"queryType":"groupBy",` + types + `,"granularity":"all","context":{"groupByStrategy":"v3"}}`, "Expected key [groupByStrategy]"},
		{"a number as a switch", `{"queryType":"timeseries",` + types + `,"granularity":"all","context":{"skipEmptyBuckets":5}}`, "Expected key [skipEmptyBuckets] to be a Boolean"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status, _, got := post(t, s, "/service/v2", c.body); status != http.StatusBadRequest || !strings.Contains(got, c.want) {
				t.Errorf("status %d: %s, want 400 with [%s]", status, got, c.want)
			}
		})
	}
}
