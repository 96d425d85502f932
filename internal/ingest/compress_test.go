package ingest

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"

	"github.com/hengedb/henge/internal/fault"
)

const packedText = "{\"a\":1}\n{\"a\":2}\n"

var packedRows = [][]any{{int64(1)}, {int64(2)}}

func pack(t testing.TB, w io.WriteCloser, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, packedText); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// packings are packedText packed in every way that has a writer here, or, of bzip2, was packed by
// one.
func packings(t testing.TB) map[string][]byte {
	bz, err := base64.StdEncoding.DecodeString("QlpoOTFBWSZTWSKd4ukAAAZZgAAQEAAwECAAAAogADEMCBKAeonCJoaL4u5IpwoSBFO8XSA=")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{"bzip2": bz}
	var gz, zs, x, l4, old, lz bytes.Buffer
	pack(t, gzip.NewWriter(&gz), nil)
	enc, err := zstd.NewWriter(&zs)
	pack(t, enc, err)
	xw, err := xz.NewWriter(&x)
	pack(t, xw, err)
	lw := lz4.NewWriter(&l4)
	pack(t, lw, nil)
	lw = lz4.NewWriter(&old)
	if err := lw.Apply(lz4.LegacyOption(true)); err != nil {
		t.Fatal(err)
	}
	pack(t, lw, nil)
	ow, err := lzma.NewWriter(&lz)
	pack(t, ow, err)
	out["gzip"], out["zstd"], out["xz"], out["lz4"], out["lz4 -l"], out["lzma"] = gz.Bytes(), zs.Bytes(), x.Bytes(), l4.Bytes(), old.Bytes(), lz.Bytes()
	return out
}

// Numbers of the zip format (APPNOTE 6.3.10).
const (
	zipEncrypted, zipDescriptor                  = 1 << 0, 1 << 3
	zipStored, zipBzip2, zipLZMA, zipZstd, zipXZ = 0, 12, 14, 93, 95
	zipFile, zipAfterwards                       = "PK\x03\x04", "PK\x07\x08"
)

// zipOf is an archive of one file, packed already.
func zipOf(method uint16, flags uint16, data []byte, files ...string) []byte {
	var b []byte
	for _, name := range files {
		b = append(b, zipFile...)
		for _, v := range []uint16{63, flags, method, 0, 0} {
			b = binary.LittleEndian.AppendUint16(b, v)
		}
		sizes := []uint32{crc32.ChecksumIEEE([]byte(packedText)), uint32(len(data)), uint32(len(packedText))}
		for _, v := range sizes {
			if flags&zipDescriptor != 0 {
				v = 0
			}
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(len(name)))
		b = append(binary.LittleEndian.AppendUint16(b, 0), name...)
		b = append(b, data...)
		if flags&zipDescriptor != 0 {
			b = append(b, zipAfterwards...)
			for _, v := range sizes {
				b = binary.LittleEndian.AppendUint32(b, v)
			}
		}
	}
	return append(b, "PK\x01\x02"+strings.Repeat("\x00", 60)...)
}

