package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	twmb "github.com/twmb/avro"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/avro"
	"github.com/hengedb/henge/internal/ingest/record"
)

// fakeRegistry answers as a schema registry does, to those who know its password.
func fakeRegistry(t *testing.T, answers map[string]registered) (at string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		user, password, _ := r.BasicAuth()
		answer, ok := answers[r.URL.Path]
		switch {
		case user != "u" || password != "p:w" || r.Header.Get("X-Team") != "t":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/schemas/ids/503":
			w.WriteHeader(http.StatusServiceUnavailable)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		default:
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

const registryLogin = `"config":{"basic.auth.credentials.source":"USER_INFO","service.dynamic.config.provider":{"type":"environment","variables":{"basic.auth.user.info":"LOGIN"}}},
	"headers":{"X-Team":"t"}`

var registryAccess = &Access{Getenv: func(name string) (string, bool) { return "u:p:w", name == "LOGIN" }}

func decodeMessage(t *testing.T, format string, access *Access, messages ...[]byte) (out []string) {
	t.Helper()
	f, err := ParseFormat(json.RawMessage(format))
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.(*messageFormat).decoder(access)
	if err != nil {
		return []string{err.Error()}
	}
	for _, m := range messages {
		o, err := d.Message(context.Background(), m)
		switch {
		case fault.Find(err) != nil:
			out = append(out, "fault: "+err.Error())
		case err != nil:
			out = append(out, err.Error())
		default:
			out = append(out, string(record.AppendJSON(nil, o)))
		}
	}
	return out
}

func framed(id uint32, body ...[]byte) []byte {
	out := []byte{0, byte(id >> 24), byte(id >> 16), byte(id >> 8), byte(id)}
	for _, b := range body {
		out = append(out, b...)
	}
	return out
}

func TestAvroOfRegistry(t *testing.T) {
	city := registered{Schema: `{"type":"record","name":"City","namespace":"geo","fields":[{"name":"name","type":"string"}]}`}
	var order registered
	if err := json.Unmarshal([]byte(`{"schema":"{\"type\":\"record\",\"name\":\"Order\",\"fields\":[`+
		`{\"name\":\"id\",\"type\":\"long\"},{\"name\":\"to\",\"type\":\"geo.City\"}]}",`+
		`"schemaType":"AVRO","references":[{"name":"geo.City","subject":"geo/City","version":3}]}`), &order); err != nil {
		t.Fatal(err)
	}
	at, asked := fakeRegistry(t, map[string]registered{"/schemas/ids/7": order, "/subjects/geo/City/versions/3": city,
		"/schemas/ids/8": {Schema: `{"type":"string"}`}, "/schemas/ids/9": {Schema: `syntax = "proto3";`, Type: "PROTOBUF"}})
	whole, err := twmb.Parse(`{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"to","type":{"type":"record","name":"City","fields":[{"name":"name","type":"string"}]}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	body, err := whole.Encode(map[string]any{"id": int64(5), "to": map[string]any{"name": "Bern"}})
	if err != nil {
		t.Fatal(err)
	}
	format := fmt.Sprintf(`{"type":"avro_stream","avroBytesDecoder":{"type":"schema_registry","urls":["http://127.0.0.1:1",%q],%s}}`, at, registryLogin)
	got := decodeMessage(t, format, registryAccess, framed(7, body), framed(7, body), framed(404, body), []byte{1, 2}, framed(8), framed(9), framed(503))
	for i, g := range got {
		got[i] = strings.ReplaceAll(g, at, "URL")
	}
	want := []string{`{"id":5,"to":{"name":"Bern"}}`, `{"id":5,"to":{"name":"Bern"}}`, "its schema is unknown to the schema registry",
		"it does not begin with the number of a schema", "fault: Schema [8] of the schema registry can't be used: [it is not a record]",
		"fault: Schema [9] of the schema registry can't be used: [it is of type PROTOBUF, not Avro]",
		"fault: The schema registry at [URL/schemas/ids/503] answered [503]"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if n := asked.Load(); n != 6 { // of 7 and what it refers to once
		t.Errorf("the registry was asked [%d] times", n)
	}
	refused := &Access{Getenv: registryAccess.Getenv, CheckAddress: func(netip.AddrPort) error { return fault.Forbidden("Address is private") }}
	for _, c := range []struct {
		access *Access
		want   string
	}{{refused, "fault: Address is private"}, {&Access{}, "passwords from the environment are not allowed here"}} {
		if got := decodeMessage(t, format, c.access, framed(7, body)); !strings.Contains(got[0], c.want) {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestProtobufOfRegistry(t *testing.T) {
	order := registered{Type: "PROTOBUF", Schema: `syntax = "proto3"; import "geo/city.proto"; message Other { string x = 1; } message Order { int64 id = 1; geo.City to = 2; message Line { string sku = 1; } }`}
	if err := json.Unmarshal([]byte(`[{"name":"geo/city.proto","subject":"city","version":1}]`), &order.References); err != nil {
		t.Fatal(err)
	}
	at, _ := fakeRegistry(t, map[string]registered{"/schemas/ids/1": order,
		"/subjects/city/versions/1": {Type: "PROTOBUF", Schema: `syntax = "proto3"; package geo; message City { string name = 1; }`}})
	text := func(field protowire.Number, s string) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, field, protowire.BytesType), s)
	}
	path := func(at ...int) (out []byte) {
		for _, n := range at {
			out = protowire.AppendVarint(out, protowire.EncodeZigZag(int64(n)))
		}
		return out
	}
	id := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 5)
	format := fmt.Sprintf(`{"type":"protobuf","protoBytesDecoder":{"type":"schema_registry","url":%q,"capacity":1,%s}}`, at, registryLogin)
	got := decodeMessage(t, format, registryAccess, framed(1, path(0), text(1, "first")), framed(1, path(1, 1), id, text(2, string(text(1, "Bern")))),
		framed(1, path(2, 1, 0), text(1, "s")), framed(1, path(1, 9)), framed(1, path(-3)), framed(1), framed(1, path(1<<20)))
	want := []string{`{"x":"first"}`, `{"id":5,"to":{"name":"Bern"}}`, `{"sku":"s"}`, "its type is not in the schema"}
	if d := cmp.Diff(want, got[:4]); d != "" {
		t.Error(d)
	}
	for _, g := range got[4:] {
		if !strings.Contains(g, "the number of its type is damaged") {
			t.Errorf("a damaged path gives %s", g)
		}
	}
}

// FuzzRegistryMessage holds what comes before a message against damage.
func FuzzRegistryMessage(f *testing.F) {
	f.Add([]byte{0, 'x'})
	f.Add([]byte{2, 2, 8, 5})
	f.Add([]byte{4, 2, 0})
	d, err := registeredProto(registered{Type: "PROTOBUF", Schema: `syntax = "proto3"; message A { string x = 1; } message B { int64 id = 1; message C { string s = 1; } }`}, nil, avro.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = d.Message(context.Background(), data) })
}
