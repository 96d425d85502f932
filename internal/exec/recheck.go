package exec

import (
	"context"
	"sync"

	"github.com/hengedb/henge/internal/segment"
)

// acquired are the segments that a query has acquired, with the columns that it reads of each. It
// has references of its own.
type acquired struct {
	mu   sync.Mutex
	list []columnsOf
}

type columnsOf struct {
	segment.Reader
	names []string
}

// readersKey is where the context of making operators has the *acquired.
type readersKey struct{}

// readFrom notes that the query of ctx reads columns of a segment, which the caller holds.
func readFrom(ctx context.Context, r segment.Reader, names []string) {
	if rs, ok := ctx.Value(readersKey{}).(*acquired); ok && r.Acquire() {
		rs.mu.Lock()
		defer rs.mu.Unlock()
		rs.list = append(rs.list, columnsOf{r, names})
	}
}

// recheck verifies the columns anew, whether or not they were found good before. The error says
// which are damaged.
func (rs *acquired) recheck(ctx context.Context) error {
	rs.mu.Lock()
	list := rs.list
	rs.mu.Unlock()
	for _, r := range list {
		if err := segment.Recheck(ctx, r.Reader, r.names); err != nil {
			return err
		}
	}
	return nil
}

func (rs *acquired) close() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.list {
		r.Release()
	}
	rs.list = nil
}
