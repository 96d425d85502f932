package native

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/nativetext"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// wiki is a catalog of one datasource.
type wiki struct{}

// wikiColumns are the columns of the table wiki.
var wikiColumns = []plan.Column{
	{Name: "__time", Type: expr.Of(expr.Timestamp).NotNull()}, {Name: "page", Type: expr.Of(expr.Varchar)},
	{Name: "tags", Type: expr.MultiString}, {Name: "added", Type: expr.Of(expr.BigInt)}, {Name: "score", Type: expr.Of(expr.Double)},
}

func (wiki) Table(_ context.Context, name string) (plan.Node, error) {
	if name != "wiki" {
		return nil, nil
	}
	return &plan.Scan{DataSource: name, Limit: -1, Out: wikiColumns}, nil
}

func (wiki) Metrics(string) []string { return []string{"added"} }

func (wiki) Lookup(name string) ([]plan.Column, error) {
	if name != "names" {
		return nil, fault.InvalidInput("Lookup [%s] not found", name)
	}
	return []plan.Column{{Name: "k", Type: expr.Of(expr.Varchar).NotNull()}, {Name: "v", Type: expr.Of(expr.Varchar)}}, nil
}

func (wiki) Chunks(string, []chrono.Interval) []chrono.Interval {
	return []chrono.Interval{{Start: 0, End: 3600000}, {Start: 3600000, End: 7200000}}
}

func translated(t *testing.T, body string) (string, error) {
	t.Helper()
	q, err := Decode([]byte(body))
	if err != nil {
		return "", err
	}
	p, err := Translate(context.Background(), q, wiki{})
	if err != nil {
		return "", err
	}
	var names []string
	for _, c := range p.Node.Columns() {
		names = append(names, c.Name)
	}
	return strings.Join(names, " "), nil
}

