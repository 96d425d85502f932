package stringfn

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestFinderFindsWhatIndexDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		letters := 1 + r.IntN(4)
		in := make([]byte, r.IntN(200))
		for i := range in {
			in[i] = 'a' + byte(r.IntN(letters))
		}
		text := make([]byte, 1+r.IntN(6))
		for i := range text {
			text[i] = 'a' + byte(r.IntN(letters+1))
		}
		f := newFinder(string(text), in[:r.IntN(len(in)+1)])
		if got, want := f.index(in), bytes.Index(in, text); got != want {
			t.Fatalf("[%s] is at %d of [%s], want %d", text, got, in, want)
		}
	}
}

func TestFinderGoesByTheRarestByte(t *testing.T) {
	sample := bytes.Repeat([]byte("/shop/user"), 1000)
	if f := newFinder("/sku/", sample); f.text[f.rare] != 'k' {
		t.Fatalf("it goes by [%c]", f.text[f.rare])
	}
}
