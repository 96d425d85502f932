package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// tryRead opens b and reads all that a query could: rows in two ways, dictionaries, bitmaps,
// bounds. It returns the first error.
func tryRead(b []byte) (rowsOf, error) {
	s, err := OpenAt(bytes.NewReader(b), int64(len(b)), "hostile")
	if err != nil {
		return nil, err
	}
	defer s.Release()
	if s.Info().Rows > 1<<16 { // columns of nothing but nulls may claim any number of rows
		return nil, s.Verify()
	}
	rows, err := readRows(s, 4096)
	if err != nil {
		return nil, err
	}
	for _, m := range s.foot.columns {
		c, err := s.Column(m.key())
		if err != nil {
			return nil, err
		}
		d, err := c.Dict()
		if err != nil {
			return nil, err
		}
		if d != nil {
			if _, _, err := c.Lookup("k"); err != nil {
				return nil, err
			}
		}
		for code := 0; d != nil && code < d.Len(); code++ {
			if b, err := c.Bitmap(uint32(code)); err != nil {
				return nil, err
			} else if b != nil {
				b.ToArray()
			}
		}
		var some []uint32
		for r := 0; r < s.Info().Rows; r += 7 {
			some = append(some, uint32(r))
		}
		v, err := c.ReadRows(nil, some)
		if err != nil {
			return nil, err
		}
		for i := range v.Len {
			v.ValueAt(i)
		}
		c.LongRange(0)
		c.DoubleRange(0)
	}
	if _, _, err := TimeRows(s, 0, 1<<50); err != nil {
		return nil, err
	}
	if _, err := Inspect(s); err != nil {
		return nil, err
	}
	return rows, s.Verify()
}

func smallFile(t testing.TB) ([]byte, rowsOf) {
	rows := randomRows(rand.New(rand.NewPCG(3, 3)), 12, 0.2)
	return writeRows(t, allTypes, rows, Options{SortOrder: []string{TimeColumn}, QueryGranularity: "NONE", Metadata: []byte(`{"a":1}`)}, 12),
		plainSingle(sortedByTime(rows))
}

func TestEveryFlippedByteIsNoticedOrHarmless(t *testing.T) {
	file, want := smallFile(t)
	noticed, good := 0, openBytes(t, file)
	defer good.Release()
	for i := range file {
		flip := []byte{0x01, 0x80, 0xff}[i%3]
		bad := bytes.Clone(file)
		bad[i] ^= flip
		got, err := tryRead(bad)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("byte %d ^ %#x: not a corruption error: %v", i, flip, err)
			}
			if f := fault.Find(err); f == nil || !strings.Contains(f.Message, "[hostile]") {
				t.Fatalf("byte %d: the error does not name the file: %v", i, err)
			}
			var corrupt *CorruptError
			if column := good.columnAt(int64(i)); !errors.As(err, &corrupt) || corrupt.Column != column || column != "" && (corrupt.Offset < 0 || corrupt.Offset > int64(i)) {
				t.Fatalf("byte %d of column [%s]: the error names [%s], offset [%d]: %v", i, column, corrupt.Column, corrupt.Offset, err)
			}
			noticed++
			continue
		}
		if diff := difference(want, got); diff != "" {
			t.Fatalf("byte %d ^ %#x reads as something else: %s", i, flip, diff)
		}
	}
	if noticed < len(file)*4/5 {
		t.Fatalf("only %d of %d flips were noticed", noticed, len(file))
	}
}

func TestEveryTruncationIsNoticed(t *testing.T) {
	file, _ := smallFile(t)
	for n := range file {
		if _, err := tryRead(file[:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%d of %d bytes: %v", n, len(file), err)
		}
	}
}

// reseal writes the checksums of a changed file anew, as somebody who means harm would.
func reseal(file []byte) []byte {
	b := bytes.Clone(file)
	if len(b) < headerSize+tailSize {
		return b
	}
	tail := b[len(b)-tailSize:]
	at, n := binary.LittleEndian.Uint64(tail), binary.LittleEndian.Uint32(tail[8:])
	if at > uint64(len(b)-tailSize) || uint64(n) > uint64(len(b)-tailSize)-at {
		return b
	}
	raw := b[at : at+uint64(n)]
	if foot, err := parseFooter(raw); err == nil {
		// The checksums are the last field: the sums of the parts are put where the old ones were.
		if sums := raw[max(0, len(raw)-4*len(foot.checksums)):]; foot.check(int64(at)) == nil && len(sums) == 4*len(foot.checksums) {
			var seal func(c *columnMeta, top *columnMeta)
			seal = func(c, top *columnMeta) {
				for _, p := range c.parts {
					if p.kind.String() == "unknown" {
						continue
					}
					for lo, k := int64(0), p.firstSum; lo < p.length; lo, k = lo+1<<foot.chunkLog2, k+1 {
						chunk := b[top.off+p.off+lo : top.off+p.off+min(lo+1<<foot.chunkLog2, p.length)]
						binary.LittleEndian.PutUint32(sums[4*k:], checksum(chunk))
					}
				}
				if c.element != nil {
					seal(c.element, top)
				}
			}
			for _, c := range foot.columns {
				seal(c, c)
			}
		}
	}
	binary.LittleEndian.PutUint32(tail[12:], checksum(raw))
	binary.LittleEndian.PutUint32(tail[20:], checksum(tail[:20]))
	return b
}

func TestHostileFilesWithGoodChecksumsAreSafe(t *testing.T) {
	file, _ := smallFile(t)
	if !bytes.Equal(reseal(file), file) {
		t.Fatal("reseal changes a good file")
	}
	refused := 0
	for i := headerSize; i < len(file); i++ {
		flip := []byte{0x01, 0xff}[i&1]
		bad := bytes.Clone(file)
		bad[i] ^= flip
		if _, err := tryRead(reseal(bad)); err != nil {
			refused++
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewer) {
				t.Fatalf("byte %d ^ %#x: neither corrupt nor newer: %v", i, flip, err)
			}
		}
	}
	if refused == 0 {
		t.Fatal("nothing was refused")
	}
}

