package parquet

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// delta writes DELTA_BINARY_PACKED with blocks of 128 values in 4 miniblocks, and differences of 64
// bits.
func delta(values ...int64) []byte {
	b := binary.AppendUvarint(nil, 128)
	b = binary.AppendUvarint(b, 4)
	b = binary.AppendUvarint(b, uint64(len(values)))
	if len(values) == 0 {
		return binary.AppendVarint(b, 0)
	}
	b = binary.AppendVarint(b, values[0])
	for at := 1; at < len(values); at += 128 {
		block := values[at:min(len(values), at+128)]
		deltas := make([]int64, len(block))
		for i := range block {
			deltas[i] = values[at+i] - values[at+i-1]
		}
		least := deltas[0]
		for _, d := range deltas {
			least = min(least, d)
		}
		b = binary.AppendVarint(b, least)
		width := 0
		for _, d := range deltas {
			for width < 64 && uint64(d-least)>>width != 0 {
				width++
			}
		}
		b = append(b, byte(width), byte(width), byte(width), byte(width))
		packed := make([]byte, (len(deltas)+31)/32*32*width/8)
		for i, d := range deltas {
			for bit := range width {
				if uint64(d-least)>>bit&1 != 0 {
					packed[(i*width+bit)/8] |= 1 << ((i*width + bit) % 8)
				}
			}
		}
		b = append(b, packed...)
	}
	return b
}

func TestDelta(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for bits := range 64 {
		for _, n := range []int{1, 2, 8, 33, 128, 129, 130, 1000} {
			values := make([]int64, n)
			var want []string
			for i := range values {
				values[i] = int64(r.Uint64()) >> (63 - bits)
				want = append(want, fmt.Sprint(values[i]))
			}
			wantRows(t, one(Int64, deltaPacked, int64(n), delta(values...)), want...)
		}
	}
	// Differences of numbers of 32 bits need 33, and those of a writer that computes with 64 bits
	// have them.
	wantRows(t, one(Int32, deltaPacked, 4, delta(-1<<31, 1<<31-1, -1<<31, 0)), "-2147483648", "2147483647", "-2147483648", "0")
	wantError(t, one(Int64, deltaPacked, 3, delta(1, 2)).file(), "a page has [2] differences where its levels say [3]")
	wantError(t, one(Int64, deltaPacked, 3, delta(1, 2, 3, 4)).file(), "a page has [4] differences where its levels say [3]")
	wantError(t, one(Int64, deltaPacked, 1000, delta(make([]int64, 1000)...)[:10]).file(), "a page ends")
}

func TestEncodings(t *testing.T) {
	text := func(parts ...string) (b []byte) {
		for _, p := range parts {
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(p))), p...)
		}
		return b
	}
	for _, c := range []struct {
		name string
		c    testColumn
		want string
	}{
		{"plain numbers", one(Int64, plain, 2, int64s(1, -1)), "1 -1"},
		{"split int64", one(Int64, byteStreamSplit, 2, split(int64s(1, -300), 8)), "1 -300"},
		{"split double", one(Double, byteStreamSplit, 9, split(float64s(1, -2.5, 3, 4, 5, 6, 7, 8, 9e300), 8)), "1 -2.5 3 4 5 6 7 8 9e+300"},
		{"split int32", one(Int32, byteStreamSplit, 2, split([]byte{1, 0, 0, 0, 0, 1, 0, 0}, 4)), "1 256"},
		{"split float", one(Float, byteStreamSplit, 1, split([]byte{0, 0, 0xc0, 0x3f}, 4)), "1.5"},
		{"text", one(ByteArray, plain, 3, text("a", "", "bc")), "a  bc"},
		{"lengths", one(ByteArray, deltaLength, 3, append(delta(1, 0, 2), "abc"...)), "a  bc"},
		{"prefixes", one(ByteArray, deltaByteArray, 3, append(append(delta(0, 2, 1), delta(3, 1, 0)...), "abcx"...)), "abc abx a"},
	} {
		t.Run(c.name, func(t *testing.T) { wantRows(t, c.c, strings.Split(c.want, " ")...) })
	}
	half := one(FixedBytes, byteStreamSplit, 2, split([]byte{0x00, 0x3e, 0x00, 0xc0}, 2))
	half.length = 2
	wantRows(t, half, "003e", "00c0")
	half.pages[0].encoding, half.pages[0].body = deltaByteArray, append(append(delta(0, 1), delta(2, 1)...), 0, 0x3e, 0xc0)
	wantRows(t, half, "003e", "00c0")
	half.pages[0].body = append(append(delta(0, 1), delta(2, 2)...), 0, 0x3e, 0xc0, 0)
	wantError(t, half.file(), "a page has a value of [3] bytes where all have [2]")
	old := one(Int96, plain, 1, make([]byte, 12))
	wantRows(t, old, "000000000000000000000000")
	for _, c := range []struct {
		text string
		c    testColumn
	}{
		{"not supported: encoding [BIT_PACKED] for [INT64] of column [v] in row group [0]", one(Int64, bitPacked, 1, int64s(1))},
		{"not supported: encoding [10] for [DOUBLE]", one(Double, 10, 1, int64s(1))},
		{"not supported: encoding [PLAIN_DICTIONARY]", one(Boolean, deltaPacked, 1, nil)},
		{"a page has [8] bytes for [2] values of [8] bytes", one(Int64, plain, 2, int64s(1))},
		{"a page has [24] bytes for [2] values of [8] bytes", one(Int64, plain, 2, int64s(1, 2, 3))},
		{"a page has [8] bytes for [2] values of [8] bytes", one(Double, byteStreamSplit, 2, int64s(1))},
		{"a page has [1] bytes for [9] booleans", one(Boolean, plain, 9, []byte{1})},
		{"a page ends before its last value", one(Boolean, rle, 9, []byte{2, 0, 0, 0, 16, 1})},
		{"a page ends within its byte arrays", one(ByteArray, plain, 2, text("a"))},
		{"a page has [5] bytes behind its [1] values", one(ByteArray, plain, 1, text("a", "b"))},
		{"a page ends within its byte arrays", one(ByteArray, plain, 1, []byte{255, 255, 255, 255})},
		{"a page ends within its byte arrays", one(ByteArray, deltaLength, 2, append(delta(1, -1), "abc"...))},
		{"a page has [2] bytes behind its [1] values", one(ByteArray, deltaLength, 1, append(delta(1), "abc"...))},
		{"a page ends within its byte arrays", one(ByteArray, deltaByteArray, 2, append(append(delta(0, 2), delta(1, 1)...), "ab"...))},
		{"a page refers to a dictionary that is not there", one(Int64, rleDictionary, 1, []byte{1, 2, 0})},
	} {
		if c.c.typ == int64(Boolean) && c.c.pages[0].encoding == deltaPacked {
			c.text = "not supported: encoding [DELTA_BINARY_PACKED] for [BOOLEAN]"
		}
		wantError(t, c.c.file(), c.text)
	}
}

