package native

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// refusal is a text that is refused, with what is said of it.
type refusal struct{ text, want string }

// testRefusals puts each text into a query and compares the message.
func testRefusals(t *testing.T, query string, refusals []refusal) {
	t.Helper()
	for _, c := range refusals {
		body := fmt.Sprintf(query, c.text)
		if _, err := translated(t, body); err == nil || err.Error() != c.want {
			t.Errorf("%.300s\n gives error [%v],\n want        [%s]", body, err, c.want)
		}
	}
}

func TestRefusedExpressions(t *testing.T) {
	columns := append(wikiColumns, plan.Column{Name: "sketch", Type: expr.ComplexOf("hyperUnique")}, plan.Column{Name: "nested", Type: expr.JSON})
	for _, c := range []refusal{
		{"added ? 1", "Expression [added ? 1] is not valid at character [7]: unexpected character [? 1]"},
		{`'\u12g4'`, `Expression ['\u12g4'] is not valid at character [7]: want four hexadecimal digits behind \u`},
		{`'\ud83d\u12'`, `Expression ['\ud83d\u12'] is not valid at character [9]: want four hexadecimal digits behind \u`},
		{"'abc", "Expression ['abc] is not valid at character [1]: a quote is not closed"},
		{"1 2", "Expression [1 2] is not valid at character [3]: unexpected [2]"},
		{"added + 9223372036854775808", "Expression [added + 9223372036854775808] is not valid at character [9]: [9223372036854775808] is not " +
			"a 64-bit integer"},
		{"1e999", "Expression [1e999] is not valid at character [1]: [1e999] is not a number"},
		{"[1, added]", "Expression [[1, added]] is not valid at character [1]: an array in brackets can contain only constants; use array(...)"},
		{"upper(x -> x, 'a')", "Function [upper] of native expressions takes no lambda"},
		{"map((x, y) -> x, [1])", "The lambda of function [map] of native expressions has [2] parameters, but there are [1] arguments for it"},
		{"map(x -> tags, [1])", "A lambda of function [map] that returns a multi-value string is not supported; apply [mv_to_array] to it"},
		{"concat('a', x -> x)", "A lambda is allowed only as the first argument of a function that accepts one"},
		{"array_offset_of([1], [2])", "Function [array_offset_of] of native expressions needs a scalar as second argument but got [ARRAY<LONG>] instead"},
		{"array_ordinal_of([1], [2])", "Function [array_ordinal_of] of native expressions needs a scalar as second argument but got [ARRAY<LONG>] instead"},
		{"timestamp(added)", "Function [timestamp] of native expressions needs a STRING as first argument but got [LONG] instead"},
		{"timestamp('noon')", "Function [timestamp] of native expressions can't read [noon]"},
		{"mv_to_array([1])", "Function [mv_to_array] of native expressions takes the name of a column only; use [array] instead"},
		{"upper()", "Function [upper] of native expressions requires 1 argument"},
		{"strlen(page, page)", "Function [strlen] of native expressions requires 1 argument"},
		{"substring(page)", "Function [substring] of native expressions requires 2 or 3 arguments"},
		{"case_searched(1)", "Function [case_searched] of native expressions requires at least 2 arguments"},
		{"array_append([1])", "Function [array_append] of native expressions requires 2 arguments"},
		{"lookup(page)", "Function [lookup] of native expressions requires 2 or 3 arguments"},
		{"map(x -> x)", "Function [map] of native expressions requires 2 arguments"},
		{"array_length(sketch)", "A value of type [COMPLEX<hyperUnique>] is not an array"},
		{"if(added > 1, sketch, nested)", "Values of types [COMPLEX<hyperUnique>] and [COMPLEX<json>] have no common type"},
		{"cast(added, page)", "Function [cast] of native expressions needs a constant type"},
		{"cast(sketch, 'LONG')", "A value of type [COMPLEX<hyperUnique>] can't be cast to [LONG]"},
		{"cast(added, 'FLOAT')", "FLOAT types are not supported in native expressions; take DOUBLE"},
		{"cast([1, 2], 'LONG')", "A value of type [ARRAY<LONG>] can't be cast to [LONG]"},
		{"cast(added, 'WORD')", "Type [WORD] is unknown. Known are [LONG, DOUBLE, FLOAT, STRING, ARRAY<LONG>, ARRAY<DOUBLE>, ARRAY<STRING>, COMPLEX<..>]"},
		{"-page", "Operator [-] of native expressions does not take a text"},
		{"page - page", "Operator [-] of native expressions does not take two texts"},
		{"contains_string(page, page)", "Function [contains_string] of native expressions needs the text to look for as a constant"},
		{"icontains_string(page, page)", "Function [icontains_string] of native expressions needs the text to look for as a constant"},
		{"reverse(added)", "Function [reverse] of native expressions needs a STRING argument but got [LONG] instead"},
		{"left(page, -1)", "Function [left] of native expressions needs a number that is not negative"},
		{"right(page, -1)", "Function [right] of native expressions needs a number that is not negative"},
		{"json_value(nested, '$.a', page)", "Function [json_value] of native expressions needs a constant type"},
		{"frobnicate(1)", "Function [frobnicate] of native expressions is not defined"},
		{strings.Repeat("(", 300) + "1", "Expression [" + strings.Repeat("(", 200) + "] is not valid at character [126]: it nests deeper than [250] levels"},
		{strings.Repeat(" ", maxExpressionBytes) + "1", "Expression is longer than [1048576] bytes"},
	} {
		s := &scope{t: &translator{}, columns: columns, busy: map[string]bool{}}
		if _, err := s.expression(c.text); err == nil || err.Error() != c.want {
			t.Errorf("%.300s\n gives error [%v],\n want        [%s]", c.text, err, c.want)
		}
	}
}

