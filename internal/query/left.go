package query

import (
	"slices"
	"time"
)

const (
	// leftFor is how long a query can be cancelled whose client closed the connection, which ended it:
	// clients that cancel close the connection first and then ask for it by the id.
	leftFor = 10 * time.Second
	// mostLeft is how many of these are known at once.
	mostLeft = 1000
)

// left is a query that ended because its client went.
type left struct {
	query *Query // only what MayCancel reads
	at    time.Time
}

// leave remembers a query whose client went. The caller holds the lock.
func (r *Running) leave(q *Query) {
	now := r.clock.Now()
	r.mu.left = slices.DeleteFunc(r.mu.left, func(l left) bool { return now.Sub(l.at) > leftFor })
	if len(r.mu.left) >= mostLeft {
		r.mu.left = slices.Delete(r.mu.left, 0, 1)
	}
	rest := &Query{info: Info{ID: q.info.ID, Identity: q.info.Identity}}
	rest.about.Store(q.about.Load())
	r.mu.left = append(r.mu.left, left{rest, now})
}

// leftLocked returns the queries with an id whose clients went a moment ago.
func (r *Running) leftLocked(id string) (out []*Query) {
	now := r.clock.Now()
	for _, l := range r.mu.left {
		if l.query.info.ID == id && now.Sub(l.at) <= leftFor {
			out = append(out, l.query)
		}
	}
	return out
}