func TestOutputColumns(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"queryType":"timeseries","dataSource":"wiki","intervals":["2020/2021"],"granularity":"day","aggregations":[{"type":"count","name":"n"}],
			"postAggregations":[{"type":"arithmetic","name":"twice","fn":"*","fields":[{"type":"fieldAccess","fieldName":"n"},{"type":"constant","value":2}]}]}`,
			"__time n twice"},
		{`{"queryType":"topN","dataSource":"wiki","intervals":"2020/2021","granularity":"all","dimension":"page","metric":"s","threshold":3,
			"aggregations":[{"type":"doubleSum","name":"s","fieldName":"score"}]}`, "__time page s"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":"2020/2021","granularity":"all","dimensions":["page","tags"],
			"aggregations":[{"type":"grouping","name":"g","groupings":["page"]}],"subtotalsSpec":[["page"],[]],
			"limitSpec":{"type":"default","limit":2,"columns":[{"dimension":"page","dimensionOrder":"strlen","direction":"descending"}]}}`,
			"__time page tags g"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":["2020/2021"],"columns":["page","v","nosuch","__time"],
			"virtualColumns":[{"type":"expression","name":"v","expression":"added + 1"}],"order":"descending","limit":1}`, "page v nosuch __time"},
		// Behind the columns of a scan without an order is the time, by which it is known of which
		// segment a row is.
		{`{"queryType":"scan","dataSource":"wiki","intervals":["2020/2021"],"columns":["page"],"offset":2}`, "page __time"},
		{`{"queryType":"scan","intervals":["2020/2021"],"dataSource":{"type":"join","left":"wiki","right":{"type":"inline","columnNames":["k"],
			"columnTypes":["STRING"],"rows":[["a"]]},"rightPrefix":"j.","condition":"page == \"j.k\"","joinType":"LEFT"}}`,
			"__time page tags score j.k added"},
		{`{"queryType":"search","dataSource":"wiki","intervals":["2020/2021"],"query":{"type":"insensitive_contains","value":"a"}}`, "__time dimension value count"},
		{`{"queryType":"timeBoundary","dataSource":"wiki"}`, "MIN MAX"},
		// Members are what their names are, letter by letter: others mean nothing.
		{`{"queryType":"timeBoundary","dataSource":"wiki","Bound":"maxTime","DataSource":"other"}`, "MIN MAX"},
		{`{"queryType":"scan","dataSource":{"Type":"query","name":"wiki"},"intervals":["2020/2021"],"columns":["page"],"Columns":["added"],"offset":1}`, "page __time"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":["2020/2021"],"granularity":{"type":"all","Type":"x"},"Aggregations":[{"type":"count","name":"n"}],
			"dimensions":[{"type":"default","dimension":"page","OutputName":"p"}],"limitSpec":{"type":"default","LIMIT":-1}}`, "__time page"},
	} {
		got, err := translated(t, c.body)
		if err != nil || got != c.want {
			t.Errorf("%s\n gives columns [%s], error %v, want [%s]", c.body, got, err, c.want)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`x`, "is not valid JSON"},
		{``, "is empty"},
		{`{"queryType":"scan"`, "ends too early"},
		{`]`, "is not valid JSON"},
		{`{"queryType":"scan","dataSource":"wiki"}`, "intervals can't be null"},
		{`{"queryType":"timeserie","dataSource":"wiki"}`, "Did you mean [timeseries]?"},
		{`{"queryType":"timeBoundary"}`, "dataSource can't be null"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":["2020/banana"]}`, "banana"},
		{`{"queryType":"scan","dataSource":"wiki","intervals":[],"resultFormat":"xml"}`, "resultFormat [xml]"},
		{`{"queryType":"topN","dataSource":"wiki","intervals":[],"granularity":"all","dimension":"page","metric":"n","threshold":0}`, "Threshold cannot be equal to 0."},
		{`{"queryType":"topN","dataSource":"wiki","intervals":[],"dimension":"page","metric":"n","threshold":1}`, "Must specify a granularity"},
		{`{"queryType":"timeseries","dataSource":"wiki","intervals":[]}`, "Must specify a granularity"},
		{`{"queryType":"timeseries","dataSource":"wiki","intervals":[],"Granularity":"all"}`, "Must specify a granularity"},
		{`{"queryType":"timeseries","dataSource":"wiki","intervals":[],"granularity":"all","aggregations":[{"type":"longSum","name":"a","fieldName":"added","expression":"1"}]}`,
			"can't have [fieldName] and [expression]"},
		{`{"queryType":"timeseries","dataSource":"wiki","intervals":[],"granularity":"all","aggregations":[{"type":"count","name":"a"}],` +
			`"postAggregations":[{"type":"expression","name":"p","expression":"a + b"}]}`, "Missing fields [[b]] for postAggregator [p]"},
		{`{"queryType":"groupBy","dataSource":"wiki","intervals":[],"granularity":"all","dimensions":["__time"]}`, "'__time' cannot be used as an output name"},
		{`{"queryType":"timeBoundary","dataSource":"wiki","filter":{"type":"or","fields":[]}}`, "needs at least one field"},
		{`{"queryType":"timeBoundary","dataSource":"wiki","filter":{"type":"bound","dimension":"page"}}`, "needs lower or upper"},
		{`{"queryType":"segmentMetadata","dataSource":{"type":"lookup","lookup":"names"}}`, "only tables and unions"},
		{`{"queryType":"timeBoundary","dataSource":"wiki","filter":{"type":"frob"}}`, "Filter of type [frob] is unknown"},
		{`{"queryType":"timeBoundary","dataSource":"wiki","filter":{"type":"javascript","dimension":"page","function":"function(x){return true}"}}`, "JavaScript is disabled"},
		{`{"queryType":"timeBoundary","dataSource":"wiki","filter":{"type":"expression","expression":"page +"}}`, "it ends too early"},
		{`{"queryType":"timeBoundary","dataSource":"wiki","filter":{"type":"expression","expression":"uper(page)"}}`, "did you mean [upper]?"},
		{`{"queryType":"timeseries","dataSource":"wiki","intervals":[],"granularity":"all","aggregations":[{"type":"count","name":"a"},{"type":"count","name":"a"}]}`, "[a] already defined"},
		{`{"queryType":"scan","dataSource":` + strings.Repeat(`{"type":"filter","base":`, 200) + `"wiki"` + strings.Repeat("}", 201), "nests deeper"},
	} {
		_, err := translated(t, c.body)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.200s\n gives error %v, want one that says %q", c.body, err, c.want)
		}
	}
}

