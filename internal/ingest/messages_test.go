package ingest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// messagesOf returns what decodes records of a format.
func messagesOf(t testing.TB, format, columns string, opts *Options) *Messages {
	t.Helper()
	f, err := ParseFormat(json.RawMessage(format))
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMessages(f, fields(t, columns), opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// decodeMessages decodes values; nil is none. Rows begin with the number of their record.
func decodeMessages(t testing.TB, m *Messages, values ...[]byte) (rows [][]any, bad []string) {
	t.Helper()
	records := make([]stream.Record, len(values))
	for i, v := range values {
		records[i] = stream.Record{Topic: "t", Offset: int64(i), Time: 7, Value: v}
	}
	out, err := m.Decode(context.Background(), records)
	if err != nil {
		t.Fatal(err)
	}
	return rowsOfMessages(t, out)
}

func rowsOfMessages(t testing.TB, out *MessageRows) (rows [][]any, bad []string) {
	t.Helper()
	n := 0
	for _, b := range out.Batches {
		for i := range b.N {
			row := []any{int(out.Of[n])}
			for _, v := range b.Cols {
				row = append(row, v.ValueAt(i))
			}
			rows, n = append(rows, row), n+1
		}
	}
	if n != len(out.Of) {
		t.Fatalf("%d rows, %d of records", n, len(out.Of))
	}
	for _, e := range out.Errors {
		bad = append(bad, fmt.Sprintf("%d/%d: %s", e.Message, e.Record, e.Reason))
	}
	return rows, bad
}

// messageFormats are formats with a message that is one row, id 5 and who joe.
func messageFormats(t testing.TB) map[string]struct {
	format string
	good   []byte
} {
	t.Helper()
	const fieldsOf = `[{"name":"id","type":"long"},{"name":"who","type":"string"}]`
	schemaText := `{"type":"record","name":"r","fields":` + fieldsOf + `}`
	schema, err := avro.Parse(schemaText)
	if err != nil {
		t.Fatal(err)
	}
	row := map[string]any{"id": int64(5), "who": "joe"}
	binary, err := schema.Encode(row)
	if err != nil {
		t.Fatal(err)
	}
	proto := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 5)
	proto = protowire.AppendString(protowire.AppendTag(proto, 2, protowire.BytesType), "joe")
	descriptor := base64.StdEncoding.EncodeToString([]byte(`syntax = "proto3"; message R { int64 id = 1; string who = 2; }`))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := registered{Schema: schemaText}
		switch r.URL.Path {
		case "/schemas/ids/8":
			answer = registered{Schema: `{"type":"object"}`, Type: "JSON"}
		case "/schemas/ids/7":
		default:
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	ofRegistry := fmt.Sprintf(`{"type":"avro_stream","avroBytesDecoder":{"type":"schema_registry","url":%q}}`, s.URL)
	type pair = struct {
		format string
		good   []byte
	}
	return map[string]pair{
		"json":         {`{"type":"json"}`, []byte(`{"id":5,"who":"joe"}`)},
		"json lenient": {`{"type":"json","featureSpec":{"ALLOW_SINGLE_QUOTES":true}}`, []byte(`{'id':5,'who':'joe'}`)},
		"json flattened": {`{"type":"json","flattenSpec":{"fields":[{"type":"path","name":"who","expr":"$.o.who"}]}}`,
			[]byte(`{"id":5,"o":{"who":"joe"}}`)},
		"csv":    {`{"type":"csv","columns":["id","who"]}`, []byte(`5,"joe"`)},
		"tsv":    {`{"type":"tsv","columns":["id","who"]}`, []byte("5\tjoe")},
		"header": {`{"type":"csv","findColumnsFromHeader":true,"skipHeaderRows":1}`, []byte("skipped\nwho,id\njoe,5\n")},
		"regex":  {`{"type":"regex","pattern":"(\\d+):(.*)","columns":["id","who"]}`, []byte("5:joe")},
		"avro":   {`{"type":"avro_stream","avroBytesDecoder":{"type":"schema_inline","schema":` + schemaText + `}}`, binary},
		"avro of several": {`{"type":"avro_stream","avroBytesDecoder":{"type":"multiple_schemas_inline","schemas":{"3":` + schemaText + `}}}`,
			append([]byte{1, 0, 0, 0, 3}, binary...)},
		"avro of a registry": {ofRegistry, framed(7, binary)},
		"json of a registry": {ofRegistry, framed(8, []byte(`{"id":5,"who":"joe"}`))},
		"avro file":          {`{"type":"avro_ocf"}`, []byte(avroOf(t, fieldsOf, []map[string]any{row}))},
		"protobuf":           {`{"type":"protobuf","protoBytesDecoder":{"type":"inline","descriptorString":"` + descriptor + `"}}`, proto},
		"kafka":              {`{"type":"kafka","valueFormat":{"type":"json"}}`, []byte(`{"id":5,"who":"joe"}`)},
		"kinesis":            {`{"type":"kinesis","valueFormat":{"type":"json"}}`, []byte(`{"id":5,"who":"joe"}`)},
	}
}

// Each record is by itself: what is wrong with one changes nothing for those around it.
func TestBadMessagesBetweenGoodOnes(t *testing.T) {
	bad := map[string][]byte{
		"cut off": nil, "no text": {0xff, 0xfe, 0x00, 0x01}, "nothing": {}, "zeros": make([]byte, 9), "a wrong schema": framed(404, []byte("x")),
		"half an object": []byte(`{"id":`), "the other half": []byte(`6}`), "an open quote": []byte(`7,"x`), "a bracket": []byte("]"),
		"10 MB": bytes.Repeat([]byte(`{"x`), 10<<20/3), "more than a record may be": bytes.Repeat([]byte("z"), 17<<20),
	}
	for name, c := range messageFormats(t) {
		t.Run(name, func(t *testing.T) {
			m := messagesOf(t, c.format, "id long who string", &Options{})
			for kind, message := range bad {
				if kind == "cut off" {
					message = c.good[:len(c.good)-2]
				}
				rows, reasons := decodeMessages(t, m, c.good, message, c.good, message, c.good)
				var of []int
				for _, row := range rows {
					if n := row[0].(int); n%2 == 0 {
						if of = append(of, n); !cmp.Equal(row[1:], []any{int64(5), "joe"}) {
							t.Errorf("%s: row %v", kind, row)
						}
					}
				}
				if d := cmp.Diff([]int{0, 2, 4}, of); d != "" {
					t.Errorf("%s: %s", kind, d)
				}
				odd := len(rows) - len(of)
				for _, r := range reasons {
					if !strings.HasPrefix(r, "1/") && !strings.HasPrefix(r, "3/") {
						t.Errorf("%s: error of another record: %s", kind, r)
					}
				}
				if odd == 0 && len(reasons) < 2 {
					t.Errorf("%s: the bad records are neither rows nor errors: %v", kind, reasons)
				}
			}
		})
	}
}

func TestBadMessagesSayWhy(t *testing.T) {
	formats := messageFormats(t)
	for _, c := range []struct {
		format string
		value  []byte
		want   string
	}{
		{"json", []byte("not json"), ""},
		{"json", nil, "none"},
		{"json", []byte(" \n"), EmptyMessage},
		{"json", []byte("5"), "it is not a JSON object"},
		{"json", []byte("\xff\xfe{\x00}\x00"), "it is encoded in UTF-16"},
		{"csv", []byte(`1,"x`), "a quote is not closed"},
		{"regex", []byte("x"), "it does not match the pattern"},
		{"avro of a registry", framed(404, nil), "its schema is unknown to the schema registry"},
		{"avro of a registry", []byte("{}"), "it does not begin with the number of a schema"},
		{"avro of several", []byte{1, 0, 0, 0, 4}, "its schema 4 is unknown"},
		{"json of a registry", framed(8, []byte("[1]")), "it is not a JSON object"},
		{"avro file", []byte("Obj"), "damaged"},
		{"json", bytes.Repeat([]byte("z"), 17<<20), recordTooLarge},
	} {
		m := messagesOf(t, formats[c.format].format, "id long who string", &Options{})
		rows, bad := decodeMessages(t, m, c.value)
		if c.want == "none" {
			if len(rows)+len(bad) > 0 {
				t.Errorf("a record without a value: %v %v", rows, bad)
			}
			continue
		}
		if len(rows) > 0 || len(bad) != 1 || !strings.Contains(bad[0], c.want) {
			t.Errorf("%s %.20q: %v %v, want %s", c.format, c.value, rows, bad, c.want)
		}
	}
}

// What a record says of its file is no part of the next one, and all rows of it are of it.
func TestMessagesOfSeveralRows(t *testing.T) {
	m := messagesOf(t, `{"type":"json"}`, "id long who string", &Options{})
	rows, bad := decodeMessages(t, m, []byte(`{"id":1}{"id":2}`), []byte("{\"id\":3}\r{\n\"id\":4}"), []byte(`[{"id":5},{"id":6}]`),
		[]byte(`{"id":7} {"id":`), []byte(`{"id":8} x {"id":9}`), []byte("\xef\xbb\xbf{\"id\":10,\"who\":\"\xff\"}"))
	want := [][]any{{0, int64(1), nil}, {0, int64(2), nil}, {1, int64(3), nil}, {1, int64(4), nil}, {2, int64(5), nil}, {2, int64(6), nil},
		{3, int64(7), nil}, {4, int64(8), nil}, {5, int64(10), "\uFFFD"}}
	if d := cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
	if len(bad) != 2 || !strings.HasPrefix(bad[0], "3/2") || !strings.HasPrefix(bad[1], "4/2") {
		t.Errorf("bad: %v", bad)
	}
	orc, err := os.ReadFile("testdata/orc/plain.orc")
	if err != nil {
		t.Fatal(err)
	}
	one, _ := decodeMessages(t, messagesOf(t, `{"type":"orc"}`, "i long", &Options{}), orc)
	two, bad := decodeMessages(t, messagesOf(t, `{"type":"orc"}`, "i long", &Options{}), orc, []byte("ORC"), orc)
	if len(one) == 0 || len(two) != 2*len(one) || len(bad) != 1 {
		t.Errorf("%d rows of one file, %d of two, %v", len(one), len(two), bad)
	}
}

// The bytes of records are shared by those who read the same stream.
func TestMessagesAreNotChanged(t *testing.T) {
	text := []byte("{\"id\":1}\r{\"id\":2}\xff")
	before := bytes.Clone(text)
	decodeMessages(t, messagesOf(t, `{"type":"json"}`, "id long", &Options{}), text)
	if !bytes.Equal(before, text) {
		t.Errorf("%q became %q", before, text)
	}
}

// A registry that is away, or answers something else, may come back: the records wait for it. One
// that does not know a schema is not asked for each record.
func TestRegistryThatIsAway(t *testing.T) {
	var status atomic.Int64
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if w.WriteHeader(int(status.Load())); status.Load() == http.StatusOK {
			if asked.Load() < 4 {
				_, _ = w.Write([]byte("<html>"))
				return
			}
			_, _ = w.Write([]byte(`{"schema":"{}","schemaType":"JSON"}`))
		}
	}))
	defer s.Close()
	c := fakeclock.New(time.UnixMilli(0))
	format := fmt.Sprintf(`{"type":"avro_stream","avroBytesDecoder":{"type":"schema_registry","url":%q}}`, s.URL)
	m := messagesOf(t, format, "id long", &Options{Access: &Access{Clock: c}})
	records := []stream.Record{{Value: framed(7, []byte(`{"id":1}`))}, {Value: framed(7, []byte(`{"id":2}`))}}
	for i, code := range []int{http.StatusServiceUnavailable, http.StatusUnauthorized, http.StatusOK} {
		status.Store(int64(code))
		out, err := m.Decode(context.Background(), records)
		if f := fault.Find(err); f == nil || f.Category != fault.CategoryServiceUnavailable || out != nil || asked.Load() != int64(i+1) {
			t.Fatalf("%d: %v %v, asked [%d] times", code, out, err, asked.Load())
		}
	}
	status.Store(http.StatusNotFound)
	for range 3 {
		out, err := m.Decode(context.Background(), records)
		if err != nil || len(out.Errors) != 2 || asked.Load() != 4 {
			t.Fatalf("unknown: %+v %v, asked [%d] times", out, err, asked.Load())
		}
	}
	c.Advance(registryAsksAgain)
	status.Store(http.StatusOK)
	out, err := m.Decode(context.Background(), records)
	if err != nil || len(out.Of) != 2 || len(out.Errors) != 0 {
		t.Errorf("when it knows the schema: %+v %v", out, err)
	}
	s.Close()
	if out, err := m.Decode(context.Background(), records); err != nil || len(out.Of) != 2 {
		t.Errorf("what is known needs no registry: %+v %v", out, err)
	}
	again := messagesOf(t, format, "id long", &Options{})
	_, err = again.Decode(context.Background(), records)
	if f := fault.Find(err); f == nil || f.Category != fault.CategoryServiceUnavailable {
		t.Errorf("a registry that is gone: %v", err)
	}
}