func TestRefusedFilters(t *testing.T) {
	testRefusals(t, `{"queryType":"timeBoundary","dataSource":"wiki","filter":%s}`, []refusal{
		{"1", "Filter must be an object with a member [type]"},
		{"{}", "Filter has no [type]; want one of [and, arrayContainsElement, bloom, bound, columnComparison, equals, expression, extraction, false, in, inType, interval, isfalse, istrue, like, not, null, or, range, regex, search, selector, spatial, true]"},
		{`{"type":"frob"}`, "Filter of type [frob] is unknown. Known are [and, arrayContainsElement, bloom, bound, columnComparison, equals, expression, extraction, false, in, inType, interval, isfalse, istrue, like, not, null, or, range, regex, search, selector, spatial, true]"},
		{`{"type":"interval","dimension":"__time","intervals":[]}`, "Filter of type [interval] on dimension [__time] needs at least one interval"},
		{`{"type":"interval","dimension":"__time","intervals":{}}`, "intervals without [intervals]"},
		{`{"type":"interval","dimension":"__time","intervals":{"intervals":{}}}`, "intervals of intervals must be a list"},
		{`{"type":"interval","dimension":"__time","intervals":5}`, "intervals must be a list of texts such as 2015-09-12/2015-09-13"},
		{`{"type":"columnComparison","dimensions":["page"]}`, "Filter of type [columnComparison] must have at least 2 dimensions"},
		{`{"type":"columnComparison","dimensions":["page",null]}`, "A dimension can't be null"},
		{`{"type":"not"}`, "Filter of type [not] needs [field]"},
		{`{"type":"istrue"}`, "A filter of type [istrue] needs a field"},
		{`{"type":"isfalse"}`, "A filter of type [isfalse] needs a field"},
		{`{"type":"and","fields":[null]}`, "A filter of type [and] needs at least one field"},
		{`{"type":"or","fields":[]}`, "A filter of type [or] needs at least one field"},
		{`{"type":"bound","dimension":"page"}`, "Filter of type [bound] on dimension [page] needs lower or upper"},
		{`{"type":"bound","dimension":"page","lower":"a","ordering":"natural"}`, "Filter of type [bound] can't have the ordering [natural]"},
		{`{"type":"bound","dimension":"page","lower":"a","ordering":5}`, "ordering must be a name or an object with a type"},
		{`{"type":"bound","dimension":"page","lower":"a","ordering":"upward"}`, "ordering [upward] is unknown. Known are [alphanumeric, lexicographic, natural, numeric, strlen, version]"},
		{`{"type":"bound","dimension":"page","lower":"a","ordering":{}}`, "ordering [] is unknown. Known are [alphanumeric, lexicographic, natural, numeric, strlen, version]"},
		{`{"type":"like","dimension":"page","pattern":"a%","escape":""}`, "Escape must be null or a single character, but is []"},
		{`{"type":"interval","dimension":"page","intervals":["2020/2021"],"extractionFn":5}`, "Extraction function must be an object with a member [type]"},
		{`{"type":"range","column":"added","matchValueType":"LONG"}`, "Filter of type [range] on column [added] needs lower or upper"},
		{`{"type":"equals","column":"added","matchValueType":"LONG","matchValue":"x"}`, "Filter on column [added] has no value of type [LONG]"},
		{`{"type":"equals","column":"added","matchValueType":"LONG","matchValue":[1]}`, "A value of type [LONG] can't be a list or an object"},
		{`{"type":"equals","column":"added","matchValueType":"WORD","matchValue":1}`, "Type [WORD] is unknown. Known are [LONG, DOUBLE, FLOAT, STRING, ARRAY<LONG>, ARRAY<DOUBLE>, ARRAY<STRING>, COMPLEX<..>]"},
		{`{"type":"inType","column":"added","matchValueType":"ARRAY<LONG>","values":[[1]]}`, "Filter of type [inType] on column [added] can't have values of type [ARRAY<LONG>]; want STRING, LONG, DOUBLE or FLOAT"},
		{`{"type":"inType","column":"added","values":[1]}`, "Filter of type [inType] needs [matchValueType]"},
		{`{"type":"inType","column":"added","matchValueType":"LONG"}`, "Filter of type [inType] needs [values] or [sortedValues]"},
		{`{"type":"inType","column":"added","matchValueType":"LONG","values":[1],"sortedValues":[2]}`, "Filter of type [inType] can't have [values] and [sortedValues]"},
		{`{"type":"arrayContainsElement","column":"page","elementMatchValue":"a"}`, "Filter of type [arrayContainsElement] needs [elementMatchValueType]"},
		{`{"type":"arrayContainsElement","column":"page","elementMatchValueType":"COMPLEX<json>","elementMatchValue":1}`, "Filter of type [arrayContainsElement] on column [page] can't have values of type [COMPLEX<json>]; want STRING, LONG, DOUBLE or FLOAT"},
		{`{"type":"selector","dimension":"page","value":{}}`, "Member [value] of the query is [{}]; want a plain value"},
		{`{"type":"selector","dimension":["page"],"value":"a"}`, "Member [dimension] of the query can't be a JSON array"},
		{`{"type":"bound","dimension":"page","lower":"a","lowerStrict":"perhaps"}`, `Member [lowerStrict] of the query is ["perhaps"]; want true or false`},
		{`{"type":"search","dimension":"page","query":{"type":"fragment","values":["a",null]}}`, "Search query of type [fragment] can't have null among its values"},
		{`{"type":"search","dimension":"page","query":{"type":"frob"}}`, "Search query of type [frob] is unknown. Known are [all, contains, fragment, insensitive_contains, regex]"},
		{`{"type":"search","dimension":"page","query":null}`, "Filter of type [search] needs [query]"},
	})
}

