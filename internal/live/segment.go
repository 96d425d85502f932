package live

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// Segment is a growing segment. Its methods are safe for use by many goroutines.
//
// Locks are acquired in the order persisting, appending, mu. A reader acquires only mu.
type Segment struct {
	set       *Set
	o         SegmentOptions
	id        string
	announced atomic.Bool

	// persisting is held by Persist and Finish, appending by Append, and by who ends a growing part.
	persisting, appending sync.Mutex

	mu struct {
		sync.Mutex
		parts     []part // in the order of their rows
		growing   growing
		columns   []segment.ColumnSpec
		announced int64 // rows of the last announcement
		finished  bool
		closed    bool
		// inFlight is closed when the outcome of a publication is known; nil: there is none. Its number
		// is greater than after, if that is not negative. number is that of one that has succeeded.
		inFlight      chan struct{}
		after, number int64
	}
}

// ID returns the id of the segment.
func (g *Segment) ID() timeline.SegmentID { return g.o.ID }

// Append adds all rows of batch, or none. columns describe the columns of the batch, in order.
// Columns may be added, be missing, or have wider types than before. Append does not retain the
// batch. It is called by one goroutine at a time. A fault with ErrMemory means that the budget is
// exhausted: Persist this segment or another one, and append again.
func (g *Segment) Append(ctx context.Context, batch *vector.Batch, columns []segment.ColumnSpec) error {
	if len(columns) != len(batch.Cols) {
		return fault.Defensive("Batch of [%d] columns was appended with descriptions of [%d]", len(batch.Cols), len(columns))
	}
	g.appending.Lock()
	defer g.appending.Unlock()
	at, err := g.growingFor(columns)
	if err != nil {
		return err
	}
	ordered, err := arrange(batch, columns, at.columns())
	if err != nil {
		return err
	}
	if err := at.append(ctx, ordered); err != nil {
		return err
	}
	if g.noteAppended(at, columns) {
		g.set.announce(g)
	}
	return nil
}

// growingFor returns the growing part, which has all columns: a new one if there is none, or if a
// type has changed. Appending is held.
func (g *Segment) growingFor(columns []segment.ColumnSpec) (growing, error) {
	g.mu.Lock()
	at, over := g.mu.growing, g.mu.finished || g.mu.closed
	g.mu.Unlock()
	if over {
		return nil, fault.Defensive("Rows were appended to segment [%s] after its end", g.id)
	}
	if at != nil {
		more, fits := missing(at.columns(), columns)
		switch {
		case fits && len(more) == 0:
			return at, nil
		case fits:
			return at, at.extend(more)
		}
		g.mu.Lock()
		if g.mu.growing = nil; at.rows() == 0 {
			g.mu.parts = slices.DeleteFunc(slices.Clone(g.mu.parts), func(p part) bool { return p == at })
			defer at.release()
		}
		g.mu.Unlock()
	}
	at, err := newGrowing(g.set, &g.o.Segment, columns)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.growing = at
	g.mu.parts = append(slices.Clip(g.mu.parts), at)
	return at, nil
}

// missing returns the columns that a part lacks; false: it has one of another type.
func missing(has, wanted []segment.ColumnSpec) (more []segment.ColumnSpec, fits bool) {
	for _, w := range wanted {
		i := slices.IndexFunc(has, func(h segment.ColumnSpec) bool { return h.Name == w.Name })
		switch {
		case i < 0:
			more = append(more, w)
		case has[i].Type != w.Type || has[i].Multi != w.Multi || has[i].Metric != w.Metric:
			return nil, false
		}
	}
	return more, true
}

// arrange returns the columns of a batch in the order of a part, which has all of them.
func arrange(batch *vector.Batch, columns, wanted []segment.ColumnSpec) (*vector.Batch, error) {
	out := &vector.Batch{N: batch.N, Sel: batch.Sel, Cols: make([]*vector.Vector, len(wanted))}
	for i, w := range wanted {
		at := i
		if at >= len(columns) || columns[at].Name != w.Name {
			at = slices.IndexFunc(columns, func(c segment.ColumnSpec) bool { return c.Name == w.Name })
		}
		if at < 0 {
			out.Cols[i] = vector.Nulls(w.Type, batch.N)
		} else {
			out.Cols[i] = batch.Cols[at]
		}
	}
	return out.Compact(), nil
}

// noteAppended follows the columns. It reports whether there is something to announce.
func (g *Segment) noteAppended(at growing, columns []segment.ColumnSpec) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	changed := false
	for _, c := range columns {
		i := slices.IndexFunc(g.mu.columns, func(o segment.ColumnSpec) bool { return o.Name == c.Name })
		if i < 0 {
			g.mu.columns = append(slices.Clip(g.mu.columns), c)
			changed = true
			continue
		}
		if wide := widen(g.mu.columns[i], c); wide != g.mu.columns[i] {
			g.mu.columns = slices.Clone(g.mu.columns)
			g.mu.columns[i] = wide
			changed = true
		}
	}
	rows := g.rowsLocked()
	if rows > 0 && (changed || rows >= 2*g.mu.announced) {
		g.mu.announced = rows
		return true
	}
	return false
}

func (g *Segment) rowsLocked() int64 {
	rows := 0
	for _, p := range g.mu.parts {
		rows += p.rows()
	}
	return int64(rows)
}

// Rows returns the number of readable rows.
func (g *Segment) Rows() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rowsLocked()
}