func TestDictionaries(t *testing.T) {
	c := testColumn{typ: int64(Int64), values: 11, rows: 11, dictionaryOffset: true, pages: []testPage{
		{typ: dictionaryPage, values: 3, encoding: plain, unpacked: -1, body: int64s(10, 20, 30)},
		{typ: dataPage, values: 8, encoding: rleDictionary, unpacked: -1, body: []byte{2, 3, 0b10010010, 0b00010010}},
		{typ: dataPage, values: 2, encoding: rleDictionary, unpacked: -1, body: []byte{0, 4}},
		{typ: dataPage, values: 1, encoding: plain, unpacked: -1, body: int64s(7)},
	}}
	wantRows(t, c, strings.Fields("30 10 20 30 30 10 20 10 10 10 7")...)
	c.pages[1].body = []byte{2, 16, 3}
	wantError(t, c.file(), "a page refers to entry [3] of a dictionary of [3]")
	c.pages[1].body = []byte{40, 16, 3}
	wantError(t, c.file(), "the indexes of a page have [40] bits")
	c.pages[1].body = []byte{2, 14, 1}
	wantError(t, c.file(), "a page ends before its last value")
	c.pages[0].values = 4
	wantError(t, c.file(), "a page has [24] bytes for [4] values of [8] bytes")
}

// Packed numbers of every width, in runs of every length, come out as they went in.
func TestPackedNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for width := 1; width <= 32; width++ {
		for _, n := range []int{1, 7, 8, 9, 24, 100, 1000} {
			want := make([]uint32, n)
			packed := make([]byte, (n+7)/8*width)
			for i := range want {
				want[i] = uint32(r.Uint64N(1 << width))
				for bit := range width {
					packed[(i*width+bit)/8] |= byte(want[i]>>bit&1) << ((i*width + bit) % 8)
				}
			}
			src := append(binary.AppendUvarint(nil, uint64((n+7)/8)<<1|1), packed...)
			got := make([]uint32, n)
			if err := readHybrid(got, src, width); err != nil {
				t.Fatalf("%d numbers of %d bits: %v", n, width, err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%d numbers of %d bits: %s", n, width, d)
			}
			// Writers may cut the last run behind the last value.
			if err := readHybrid(got, src[:len(src)-len(packed)+(n*width+7)/8], width); err != nil || cmp.Diff(want, got) != "" {
				t.Fatalf("%d numbers of %d bits, cut: %v", n, width, err)
			}
			if width <= 8 {
				levels := make([]byte, n)
				if err := readBytes(levels, src, width); err != nil {
					t.Fatal(err)
				}
				for i := range levels {
					if uint32(levels[i]) != want[i] {
						t.Fatalf("level %d of %d bits: %d, want %d", i, width, levels[i], want[i])
					}
				}
			}
		}
	}
}
