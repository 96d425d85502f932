package record

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// Decimal numbers are those that the standard library reads, whatever their digits.
func TestDecimalsAreRoundedOnce(t *testing.T) {
	check := func(text string) {
		t.Helper()
		var n Number
		if end := ScanNumber([]byte(text), 0, &n); end != len(text) {
			t.Fatalf("%s: read up to %d", text, end)
		}
		want, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.AsDouble(); math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%s is read as %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{
		"0.0", "-0.0", "0.1", "9007199254740993.0", "9007199254740992.5", "9007199254740993.5", "9007199254740994.5", "18014398509481985.0", "18014398509481986.0",
		"1844674407370955.1615", "1844674407370955.161", "9999999999999999.999", "0.9999999999999999999", "0.999999999999999999", "1.234567890123456789",
		"9.007199254740993", "4503599627370496.500", "4503599627370497.500", "0.000000000000000001", "99999999999999999.5",
	} {
		check(text)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		text := strconv.AppendUint(nil, r.Uint64()>>r.IntN(64), 10)
		if r.IntN(4) == 0 { // halfway between two doubles, or nearly so
			text = strconv.AppendUint(text[:0], (r.Uint64()>>11|1<<52)<<1|1, 10)
		}
		if at := r.IntN(len(text)); at > 0 {
			text = bytes.Join([][]byte{text[:at], text[at:]}, []byte("."))
		}
		check(string(text))
	}
}

func TestDigits(t *testing.T) {
	for _, text := range []string{"", "x", "7", "12345678", "123456789", "1234567890123456", "1234567/", "1234567:", "12345678901234567890"[:19], "00000000", "\xb1\xb2345678", "99999999,", "1,345678\xff", "1234\xfa\xff8 ", "123456789012,4567 "} {
		v, end := digits([]byte(text), 0, 0)
		want := 0
		for want < len(text) && text[want] >= '0' && text[want] <= '9' {
			want++
		}
		n, _ := strconv.ParseUint(text[:want], 10, 64)
		if end != want || v != n {
			t.Errorf("%q: %d up to %d, want %d up to %d", text, v, end, n, want)
		}
	}
}
