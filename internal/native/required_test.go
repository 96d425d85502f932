package native

import (
	"context"
	"strings"
	"testing"
)

func TestPartsWithoutWhatTheyNeed(t *testing.T) {
	timeseries := func(rest string) string {
		return `{"queryType":"timeseries","dataSource":"wiki","intervals":["2015/2016"],"granularity":"all",` + rest + `}`
	}
	filter := func(f string) string { return timeseries(`"filter":` + f) }
	groups := func(dimension string) string {
		return `{"queryType":"groupBy","dataSource":"wiki","intervals":["2015/2016"],"granularity":"all","dimensions":[` + dimension + `]}`
	}
	for _, c := range []struct{ body, want string }{
		{filter(`{"type":"selector","value":"x"}`), "Filter of type [selector] needs [dimension]"},
		{filter(`{"type":"in","dimension":"page"}`), "Filter of type [in] needs [values]"},
		{filter(`{"type":"like","dimension":"page"}`), "Filter of type [like] needs [pattern]"},
		{filter(`{"type":"regex","dimension":"page","pattern":null}`), "Filter of type [regex] needs [pattern]"},
		{filter(`{"type":"interval","dimension":"__time"}`), "Filter of type [interval] needs [intervals]"},
		{filter(`{"type":"interval","dimension":"__time","intervals":[]}`), "needs at least one interval"},
		{filter(`{"type":"equals","column":"added","matchValue":36}`), "Filter of type [equals] needs [matchValueType]"},
		{filter(`{"type":"range","column":"added","lower":1}`), "Filter of type [range] needs [matchValueType]"},
		{filter(`{"type":"null"}`), "Filter of type [null] needs [column]"},
		{filter(`{"type":"selector","dimension":"page","value":"x","extractionFn":{"type":"regex"}}`), "Extraction function of type [regex] needs [expr]"},
		{filter(`{"type":"search","dimension":"page","query":{"type":"regex"}}`), "Search query of type [regex] needs [pattern]"},
		{timeseries(`"aggregations":[{"type":"count"}]`), "Aggregator of type [count] needs [name]"},
		{timeseries(`"aggregations":[{"type":"longMin","name":"m"}]`), "Aggregator of type [longMin] needs [fieldName] or [expression]"},
		{timeseries(`"aggregations":[{"type":"longMin","name":"m","fieldName":"","expression":"added"}]`), "Aggregator of type [longMin] can't have [fieldName] and [expression]"},
		{timeseries(`"aggregations":[{"type":"thetaSketch","name":"m"}]`), "Aggregator of type [thetaSketch] needs [fieldName]"},
		{timeseries(`"postAggregations":[{"type":"KllFloatsSketchToRank","value":1,"field":{"type":"fieldAccess","fieldName":"m"}}]`),
			"Post-aggregator of type [KllFloatsSketchToRank] needs [name]"},
		{timeseries(`"aggregations":[{"type":"quantilesDoublesSketch","name":"m","fieldName":"added","maxStreamLength":true}]`), "Member [maxStreamLength] of the query is [true]; want a whole number"},
		{timeseries(`"aggregations":[{"type":"filtered","aggregator":{"type":"count","name":"c"}}]`), "Aggregator of type [filtered] needs [filter]"},
		{filter(`{"type":"and","fields":[null]}`), "needs at least one field"},
		{filter(`{"type":"bound","dimension":"page"}`), "needs lower or upper"},
		{filter(`{"type":"regex","dimension":"page","pattern":"("}`), "pattern"},
		{timeseries(`"aggregations":[{"type":"longMax","name":"m","expression":"added +"}]`), "Expression"},
		{timeseries(`"aggregations":[{"type":"longMax","name":"m","expression":"if(added > 0, nosuch(added), 1)"}]`), "Function [nosuch]"},
		{timeseries(`"aggregations":[{"type":"stringAny","name":"a","fieldName":"page","maxStringBytes":-1}]`), "must be greater than 0"},
		{timeseries(`"aggregations":[{"type":"HLLSketchBuild","name":"h","fieldName":"page","tgtHllType":"HLL_5"}]`), "[tgtHllType] of aggregator [h] is [HLL_5]"},
		{timeseries(`"virtualColumns":[{"type":"expression","name":"v"}]`), "Virtual column of type [expression] needs [expression]"},
		{timeseries(`"virtualColumns":[{"type":"expression","name":"v","expression":"v + 1"}],"aggregations":[{"type":"longSum","name":"s","fieldName":"v"}]`), "Self-referential column[v]"},
		{timeseries(`"virtualColumns":[{"type":"nested-field","columnName":"page","outputName":"v"}]`), "Virtual column of type [nested-field] needs [path] or [pathParts]"},
		{timeseries(`"virtualColumns":[{"type":"nested-field","columnName":"page","outputName":"v","path":"$.a","pathParts":[]}]`),
			"Virtual column of type [nested-field] can't have [path] and [pathParts]"},
		{timeseries(`"virtualColumns":[null]`), "virtualColumns can't hold null"},
		{timeseries(`"virtualColumns":[{"type":"expression","name":"","expression":"1"}]`), "A virtual column must have a name"},
		{timeseries(`"virtualColumns":5`), "Member [virtualColumns] of the query can't be a JSON number"},
		{timeseries(`"limit":[]`), "Member [limit] of the query is [[]]; want a whole number"},
		{timeseries(`"aggregations":[{"type":"grouping","name":"a"}]`), "Aggregator of type [grouping] needs [groupings]"},
		{timeseries(`"aggregations":[{"type":"grouping","name":"a","groupings":[]}]`), "Aggregator [a] of type [grouping] must have [groupings]"},
		{timeseries(`"limit":-1`), "limit must be greater than 0"},
		{timeseries(`"descending":"yes"`), "Member [descending] of the query is [\"yes\"]; want true or false"},
		{groups(`{"type":"extraction","dimension":"page"}`), "Dimension of type [extraction] needs [extractionFn]"},
		{groups(`{}`), "Dimension of type [default] needs [dimension]"},
		{groups(`{"type":"listFiltered","delegate":"tags"}`), "Dimension of type [listFiltered] needs [values]"},
		{groups(`{"type":"listFiltered","delegate":"tags","values":[]}`), "values list must be non-empty"},
		{groups(`{"type":"lookup","dimension":"page","outputName":"x","name":"l","lookup":{"type":"map","map":{}}}`), "can't have both name [l] and lookup"},
		{groups(`{"type":"extraction","dimension":"page","outputName":"x","extractionFn":{"type":"substring","index":0,"length":0}}`), "a length of at least 1"},
		{groups(`{"type":"extraction","dimension":"page","outputName":"x","extractionFn":{"type":"registeredLookup","lookup":"l","retainMissingValue":true,` +
			`"replaceMissingValueWith":"y"}}`), "Cannot specify a [replaceMissingValueWith]"},
		{filter(`{"type":"columnComparison","dimensions":["page"]}`), "at least 2 dimensions"},
		{timeseries(`"virtualColumns":[{"type":"expression","name":"__time","expression":"1"}]`), "virtualColumn name[__time] not allowed"},
		{timeseries(`"aggregations":[{"type":"count","name":"c"}],"context":{"timestampResultField":"c"}`), "[c] already defined"},
		{timeseries(`"aggregations":[{"type":"expression","name":"e","fields":["added","deleted"],"initialValue":"0","fold":"__acc + added"}]`), "must have a single input field"},
		{`{"queryType":"timeBoundary","dataSource":["wiki"]}`, "A datasource can't be a list"},
		{`{"queryType":"timeBoundary","dataSource":{"type":"table"}}`, "Datasource of type [table] needs [name]"},
		{`{"queryType":"timeBoundary","dataSource":{"type":"inline","columnNames":["a"]}}`, "Datasource of type [inline] needs [rows]"},
		{`{"queryType":"timeseries","dataSource":{"type":"inline","columnNames":["a"],"columnTypes":[],"rows":[]},"intervals":["2015/2016"],"granularity":"all"}`,
			"columnNames and columnTypes must be the same length"},
		{`{"queryType":"timeBoundary","dataSource":{"type":"union","dataSources":[]}}`, "non-empty for 'union'"},
		{`{"queryType":"search","dataSource":"wiki","intervals":["2015/2016"],"granularity":"all","limit":-1}`, "limit can't be negative"},
		{`{"queryType":"search","dataSource":"wiki","intervals":["2015/2016"],"granularity":"all","sort":{"type":"frob"}}`, "ordering [frob] is unknown"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":["2015/2016"],"orderBy":[{"columnName":"__time"}]}`, "needs [order]"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":["2015/2016"],"order":"descending","orderBy":[{"columnName":"__time","order":"ascending"}]}`,
			"Cannot provide 'order' incompatible with 'orderBy'"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":["2015/2016"],"granularity":"all","dimensions":["page"],` +
			`"subtotalsSpec":[null]}`, "subtotalsSpec can't hold null"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":["2015/2016"],"granularity":"all","aggregations":[{"type":"count","name":""}]}`, "Column name must be provided"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":["2015/2016"],"granularity":"all","having":{"type":"dimSelector",` +
			`"value":"x"}}`, "Having of type [dimSelector] needs [dimension]"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":["2015/2016"],"granularity":"all","aggregations":[{"type":"count","name":"c"}],` +
			`"having":{"type":"greaterThan","aggregation":"c","value":"x"}}`, "needs a number, not [x]"},
		{`{"queryType":"segmentMetadata","dataSource":"wiki","toInclude":{"type":"list"}}`, "toInclude of type [list] needs [columns]"},
	} {
		q, err := Decode([]byte(c.body))
		if err == nil {
			_, err = Translate(context.Background(), q, wiki{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want [%s]", c.body, err, c.want)
		}
	}
}
