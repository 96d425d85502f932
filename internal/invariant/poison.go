package invariant

// PoisonedByte is what every byte of a number is in memory that was released, and PoisonedText what
// every string there is.
const (
	PoisonedByte = 0xDB
	PoisonedText = "\xDB released \xDB"
)

// Poison overwrites memory that its owner takes back, up to its capacity, so that a reader that
// still holds it computes nonsense at once and not only when somebody else has written there. Codes
// and offsets then lie beyond every dictionary and list. In plain builds it does nothing.
//
// Who lends memory calls it where the loan ends; the memory must not be shared with anybody whose
// loan goes on, and must not be a mapped file's, which can't be written.
func Poison[T ~uint8 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64](s []T) {
	if !Enabled {
		return
	}
	s = s[:cap(s)]
	p := Poisoned[T]()
	for i := range s {
		s[i] = p
	}
}

// Poisoned returns what Poison writes: PoisonedByte in every byte, for floats that number.
func Poisoned[T ~uint8 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64]() T {
	var p T
	for range 8 {
		for range 8 { // times 256, which no constant of one byte is
			p += p
		}
		p += PoisonedByte
	}
	return p
}

// PoisonStrings is Poison for strings, whose bytes it leaves alone: they may be others'.
func PoisonStrings(s []string) {
	if !Enabled {
		return
	}
	s = s[:cap(s)]
	for i := range s {
		s[i] = PoisonedText
	}
}
