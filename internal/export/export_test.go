package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/parquet-go/parquet-go"

	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/vector"
)

func TestPlacesRefuse(t *testing.T) {
	base := t.TempDir()
	p := &Destinations{BaseDir: base, S3Paths: []string{"s3://b/exports/", "s3://whole"}, GooglePaths: []string{"gs://g/x"}}
	local := func(path string) string { return `{"type":"local","exportPath":"` + path + `"}` }
	for destination, want := range map[string]string{
		local(base + "/a"):        "",
		local(base):               "",
		local(base + "/a/../b"):   "",
		local(base + "/../b"):     "must be within the path configured by runtime property `service.export.storage.baseDir`",
		local(base + "/a/../../"): "must be within the path",
		local(base + "x"):         "must be within the path",
		local("a"):                "must be within the path",
		`{"type":"s3","bucket":"b","prefix":"exports/q"}`:    "",
		`{"type":"s3","bucket":"b","prefix":"/exports/q/"}`:  "",
		`{"type":"s3","bucket":"b","prefix":"exportsx"}`:     "None of the allowed prefixes matched the input path [s3://b/exportsx]",
		`{"type":"s3","bucket":"b","prefix":"exports/../q"}`: "part [..], which is not allowed",
		`{"type":"s3","bucket":"whole","prefix":"q"}`:        "",
		`{"type":"s3","bucket":"whole2","prefix":"q"}`:       "None of the allowed prefixes",
		`{"type":"s3","bucket":"b/exports","prefix":"q"}`:    "is no name of a bucket",
		`{"type":"google","bucket":"g","prefix":"x/y"}`:      "",
		`{"type":"google","bucket":"b","prefix":"exports"}`:  "service.export.storage.google.allowedExportPaths",
		`{"type":"azure"}`: "Export destination [azure] is unknown",
		`[]`:               "can't be read",
	} {
		err := p.Check(json.RawMessage(destination))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", destination, err)
		}
	}
	var none *Destinations
	for _, kind := range []string{"local", "s3", "google"} {
		if err := none.Check(json.RawMessage(`{"type":"` + kind + `","bucket":"b","prefix":"p","exportPath":"/p"}`)); err == nil || !strings.Contains(err.Error(), "must be configured") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// A link below the base directory may point within it, and is not followed out of it.
func TestLocalFollowsNoLinksOut(t *testing.T) {
	dir := t.TempDir()
	base, outside := filepath.Join(dir, "base"), filepath.Join(dir, "outside")
	for _, d := range []string{base, outside, filepath.Join(base, "real")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out": outside, "up": "../outside", "within": "real"} {
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := &Destinations{BaseDir: base}
	for _, path := range []string{"out", "out/x", "up", "up/x/y"} {
		d, err := p.Open(t.Context(), json.RawMessage(`{"type":"local","exportPath":"`+base+"/"+path+`"}`))
		if err == nil {
			_ = d.Close()
			t.Errorf("an export may go to [%s]", path)
		}
	}
	d, err := p.Open(t.Context(), json.RawMessage(`{"type":"local","exportPath":"`+base+`/within/x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Put(t.Context(), "f", strings.NewReader("1"), 1); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(base, "real", "x", "f")); err != nil {
		t.Error(err)
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
		t.Errorf("%v %v", list, err)
	}
}

func TestDestinations(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("b"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	defer server.Close()
	base := filepath.Join(t.TempDir(), "made")
	store := s3.Options{Endpoint: server.URL, Region: "us-east-1", AccessKey: secret.NewText("a"), SecretKey: secret.NewText("s")}
	p := &Destinations{BaseDir: base, S3Paths: []string{"s3://b/x"}, S3: store, GooglePaths: []string{"gs://b"}, Google: store}
	for destination, uri := range map[string]string{
		`{"type":"local","exportPath":"` + base + `/x/ y"}`: "file:" + base + "/x/%20y/m/f",
		`{"type":"s3","bucket":"b","prefix":"x/y/"}`:        "s3://b/x/y/m/f",
		`{"type":"google","bucket":"b","prefix":"g"}`:       "gs://b/g/m/f",
	} {
		d, err := p.Open(t.Context(), json.RawMessage(destination))
		if err != nil {
			t.Fatal(err)
		}
		names := func(limit int) []string {
			list, err := d.Names(t.Context(), limit)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(list)
			return list
		}
		for _, name := range []string{"a", "m/f"} {
			if err := d.Put(t.Context(), name, strings.NewReader("text"), 4); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Put(t.Context(), "a", strings.NewReader("more"), 4); err == nil && strings.Contains(destination, "local") {
			t.Errorf("%s: a file was written twice", destination)
		}
		if diff := cmp.Diff([]string{"a", "m/f"}, names(10)); diff != "" {
			t.Errorf("%s: %s", destination, diff)
		}
		if n := len(names(1)); n != 1 {
			t.Errorf("%s: %d names, at most 1 was asked for", destination, n)
		}
		if got := d.URI("m/f"); got != uri {
			t.Errorf("%s: %s", destination, got)
		}
		if err := d.Delete(t.Context(), "a", "m/f", "never"); err != nil {
			t.Error(err)
		}
		if left := names(10); len(left) > 0 {
			t.Errorf("%s: %v", destination, left)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Every type of a result has its form in Parquet, and comes back from there.
func TestParquet(t *testing.T) {
	nested := vector.NewBuilder(vector.ListOf(vector.Long), 3)
	for _, list := range [][]any{{int64(1), nil}, nil, {}} {
		if list == nil {
			nested.AppendNull()
			continue
		}
		for _, x := range list {
			if x == nil {
				nested.Child().AppendNull()
			} else {
				nested.Child().AppendLong(x.(int64))
			}
		}
		nested.AppendList()
	}
	columns := []result.Column{{Name: "z", Type: expr.Of(expr.Varchar)}, {Name: "a", Type: expr.Of(expr.BigInt)}, {Name: "yes", Type: expr.Of(expr.Boolean)},
		{Name: "at", Type: expr.Of(expr.Timestamp)}, {Name: "day", Type: expr.Of(expr.Date)}, {Name: "d", Type: expr.Of(expr.Double)},
		{Name: "list", Type: expr.ArrayOf(expr.Of(expr.BigInt))}, {Name: "doc", Type: expr.ComplexOf("json")}}
	docs := vector.FromStrings([]string{`{"x":1}`, `1`, `null`})
	docs.Type = vector.JSON
	b := &vector.Batch{N: 3, Cols: []*vector.Vector{
		vector.FromStrings([]string{"p", "q", "r"}), vector.FromLongs([]int64{-1, 0, 1 << 60}), vector.FromLongs([]int64{0, 1, 0}),
		vector.FromLongs([]int64{0, 1577836800123, -1}), vector.FromLongs([]int64{0, 1577836800000, -86400000}),
		vector.FromDoubles([]float64{0.5, -2, 1e300}), nested.Build(), docs,
	}}
	b.Cols[0].Valid = vector.NewBitmap(3)
	b.Cols[0].Valid.Set(0)
	b.Cols[0].Valid.Set(2)

	var out bytes.Buffer
	format, err := ParseFormat("Parquet")
	if err != nil {
		t.Fatal(err)
	}
	f, err := format.NewFile(&out, columns, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Batch(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range file.Root().Columns() {
		names = append(names, c.Name())
	}
	if diff := cmp.Diff([]string{"z", "a", "yes", "at", "day", "d", "list", "doc"}, names); diff != "" {
		t.Error(diff)
	}
	rows := parquet.NewReader(file)
	var got []string
	for {
		row := map[string]any{}
		err := rows.Read(&row)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	want := []string{
		`{"a":-1,"at":0,"d":0.5,"day":0,"doc":{"x":1},"list":[1,null],"yes":false,"z":"p"}`,
		`{"a":0,"at":1577836800123,"d":-2,"day":18262,"doc":1,"list":null,"yes":true,"z":null}`,
		`{"a":1152921504606846976,"at":-1,"d":1e+300,"day":-1,"doc":null,"list":[],"yes":false,"z":"r"}`,
	}
	if diff := cmp.Diff(append(want, want...), got); diff != "" {
		t.Error(diff)
	}
}
