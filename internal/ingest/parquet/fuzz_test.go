package parquet

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// seeds are files of every kind of page.
func seeds() (files [][]byte) {
	nulls := []byte{2, 1, 2, 0, 2, 1}
	for _, c := range []testColumn{
		one(Int64, plain, 2, int64s(1, -1)),
		one(Int64, deltaPacked, 40, delta(make([]int64, 40)...)),
		one(Int32, deltaPacked, 3, delta(-1<<31, 1<<31-1, 0)),
		one(Double, byteStreamSplit, 9, make([]byte, 72)),
		one(Boolean, rle, 16, []byte{2, 0, 0, 0, 32, 1}),
		one(ByteArray, deltaLength, 3, append(delta(1, 0, 2), "abc"...)),
		one(ByteArray, deltaByteArray, 3, append(append(delta(0, 2, 1), delta(3, 1, 0)...), "abcx"...)),
		one(ByteArray, plain, 1, []byte{1, 0, 0, 0, 'x'}),
		{typ: int64(Int64), repetition: 1, values: 3, rows: 3, pages: []testPage{v2(3, nulls, int64s(5, 6))}},
		{typ: int64(Int64), values: 8, rows: 8, dictionaryOffset: true, pages: []testPage{
			{typ: dictionaryPage, values: 3, encoding: plain, unpacked: -1, body: int64s(10, 20, 30)},
			{typ: dataPage, values: 8, encoding: rleDictionary, unpacked: -1, body: []byte{2, 3, 0b10010010, 0b00010010}}}},
		{typ: int64(Int64), repetition: 2, values: 3, rows: 2, pages: []testPage{{typ: dataPage, values: 3, encoding: plain, unpacked: -1,
			body: append([]byte{2, 0, 0, 0, 3, 2, 2, 0, 0, 0, 6, 1}, int64s(1, 2, 3)...)}}},
	} {
		files = append(files, c.file())
		for _, codec := range []int64{codecSnappy, codecGzip, codecBrotli, codecLZ4, codecZstd, codecLZ4Raw} {
			c.codec = codec
			files = append(files, c.file())
		}
	}
	return files
}

// hold reads all leaves of a file and holds pages to what Page promises.
func hold(t *testing.T, file []byte) {
	f, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		known(t, err)
		return
	}
	for _, g := range f.Groups {
		for _, leaf := range g.leaves {
			pages, err := g.Pages(leaf)
			if err != nil {
				known(t, err)
				continue
			}
			var rows int64
			for {
				p, err := pages.Next()
				if errors.Is(err, io.EOF) {
					if rows != g.Rows {
						t.Fatalf("[%d] rows of [%d]", rows, g.Rows)
					}
					break
				}
				if err != nil {
					known(t, err)
					break
				}
				appendPage(make([]string, 1), leaf, p) // touches every value
				if p.Repetitions == nil {
					rows += int64(p.Count)
				} else {
					rows += int64(bytes.Count(p.Repetitions, []byte{0}))
				}
			}
		}
	}
}

func known(t *testing.T, err error) {
	damage, other := &Damage{}, &Unsupported{}
	if !errors.As(err, &damage) && !errors.As(err, &other) {
		t.Fatalf("%T: %v", err, err)
	}
}

func FuzzFile(f *testing.F) {
	for _, file := range seeds() {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) { hold(t, file) })
}

// Every byte of files of every kind changed in several ways.
func TestChangedBytes(t *testing.T) {
	for _, file := range seeds() {
		for at := range file {
			for _, change := range []byte{0xff, 0x01, 0x80, 0x55} {
				changed := bytes.Clone(file)
				changed[at] ^= change
				hold(t, changed)
			}
		}
	}
}

func FuzzPage(f *testing.F) {
	f.Add(uint8(Int64), uint8(deltaPacked), uint16(3), delta(1, 2, 3))
	f.Add(uint8(ByteArray), uint8(deltaByteArray), uint16(3), append(append(delta(0, 2, 1), delta(3, 1, 0)...), "abcx"...))
	f.Add(uint8(Boolean), uint8(rle), uint16(16), []byte{2, 0, 0, 0, 32, 1})
	f.Fuzz(func(t *testing.T, typ, encoding uint8, n uint16, data []byte) {
		leaf := &Column{Type: Type(typ % 8), Length: int(n%20) + 1}
		if leaf.Type == Int96 {
			leaf.Length = 12
		}
		v := &Values{}
		if err := v.decode(leaf, int32(encoding%12), data, int(n)); err != nil {
			known(t, err)
			return
		}
		appendPage(nil, leaf, &Page{Count: int(n), Values: v})
	})
}
