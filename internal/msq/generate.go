package msq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// layout is how the columns of a statement become those of its segments.
type layout struct {
	columns []segment.ColumnSpec
	// from is the place of each among the statement's columns, -1: the constant time of a statement
	// without __time.
	from []int
	sort []string
	// multi are the multi-value columns, handling says in which order a row keeps their values.
	multi    []bool
	handling []MultiValue
	// auto are, by time chunk, types of columns of the statement that follow from the values there.
	auto map[int64]map[int]vector.Type
	// rollup and granularity are those of the segments, kept is what else their readers find in them,
	// compaction the settings that each keeps as its lastCompactionState; nil: none.
	rollup      bool
	granularity string
	kept        json.RawMessage
	compaction  json.RawMessage
}

// describe takes over what the segments say of themselves.
func (l *layout) describe(t *Target) (err error) {
	l.granularity = t.queryGranularity()
	l.kept, err = t.kept()
	return err
}

// layoutOf orders the columns: time, those that rows are sorted by, the rest as the statement has
// them.
func layoutOf(w *plan.Write, o *Options, t *Target) (*layout, error) {
	out := w.Columns()
	if len(out) > o.maxColumns() {
		return nil, tooManyColumns(len(out))
	}
	for _, c := range out {
		if restricted[c.Name] {
			return nil, columnNameRestricted(c.Name)
		}
	}
	order := slices.Clone(o.SegmentSortOrder)
	if len(order) == 0 {
		if o.SortByTime {
			order = append(order, "__time")
		}
		for _, i := range w.Cluster {
			if i >= len(out) {
				continue // nothing that is stored
			}
			if !slices.Contains(order, out[i].Name) {
				order = append(order, out[i].Name)
			}
		}
	}
	l := &layout{}
	metrics := metricsOf(w, t)
	add := func(name string) error {
		i := slices.IndexFunc(out, func(c plan.Column) bool { return c.Name == name })
		if i < 0 {
			if name == "__time" {
				l.columns = append(l.columns, segment.ColumnSpec{Name: name, Type: vector.Long})
				l.from, l.multi, l.handling = append(l.from, -1), append(l.multi, false), append(l.handling, SortedArray)
				return nil
			}
			return errors.New("no column " + name)
		}
		spec := segment.ColumnSpec{Name: name, Type: out[i].Type.Runtime(), Multi: out[i].Type.Multi, Metric: metrics[i], NoIndex: t.noIndex(i)}
		if spec.Type.Kind == vector.KindList && !spec.Multi && o.ArraysAsMultiValue {
			if spec.Type.Elem() != vector.String {
				return columnTypeNotSupported(name, spec.Type.String())
			}
			spec.Multi = true
		}
		if spec.Type.Kind == vector.KindInvalid {
			return columnTypeNotSupported(name, "")
		}
		l.columns = append(l.columns, spec)
		l.from, l.multi, l.handling = append(l.from, i), append(l.multi, out[i].Type.Multi), append(l.handling, t.handling(i))
		return nil
	}
	names := []string{"__time"}
	if t == nil || t.Metrics == nil { // native specs have an order of their own
		names = append(names, order...)
	}
	for _, c := range out {
		names = append(names, c.Name)
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		if err := add(name); err != nil {
			if _, ok := errors.AsType[*Fault](err); ok {
				return nil, err
			}
			return nil, columnTypeNotSupported(name, "")
		}
	}
	l.sort = order
	return l, nil
}

// metricsOf returns the metrics (agg.Spec.Metric) of columns that hold aggregates, by place: those
// that the target names, else those of a rollup. Its columns are followed through projections that
// only pass them on.
func metricsOf(w *plan.Write, t *Target) map[int]string {
	out := map[int]string{}
	if t != nil && t.Metrics != nil {
		for i, name := range t.Metrics {
			out[i] = name
		}
		return out
	}
	if !w.Rollup {
		return out
	}
	for i := range w.Columns() {
		node, at := w.Input, i
	follow:
		for {
			switch n := node.(type) {
			case *plan.Project:
				c, ok := n.Exprs[at].(*expr.Column)
				if !ok {
					break follow
				}
				node, at = n.Input, c.Index
			case *plan.Filter:
				node = n.Input
			case *plan.Limit:
				node = n.Input
			case *plan.Sort:
				node = n.Input
			case *plan.Aggregate:
				if k := at - len(n.Keys); k >= 0 && k < len(n.Aggs) {
					out[i] = n.Aggs[k].Agg.Metric()
				}
				break follow
			default:
				break follow
			}
		}
	}
	return out
}