func TestRefusedExtractions(t *testing.T) {
	testRefusals(t, `{"queryType":"timeBoundary","dataSource":"wiki","filter":{"type":"selector","dimension":"page","value":"a","extractionFn":%s}}`, []refusal{
		{`{"type":"substring","index":-1}`, "Extraction function of type [substring] needs an index of at least 0 and a length of at least 1"},
		{`{"type":"substring","index":0,"length":0}`, "Extraction function of type [substring] needs an index of at least 0 and a length of at least 1"},
		{`{"type":"cascade","extractionFns":[null]}`, "extractionFns can't hold null"},
		{`{"type":"lookup","lookup":{"type":"map","map":{}},"retainMissingValue":true,"replaceMissingValueWith":"x"}`, "Cannot specify a [replaceMissingValueWith] and set [retainMissingValue] to true"},
		{`{"type":"stringFormat","format":""}`, "Extraction function of type [stringFormat] has an empty [format]"},
		{`{"type":"stringFormat","format":"%s","nullHandling":"zero"}`, "nullHandling [zero] is unknown. Known are [nullString, emptyString, returnNull]"},
		{`{"type":"lookup","lookup":{"type":"map","map":{"a":null}}}`, "Lookup of type [map] has null for key [a]"},
		{`{"type":"lookup","lookup":{"type":"table"}}`, "Lookup of type [table] is unknown. Known are [map]"},
		{`{"type":"bucket","size":0}`, "Extraction function [bucket] needs a size other than 0"},
		{`{"type":"searchQuery","query":null}`, "Extraction function of type [searchQuery] needs [query]"},
	})
}

