package live

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
)

// Options are the settings of a Set.
type Options struct {
	// Dir is the directory of spilled rows. It belongs to the Set, which removes the files of earlier
	// processes.
	Dir string
	// Memory is the budget of rows in memory; nil: they are not counted.
	Memory *budget.Budget
	// Announcer is notified of the segments that can be queried; may be nil.
	Announcer Announcer
	// Number returns a change number that was reached; publications that begin later have greater
	// numbers. Nil: queries wait for every publication in flight.
	Number func() int64
	// Clock measures how long closed segments are still served; nil: the system clock.
	Clock clock.Clock
	Log   *slog.Logger
}

// Announcer is notified of the segments that can be queried. Its methods do not block.
type Announcer interface {
	// Announce announces that a segment can be queried, or that its announcement has changed.
	Announce(a Announcement)
	// Withdraw announces that a segment can't be queried any more. number is the change number of its
	// publication; 0: it was not published.
	Withdraw(id timeline.SegmentID, number int64)
}

// Announcement describes a live segment.
type Announcement struct {
	ID     timeline.SegmentID
	Shard  timeline.ShardSpec
	TaskID string
	// Priority is the priority of the task for queries; nil: it has none.
	Priority *int
	// Columns are its current columns, including the time.
	Columns []segment.ColumnSpec
	// Rows is its approximate number of rows. It is announced again when it has doubled.
	Rows int64
	// Number is the change number of its publication; 0: it is not published.
	Number int64
}

// ErrMemory marks the fault of an Append that exceeds the budget.
var ErrMemory = fmt.Errorf("memory for live rows is refused")

// leavingFor is how long a published segment is served after it was closed, to queries that have
// learnt of it before.
const leavingFor = 15 * time.Second

// leaving is a segment that was closed.
type leaving struct {
	id     string
	number int64
	parts  []part
	until  time.Time
}

// maxClosed is how many published segments that are closed the Set remembers.
const maxClosed = 10_000

// Set is the live segments of a process. All methods are safe for use by many goroutines.
type Set struct {
	o     Options
	files atomic.Int64

	// announcing orders announcements; it is taken before mu and those of segments.
	announcing sync.Mutex

	mu struct {
		sync.Mutex
		// open are by id. There are several of one id when a task is run again while its former run
		// still publishes; the last was opened last.
		open map[string][]*Segment
		// closed are the numbers of published segments that are not served any longer, order their ids.
		closed map[string]int64
		order  []string
		// leaving are published segments that were closed a short while ago, in this order.
		leaving []leaving
	}
}

// NewSet returns an empty Set.
func NewSet(o Options) (*Set, error) {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the directory of live segments [%s]: %w", o.Dir, err)
	}
	left, err := filepath.Glob(filepath.Join(o.Dir, filePrefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("listing the directory of live segments [%s]: %w", o.Dir, err)
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("removing what an earlier process left: %w", err)
		}
	}
	s := &Set{o: o}
	s.mu.open, s.mu.closed = map[string][]*Segment{}, map[string]int64{}
	return s, nil
}

const filePrefix = "live-"

// path returns the name of a new file.
func (s *Set) path() string {
	return filepath.Join(s.o.Dir, fmt.Sprintf("%s%d.segment", filePrefix, s.files.Add(1)))
}

// SegmentOptions describe a segment.
type SegmentOptions struct {
	ID     timeline.SegmentID
	Shard  timeline.ShardSpec
	TaskID string
	// Priority is the priority of the task among its replicas for queries; nil: it has none.
	Priority *int
	// Segment are the storage options. Columns is ignored, because the columns come with the rows.
	// Sort columns that occur in no row are removed from the sort order.
	Segment segment.Options
}

// Open returns a new segment without rows. The caller closes it.
func (s *Set) Open(o SegmentOptions) (*Segment, error) {
	if o.Shard == nil || o.Shard.PartitionNum() != o.ID.Partition {
		return nil, fault.Defensive("Segment [%s] was opened with another partition number", o.ID)
	}
	s.leave(false)
	g := &Segment{set: s, o: o, id: o.ID.String()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.open[g.id] = append(s.mu.open[g.id], g)
	return g, nil
}

// find returns the open segments of an id. The caller does not change the slice.
func (s *Set) find(id string) []*Segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.open[id]
}

// all returns the open segments.
func (s *Set) all() []*Segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*Segment
	for _, list := range s.mu.open {
		out = append(out, list...)
	}
	return out
}

// Close closes all segments, and releases the segments that were closed before.
func (s *Set) Close() {
	for _, g := range s.all() {
		g.Close()
	}
	s.leave(true)
}