// batch returns the columns of a batch of prepared rows (bucket, boost, columns of the statement)
// as the segment has them.
func (l *layout) batch(b *vector.Batch) *vector.Batch {
	out := &vector.Batch{N: b.N, Sel: b.Sel, Cols: make([]*vector.Vector, len(l.columns))}
	for i, from := range l.from {
		switch {
		case from < 0:
			out.Cols[i] = vector.Constant(vector.Long, int64(0), b.N)
		case l.multi[i] && l.columns[i].Multi:
			out.Cols[i] = l.handling[i].ordered(withoutEmpty(b.Cols[from+preparedColumns]))
		case l.columns[i].Type == vector.JSON && b.Cols[from+preparedColumns].Type.Kind == vector.KindList:
			out.Cols[i] = nestedLists(b.Cols[from+preparedColumns])
		case b.Cols[from+preparedColumns].Type == vector.JSON && l.columns[i].Type != vector.JSON:
			out.Cols[i] = typedValues(b.Cols[from+preparedColumns], l.columns[i].Type)
		case l.multi[i]:
			out.Cols[i] = singleValues(b.Cols[from+preparedColumns])
		default:
			out.Cols[i] = b.Cols[from+preparedColumns]
		}
	}
	return out
}

// settle makes multi-value columns plain where no row has several values: several tells by the
// statement's columns which have.
func (l *layout) settle(several []bool) {
	for i, from := range l.from {
		if l.multi[i] && !several[from] {
			l.columns[i].Type, l.columns[i].Multi = vector.String, false
		}
	}
}

// preparedColumns is how many columns prepare puts before those of the statement.
const preparedColumns = 2

// FoldOf returns the function that combines the values of a metric in one group: counts are summed,
// other aggregates are merged.
func FoldOf(spec segment.ColumnSpec) (segment.Fold, error) {
	call, err := agg.ParseMetric(spec.Metric, spec.Type)
	if err != nil {
		return nil, err
	}
	if f := agg.Lookup(call.Name); f != nil && f.MergedBy != "" {
		call.Name = f.MergedBy
	}
	if partial, err := call.IntermediateTypes(); err != nil || len(partial) != 1 || partial[0] != spec.Type {
		return nil, columnTypeNotSupported(spec.Name, spec.Type.String())
	}
	return func(values *vector.Vector, starts []uint32) (*vector.Vector, error) {
		state, err := call.New()
		if err != nil {
			return nil, err
		}
		n := len(starts) - 1
		groups := make([]uint32, values.Len)
		for g := range n {
			for i := starts[g]; i < starts[g+1]; i++ {
				groups[i] = uint32(g)
			}
		}
		state.Grow(n)
		if err := state.Merge([]*vector.Vector{values}, groups, values.Len); err != nil {
			return nil, err
		}
		return state.Partial(0, n)[0], nil
	}, nil
}

// generation is the segments that one worker builds.
type generation struct {
	plans   []segmentPlan // of all workers
	numbers []int         // of those of this one
	layout  *layout
	// built reports whether a segment is there, from an earlier attempt.
	built func(number int) bool
	// done is told of each segment that is in deep storage.
	done func(number int, s *timeline.Segment)
}