func TestFilesOfNewerReleasesAreRefused(t *testing.T) {
	file, _ := smallFile(t)
	newer := bytes.Clone(file)
	binary.LittleEndian.PutUint32(newer[8:], Version+1)
	binary.LittleEndian.PutUint32(newer[len(newer)-16:], Version+1)
	_, err := tryRead(reseal(newer))
	if !errors.Is(err, ErrNewer) || errors.Is(err, ErrCorrupt) {
		t.Fatalf("version: %v", err)
	}
	f := fault.Find(err)
	if f == nil || f.Category != fault.CategoryUnsupported || !strings.Contains(f.Message, "use a newer release") {
		t.Fatalf("version: %v", err)
	}

	appended := func(tag uint64) error {
		tail := len(file) - tailSize
		extra := appendField(nil, tag, []byte("hello"))
		b := append(append(bytes.Clone(file[:tail]), extra...), file[tail:]...)
		n := binary.LittleEndian.Uint32(b[len(b)-24:])
		binary.LittleEndian.PutUint32(b[len(b)-24:], n+uint32(len(extra)))
		at := binary.LittleEndian.Uint64(b[len(b)-tailSize:])
		t := b[len(b)-tailSize:]
		binary.LittleEndian.PutUint32(t[12:], checksum(b[at:len(b)-tailSize]))
		binary.LittleEndian.PutUint32(t[20:], checksum(t[:20]))
		_, err := tryRead(b)
		return err
	}
	if err := appended(1000); !errors.Is(err, ErrNewer) {
		t.Fatalf("field that must be understood: %v", err)
	}
	if err := appended(1001); err != nil {
		t.Fatalf("field that may be ignored: %v", err)
	}
}

func TestMappedFileCutShortIsAnError(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(4, 4)), 9000, 0)
	path := filepath.Join(t.TempDir(), "cut.segment")
	if err := os.WriteFile(path, writeRows(t, allTypes, rows, Options{SortOrder: []string{TimeColumn}}, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	c, err := s.Column("double")
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Read(nil, 0, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	err = Guard(func() error {
		sum := 0.0
		for _, x := range v.Doubles {
			sum += x
		}
		if sum == 1 { // keeps the loop
			t.Log(sum)
		}
		return nil
	})
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || corrupt.File != path || corrupt.Column != "double" || corrupt.Offset < 4096 {
		t.Fatalf("vector of a file cut short: %v (%+v)", err, corrupt)
	}
	if _, err := readRows(s, 4096); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("reading a file cut short: %v", err)
	}
	defer func() {
		if r := recover(); r != "mine" {
			t.Fatalf("a panic that is none of Guard's came out as %v", r)
		}
	}()
	Guard(func() error { panic("mine") })
}

func TestNotASegment(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, bytes.Repeat([]byte("hello"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(text); !errors.Is(err, ErrCorrupt) {
		t.Errorf("text file: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
	if _, err := Open(dir); err == nil || errors.Is(err, ErrCorrupt) {
		t.Errorf("directory: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	file, _ := smallFile(f)
	f.Add(file)
	tiny := []ColumnSpec{{Name: TimeColumn, Type: vector.Long}, {Name: "s", Type: vector.String}, {Name: "l", Type: vector.ListOf(vector.Double)}}
	f.Add(writeRows(f, tiny, rowsOf{{int64(1), "a", []any{1.0, nil}}, {int64(2), nil, nil}}, Options{}, 2))
	f.Add(writeRows(f, nil, nil, Options{}, 1))
	f.Add(writeRows(f, []ColumnSpec{{Name: "j", Type: vector.JSON}}, rowsOf{{`{"a":1,"b":{"c":"x"},"d":0.5}`}, {`{"a":2,"d":1}`}}, Options{}, 2))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, file := range [][]byte{b, reseal(b)} {
			if _, err := tryRead(file); err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewer) {
				t.Fatalf("neither corrupt nor newer: %v", err)
			}
		}
	})
}
