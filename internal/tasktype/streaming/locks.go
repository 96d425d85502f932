package streaming

import (
	"context"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/metastore"
)

// lockUse knows the time chunks whose locks a task needs: those of segments that were not handed
// off, and those that it is about to open one in. The goroutine that reads enters them, those that
// hand off give them back.
type lockUse struct {
	sync.Mutex
	used []chrono.Interval
}

// enter says that a segment is going to be opened for a time, whose lock is not to be given back
// meanwhile.
func (l *lockUse) enter(at int64) {
	l.Lock()
	defer l.Unlock()
	l.used = append(l.used, momentOf(at))
}

// use says that it was, in an interval.
func (l *lockUse) use(at int64, iv chrono.Interval) {
	l.Lock()
	defer l.Unlock()
	l.leaveLocked(momentOf(at))
	l.used = append(l.used, iv)
}

func momentOf(at int64) chrono.Interval { return chrono.Interval{Start: at, End: at + 1} }

func (l *lockUse) leaveLocked(iv chrono.Interval) {
	if i := slices.Index(l.used, iv); i >= 0 {
		l.used = slices.Delete(l.used, i, i+1)
	}
}

// releaseLocks gives back the locks of the time chunks of a sequence that was handed off, unless
// another one has rows of them. A lock that could not be given back ends with the task.
func (r *run) releaseLocks(ctx context.Context, s *sequence) {
	r.locks.Lock()
	defer r.locks.Unlock()
	for _, c := range s.chunks {
		iv := c.id.Interval
		r.locks.leaveLocked(iv)
		if slices.ContainsFunc(r.locks.used, iv.Overlaps) {
			continue
		}
		if err := r.o.Metastore.ReleaseLocks(ctx, metastore.Fence{}, r.task.ID, &iv); err != nil {
			r.log.WarnContext(ctx, "failed to release the lock of a time chunk", "interval", iv.String(), "error", err)
		}
	}
}