func TestRefusedDimensions(t *testing.T) {
	testRefusals(t, `{"queryType":"groupBy","dataSource":"wiki","intervals":[],"granularity":"all","dimensions":[%s]}`, []refusal{
		{`{"type":["default"],"dimension":"page"}`, "Dimension has no [type]; want one of [default, extraction, listFiltered, lookup, prefixFiltered, regexFiltered]"},
		{"null", "dimensions can't hold null"},
		{`{"type":"lookup","dimension":"page","outputName":"p","name":"names","lookup":{"type":"map","map":{}}}`, "Dimension of type [lookup] can't have both name [names] and lookup"},
		{`{"type":"lookup","dimension":"page","outputName":"p","name":"names","retainMissingValue":true,"replaceMissingValueWith":"x"}`, "Cannot specify a [replaceMissingValueWith] and set [retainMissingValue] to true"},
		{`{"type":"default","dimension":"__time"}`, "'__time' cannot be used as an output name for dimensions, aggregators, or post-aggregators."},
		{`{"type":"default","dimension":"page","outputName":""}`, "Column name must be provided and non-empty"},
		{`""`, "Column name must be provided and non-empty"},
		{`{"type":"listFiltered","delegate":"page","values":[]}`, "values list must be non-empty"},
		{`{"type":"listFiltered","delegate":null,"values":["a"]}`, "Dimension of type [listFiltered] needs [delegate]"},
	})
}

func TestRefusedAggregators(t *testing.T) {
	var grouped strings.Builder
	for i := 1; i < 63; i++ {
		fmt.Fprintf(&grouped, `,"%d"`, i)
	}
	testRefusals(t, `{"queryType":"timeseries","dataSource":{"type":"join","left":"wiki","right":{"type":"inline","columnNames":["s"],"columnTypes":["COMPLEX<hyperUnique>"],"rows":[]},"rightPrefix":"k","condition":"1","joinType":"INNER"},"intervals":[],"granularity":"all","aggregations":[%s]}`, []refusal{
		{"null", "aggregations can't hold null"},
		{`{"type":"filtered","name":"a","filter":{"type":"true"},"aggregator":{"type":"grouping","name":"a","groupings":["page"]}}`, "Aggregator [a] is of a type that is not supported here"},
		{`{"type":"filtered","name":"a","filter":{"type":"true"}}`, "Aggregator of type [filtered] needs [aggregator]"},
		{`{"type":"grouping","name":"a","groupings":["page","page"]}`, "Aggregator [a] of type [grouping] has a dimension more than once"},
		{`{"type":"stringFirst","name":"a","fieldName":"page","maxStringBytes":-1}`, "[maxStringBytes] of aggregator [a] must be greater than 0"},
		{`{"type":"stringFirst","name":"a","fieldName":"page","maxStringBytes":"many"}`, `Member [maxStringBytes] of the query is ["many"]; want a whole number`},
		{`{"type":"cardinality","name":"a"}`, "Aggregator [a] of type [cardinality] needs fields"},
		{`{"type":"cardinality","name":"a","fields":[null]}`, "A dimension can't be null"},
		{`{"type":"HLLSketchBuild","name":"a","fieldName":"ks"}`, "Aggregator [a] of type [HLLSketchBuild] can't take the column [ks] of type [COMPLEX<hyperUnique>]"},
		{`{"type":"thetaSketch","name":"a","fieldName":"ks"}`, "Aggregator [a] of type [thetaSketch] can't take the column [ks] of type [COMPLEX<hyperUnique>]"},
		{`{"type":"HLLSketchMerge","name":"a","fieldName":"page"}`, "Aggregator [a] of type [HLLSketchMerge] merges sketches, but column " +
			"[page] of type [VARCHAR] has no sketches"},
		{`{"type":"tDigestSketch","name":"a"}`, "Aggregator [a] of type [tDigestSketch] must have a fieldName"},
		{`{"type":"expression","name":"a","fields":["added","score"],"initialValue":"0","fold":"__acc + added"}`, "Aggregator [a] of type [expression] must have a single input field if no combine expression is supplied"},
		{`{"type":"expression","name":"a","fields":["added"],"initialValue":"0","fold":"__acc + added","combine":"max(__acc, a)"}`, "Aggregator [a] of type [expression] folds by [__acc + added] but combines by [max(__acc, a)], which is not supported"},
		{`{"type":"expression","name":"a","fields":["added"],"initialValue":"[1]","fold":"__acc + added"}`, "Aggregator [a] of type " +
			"[expression] starts with [[1]], which is not a number"},
		{`{"type":"expression","name":"a","fields":["tags"],"initialValue":"''","fold":"concat(__acc, tags)"}`, "Aggregator [a] of type [expression] folds the multi-value column [tags] by [concat(__acc, tags)], which is not supported"},
		{`{"type":"expression","name":"a","fields":["page"],"initialValue":"null","fold":"concat(__acc, page)"}`, "Aggregator [a] of type [expression] begins with a NULL of no type, which is not supported; take, for example, [cast(null, 'LONG')]"},
		{`{"type":"grouping","name":"a","groupings":["0"` + grouped.String() + `]}`, "Aggregator [a] of type [grouping] can't have more than [62] dimensions"},
	})
}

