package timeline

import "testing"

// The hashes are those of Druid (smhasher's MurmurHash3_x86_32 with seed 0), made positive as a
// signed number.
func TestGroupHash(t *testing.T) {
	abs := func(h uint32) uint32 {
		if int32(h) < 0 {
			return -h
		}
		return h
	}
	for key, want := range map[string]uint32{
		"": 0, "a": 0x3c2569b2, "ab": 0x9bbfd75f, "abc": 0xb3dd93fa, "abcd": 0x43ed676a, "Hello, world!": 0xc0363e43,
		"The quick brown fox jumps over the lazy dog": 0x2e4ff723,
	} {
		if got := GroupHash([]byte(key)); got != abs(want) {
			t.Errorf("GroupHash(%q) = %#x, want %#x", key, got, abs(want))
		}
	}
}