func TestMessagesEndWithTheirContext(t *testing.T) {
	m := messagesOf(t, `{"type":"json"}`, "id long", &Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	records := []stream.Record{{Value: []byte(`{"id":1}`)}}
	if out, err := m.Decode(ctx, records); !errors.Is(err, context.Canceled) || out != nil {
		t.Errorf("%v %v", out, err)
	}
	out, err := m.Decode(context.Background(), records)
	if rows, _ := rowsOfMessages(t, out); err != nil || !cmp.Equal(rows, [][]any{{0, int64(1)}}) {
		t.Errorf("again: %v %v", rows, err)
	}
}

func TestRefusedEnvelopes(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"kafka"}`: "needs 'valueFormat'",
		`{"type":"kafka","valueFormat":{"type":"kafka","valueFormat":{"type":"json"}}}`:                       "can't be of type 'kafka'",
		`{"type":"kafka","valueFormat":{"type":"json"},"keyFormat":{"type":"frob"}}`:                          "frob",
		`{"type":"kafka","valueFormat":{"type":"json"},"headerFormat":{"type":"json"}}`:                       "json",
		`{"type":"kafka","valueFormat":{"type":"json"},"headerFormat":{"type":"string","encoding":"EBCDIC"}}`: "EBCDIC",
		`{"type":"kinesis","valueFormat":{"type":"kinesis","valueFormat":{"type":"json"}}}`:                   "can't be of type 'kinesis'",
	} {
		if _, err := ParseFormat(json.RawMessage(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	_, _, err := read(t, `{"type":"kafka","valueFormat":{"type":"json"}}`, "{}", "a string", Options{})
	if err == nil || !strings.Contains(err.Error(), "records of a stream") {
		t.Errorf("read as a file: %v", err)
	}
}

func TestHeadersInAllEncodings(t *testing.T) {
	for encoding, c := range map[string]struct{ bytes, want string }{
		"UTF-8":      {"é\xff", "é\uFFFD"},
		"iso-8859-1": {"\xe9", "é"},
		"US-ASCII":   {"a\xe9", "a\uFFFD"},
		"UTF-16":     {"\xfe\xff\x00a\xd8\x3d\xde\x00", "a😀"},
		"UTF-16LE":   {"a\x00", "a"},
		"UTF-16BE":   {"\x00a\x00", "a\uFFFD"},
	} {
		m := messagesOf(t, `{"type":"kafka","valueFormat":{"type":"json"},"headerFormat":{"type":"string","encoding":"`+encoding+`"}}`,
			"kafka.header.h string", &Options{})
		out, err := m.Decode(context.Background(), []stream.Record{{Value: []byte("{}"), Headers: []stream.Header{
			{Name: "h", Value: []byte("first")}, {Name: "h", Value: []byte(c.bytes)}}}, {Value: []byte("{}")}})
		if err != nil {
			t.Fatal(err)
		}
		if rows, _ := rowsOfMessages(t, out); !cmp.Equal(rows, [][]any{{0, c.want}, {1, nil}}) {
			t.Errorf("%s: %q", encoding, rows)
		}
	}
	utf16 := messagesOf(t, `{"type":"kafka","valueFormat":{"type":"json"},"headerFormat":{"type":"string","encoding":"UTF-16"}}`,
		"kafka.header.h string", &Options{})
	marked := stream.Record{Value: []byte("{}"), Headers: []stream.Header{{Name: "h", Value: []byte("\xff\xfea\x00")}}}
	out, err := utf16.Decode(context.Background(), []stream.Record{marked})
	if rows, _ := rowsOfMessages(t, out); err != nil || !cmp.Equal(rows, [][]any{{0, "a"}}) {
		t.Errorf("with a mark: %q %v", rows, err)
	}
}

// FuzzMessages holds that a record changes nothing for the ones around it, whatever it is, that it
// does not panic, and that none is lost without a word.
func FuzzMessages(f *testing.F) {
	formats := messageFormats(f)
	names := []string{"json", "json lenient", "json flattened", "csv", "tsv", "header", "regex", "avro", "avro file", "protobuf", "kafka"}
	decoders := make([]*Messages, len(names))
	for i, name := range names {
		decoders[i] = messagesOf(f, formats[name].format, "id long who string", &Options{Shape: &Shape{}, KeepNullBytes: true})
		f.Add(byte(i), formats[name].good)
		f.Add(byte(i), append([]byte("\r\n\"{["), formats[name].good[1:]...))
	}
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		at := int(which) % len(names)
		good := formats[names[at]].good
		rows, bad := decodeMessages(t, decoders[at], good, data, good)
		first, last := 0, 0
		for _, row := range rows {
			switch row[0].(int) {
			case 0:
				first++
			case 2:
				last++
			}
			if row[0].(int) != 1 && !cmp.Equal(row[1:], []any{int64(5), "joe"}) {
				t.Fatalf("%q changed a good row to %v", data, row)
			}
		}
		if first != 1 || last != 1 || len(rows) == 2 && len(bad) == 0 {
			t.Fatalf("%q: rows %v, bad %v", data, rows, bad)
		}
	})
}