func TestRefusedPostAggregators(t *testing.T) {
	testRefusals(t, `{"queryType":"timeseries","dataSource":"wiki","intervals":[],"granularity":"all","aggregations":[{"type":"count","name":"n"}],"postAggregations":[%s]}`, []refusal{
		{"null", "postAggregations can't hold null"},
		{`{"type":"arithmetic","name":"p","fn":"+","fields":[{"type":"fieldAccess","fieldName":"n"},null]}`, "A post-aggregator can't be null"},
		{`{"type":"arithmetic","name":"p","fn":"+","fields":[{"type":"fieldAccess","fieldName":"n"}]}`, "Post-aggregator [p] of type [arithmetic] needs two fields"},
		{`{"type":"arithmetic","name":"p","fn":"mod","fields":[{"type":"fieldAccess","fieldName":"n"},{"type":"fieldAccess","fieldName":"n"}]}`, "Post-aggregator [p] has the unknown fn [mod]. Known are [+, -, *, /, quotient, pow]"},
		{`{"type":"constant","name":"p"}`, "Post-aggregator [p] has no value"},
		{`{"type":"doubleGreatest","name":"p","fields":[]}`, "Post-aggregator [p] needs fields"},
		{`{"type":"min","name":"p","fieldName":"h"}`, "Post-aggregator [p] refers to [h], which is not an aggregator of the query"},
		{`{"type":"quantile","name":"p","fieldName":"n"}`, "Post-aggregator of type [quantile] needs [probability]"},
		{`{"type":"arrayOfDoublesSketchTTest","name":"p","fields":[{"type":"fieldAccess","fieldName":"n"}]}`, "Post-aggregator [p] of type [arrayOfDoublesSketchTTest] must have two fields, not [1]"},
		{`{"type":"quantilesDoublesSketchToHistogram","name":"p","field":{"type":"fieldAccess","fieldName":"n"},"splitPoints":[1],"numBins":3}`, "Post-aggregator [p] of type [quantilesDoublesSketchToHistogram] can't have both splitPoints and numBins"},
		{`{"type":"thetaSketchConstant","name":"p","value":5}`, "Post-aggregator [p] of type [thetaSketchConstant] must have the base64 of a sketch as its value"},
		{`{"type":"thetaSketchEstimate","name":"p"}`, "Post-aggregator [p] of type [thetaSketchEstimate] must have a field"},
		{`{"type":"quantilesDoublesSketchToQuantiles","name":"p","field":{"type":"fieldAccess","fieldName":"n"}}`, "Post-aggregator [p] of type [quantilesDoublesSketchToQuantiles] must have [fractions]"},
		{`{"type":"quantileFromTDigestSketch","name":"p","field":{"type":"fieldAccess","fieldName":"n"}}`, "Post-aggregator of type [quantileFromTDigestSketch] needs [fraction]"},
		{`{"type":"quantilesDoublesSketchToRank","name":"p","field":{"type":"fieldAccess","fieldName":"n"},"value":"high"}`, `Post-aggregator [p] of type [quantilesDoublesSketchToRank] must have a number as [value], not ["high"]`},
		{`{"type":"quantilesDoublesSketchToQuantile","name":"p","field":{"type":"fieldAccess","fieldName":"n"},"fraction":true}`, "Member [fraction] of the query is [true]; want a number"},
		{`{"type":"arithmetic","name":"p","fn":"+","ordering":"up","fields":[]}`, "ordering [up] of a post-aggregator is unknown. Known is [numericFirst]"},
		{`{"type":"expression","name":"p","expression":"n","ordering":""}`, `Member [ordering] of the query is [""]; want a word`},
		{`{"type":"HLLSketchUnion","name":"p","fields":[]}`, "Post-aggregator [p] of type [HLLSketchUnion] must have [1] fields or more"},
		{`{"type":"thetaSketchSetOp","name":"p","func":"UNION","fields":[{"type":"fieldAccess","fieldName":"n"}]}`, "Post-aggregator [p] of type [thetaSketchSetOp] must have [2] fields or more"},
		{`{"type":"thetaSketchSetOp","name":"p","func":"XOR","fields":[{"type":"fieldAccess","fieldName":"n"},{"type":"fieldAccess","fieldName":"n"}]}`, "Post-aggregator [p] of type [thetaSketchSetOp] has the unknown operation [XOR]. Known are [UNION, INTERSECT, NOT]"},
		{`{"type":"arrayOfDoublesSketchSetOp","name":"p","operation":"XOR","fields":[{"type":"fieldAccess","fieldName":"n"},{"type":"fieldAccess","fieldName":"n"}]}`, "Post-aggregator [p] of type [arrayOfDoublesSketchSetOp] has the unknown operation [XOR]. Known are [UNION, INTERSECT, NOT]"},
	})
}

