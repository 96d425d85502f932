package ingest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/valyala/fastjson"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/jsonpath"
	"github.com/hengedb/henge/internal/ingest/record"
)

const store = `{"store":{"book":[{"title":"A","price":8.95,"tags":["x","y"]},{"title":"B","price":12,"isbn":"1"},{"title":"C","price":8}],` +
	`"bike":{"color":"red","price":19.5}},"n":3,"ok":true,"dotted.name":1,"limit":10}`

func parsed(t testing.TB, text string) *record.Object {
	t.Helper()
	o, ok := record.ObjectOf(fastjson.MustParse(text).GetObject())
	if !ok {
		t.Fatal("not an object")
	}
	return o
}

func TestJSONPaths(t *testing.T) {
	for path, want := range map[string]string{
		"$.n":                                      "3",
		"n":                                        "3",
		"$['dotted.name']":                         "1",
		"$.store.bike.color":                       `"red"`,
		"$.store.book[0].title":                    `"A"`,
		"$.store.book[-1].title":                   `"C"`,
		"$.store.book[7].title":                    "null",
		"$.nosuch.at.all":                          "null",
		"$.store.book[*].title":                    `["A","B","C"]`,
		"$.store.book[0,2].title":                  `["A","C"]`,
		"$.store.book[1:].title":                   `["B","C"]`,
		"$.store.book[:-1].title":                  `["A","B"]`,
		"$..price":                                 "[8.95,12,8,19.5]",
		"$.store.bike.*":                           `["red",19.5]`,
		"$.store.book[?(@.isbn)].title":            `["B"]`,
		"$.store.book[?(!@.isbn)].title":           `["A","C"]`,
		"$.store.book[?(@.price < $.limit)].title": `["A","C"]`,
		"$.store.book[?(@.price >= 8.95 && @.title != 'B')].title":       `["A"]`,
		"$.store.book[?(@.title == 'A' || (@.title == \"C\"))]['price']": "[8.95,8]",
		"$.store.bike['color','price']":                                  `["red",19.5]`,
		"$.store.book.length()":                                          "3",
		"$.store.book[*].price.max()":                                    "12.0",
		"$.store.book[*].price.sum()":                                    "28.95",
		"$.store.bike.keys()":                                            `["color","price"]`,
		"$":                                                              "",
	} {
		p, err := jsonpath.Compile(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got := string(record.AppendJSON(nil, p.Eval(parsed(t, store)))); got != want && want != "" {
			t.Errorf("%s gives %s, want %s", path, got, want)
		}
	}
	for _, path := range []string{"$.", "$[", "$.a[", "$.a[?(", "$.a[?(@.b ==)]", "$.a[x]", "$x", "$.a.frob()", "$[?(" + strings.Repeat("(", 100) + "@.a" + strings.Repeat(")", 100) + ")]"} {
		if _, err := jsonpath.Compile(path); fault.Find(err) == nil {
			t.Errorf("%s was taken: %v", path, err)
		}
	}
}

func TestFlattenSpec(t *testing.T) {
	const format = `{"type":"json","flattenSpec":{"useFieldDiscovery":true,"fields":["n",{"type":"path","name":"color","expr":"$.store.bike.color"},` +
		`{"type":"jq","name":"titles","expr":"[.store.book[].title]"},{"type":"tree","name":"price","nodes":["store","bike","price"]},` +
		`{"type":"root","name":"other","expr":"limit"}]}}`
	rows, _, err := read(t, format, store, "color string titles mv price double other long n long ok string store COMPLEX<json>", Options{})
	want := [][]any{{"red", []any{"A", "B", "C"}, 19.5, int64(10), int64(3), "true", string(record.AppendJSON(nil, first(parsed(t, store))))}}
	if d := cmp.Diff(want, rows); d != "" || err != nil {
		t.Error(d, err)
	}
	rows, _, err = read(t, `{"type":"json","flattenSpec":{"useFieldDiscovery":false,"fields":[{"type":"path","name":"color","expr":"$.store.bike.color"}]}}`,
		store, "color string n long", Options{})
	if d := cmp.Diff([][]any{{"red", int64(3)}}, rows); d != "" || err != nil { // what is at the root is there for who asks for it
		t.Error("without discovery", d, err)
	}
	f, err := parseFlattening("json", json.RawMessage(`{"useFieldDiscovery":false,"fields":[{"type":"path","name":"color","expr":"$.store.bike.color"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(record.AppendJSON(nil, f.flatten(parsed(t, store), false))); got != `{"color":"red"}` {
		t.Error("found without discovery:", got)
	}
	for _, kind := range []string{"path", "jq"} {
		if _, err := parseFlattening("json", json.RawMessage(`{"fields":[{"type":"`+kind+`","name":"a"}]}`)); fault.Find(err) == nil {
			t.Errorf("a field of type %s without expr was taken: %v", kind, err)
		}
	}
}

func first(o *record.Object) any { return o.Values[0] }

func TestFlattenedObjectsKeepFieldsFirst(t *testing.T) {
	f, err := parseFlattening("json", json.RawMessage(`{"fields":[{"type":"path","name":"c","expr":"$.store.bike.color"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(record.AppendJSON(nil, f.flatten(parsed(t, store), false))); got != `{"c":"red","n":3,"ok":true,"dotted.name":1,"limit":10}` {
		t.Error(got)
	}
}

func TestJQPathsKeepOrder(t *testing.T) {
	o := parsed(t, `{"z":{"y":[{"q":1,"b":{},"a":12345678901234567890}],"x":"text"},"dotted.name":3,"n":null}`)
	for expr, want := range map[string]string{
		".": `{"z":{"y":[{"q":1,"b":{},"a":12345678901234567890}],"x":"text"},"dotted.name":3,"n":null}`, ".z.y[0]": `{"q":1,"b":{},"a":12345678901234567890}`,
		".z.y[-1].q": "1", `.z["x"]`: `"text"`, `."dotted.name"`: "3", ".z.y[1]": "null", ".z.y[-2]": "null", ".z.y[0].none": "null", ".z.x.y": "null",
		".z.y.x": "null", ".n.a": "null", ".z[0]": "null", ".z.y[0].b, .n": "{}", "[.z.y[] | .q]": "[1]", ".z.y[0:1][0].q": "1", ".z?.x": `"text"`,
	} {
		f, err := parseFlattening("json", fmt.Appendf(nil, `{"fields":[{"type":"jq","name":"c","expr":%q}]}`, expr))
		if err != nil {
			t.Fatal(expr, err)
		}
		if got := string(record.AppendJSON(nil, f.fields[0].eval(o))); got != want {
			t.Errorf("%s gives %s, want %s", expr, got, want)
		}
	}
}

func TestJQLoopsEnd(t *testing.T) {
	f, err := parseFlattening("json", json.RawMessage(`{"fields":[{"type":"jq","name":"c","expr":"last(range(1e18))"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if v := f.fields[0].eval(&record.Object{}); v != nil {
		t.Error(v)
	}
}

func FuzzJSONPath(f *testing.F) {
	for _, seed := range []string{"$.a[?(@.b == 'c')]", "$..a[1:2]", "$['a','b'].length()", "@[*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if p, err := jsonpath.Compile(path); err == nil {
			p.Eval(parsed(t, store))
		}
	})
}
