package dispatch

import (
	"context"
	"io"

	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/vector"
)

// A Broker that keeps the groups of single segments asks servers for those it does not know, each
// by itself, and merges all of them with those it knows. What came is kept when the part is whole
// and its rows are taken, so that it waits in the memory of the query.

// takeKnown takes the segments off shares whose groups are kept, and returns these.
func (r *remote) takeKnown(kept *exec.KeptFragment, shares []share) (known []exec.Operator, left []share) {
	for _, s := range shares {
		var unknown []Segment
		for i := range s.segments {
			if s.segments[i].Live { // what was made of it before is not what would be made of it now
				unknown = append(unknown, s.segments[i])
			} else if op := kept.Get(keyOf(kept, &s.segments[i])); op != nil {
				known = append(known, op)
			} else {
				unknown = append(unknown, s.segments[i])
			}
		}
		if s.segments = unknown; len(unknown) > 0 {
			left = append(left, s)
		}
	}
	return known, left
}

func keyOf(kept *exec.KeptFragment, s *Segment) exec.RowKey {
	return kept.Key(s.ID, s.file(), s.Of.ID.Interval, s.Visible)
}

// keep has the rows of a buffer be kept as they are taken from it, as far as its server said which
// segments they are of.
func (r *running) keep(b *buffer, segments []Segment, starts []segmentStart) {
	for i, at := range starts {
		end := b.count
		if i+1 < len(starts) {
			end = starts[i+1].batch
		}
		b.runs = append(b.runs, r.kept.Record(keyOf(r.kept, &segments[at.segment]), &bufferRun{b, end - at.batch}))
	}
}

// bufferRun yields the next batches of a buffer.
type bufferRun struct {
	b    *buffer
	left int
}

// Next returns the next of them, then io.EOF.
func (r *bufferRun) Next(context.Context) (*vector.Batch, error) {
	if r.left == 0 {
		return nil, io.EOF
	}
	r.left--
	return r.b.next()
}

// Close does nothing: the buffer is its part's.
func (r *bufferRun) Close() {}