func TestRefusedHavings(t *testing.T) {
	testRefusals(t, `{"queryType":"groupBy","dataSource":"wiki","intervals":[],"granularity":"all","dimensions":["page"],"aggregations":[{"type":"count","name":"n"}],"having":%s}`, []refusal{
		{`{"type":"greaterThan","aggregation":"n","value":"many"}`, "Having of type [greaterThan] needs a number, not [many]"},
		{`{"type":"filter"}`, "Having of type [filter] needs a filter"},
		{`{"type":"not"}`, "A having condition can't be null"},
		{`{"type":"and","havingSpecs":[null]}`, "A having condition can't be null"},
	})
}

func TestRefusedDataSources(t *testing.T) {
	testRefusals(t, `{"queryType":"timeBoundary","dataSource":%s}`, []refusal{
		{`["wiki"]`, "A datasource can't be a list; want a name, or an object of type [union]"},
		{`{"type":"query","query":null}`, "Datasource of type [query] needs [query]"},
		{`{"type":"union","dataSources":[]}`, "'dataSources' must be non-null and non-empty for 'union'"},
		{`{"type":"query","query":{"queryType":"dataSourceMetadata","dataSource":"wiki"}}`, "A query about segments can't be the datasource of another"},
		{`{"type":"query","query":{"queryType":"segmentMetadata","dataSource":"wiki"}}`, "A query about segments can't be the datasource of another"},
		{`{"type":"query","query":{"queryType":"timeBoundary","dataSource":{"type":"union","dataSources":[]}}}`, "'dataSources' must be non-null and non-empty for 'union'"},
		{`{"type":"join","left":"wiki","right":"wiki","rightPrefix":"r.","condition":"1","joinType":"SEMI"}`, "joinType [SEMI] is unknown. Known are [INNER, LEFT, RIGHT, FULL]"},
		{`{"type":"join","left":"wiki","right":"wiki","rightPrefix":"r.","condition":"1","joinType":""}`, "joinType [] is unknown. Known are [INNER, LEFT, RIGHT, FULL]"},
		{`{"type":"join","left":"wiki","right":"wiki","rightPrefix":"r.","condition":"1","joinType":"inner"}`, "joinType [inner] is unknown. Known are [INNER, LEFT, RIGHT, FULL]"},
		{`{"type":"join","left":"wiki","right":"wiki","rightPrefix":"r.","condition":"1"}`, "Datasource of type [join] needs [joinType]"},
		{`{"type":"join","left":"wiki","right":"wiki","rightPrefix":"","condition":"1","joinType":"INNER"}`, "rightPrefix of a join can't be empty"},
		{`{"type":"unnest","base":"wiki"}`, "Datasource of type [unnest] has no virtualColumn"},
		{`{"type":"inline","columnNames":["a","b"],"rows":[[1]]}`, "A row of an inline datasource has [1] values, but there are [2] columns"},
		{`{"type":"inline","columnNames":["a"],"columnTypes":["LONG"],"rows":[[{}]]}`, "A value of type [LONG] can't be a list or an object"},
		{`{"type":"inline","columnNames":["a"],"columnTypes":["STRING"],"rows":[[{}]]}`, "A value of type [STRING] can't be a list or an object"},
		{`{"type":"inline","columnNames":["a"],"columnTypes":[5],"rows":[]}`, "Member [columnTypes] of the query can't be a JSON number"},
		{`{"type":"inline","columnNames":["c"` + strings.Repeat(`,"c"`, 1<<11-1) + `],"rows":[[]` + strings.Repeat(",[]", 1<<11) + "]}", "An inline datasource can't have more than [4194304] values"},
	})
}