func TestZipMethods(t *testing.T) {
	packed := packings(t)
	lz := append([]byte{9, 20, 5, 0}, packed["lzma"][:5]...)
	lz = append(lz, packed["lzma"][13:]...)
	for name, archive := range map[string][]byte{
		"stored": zipOf(zipStored, 0, []byte(packedText), "a"), "stored, sizes behind": zipOf(zipStored, zipDescriptor, []byte(packedText), "a"),
		"bzip2": zipOf(zipBzip2, 0, packed["bzip2"], "a"), "lzma": zipOf(zipLZMA, 2, lz, "a"),
		"zstd": zipOf(zipZstd, 0, packed["zstd"], "a"), "xz": zipOf(zipXZ, 0, packed["xz"], "a"),
		"behind a folder": append(zipOf(zipStored, 0, nil, "dir/")[:34], zipOf(zipBzip2, 0, packed["bzip2"], "dir/a")...),
	} {
		if name == "behind a folder" { // which has no checksum and no size
			copy(archive[14:26], make([]byte, 12))
		}
		rows, bad, err := read(t, `{"type":"json"}`, string(archive), "a long", Options{})
		if d := cmp.Diff(packedRows, rows); d != "" || bad != nil || err != nil {
			t.Errorf("%s: %s%v %v", name, d, bad, err)
		}
		for cut := 40; cut < bytes.Index(archive, []byte("PK\x01\x02")); cut += 3 {
			if rows, _, err := read(t, `{"type":"json"}`, string(archive[:cut]), "a long", Options{}); fault.Find(err) == nil {
				t.Errorf("%s, cut at %d: [%d] rows, %v", name, cut, len(rows), err)
			}
		}
	}
	for want, archive := range map[string][]byte{
		"method 9 of zip archives is not supported":                             zipOf(9, 0, []byte("xxxx"), "a"),
		"an encrypted entry of a zip archive is not supported":                  zipOf(zipStored, zipEncrypted, []byte(packedText), "a"),
		"method 12 of zip archives with sizes behind the data is not supported": zipOf(zipBzip2, zipDescriptor, packed["bzip2"], "a"),
		"a 7z archive is not supported":                                         []byte("7z\xbc\xaf\x27\x1cabcdefgh"),
		"a file of compress (.Z) is not supported":                              []byte("\x1f\x9d\x90abcdefgh"),
		"is damaged: its zip data can't be decompressed":                        bytes.Replace(zipOf(zipStored, 0, []byte(packedText), "a"), []byte("2"), []byte("3"), 1),
	} {
		if _, _, err := read(t, `{"type":"json"}`, string(archive), "a long", Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

// TestFilesLeftOutOfZips tells of the files that an archive has beside the first.
func TestFilesLeftOutOfZips(t *testing.T) {
	var deflated bytes.Buffer
	w := zip.NewWriter(&deflated)
	for _, name := range []string{"a.json", "b.json", "c/d.json"} {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, packedText); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for archive, want := range map[string]string{
		deflated.String(): "only the first file of the zip archive was read; [b.json, c/d.json] were skipped",
		string(zipOf(zipStored, zipDescriptor, []byte(packedText), "1", "2", "3", "4", "5", "6", "7", "8")): "only the first file of the zip archive was read; " +
			"[2, 3, 4, 5, 6] and [2] others were skipped",
		string(zipOf(zipStored, 0, []byte(packedText), "a")): "",
	} {
		got := ""
		rows, _, err := read(t, `{"type":"json"}`, archive, "a long", Options{OnNotice: func(n *Notice) { got = n.Text }})
		if d := cmp.Diff(packedRows, rows); d != "" || err != nil || got != want {
			t.Errorf("%s%v: told [%s], want [%s]", d, err, got, want)
		}
	}
}

// TestPackedMembers reads what was packed in several parts that follow each other whole, and says
// of what is cut off that it is.
func TestPackedMembers(t *testing.T) {
	for name, packed := range packings(t) {
		if name == "lzma" { // which nothing tells from text
			continue
		}
		twice := slices.Concat(packed, packed)
		rows, bad, err := read(t, `{"type":"json"}`, string(twice), "a long", Options{})
		if d := cmp.Diff(slices.Concat(packedRows, packedRows), rows); d != "" || bad != nil || err != nil {
			t.Errorf("%s, twice: %s%v %v", name, d, bad, err)
		}
		for cut := 10; cut < len(twice); cut++ {
			rows, _, err := read(t, `{"type":"json"}`, string(twice[:cut]), "a long", Options{})
			if cut == len(packed) || name == "lz4 -l" && cut == len(packed)+4 { // whose frames have no end, and so may be empty
				if len(rows) != 2 || err != nil {
					t.Errorf("%s: %v, %v", name, rows, err)
				}
			} else if fault.Find(err) == nil {
				t.Errorf("%s, cut at %d of %d: [%d] rows, %v", name, cut, len(twice), len(rows), err)
			}
		}
	}
}
