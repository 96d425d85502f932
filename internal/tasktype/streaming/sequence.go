package streaming

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/stream"
)

// sequence is a part of what a task reads: of each partition the records from a start up to an
// end. What is read of it is published in one transaction, after that of the sequence before it.
type sequence struct {
	number int
	// name is the same in all replicas, so that they are promised the same segment ids.
	name         string
	starts, ends stream.Positions
	// closed says that the ends are final.
	closed bool
	// handed says that it was read up to its ends and is the publisher's; published, that it is
	// visible.
	handed, published bool

	// chunks belong to the goroutine that reads, and to the publisher once it was handed over.
	chunks []*chunk
}

// sequenceName names a sequence of a group of replicas.
func sequenceName(base string, number int) string { return base + "_" + strconv.Itoa(number) }

// unbounded returns ends that are not set, of the partitions of starts.
func unbounded(starts stream.Positions) stream.Positions {
	out := make(stream.Positions, len(starts))
	for p := range starts {
		out[p] = stream.Unbounded
	}
	return out
}

// openSequences returns the sequences that begin at checkpoints, each of which ends where the next
// one begins; the last one ends at ends.
func openSequences(base string, checkpoints map[int]stream.Positions, ends stream.Positions) []*sequence {
	numbers := slices.SortedFunc(maps.Keys(checkpoints), cmp.Compare[int])
	out := make([]*sequence, len(numbers))
	for i, n := range numbers {
		s := &sequence{number: n, name: sequenceName(base, n), starts: checkpoints[n], ends: unbounded(checkpoints[n])}
		switch {
		case i+1 < len(numbers):
			maps.Copy(s.ends, checkpoints[numbers[i+1]])
			s.closed = true
		default:
			maps.Copy(s.ends, ends)
		}
		out[i] = s
	}
	return out
}

// bounded reports whether all ends of the sequence are known.
func (s *sequence) bounded() bool {
	for _, end := range s.ends {
		if end == stream.Unbounded {
			return false
		}
	}
	return true
}

// reached reports whether positions are at or behind the ends of the sequence.
func (s *sequence) reached(at stream.Positions, compare func(a, b stream.Position) int) bool {
	for p, end := range s.ends {
		if end == stream.Unbounded || compare(at[p], end) < 0 {
			return false
		}
	}
	return true
}

// cut is a sequence as a task keeps it for its next run.
type cut struct {
	Number int              `json:"number"`
	Starts stream.Positions `json:"starts"`
	Ends   stream.Positions `json:"ends"`
	Closed bool             `json:"closed"`
}

// cutsOf returns what is kept of sequences.
func cutsOf(sequences []*sequence) []cut {
	out := make([]cut, len(sequences))
	for i, s := range sequences {
		out[i] = cut{s.number, s.starts, s.ends, s.closed}
	}
	return out
}

// restore returns the sequences that a run of the task before has kept.
func restore(base string, cuts []cut) []*sequence {
	out := make([]*sequence, len(cuts))
	for i, c := range cuts {
		out[i] = &sequence{number: c.Number, name: sequenceName(base, c.Number), starts: c.Starts, ends: c.Ends, closed: c.Closed}
	}
	return out
}

// unpublished drops the sequences that are published: stored is how far the supervisor's stream
// is.
func unpublished(sequences []*sequence, stored stream.Positions, compare func(a, b stream.Position) int) []*sequence {
	for len(sequences) > 0 && sequences[0].closed && covers(stored, sequences[0].ends, compare) {
		sequences = sequences[1:]
	}
	return sequences
}

// covers reports whether positions are at or behind others, for all partitions of these.
func covers(at, others stream.Positions, compare func(a, b stream.Position) int) bool {
	for p, other := range others {
		mine, ok := at[p]
		if !ok || other == stream.Unbounded || compare(mine, other) < 0 {
			return false
		}
	}
	return true
}
