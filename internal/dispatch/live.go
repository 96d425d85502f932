package dispatch

import (
	"errors"
	"slices"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/live"
)

// Live segments are read by the workers that have them, and by nobody else. When a worker does not
// do its part, be it that a segment was published and handed over meanwhile, the query pins a newer
// state and begins anew (exec.Env.Anew): only then it is known where the rows are.

// isLive reports whether the server reads live segments.
func (s *share) isLive() bool {
	return slices.ContainsFunc(s.segments, func(o Segment) bool { return o.Live })
}

// lost is the failure of a live segment that no worker has.
func lost(id string) error {
	return fault.Unavailable("Live segment [%s] can't be read: the worker that had it does not answer", id).WithCause(&live.Gone{ID: id})
}

// moved marks the failure of a worker's part of a query, if it isn't marked: its live segments may
// be found elsewhere.
func moved(err error) error {
	if _, marked := errors.AsType[*live.Gone](err); marked {
		return err
	}
	f := fault.Unavailable("A worker did not answer its part of the query")
	if known := fault.Find(err); known != nil && !errors.Is(err, ErrCorrupt) {
		f = known
	}
	return f.WithCause(errors.Join(err, &live.Gone{}))
}
