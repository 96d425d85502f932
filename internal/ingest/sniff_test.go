package ingest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
)

func TestSniff(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte("{\"ts\":1700000000,\"a\":1}\n"))
	w.Close()
	for _, c := range []struct {
		name, file, data string
		format, timeSQL  string
		columns          []GuessedColumn
	}{
		{"json", "x.json", "{\"time\":\"2020-01-01T00:00:00Z\",\"n\":1,\"d\":1,\"s\":\"x\",\"l\":[\"a\"],\"o\":{\"k\":1},\"b\":true,\"z\":null}\n{\"d\":1.5,\"l\":[],\"new\":2}\n",
			`{"type":"json"}`, `TIME_PARSE("time")`, []GuessedColumn{{"time", "VARCHAR"}, {"n", "BIGINT"}, {"d", "DOUBLE"}, {"s", "VARCHAR"},
				{"l", "VARCHAR ARRAY"}, {"o", "TYPE('COMPLEX<json>')"}, {"b", "VARCHAR"}, {"z", "VARCHAR"}, {"new", "BIGINT"}}},
		{"indented json with bad rows", "", "{\n\"t\": 1700000000000}\n{\"t\":17\nnope\n", `{"type":"json"}`, `MILLIS_TO_TIMESTAMP("t")`, []GuessedColumn{{"t", "BIGINT"}}},
		{"packed, seconds", "x", packed.String(), `{"type":"json"}`, `MILLIS_TO_TIMESTAMP("ts" * 1000)`, []GuessedColumn{{"ts", "BIGINT"}, {"a", "BIGINT"}}},
		{"csv with header", "x.csv", "\xEF\xBB\xBFid,when,zip\n1,01/31/2020 10:00:00,00123\n2,02/01/2020 11:00:00,55\n",
			`{"type":"csv","findColumnsFromHeader":true}`, `TIME_PARSE("when", 'MM/dd/yyyy HH:mm:ss')`,
			[]GuessedColumn{{"id", "BIGINT"}, {"when", "VARCHAR"}, {"zip", "VARCHAR"}}},
		{"csv without header", "x.csv", "2020-01-01,1.5\n2020-01-02,2\n", `{"type":"csv","columns":["column_1","column_2"]}`, `TIME_PARSE("column_1")`,
			[]GuessedColumn{{"column_1", "VARCHAR"}, {"column_2", "DOUBLE"}}},
		{"tabs", "x", "a\tb\n1\t2\n", `{"type":"tsv","findColumnsFromHeader":true}`, "", []GuessedColumn{{"a", "BIGINT"}, {"b", "BIGINT"}}},
		{"semicolons", "x", "a;b,c\n1;2\n", `{"type":"tsv","delimiter":";","findColumnsFromHeader":true}`, "", []GuessedColumn{{"a", "BIGINT"}, {"b,c", "BIGINT"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := Sniff(t.Context(), c.file, strings.NewReader(c.data))
			if err != nil {
				t.Fatal(err)
			}
			if string(g.Format) != c.format || g.TimeSQL() != c.timeSQL {
				t.Errorf("format %s, time %s; want %s, %s", g.Format, g.TimeSQL(), c.format, c.timeSQL)
			}
			if d := cmp.Diff(c.columns, g.Columns); d != "" {
				t.Errorf("columns (-want +got):\n%s", d)
			}
		})
	}
}

func TestSniffRefuses(t *testing.T) {
	for data, want := range map[string]string{
		"":              "is empty",
		" \n\r\n":       "is empty",
		"{\"a\":\n{":    "neither JSON, CSV nor TSV",
		"\xFF\xFE1\x00": "UTF-16",
		"\x1f\x8b\x08":  "truncated",
	} {
		_, err := Sniff(t.Context(), "f", strings.NewReader(data))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", data, err, want)
		}
	}
}

// wiki returns the path of the shared sample of edits.
func wiki(t testing.TB) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", "wikiticker-2015-09-12-sampled.json.gz")
	if _, err := os.Stat(path); err != nil {
		t.Skip("the shared data folder is not beside the checkout")
	}
	return path
}

func TestWikiSample(t *testing.T) {
	path := wiki(t)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := Sniff(t.Context(), path, f)
	if err != nil {
		t.Fatal(err)
	}
	if g.TimeSQL() != `TIME_PARSE("time")` || len(g.Columns) != 20 || g.Bad != 0 {
		t.Errorf("guess: %+v", g)
	}
	table := &Table{Source: &Local{Files: []string{path}}, Format: &JSON{}, Fields: fields(t, "page string added long")}
	rows, bad, err := readTable(t, table, Options{Decoders: 2}, 0)
	if err != nil || len(bad) > 0 || len(rows) != 39244 {
		t.Fatal(len(rows), bad, err)
	}
	sum := int64(0)
	for _, r := range rows {
		sum += r[1].(int64)
	}
	if sum != 9385573 {
		t.Errorf("sum of added is %d", sum)
	}
}

func BenchmarkWikiSample(b *testing.B) {
	path := wiki(b)
	table := &Table{Source: &Local{Files: []string{path}}, Format: &JSON{},
		Fields: fields(b, "time string channel string page string user string comment string countryName string added long delta long")}
	for b.Loop() {
		r, err := table.Open(b.Context(), Split{Entity: mustList(b, table)[0], End: -1}, &Options{Decoders: 2})
		if err != nil {
			b.Fatal(err)
		}
		for {
			if _, err := r.Next(b.Context()); err != nil {
				break
			}
		}
		b.SetBytes(r.Stats().Bytes)
		r.Close()
	}
}

func mustList(b *testing.B, table *Table) []Entity {
	list, err := table.Source.List(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	return list
}