// leave lets segments go that were closed some time ago, or all.
func (s *Set) leave(all bool) {
	now := s.o.Clock.Now()
	var gone []leaving
	s.mu.Lock()
	s.mu.leaving = slices.DeleteFunc(s.mu.leaving, func(l leaving) bool {
		if all || now.After(l.until) {
			gone = append(gone, l)
			return true
		}
		return false
	})
	s.mu.Unlock()
	for _, l := range gone {
		for _, p := range l.parts {
			p.release()
		}
	}
}

// readLeaving returns the readers of a closed segment that is served to queries which pin a number
// below that of its publication.
func (s *Set) readLeaving(id string, pinned int64) ([]segment.Reader, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.mu.leaving {
		if l.id != id || l.number <= pinned {
			continue
		}
		var out []segment.Reader
		for _, p := range l.parts {
			if r := p.reader(); r != nil {
				out = append(out, r)
			}
		}
		return out, true
	}
	return nil, false
}

// remove forgets a segment, and remembers under which number it was published. Parts are those of a
// published one, which are served on for a while.
func (s *Set) remove(g *Segment, number int64, parts []part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(parts) > 0 {
		s.mu.leaving = append(s.mu.leaving, leaving{g.id, number, parts, s.o.Clock.Now().Add(leavingFor)})
	}
	rest := slices.DeleteFunc(slices.Clone(s.mu.open[g.id]), func(o *Segment) bool { return o == g })
	if s.mu.open[g.id] = rest; len(rest) == 0 {
		delete(s.mu.open, g.id)
	}
	if number == 0 {
		return
	}
	if _, known := s.mu.closed[g.id]; !known {
		s.mu.order = append(s.mu.order, g.id)
	}
	s.mu.closed[g.id] = number
	if len(s.mu.order) > maxClosed {
		delete(s.mu.closed, s.mu.order[0])
		s.mu.order = s.mu.order[1:]
	}
}

// closedAt returns the number under which a closed segment was published; 0: it is not known.
func (s *Set) closedAt(id string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.closed[id]
}

// announce says what a segment is now, or that there is none of its id any more.
func (s *Set) announce(g *Segment) {
	s.announcing.Lock()
	defer s.announcing.Unlock()
	var best *Announcement
	for _, other := range s.find(g.id) {
		if a := other.announcement(); a != nil && (best == nil || a.Number > best.Number || a.Number == best.Number && a.Rows >= best.Rows) {
			best = a
		}
	}
	switch {
	case s.o.Announcer == nil:
	case best != nil:
		s.o.Announcer.Announce(*best)
	case g.announced.Load():
		s.o.Announcer.Withdraw(g.o.ID, s.closedAt(g.id))
	}
	if best != nil {
		g.announced.Store(true)
	}
}

// Announced returns the segments that can be queried, with their current number of rows, sorted by
// id.
func (s *Set) Announced() []Announcement {
	found := map[string]Announcement{}
	for _, g := range s.all() {
		if a := g.announcement(); a != nil {
			if b, ok := found[g.id]; !ok || b.Rows < a.Rows {
				found[g.id] = *a
			}
		}
	}
	out := make([]Announcement, 0, len(found))
	for _, a := range found {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b Announcement) int { return a.ID.Compare(b.ID) })
	return out
}

// Bytes returns the memory of the rows.
func (s *Set) Bytes() int64 {
	total := int64(0)
	for _, g := range s.all() {
		total += g.Bytes()
	}
	return total
}

// Relieve persists the segment whose rows use the most memory. It reports whether there was one.
func (s *Set) Relieve(ctx context.Context) (bool, error) {
	all := s.all()
	if len(all) == 0 {
		return false, nil
	}
	largest := slices.MaxFunc(all, func(a, b *Segment) int { return cmp.Compare(a.Bytes(), b.Bytes()) })
	if largest.Bytes() == 0 {
		return false, nil
	}
	return true, largest.Persist(ctx)
}

// reserve is the budget of a growing part. Rows leave what is spared for who can't do without; the
// first ones of a part take that, too, so that reading goes on while queries hold all they could
// get.
type reserve struct {
	budget *budget.Budget
	held   atomic.Int64
}

// least is what a part takes of the spare memory.
const least = 1 << 20

// Reserve implements segment.Budget.
func (r *reserve) Reserve(n int64) error {
	switch {
	case r.budget == nil || r.budget.TryReserve(n):
	case r.held.Load()+n > least:
		return fault.ResourceLimit("Not enough memory for live rows: [%d] more bytes are needed. "+
			"Persist more often, or raise [service.memory.limit].", n).WithCause(ErrMemory)
	default:
		if err := r.budget.Reserve(n); err != nil {
			return fmt.Errorf("%w: %w", ErrMemory, err)
		}
	}
	r.held.Add(n)
	return nil
}

// Release implements segment.Budget.
func (r *reserve) Release(n int64) {
	r.held.Add(-n)
	if r.budget != nil {
		r.budget.Release(n)
	}
}
