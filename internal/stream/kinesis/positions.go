package kinesis

import (
	"cmp"
	"math/big"

	"github.com/hengedb/henge/internal/stream"
)

// EOS is the position of a closed shard that was read to its end.
const EOS stream.Position = "EOS"

// rank orders positions of no number: before all numbers, among them, at the end of a shard, and
// behind everything.
func rank(p stream.Position) int {
	switch p {
	case stream.Unset, "":
		return 0
	case EOS:
		return 2
	case stream.Unbounded:
		return 3
	}
	return 1
}

// Compare implements stream.Source.
func (s *Source) Compare(a, b stream.Position) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 || rank(a) != 1 {
		return c
	}
	return number(a).Cmp(number(b))
}

// Distance implements stream.Source: numbers of Kinesis do not count records.
func (s *Source) Distance(stream.Position, stream.Position) int64 { return -1 }

// number returns a position as a number; one that is none is 0.
func number(p stream.Position) *big.Int {
	n, ok := new(big.Int).SetString(string(p), 10)
	if !ok {
		return new(big.Int)
	}
	return n
}

// shifted returns the number that is by so much above one.
func shifted(text string, by int64) stream.Position {
	n := number(stream.Position(text))
	return stream.Position(n.Add(n, big.NewInt(by)).String())
}