// RowsInMemory returns the number of rows that were not persisted.
func (g *Segment) RowsInMemory() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	rows := 0
	for _, p := range g.mu.parts {
		if _, grows := p.(growing); grows {
			rows += p.rows()
		}
	}
	return int64(rows)
}

// Bytes returns the memory of the rows.
func (g *Segment) Bytes() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	total := int64(0)
	for _, p := range g.mu.parts {
		total += p.bytes()
	}
	return total
}

// Columns returns the columns of all rows, in the order of their first occurrence. The caller must
// not change them.
func (g *Segment) Columns() []segment.ColumnSpec {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.columns
}

// Finished reports whether the segment is a single file.
func (g *Segment) Finished() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.finished
}

// announcement describes the segment; nil: it has no rows yet, or is closed.
func (g *Segment) announcement() *Announcement {
	g.mu.Lock()
	defer g.mu.Unlock()
	rows := g.rowsLocked()
	if rows == 0 || g.mu.closed {
		return nil
	}
	return &Announcement{
		ID: g.o.ID, Shard: g.o.Shard, TaskID: g.o.TaskID, Priority: g.o.Priority, Columns: g.mu.columns, Rows: rows, Number: g.mu.number,
	}
}

// readers returns all parts as they are now; false: the segment is closed.
func (g *Segment) readers() ([]segment.Reader, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.closed {
		return nil, false
	}
	out := make([]segment.Reader, 0, len(g.mu.parts))
	for _, p := range g.mu.parts {
		if p.rows() > 0 {
			out = append(out, p.reader())
		}
	}
	return out, true
}

// Persist writes the rows in memory to a file. Rows can be appended and read meanwhile.
func (g *Segment) Persist(ctx context.Context) error {
	g.persisting.Lock()
	defer g.persisting.Unlock()
	return g.persist(ctx, false)
}

// persist is Persist with persisting held. With last no rows are appended any more.
func (g *Segment) persist(ctx context.Context, last bool) error {
	for _, p := range g.cut(last) {
		if p.rows() == 0 {
			g.replace([]part{p}, nil)
			continue
		}
		file, err := g.write(ctx, p)
		if err != nil {
			return err
		}
		g.replace([]part{p}, file)
	}
	return nil
}

// cut ends the growing part and returns all that are in memory. When it returns no append to them
// is under way.
func (g *Segment) cut(last bool) []part {
	g.appending.Lock()
	defer g.appending.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.growing = nil
	g.mu.finished = g.mu.finished || last
	var out []part
	for _, p := range g.mu.parts {
		if _, grows := p.(growing); grows {
			out = append(out, p)
		}
	}
	return out
}

// replace puts a file in the place of parts, in one step for queries, and lets these go. Without a
// file they were empty.
func (g *Segment) replace(old []part, file part) {
	g.mu.Lock()
	if g.mu.closed { // whoever closed it has let all parts go
		g.mu.Unlock()
		if file != nil {
			file.release()
		}
		return
	}
	parts := make([]part, 0, len(g.mu.parts)+1)
	for _, p := range g.mu.parts {
		switch {
		case !slices.Contains(old, p):
			parts = append(parts, p)
		case file != nil:
			parts, file = append(parts, file), nil
		}
	}
	if file != nil {
		parts = append(parts, file)
	}
	g.mu.parts = parts
	g.mu.Unlock()
	for _, p := range old {
		p.release()
	}
}

// Close withdraws the segment and removes its files; if the segment was published, after a delay.
// Running queries can finish reading it.
func (g *Segment) Close() {
	g.appending.Lock()
	defer g.appending.Unlock()
	g.mu.Lock()
	closed, parts, number := g.mu.closed, g.mu.parts, g.mu.number
	served := number > 0 && !slices.ContainsFunc(parts, func(p part) bool { return p.bytes() > 0 })
	g.mu.closed, g.mu.parts, g.mu.growing = true, nil, nil
	g.mu.Unlock()
	if closed {
		return
	}
	var leaving []part
	if served {
		leaving, parts = parts, nil
	}
	g.set.remove(g, number, leaving)
	g.set.announce(g)
	for _, p := range parts {
		p.release()
	}
	g.set.leave(false)
}

// outcome is what is known of the publication of a segment.
type outcome struct {
	inFlight      chan struct{}
	after, number int64
}

func (g *Segment) outcome() outcome {
	g.mu.Lock()
	defer g.mu.Unlock()
	return outcome{g.mu.inFlight, g.mu.after, g.mu.number}
}

// Publish calls commit, which publishes the finished segment and returns the change number from
// which on it is used. Queries that may depend on it wait meanwhile.
func (g *Segment) Publish(commit func() (number int64, err error)) error {
	return Publish([]*Segment{g}, commit)
}

// Publish is like Segment.Publish, for several segments that one commit publishes.
func Publish(segments []*Segment, commit func() (number int64, err error)) (err error) {
	number := int64(0)
	for _, g := range segments {
		g.begin()
	}
	defer func() {
		for _, g := range segments {
			g.end(number)
		}
	}()
	n, err := commit()
	if err == nil {
		number = n
	}
	return err
}

func (g *Segment) begin() {
	after := int64(-1)
	if g.set.o.Number != nil {
		after = g.set.o.Number()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.inFlight, g.mu.after = make(chan struct{}), after
}

func (g *Segment) end(number int64) {
	g.mu.Lock()
	close(g.mu.inFlight)
	g.mu.inFlight = nil
	if number > 0 {
		g.mu.number = number
	}
	g.mu.Unlock()
	if number > 0 {
		g.set.announce(g)
	}
}