func TestRefusedQueries(t *testing.T) {
	testRefusals(t, "%s", []refusal{
		{`{"queryType":"scan","dataSource":"wiki"}`, `intervals can't be null: give a list such as ["2015-09-12/2015-09-13"]`},
		{`{"queryType":"scan","dataSource":"wiki","intervals":{"interval":"2020/2021"}}`, "intervals without [intervals]"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":{"intervals":{}}}`, "intervals of intervals must be a list"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":[["2020/2021"]]}`, "intervals must be a list of texts such as 2015-09-12/2015-09-13"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":[],"resultFormat":"xml"}`, "resultFormat [xml] is unknown. Known are [list, compactedList]"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":[],"resultFormat":""}`, `Member [resultFormat] of the query is [""]; want a word`},
		{`{"queryType":"scan","dataSource":"wiki","intervals":[],"order":""}`, `Member [order] of the query is [""]; want a word`},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":[],"granularity":"all","dimensions":["page"],"limitSpec":{"type":"default","columns":[{"dimension":"page","direction":""}]}}`,
			`Member [limitSpec.columns.direction] of the query is [""]; want a word`},
		{`{"queryType":"scan","dataSource":"wiki","intervals":[],"order":"up"}`, "order [up] is unknown. Known are [none, ascending, descending]"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":[],"orderBy":[{"columnName":"page","order":"up"}]}`, "order [up] is unknown. Known are [none, ascending, descending]"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":[],"orderBy":[{"columnName":"page"}]}`, "orderBy of column [page] needs [order]"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":[],"columns":["page"],"orderBy":[{"columnName":"added","order":"ascending"}]}`, "Column [added] from 'orderBy' must also appear in 'columns'."},
		{`{"queryType":"scan","dataSource":"wiki","intervals":[],"limit":-1}`, "limit must be greater than 0, but is [-1]"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":[],"offset":-1}`, "offset must be greater than or equal to 0, but is [-1]"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":[],"batchSize":-1}`, "batchSize must be greater than 0, but is [-1]"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":[],"limit":"few"}`, `Member [limit] of the query is ["few"]; want a whole number`},
		{`{"queryType":"scan","dataSource":"wiki","intervals":[],"limit":1.5e300}`, "Member [limit] of the query is [1.5e300]; want a whole number"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":[],"virtualColumns":[{"type":"expression","name":"v","expression":"1"},{"type":"expression","name":"v","expression":"2"}]}`, "Virtual column [v] is defined twice"},
		{`{"queryType":"timeseries","dataSource":"wiki","intervals":[],"granularity":"all","limit":-1}`, "limit must be greater than 0, but is [-1]"},
		{`{"queryType":"timeseries","dataSource":"wiki","intervals":[],"granularity":"all","descending":"perhaps"}`, `Member [descending] of the query is ["perhaps"]; want true or false`},
		{`{"queryType":"timeseries","dataSource":"wiki","intervals":[],"granularity":"all","postAggregations":[null]}`, "postAggregations can't hold null"},
		{`{"queryType":"topN","dataSource":"wiki","intervals":[],"granularity":"all","dimension":"page","threshold":5,"aggregations":[{"type":"count","name":"n"}],"metric":null}`, "must specify a metric"},
		{`{"queryType":"topN","dataSource":"wiki","intervals":[],"granularity":"all","dimension":"page","threshold":5,"aggregations":[{"type":"count","name":"n"}],"metric":{"type":"inverted"}}`, "must specify a metric"},
		{`{"queryType":"topN","dataSource":"wiki","intervals":[],"granularity":"all","dimension":"page","threshold":-1,"aggregations":[{"type":"count","name":"n"}],"metric":"n"}`, "Threshold can't be negative, but is [-1]"},
		{`{"queryType":"topN","dataSource":"wiki","intervals":[],"granularity":"all","dimension":"page","threshold":0,"aggregations":[{"type":"count","name":"n"}],"metric":"n"}`, "Threshold cannot be equal to 0."},
		{`{"queryType":"topN","dataSource":"wiki","intervals":[],"granularity":"all","dimension":"page","threshold":5,"aggregations":[{"type":"count","name":"n"}],"metric":"m"}`, "Must have an AggregatorFactory or PostAggregator for metric[m]"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":[],"granularity":"all","dimensions":["page"],"aggregations":[{"type":"count","name":"__time"}]}`, "'__time' cannot be used as an output name for dimensions, aggregators, or post-aggregators."},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":[],"granularity":"all","dimensions":["page"],"aggregations":[{"type":"count","name":""}]}`, "Column name must be provided and non-empty"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":[],"granularity":"all","dimensions":["page"],"limitSpec":{"type":"default","columns":["size"]}}`, "Unknown column in order clause[size]"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":[],"granularity":"all","dimensions":["page"],"limitSpec":{"type":"default","limit":0}}`, "limit[0] must be >0"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":[],"granularity":"all","dimensions":["page"],"limitSpec":{"type":"default","offset":-1}}`, "offset[-1] must be >= 0"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":[],"granularity":"all","dimensions":["page"],"limitSpec":{"type":"default","columns":[{"dimension":"page","dimensionOrder":"upward"}]}}`, "ordering [upward] is unknown. Known are [alphanumeric, lexicographic, natural, numeric, strlen, version]"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":[],"granularity":"all","dimensions":["page"],"limitSpec":{"type":"default","columns":[{"dimension":"page","dimensionOrder":[]}]}}`, "ordering must be a name or an object with a type"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":[],"granularity":"all","dimensions":["page"],"subtotalsSpec":[["tags"]]}`, "Subtotal spec names [tags], which is not a dimension of the query"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":[],"granularity":"all","dimensions":["page"],"subtotalsSpec":[null]}`, "subtotalsSpec can't hold null"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":[],"granularity":"all","dimensions":["page"],"context":{"fudgeTimestamp":"noon"}}`, "Query context [fudgeTimestamp] is [noon], which is not a number of milliseconds"},
		{`{"queryType":"search","dataSource":"wiki","intervals":[],"limit":-1}`, "limit can't be negative, but is [-1]"},
		{`{"queryType":"search","dataSource":"wiki","intervals":[],"searchDimensions":[null]}`, "searchDimensions can't hold null"},
		{`{"queryType":"search","dataSource":"wiki","intervals":[],"sort":{"type":"upward"}}`, "ordering [upward] is unknown. Known are [alphanumeric, lexicographic, natural, numeric, strlen, version]"},
		{`{"queryType":"segmentMetadata","dataSource":{"type":"lookup","lookup":"names"},"merge":true}`, "Invalid dataSource type of a segmentMetadata query: only tables and unions of them can be described"},
		{`{"queryType":"segmentMetadata","dataSource":"wiki","toInclude":{"type":"some"}}`, "toInclude of type [some] is unknown. Known are [all, none, list]"},
		{`{"queryType":"segmentMetadata","dataSource":"wiki","toInclude":{"type":"list"}}`, "toInclude of type [list] needs [columns]"},
		{`{"queryType":"segmentMetadata","dataSource":"wiki","aggregatorMergeStrategy":"loose"}`, "aggregatorMergeStrategy [loose] is unknown. Known are [strict, lenient, earliest, latest]"},
		{`{"queryType":"segmentMetadata","dataSource":"wiki","aggregatorMergeStrategy":"latest","lenientAggregatorMerge":true}`, "Both lenientAggregatorMerge [true] and aggregatorMergeStrategy [latest] are set. Only aggregatorMergeStrategy is needed"},
		{`{"queryType":"segmentMetadata","dataSource":"wiki","analysisTypes":["weight"]}`, "analysisType [weight] is unknown. Known are [cardinality size interval aggregators minmax timestampspec querygranularity rollup projections]"},
	})
}

// A time zone that does not exist is refused wherever a query has one: buckets of another zone
// would be silently wrong.
func TestUnknownZonesAreRefused(t *testing.T) {
	const refused = "Time zone [Europe/Berlim] is not recognised: expected a name such as Europe/Berlin, UTC, or an offset such as +05:30"
	for _, members := range []string{
		`"granularity":{"type":"period","period":"P1D","timeZone":"Europe/Berlim"},"dimensions":[]`,
		`"granularity":"all","dimensions":[{"type":"extraction","dimension":"__time","outputName":"t","extractionFn":
			{"type":"timeFormat","format":"yyyy","timeZone":"Europe/Berlim"}}]`,
		`"granularity":"all","dimensions":[{"type":"extraction","dimension":"__time","outputName":"t","extractionFn":
			{"type":"timeFormat","granularity":{"type":"period","period":"P1D","timeZone":"Europe/Berlim"}}}]`,
	} {
		_, err := translated(t, `{"queryType":"groupBy","dataSource":"wiki","intervals":["2020/2021"],`+members+`}`)
		if err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("%s: %v, want %s", members, err, refused)
		}
	}
}