func TestExpressions(t *testing.T) {
	s := &scope{t: &translator{}, columns: wikiColumns, busy: map[string]bool{}}
	for _, c := range []struct{ text, want string }{
		{`1 + 2 * 3 ^ 2 ^ 0`, `7`},
		{`-2 ^ 2`, `4`},
		{`!(1 == 2) && 3 >= 2`, `1`},
		{`'a' + 'b'`, `'ab'`},
		{`case_searched(1 > 2, 'x', 'y')`, `'y'`},
		{`case_simple('b', 'a', 1, 'b', 2, 3)`, `2`},
		{`nvl(null, 'x')`, `'x'`},
		{`substring('hello', 1, 3)`, `'ell'`},
		{`strpos('hello', 'l')`, `2`},
		{`strpos('hello', 'z')`, `-1`},
		{`timestamp_floor(1577930645000,'PT1H',null,'UTC')`, `1577930400000`},
		{`timestamp_extract(1577930645000,'HOUR','UTC')`, `2`},
		{`timestamp_format(0,'yyyy','UTC')`, `'1970'`},
		{`cast('12', 'LONG') + 1`, `13`},
		{`array_length(ARRAY<LONG>[1,2,3])`, `3`},
		{`[1, 2.5]`, `array(1.0,2.5)`},
		{`'it\'s \u0041'`, `'it\u0027s A'`},
		{`0x10 + 1.5e1`, `31.0`},
		{`-9223372036854775808`, `-9223372036854775808`},
		{`concat('a', "nosuch")`, `null`},
		{`max(1, 2) - min(1, 2)`, `1`},
		{`like('foo', 'f%')`, `1`},
		{`7 / 2`, `3`},
		{`7 % 4`, `3`},
		{`2 ^ 3 ^ 2`, `512`},
		{`2 ^ 0.5`, `1.4142135623730951`},
		{`1 + '2.5'`, `3.5`},
		{`'a' + 'b'`, `'ab'`},
		{`[5] + 1`, `6`},
		{`null + 1`, `null`},
		{`div(7, 2.0)`, `3`},
		{`div(1.0, 0)`, `9223372036854775807`},
		{`max('b', 3)`, `3.0`},
		{`remainder(7, 4)`, `-1.0`},
		{`copySign(2, -0.5)`, `-2.0`},
		{`getExponent(10)`, `3`},
		{`nextUp(1.0) - 1`, `2.220446049250313E-16`},
		{`ulp(1e3)`, `1.1368683772161603E-13`},
		{`scalb(3, 4)`, `48.0`},
		{`rint(2.5)`, `2.0`},
		{`signum(-3)`, `-1.0`},
		{`hypot(3, 4)`, `5.0`},
		{`strlen([1, 2])`, `6`},
		{`upper(array('a'))`, `'A'`},
		{`strpos('banana', 'a', 2)`, `3`},
		{`if(-1, 'yes', 'no')`, `'no'`},
		{`array_set_add([3, 1], 2)`, `array(1,2,3)`},
		{`array_set_add_all(['b'], ['a', 'b'])`, `array('a','b')`},
		{`timestamp_format(0)`, `'1970-01-01T00:00:00.000Z'`},
		{`timestamp_extract(0, 'CENTURY')`, `20.0`},
		{`timestamp_shift(0, 'P1D', null)`, `0`},
		{`map(x -> x * 2, [1, 2, null])`, `array(2,4,null)`},
		{`map((x) -> upper(x), 'a')`, `array('A')`},
		{`map(x -> map(y -> x * y, [1, 2]), [3, 4])`, `array(array(3,6),array(4,8))`},
		{`filter(x -> x > 1, [1, 2, 3])`, `array(2,3)`},
		{`filter(x -> x, ['true', 'no'])`, `array('true')`},
		{`any(x -> x > 2, [1, 2, 3])`, `1`},
		{`any(x -> x > 3, [1, 2, 3])`, `0`},
		{`any(x -> x > 0, ARRAY<LONG>[])`, `0`},
		{`all(x -> x > 0, [1, 2, 3])`, `1`},
		{`all(x -> x > 1, [1, 2, 3])`, `0`},
		{`all(x -> x > 0, ARRAY<LONG>[])`, `1`},
		{`all(x -> x > 0, null)`, `0`},
		{`fold((x, acc) -> acc + x, [1, 2, 3], 10)`, `16`},
		{`fold((x, acc) -> acc + x, [1.5, 2.5], 0)`, `3`},
		{`fold((x, acc) -> array_prepend(x, acc), [1, 2], ARRAY<LONG>[])`, `array(2,1)`},
		{`fold((x, acc) -> acc + x, null, 0)`, `null`},
		{`cartesian_map((x, y) -> concat(x, y), ['a', 'b'], ['c', 'd'])`, `array('ac','ad','bc','bd')`},
		{`cartesian_fold((x, y, acc) -> acc + x * y, [1, 2], [3, 4], 0)`, `21`},
	} {
		x, err := s.expression(c.text)
		if err == nil {
			x, err = expr.Fold(x, &expr.Context{})
		}
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := nativetext.Format(x, nil); got != c.want {
			t.Errorf("%s gives %s, want %s", c.text, got, c.want)
		}
	}
}