// generate builds the segments of a worker's partitions, several at once when it has cores for it.
// Those that find too little memory beside others are built after them, one by one: a segment needs
// what it needs, but never as much as several.
func (c *Controller) generate(ctx context.Context, order *workOrder, count *counters, g *generation) error {
	if err := os.MkdirAll(order.dir, 0o700); err != nil {
		return diskFault(err)
	}
	numbers := slices.DeleteFunc(slices.Clone(g.numbers), g.built)
	left := len(numbers) - g.begun(numbers, order.stage.inputs[0].from)
	segments := max(1, min(order.threads, left)) // that are built at a time
	building := make(chan struct{}, segments)
	one := func(ctx context.Context, n, threads int) error {
		return c.ledger.attempts(ctx, order, func(ctx context.Context) error {
			return c.generateOne(ctx, order, count, g, n, threads, building)
		}, func() {})
	}
	var mu sync.Mutex
	var late []int
	// While segments go to deep storage, which waits for disks and networks, the next ones are built.
	err := several(ctx, 2*order.threads, numbers, func(ctx context.Context, n int) error {
		err := one(ctx, n, order.threads/segments)
		if exceeded, ok := errors.AsType[*budget.Exceeded](err); ok && !exceeded.Disk && len(numbers) > 1 && ctx.Err() == nil {
			mu.Lock()
			defer mu.Unlock()
			late = append(late, n)
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return several(ctx, 1, late, func(ctx context.Context, n int) error { return one(ctx, n, 1) })
}

// begun returns how many of the segments are pieces as they are.
func (g *generation) begun(numbers []int, from *stage) int {
	rows := map[string]int64{} // of pieces, by the key of the first
	for _, o := range from.outputs() {
		for i := range o.frames {
			if f := &o.frames[i]; f.piece != nil {
				rows[string(f.boundary)] = f.piece.rows
			}
		}
	}
	n := 0
	for _, number := range numbers {
		if p := &g.plans[number].partition; len(rows) > 0 && rows[string(p.lo)] == p.rows {
			n++
		}
	}
	return n
}

// several calls f with each of the numbers, in their order, so many at a time.
func several(ctx context.Context, atOnce int, numbers []int, f func(ctx context.Context, number int) error) error {
	g := exec.NewGroup(ctx)
	next, mu := 0, sync.Mutex{}
	for range min(atOnce, len(numbers)) {
		g.Go(func(ctx context.Context) error {
			for {
				mu.Lock()
				if next == len(numbers) {
					mu.Unlock()
					return nil
				}
				n := numbers[next]
				next++
				mu.Unlock()
				if err := f(ctx, n); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}

// generateOne builds one segment on the given number of threads, in a place of building, and puts
// it into deep storage.
func (c *Controller) generateOne(ctx context.Context, order *workOrder, count *counters, g *generation, number, threads int, building chan struct{}) (err error) {
	from, p := order.stage.inputs[0].from, &g.plans[number]
	pieces, err := piecesOf(ctx, from.outputs(), &p.partition)
	if err != nil {
		return err
	}
	select {
	case building <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	leave := sync.OnceFunc(func() { <-building })
	defer leave()
	var taken tally
	var made generateCounter
	defer func() {
		if err != nil {
			taken.undo()
			count.generating(func(g *generateCounter) {
				g.processed, g.persisted, g.merged = g.processed-made.processed, g.persisted-made.persisted, g.merged-made.merged
			})
		}
	}()
	progress := func(rows int64) {
		made.processed += rows
		count.generating(func(g *generateCounter) { g.processed += rows })
	}
	read := func(o *output, rows, bytes, frames int64) {
		taken.flow(count, inputName(0), number, rows, bytes, frames)
		taken.flow(from.counterOf(o), "shuffle", number, rows, bytes, frames)
	}
	l := g.layout.forChunk(p.partition.bucket)
	for _, built := range pieces {
		read(built.of, built.rows, built.length, int64(built.count))
		progress(built.rows)
	}
	var file *os.File
	var info *segment.Info
	if len(pieces) == 1 && pieces[0].rows == p.partition.rows && slices.Equal(pieces[0].layout.columns, l.columns) {
		if file, err = os.Open(pieces[0].path); err != nil {
			return diskFault(err)
		}
		info = pieces[0].info
		defer file.Close() // it was only read; the piece is removed with its output
	} else {
		path := filepath.Join(order.dir, fmt.Sprintf("partition%d.segment", number))
		// The file is on its way to deep storage, which makes it durable: a crash only costs the space.
		if file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
			return diskFault(err)
		}
		defer func() { err = errors.Join(err, file.Close(), os.Remove(path)) }()
		reader := newMergeReader(&from.shuffle.order, from.outputs(), p.partition.lo, p.partition.hi, func(o *output, ref *frameRef, rows int) {
			read(o, int64(rows), int64(ref.length)*int64(rows)/int64(max(ref.rows, 1)), 1)
		})
		info, err = c.writeSegment(ctx, file, order.dir, l, p.partition.rows, threads, pieces, reader, func(rows int) { progress(int64(rows)) })
		if err != nil {
			return ofDisk(err)
		}
	}
	rows := made.processed
	made.persisted = rows
	count.generating(func(g *generateCounter) { g.persisted += rows })
	made.merged = rows
	count.generating(func(g *generateCounter) { g.merged += rows })
	leave()
	s, err := c.publisher.push(ctx, p, file, info, l.compaction)
	if err != nil {
		return err
	}
	count.generating(func(g *generateCounter) { g.pushed += rows })
	g.done(number, s)
	return nil
}

// bufferBytes is what the writer of a segment holds of its rows before it goes to disk, where each
// would be encoded twice: it needs as much again while it merges columns, and there may be several.
func (c *Controller) bufferBytes(threads int) int64 {
	bytes := c.sortBytes * int64(threads)
	if limit := c.deps.Memory.Limit(); limit > 0 {
		if c.deps.SortBytes == 0 {
			bytes = max(bytes, limit/16)
		}
		bytes = min(bytes, limit/8)
	}
	return bytes
}

// push stores a segment's file in deep storage and describes it.
func (pub *publisher) push(ctx context.Context, p *segmentPlan, file io.ReadSeeker, info *segment.Info, compaction json.RawMessage) (*timeline.Segment, error) {
	s, err := PushSegment(ctx, pub.deps.Store, p.id, p.shard, file, info, pub.pushing)
	if err != nil {
		return nil, err
	}
	if compaction != nil {
		s.Details = &timeline.Details{LastCompactionState: compaction}
	}
	return s, nil
}
