package segment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

// written returns the bytes of a segment of a list of whole numbers, and what its writer says of
// it.
func written(t *testing.T, values ...int64) ([]byte, *Info) {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, Options{Columns: []ColumnSpec{{Name: "x", Type: vector.Long}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(t.Context(), &vector.Batch{N: len(values), Cols: []*vector.Vector{vector.FromLongs(values)}}); err != nil {
		t.Fatal(err)
	}
	info, err := w.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), info
}

func TestFingerprintsTellFilesApart(t *testing.T) {
	one, info := written(t, 1, 2, 3)
	_, other := written(t, 1, 2, 4)
	if info.Fingerprint == other.Fingerprint || len(info.Fingerprint) != 2*fingerprintBytes {
		t.Errorf("[%s] and [%s]", info.Fingerprint, other.Fingerprint)
	}
	name := FileName("dir/v1_0_0011223344556677", info.Fingerprint)
	s, err := OpenAt(bytes.NewReader(one), int64(len(one)), "one")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	for named, good := range map[string]bool{
		name: true, FileName("x", other.Fingerprint): false,
		// Those that earlier releases, or others, have named are taken as they are.
		"dir/v1_0_0011223344556677.segment": true, "2026-03-05T10:00:00.000Z_0_0011223344556677.segment": true, "index.zip": true, FileName("x", ""): true,
	} {
		if err := s.CheckName(named); (err == nil) != good || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("[%s]: %v", named, err)
		}
	}
}

// A scrub finds every byte that counts, whatever was found good before, and none in a file that is
// whole.
func TestScrubFindsEveryChangedByte(t *testing.T) {
	file, _ := written(t, 1<<40, -7, 3, 99, 100_000, 5)
	path := filepath.Join(t.TempDir(), "one.segment")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found := 0
	for at := range file {
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Verify(); err != nil {
			t.Fatal(err)
		}
		verified := 0
		scrub := func() error {
			return s.Scrub(t.Context(), func(_ context.Context, n int) error { verified += n; return nil })
		}
		if err := scrub(); err != nil || s.Damaged() {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte{file[at] ^ 0x40}, int64(at)); err != nil {
			t.Fatal(err)
		}
		err = scrub()
		again := Recheck(t.Context(), s, []string{"x"})
		switch c := s.foot.columns[0]; {
		case err != nil:
			found++
			if !errors.Is(err, ErrCorrupt) || !s.Damaged() {
				t.Errorf("byte %d: %v", at, err)
			}
		case int64(at) >= c.off && int64(at) < c.off+c.length: // parts lie one behind the other, but for gaps
			in := false
			for _, p := range c.parts {
				in = in || int64(at) >= c.off+p.off && int64(at) < c.off+p.off+p.length
			}
			if in {
				t.Errorf("byte %d of the column was changed, and nobody has noticed", at)
			}
		case at < headerSize || at >= len(file)-tailSize:
			t.Errorf("byte %d of the ends was changed, and nobody has noticed", at)
		}
		if c := s.foot.columns[0]; (again != nil) != (err != nil && int64(at) >= c.off && int64(at) < c.off+c.length) {
			t.Errorf("byte %d: scrub says %v, and a look at the column %v", at, err, again)
		}
		if verified == 0 {
			t.Fatal("nothing was verified")
		}
		s.Release()
		if _, err := f.WriteAt(file[at:at+1], int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	if found < len(file)/2 {
		t.Errorf("[%d] of [%d] bytes count", found, len(file))
	}
}

// located has a load spec of which only the end is there.
type located struct{ end, all string }

func (l located) LoadSpecEnd() string       { return l.end }
func (l located) LoadSpec() json.RawMessage { return json.RawMessage(l.all) }

func TestFingerprintsOfLoadSpecs(t *testing.T) {
	const print = "00112233445566778899aabbccddeeff"
	name := FileName("/deep/v1_0_0123456789abcdef", print)
	for _, o := range []struct {
		of   located
		want string
	}{
		{located{`_0_0123456789abcdef-` + print + `.segment"}`, ""}, print},
		{located{`ff.segment"}`, `{"type":"local","path":"` + name + `"}`}, print},
		{located{"", `{"type":"s3_zip","bucket":"b","key":"` + name + `","S3Schema":"s3n"}`}, print},
		{located{"", `{"type":"local","path":"/deep/index.zip"}`}, ""},
		{located{"", `{"type":"local","path":"/deep/x-` + print[1:] + `.segment"}`}, ""},
		{located{"", `{"type":"tombstone","path":null}`}, ""},
		{located{}, ""},
	} {
		if got := FingerprintOf(o.of); got != o.want {
			t.Errorf("%+v has the fingerprint %q instead of %q", o.of, got, o.want)
		}
	}
}
