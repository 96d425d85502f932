package ingest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hengedb/henge/internal/ingest/record"
)

const malformedProto = `syntax = "proto2"; message M { optional string s = 1; repeated string l = 2; map<string, string> o = 3; }`

// Three parts of this text are no UTF-8.
const malformed, mended = "x\xffy\xe2\x82z\xfe", "x\uFFFDy\uFFFDz\uFFFD"

func malformedAvro(t *testing.T) []byte {
	t.Helper()
	schema, err := avro.Parse(`{"type":"record","name":"M","fields":[{"name":"s","type":"string"},{"name":"l","type":{"type":"array",` +
		`"items":"string"}},` +
		`{"name":"o","type":{"type":"map","values":"bytes"}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"fine", malformed} {
		if err := w.Encode(map[string]any{"s": s, "l": []any{s}, "o": map[string]any{"p": []byte(s)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func malformedMessage() []byte {
	text := func(b []byte, field protowire.Number) []byte {
		return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), malformed)
	}
	entry := text(protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "p"), 2)
	b := text(text(nil, 1), 2)
	return protowire.AppendBytes(protowire.AppendTag(b, 3, protowire.BytesType), entry)
}

type malformedRow struct {
	S string `parquet:"s"`
	D string `parquet:"d,dict"`
}

// Texts that are no UTF-8 are replaced and counted in formats that are no text, whichever way their
// values take: straight into columns, as objects, or as records of the sampler.
func TestMalformedTextsOfBinaryFormatsAreCounted(t *testing.T) {
	orc := func(name string) []byte {
		data, err := os.ReadFile("testdata/malformed/" + name + ".orc")
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	proto := fmt.Sprintf(`{"type":"protobuf","protoBytesDecoder":{"type":"inline","descriptorString":%q,"protoMessageType":"M"}}`,
		base64.StdEncoding.EncodeToString([]byte(malformedProto)))
	notice := func(n int, column string) []string {
		return []string{fmt.Sprintf("[%d] byte sequences are not UTF-8 and were replaced by U+FFFD, the first in column [%s]", n,
			column)}
	}
	const orcText = "x\uFFFDy\uFFFDz"
	for _, c := range []struct {
		name, format, columns string
		data                  []byte
		row                   []any
		want                  []string
	}{
		{"avro", `{"type":"avro_ocf","binaryAsString":true}`, "s string l mv o COMPLEX<json>", malformedAvro(t),
			[]any{mended, []any{mended}, `{"p":"` + mended + `"}`}, notice(9, "s")},
		{"protobuf", proto, "s string l mv o COMPLEX<json>", malformedMessage(), []any{mended, []any{mended}, `{"p":"` + mended + `"}`},
			notice(9, "s")},
		{"orc, plain", `{"type":"orc"}`, "s string", orc("plain"), []any{orcText}, notice(9, "s")},
		{"orc, dictionary", `{"type":"orc"}`, "s string", orc("dictionary"), []any{orcText}, notice(9, "s")},
		{"orc, nested", `{"type":"orc"}`, "l mv o COMPLEX<json>", orc("plain"), []any{[]any{orcText}, `{"p":"` + orcText + `"}`},
			notice(18, "l")},
		{"orc, flattened", `{"type":"orc","flattenSpec":{"useFieldDiscovery":false,"fields":[{"type":"path","name":"p",` +
			`"expr":"$.o.p"}]}}`, "p string",
			orc("dictionary"), []any{orcText}, notice(27, "s")},
		{"parquet", `{"type":"parquet"}`, "s string", writeParquet(t, []malformedRow{{"fine", "a"}, {malformed, "a"}, {malformed, "a"}}),
			[]any{mended}, notice(6, "s")},
		// A text of a dictionary counts once.
		{"parquet, dictionary", `{"type":"parquet"}`, "d string", writeParquet(t, []malformedRow{{"a", "fine"}, {"a", malformed}, {"a",
			malformed}}), []any{mended}, notice(3, "d")},
		{"nothing to tell", `{"type":"parquet"}`, "s string", writeParquet(t, []malformedRow{{"fine", "\uFFFD"}, {"\uFFFD", "a"}}),
			[]any{"\uFFFD"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var told []string
			rows, bad, err := read(t, c.format, string(c.data), c.columns, Options{OnNotice: func(n *Notice) {
				told = append(told,
					n.Text)
			}})
			if err != nil || len(bad) > 0 || len(rows) == 0 {
				t.Fatal(rows, bad, err)
			}
			if d := cmp.Diff(c.row, rows[min(1, len(rows)-1)]); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.want, told); d != "" {
				t.Error(d)
			}
		})
	}
	var told []string
	f, err := ParseFormat(json.RawMessage(proto))
	if err != nil {
		t.Fatal(err)
	}
	table, opts := &Table{Source: &Inline{Data: string(malformedMessage())}, Format: f},
		&Options{OnNotice: func(n *Notice) { told = append(told, n.Text) }}
	splits, err := table.Splits(t.Context(), opts, 0)
	if err != nil {
		t.Fatal(err)
	}
	records, err := table.Records(t.Context(), splits[0], opts)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := records.Next(t.Context()); err != nil || string(record.AppendJSON(nil,
		r.Object)) != `{"s":"`+mended+`","l":["`+mended+`"],"o":{"p":"`+mended+`"}}` {
		t.Error(r, err)
	}
	if _, err := records.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if err := records.Close(); err != nil || !cmp.Equal(told, notice(9, "s")) {
		t.Error(told, err)
	}
}
