package live

import (
	"context"
	"fmt"
	"runtime"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
)

// Gone means that a segment is not served here, because it was closed or its task has ended.
type Gone struct {
	ID string `json:"id"`
	// Number is the change number from which on the segment is a used segment; 0: it was not
	// published, as far as known.
	Number int64 `json:"number,omitempty"`
}

// Error returns the message.
func (g *Gone) Error() string { return fmt.Sprintf("live segment [%s] is gone", g.ID) }

// gone returns the fault of a segment that is not there. Who asked pins a newer state and asks
// anew.
func gone(id string, number int64) error {
	return fault.Unavailable("Live segment [%s] is not served here any longer", id).WithCause(&Gone{id, number})
}

// Acquire returns the current rows of a segment, for a query that pins a change number and does not
// find the segment among the used segments at that number. It returns no rows if the pinned number
// is the number of the segment's publication or a later one. The caller releases the readers. The
// fault of a missing segment wraps a Gone.
func (s *Set) Acquire(ctx context.Context, id string, pinned int64) ([]segment.Reader, error) {
	for {
		open := s.find(id)
		if len(open) == 0 {
			if readers, ok := s.readLeaving(id, pinned); ok {
				return readers, nil
			}
			switch number := s.closedAt(id); {
			case number > 0 && number <= pinned:
				return nil, nil
			default:
				return nil, gone(id, number)
			}
		}
		outcome := make([]outcome, len(open))
		for i, g := range open {
			outcome[i] = g.outcome()
		}
		again := false
		for _, o := range outcome {
			switch {
			case o.number > 0 && o.number <= pinned:
				return nil, nil
			case o.inFlight != nil && (o.after < 0 || pinned > o.after):
				select {
				case <-o.inFlight:
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
				again = true
			}
		}
		if again {
			continue
		}
		if readers, ok := most(open); ok {
			return readers, nil
		}
		runtime.Gosched() // all are being closed, and are not forgotten yet
	}
}

// AcquireUsed returns the rows of a segment for a query that finds the segment among the used
// segments. The caller releases the readers.
func (s *Set) AcquireUsed(id string) ([]segment.Reader, error) {
	var published []*Segment
	for _, g := range s.find(id) {
		if g.Finished() {
			published = append(published, g)
		}
	}
	if readers, ok := most(published); ok {
		return readers, nil
	}
	if readers, ok := s.readLeaving(id, 0); ok {
		return readers, nil
	}
	return nil, gone(id, s.closedAt(id))
}

// most returns the readers of the segment that has the most rows; false: none is open.
func most(open []*Segment) (out []segment.Reader, ok bool) {
	rows := -1
	for _, g := range open {
		readers, there := g.readers()
		if !there {
			continue
		}
		n := 0
		for _, r := range readers {
			n += r.Info().Rows
		}
		if n < rows {
			release(readers)
			continue
		}
		release(out)
		out, rows, ok = readers, n, true
	}
	return out, ok
}

func release(readers []segment.Reader) {
	for _, r := range readers {
		r.Release()
	}
}
