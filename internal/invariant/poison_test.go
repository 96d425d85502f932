package invariant

import "testing"

func TestPoison(t *testing.T) {
	longs, codes, bytes, texts := make([]int64, 1, 3), make([]uint32, 2), []byte("ab"), []string{"a"}
	Poison(longs)
	Poison(codes)
	Poison(bytes)
	PoisonStrings(texts)
	if !Enabled {
		if longs[0] != 0 || codes[1] != 0 || string(bytes) != "ab" || texts[0] != "a" {
			t.Fatalf("a plain build wrote to released memory: %v %v %q %q", longs, codes, bytes, texts)
		}
		return
	}
	if long := longs[:3][2]; uint64(long) != 0xDBDBDBDBDBDBDBDB {
		t.Errorf("a number beyond the length is %x", uint64(long))
	}
	if codes[1] != 0xDBDBDBDB || bytes[1] != 0xDB || texts[0] != PoisonedText {
		t.Errorf("released memory is %x %x %q", codes, bytes, texts)
	}
	if p := Poisoned[float64](); p < 1e19 {
		t.Errorf("a poisoned double is %v, which may be a value", p)
	}
}
