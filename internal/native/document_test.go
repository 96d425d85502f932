package native

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

// manyMembers are queries with members that come n times.
func manyMembers(n int) map[string]string {
	const head = `"dataSource":"wiki","intervals":"2000/2040","granularity":"all"`
	timeseries := func(more string) string { return `{"queryType":"timeseries",` + head + `,` + more + `}` }
	return map[string]string{
		"context":          timeseries(`"context":{` + strings.Trim(many(n, `"k%d":1`), "[]") + `}`),
		"list in context":  timeseries(`"context":{"list":` + many(n, "%d") + `}`),
		"in":               timeseries(`"filter":{"type":"in","dimension":"page","values":` + many(n, `"v%d"`) + `}`),
		"inType":           timeseries(`"filter":{"type":"inType","column":"added","matchValueType":"LONG","values":` + many(n, `%d`) + `}`),
		"or":               timeseries(`"filter":{"type":"or","fields":` + many(n, `{"type":"selector","dimension":"page","value":"v%d"}`) + `}`),
		"aggregations":     timeseries(`"aggregations":` + many(n, `{"type":"longSum","fieldName":"added","name":"a%d"}`)),
		"postAggregations": timeseries(`"postAggregations":` + many(n, `{"type":"constant","value":1,"name":"p%d"}`)),
		"virtualColumns":   timeseries(`"virtualColumns":` + many(n, `{"type":"expression","name":"v%d","expression":"added"}`)),
		"unknown members":  timeseries(strings.Trim(many(n, `"k%d":1`), "[]")),
		"dimensions":       `{"queryType":"groupBy",` + head + `,"dimensions":` + many(n, `"d%d"`) + `}`,
		"limitSpec":        `{"queryType":"groupBy",` + head + `,"dimensions":["d"],"limitSpec":{"type":"default","columns":` + many(n, `{"dimension":"d","direction":"%d"}`) + `}}`,
		"rows": `{"queryType":"scan","intervals":"2000/2040","dataSource":{"type":"inline","columnNames":["a"],"columnTypes":["STRING"],"rows":` +
			many(n, `["v%d"]`) + `}}`,
		"intervals": `{"queryType":"timeseries","dataSource":"wiki","granularity":"all","intervals":` + many(n, `"2000/2%03d"`) + `}`,
	}
}

// Taking a query apart and reading it end when its time is up, among its members.
func TestReadingEndsAmongManyMembers(t *testing.T) {
	const n = 900
	for name, body := range manyMembers(n) {
		t.Run(name, func(t *testing.T) {
			b, err := Open(context.Background(), []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			for _, left := range []int{n / 2, n - 10} {
				if _, err := b.Query(&endsAfter{context.Background(), left}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("after [%d] questions: %v", left, err)
				}
			}
			if _, err := Open(&endsAfter{context.Background(), 2}, []byte(body)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("while it is taken apart: %v", err)
			}
			if _, err := b.Query(context.Background()); err != nil {
				t.Errorf("in time: %v", err)
			}
		})
	}
}

// Members are visited a fixed number of times each, however many there are and however deep they
// stand.
func TestReadingIsLinear(t *testing.T) {
	visits := func(body string) int {
		t.Helper()
		b, err := Open(context.Background(), []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		ctx := &endsAfter{context.Background(), math.MaxInt}
		if _, err := b.Query(ctx); err != nil {
			t.Fatal(err)
		}
		return math.MaxInt - ctx.left
	}
	small, large := manyMembers(100), manyMembers(900)
	for name := range small {
		if few, more := visits(small[name]), visits(large[name]); more > 9*few {
			t.Errorf("%s: [%d] visits of 100 members, [%d] of 900", name, few, more)
		}
	}
	nested := func(depth int) string {
		return `{"queryType":"timeseries","dataSource":"wiki","intervals":"2000/2040","granularity":"all","filter":` +
			strings.Repeat(`{"type":"not","field":`, depth) + `{"type":"in","dimension":"page","values":` + many(1000, `"v%d"`) + `}` + strings.Repeat("}", depth) + `}`
	}
	if flat, deep := visits(nested(0)), visits(nested(90)); deep > flat+90*8 {
		t.Errorf("[%d] visits at depth 0, [%d] at depth 90", flat, deep)
	}
}

// The context of a query is at hand before the query is read, whatever the rest of it is.
func TestContextBeforeTheQuery(t *testing.T) {
	for body, want := range map[string]map[string]any{
		`{"context":{"timeout":1},"queryType":"nosuch"}`:          {"timeout": "1"},
		`{"queryType":"scan","filter":{"context":{"timeout":2}}}`: {},
		`{"context":[1]}`:  {},
		`{"context":null}`: {},
		`null`:             {},
		`{"context":{"timeout":1},"context":{"a":[true,null,{"b":"\u00e9\ud83d\ude00"}]}} rest`: {"a": "[true <nil> map[b:é😀]]"},
	} {
		b, err := Open(context.Background(), []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Context(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		shown := map[string]any{}
		for k, v := range got {
			shown[k] = fmt.Sprint(v)
		}
		if !reflect.DeepEqual(shown, want) {
			t.Errorf("%s: %v", body, shown)
		}
	}
}