func TestExpressionsOverColumns(t *testing.T) {
	s := &scope{t: &translator{}, columns: wikiColumns, busy: map[string]bool{}}
	for text, want := range map[string]string{
		`"added" + 1`:          `("added" + 1)`,
		`upper(page) == 'A'`:   `(upper("page") == 'A')`,
		`"__time" >= 1000`:     `("__time" >= 1000)`,
		`isnull(page)`:         `isnull("page")`,
		`page || added`:        `((lower("page") == 'true') || ("added" > 0))`,
		`(added > 1) && score`: `(("added" > 1) && ("score" > 0))`,
	} {
		x, err := s.expression(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, nativetext.Format(x, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestFilters(t *testing.T) {
	s := &scope{t: &translator{}, columns: wikiColumns, busy: map[string]bool{}}
	for body, want := range map[string]string{
		`{"type":"selector","dimension":"page","value":"a"}`:                                                        `("page" == 'a')`,
		`{"type":"selector","dimension":"page"}`:                                                                    `isnull("page")`,
		`{"type":"selector","dimension":"added","value":"7"}`:                                                       `("added" == 7)`,
		`{"type":"selector","dimension":"added","value":"x"}`:                                                       `0`,
		`{"type":"in","dimension":"page","values":["a","b"]}`:                                                       `(("page" == 'a') || ("page" == 'b'))`,
		`{"type":"in","dimension":"added","values":[1,"2"]}`:                                                        `(("added" == 1) || ("added" == 2))`,
		`{"type":"in","dimension":"page","values":[]}`:                                                              `0`,
		`{"type":"inType","column":"added","matchValueType":"LONG","values":[1,null,"x",2.0]}`:                      `(isnull("added") || ("added" == 1) || ("added" == 2))`,
		`{"type":"inType","column":"page","matchValueType":"STRING","sortedValues":["a","b"]}`:                      `(("page" == 'a') || ("page" == 'b'))`,
		`{"type":"inType","column":"added","matchValueType":"DOUBLE","values":[0.5]}`:                               `0`,
		`{"type":"arrayContainsElement","column":"added","elementMatchValueType":"STRING","elementMatchValue":"7"}`: `array_contains(CAST("added", 'ARRAY<LONG>'),array(7))`,
		`{"type":"arrayContainsElement","column":"added","elementMatchValueType":"LONG"}`:                           `array_contains(CAST("added", 'ARRAY<LONG>'),ARRAY[null])`,
		`{"type":"equals","column":"score","matchValueType":"DOUBLE","matchValue":1.5}`:                             `("score" == 1.5)`,
		`{"type":"bound","dimension":"page","lower":"a","lowerStrict":true}`:                                        `("page" > 'a')`,
		`{"type":"bound","dimension":"added","upper":9,"ordering":"numeric"}`:                                       `("added" <= 9)`,
		`{"type":"range","column":"added","matchValueType":"LONG","lower":1,"upperOpen":true}`:                      `("added" >= 1)`,
		`{"type":"not","field":{"type":"null","column":"page"}}`:                                                    `(! isnull("page"))`,
		`{"type":"interval","dimension":"__time","intervals":["1970-01-01/1970-01-02"]}`:                            `(("__time" >= 0) && ("__time" < 86400000))`,
		`{"type":"expression","expression":"added > 1"}`:                                                            `("added" > 1)`,
	} {
		var f FilterOf
		if err := json.Unmarshal([]byte(body), &f); err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		x, err := s.filter(f.Filter)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if diff := cmp.Diff(want, nativetext.Format(x, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}

func TestDeepExpressionsAreRefused(t *testing.T) {
	for _, text := range []string{strings.Repeat("(", 10000) + "1", strings.Repeat("-", 100000) + "a", "1" + strings.Repeat("+1", 100000), strings.Repeat("abs(", 10000)} {
		if _, err := parseExpression(text); err == nil || !strings.Contains(err.Error(), "deeper") {
			t.Errorf("%.10s...: got error %v", text, err)
		}
	}
	if _, err := parseExpression("a" + strings.Repeat(" || a", 50000)); err != nil {
		t.Errorf("a long list of alternatives is refused: %v", err)
	}
}

func TestVirtualColumnsDoNotExplode(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"queryType":"scan","dataSource":"wiki","intervals":["2020/2021"],"columns":["v59"],"virtualColumns":[{"type":"expression","name":"v0","expression":"added"}`)
	for i := 1; i < 60; i++ {
		name := func(i int) string { return "v" + string(rune('0'+i/10)) + string(rune('0'+i%10)) }
		before := name(i - 1)
		if i == 1 {
			before = "v0"
		}
		b.WriteString(`,{"type":"expression","name":"` + name(i) + `","expression":"` + before + " + " + before + `"}`)
	}
	b.WriteString("]}")
	if _, err := translated(t, b.String()); err == nil || err.Error() != "Virtual columns are used more than [10000] times" {
		t.Errorf("got error %v", err)
	}
}

// TestQueriesOfPlanners decodes and translates every native query that Druid's SQL planner shows in
// the recorded EXPLAINs.
func TestQueriesOfPlanners(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "golden", "corpus")
	total := 0
	for _, name := range []string{"explain.jsonl", "plans.jsonl"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Skipf("the shared recordings are not there: %v", err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var record struct {
				ID   string  `json:"id"`
				Rows [][]any `json:"rows"`
			}
			if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
				continue
			}
			for _, row := range record.Rows {
				for _, cell := range row {
					text, ok := cell.(string)
					if !ok || !strings.Contains(text, `"queryType"`) {
						continue
					}
					var plans []struct {
						Query json.RawMessage `json:"query"`
					}
					if json.Unmarshal([]byte(text), &plans) != nil {
						continue
					}
					for _, p := range plans {
						total++
						if _, err := translated(t, string(p.Query)); err != nil && !refused[record.ID] {
							t.Errorf("%s: %v\n%s", record.ID, err, p.Query)
						}
					}
				}
			}
		}
	}
	t.Logf("%d queries", total)
}

// refused are the recordings whose queries are refused: see docs/native.md, Not supported.
var refused = map[string]bool{}

func FuzzExpression(f *testing.F) {
	for _, s := range []string{`a + 1`, `timestamp_floor("__time",'PT1H',null,'UTC')`, `ARRAY<LONG>[1, -2]`, `filter((x) -> x > 1, a)`, `map(x -> map(y -> x + y, tags), [1])`, `cartesian_fold((x, y, acc) -> array_append(acc, concat(x, y)), tags, ['a'], [])`, `all(() -> 1, -> x)`, `'\u00e9'`, `case_searched((a == 1), 'x', null)`} {
		f.Add(s)
	}
	s := &scope{t: &translator{}, columns: wikiColumns, busy: map[string]bool{}}
	f.Fuzz(func(_ *testing.T, text string) { _, _ = s.expression(text) })
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"queryType":"groupBy","dataSource":"wiki","intervals":["2020/2021"],"granularity":"all","dimensions":[{"type":"extraction","dimension":"page","extractionFn":{"type":"regex","expr":"(.)"}}]}`,
		`{"queryType":"timeseries","dataSource":["a","b"],"intervals":"2020/P1D","filter":{"type":"not","field":{"type":"bound","dimension":"added","lower":1,"ordering":"numeric"}}}`,
		`{"queryType":"scan","dataSource":{"type":"inline","columnNames":["a"],"rows":[[1]]},"intervals":[]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, body []byte) {
		if q, err := Decode(body); err == nil {
			_, _ = Translate(context.Background(), q, wiki{})
		}
	})
}

func TestIntervalsReachTheScan(t *testing.T) {
	q, err := Decode([]byte(`{"queryType":"timeseries","dataSource":"wiki","intervals":["2020-01-01/2020-01-02","2020-01-05/2020-01-06"],"granularity":"hour",
		"aggregations":[{"type":"count","name":"n"}],"filter":{"type":"selector","dimension":"page","value":"a"}}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Translate(context.Background(), q, wiki{})
	if err != nil {
		t.Fatal(err)
	}
	text := plan.Format(plan.Optimize(p.Node, plan.Options{}))
	for _, want := range []string{"2020-01-01T00:00:00.000Z/2020-01-02T00:00:00.000Z", "2020-01-05T00:00:00.000Z/2020-01-06T00:00:00.000Z"} {
		if !strings.Contains(text, want) {
			t.Errorf("the scan is not bounded by %s:\n%s", want, text)
		}
	}
}

// Members that were left out of a spec are read as nothing.
func TestNothingIsRead(t *testing.T) {
	var f FilterOf
	var v VirtualColumnOf
	for _, text := range []string{"", "null"} {
		if err := f.UnmarshalJSON([]byte(text)); err != nil || f.Filter != nil {
			t.Errorf("a filter of %q: %v, %v", text, f.Filter, err)
		}
		if err := v.UnmarshalJSON([]byte(text)); err != nil || v.VirtualColumn != nil {
			t.Errorf("a virtual column of %q: %v, %v", text, v.VirtualColumn, err)
		}
	}
}
