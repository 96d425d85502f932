package live

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// folded combines rows with equal dimensions as they come. Dimensions are a segment.Live without
// the metrics, which a row enters when it is the first of its kind; metrics are vectors beside it.
//
//	batch ──► key of each row ──► row that has it, or a new one
//	                               │ metrics: fold(value that is there, values of the batch)
//
// What a reader has does not change: a metric is copied before a value of it changes that some
// reader may see. New values lie behind those of readers.
type folded struct {
	o    *segment.Options
	held *reserve
	dims *segment.Live
	refs atomic.Int64

	mu struct {
		sync.Mutex
		specs   []segment.ColumnSpec // of batches, in order
		rowOf   map[string]uint32    // by the key of the dimensions
		keys    int64                // bytes of keys
		metrics []*metric
		taken   int64           // bytes reserved for keys and metrics
		last    *foldedSnapshot // that of the present rows; nil: nobody has asked
	}
}

// metric is the values of one metric, by row.
type metric struct {
	at     int // in the columns
	fold   segment.Fold
	values *vector.Vector // flat
	shared bool           // a reader has them
}

// keyBytes is about what an entry of the map of keys takes beside the bytes of its key.
const keyBytes = 48

func newFolded(s *Set, o *segment.Options, columns []segment.ColumnSpec) (*folded, error) {
	check := *o
	check.Columns, check.SortOrder = columns, nil
	if err := check.Validate(); err != nil {
		return nil, err
	}
	held := &reserve{budget: s.o.Memory}
	f := &folded{o: o, held: held}
	f.refs.Store(1)
	f.mu.rowOf = map[string]uint32{}
	opts := segment.Options{QueryGranularity: o.QueryGranularity, Metadata: o.Metadata, Threads: o.Threads, Budget: held}
	for _, c := range columns {
		if c.Metric == "" {
			opts.Columns = append(opts.Columns, c)
		}
	}
	var err error
	if f.dims, err = segment.NewLive(opts); err != nil {
		return nil, err
	}
	if err := f.addMetrics(0, columns); err != nil {
		f.dims.Release()
		return nil, err
	}
	f.mu.specs = columns
	return f, nil
}

// addMetrics adds the metrics among columns that follow others.
func (f *folded) addMetrics(from int, columns []segment.ColumnSpec) error {
	var added []*metric
	for i, c := range columns {
		if c.Metric == "" {
			continue
		}
		fold, err := f.o.Fold(c)
		if err != nil {
			return err
		}
		added = append(added, &metric{at: from + i, fold: fold, values: vector.Nulls(c.Type, f.dims.Rows()).Flat()})
	}
	f.mu.metrics = append(slices.Clip(f.mu.metrics), added...)
	return nil
}

func (f *folded) rows() int { return f.dims.Rows() }

func (f *folded) bytes() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dims.Bytes() + f.mu.taken
}

func (f *folded) columns() []segment.ColumnSpec {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.specs
}

func (f *folded) extend(more []segment.ColumnSpec) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var dims []segment.ColumnSpec
	for _, c := range more {
		if c.Metric == "" {
			dims = append(dims, c)
		}
	}
	if err := f.dims.Extend(dims); err != nil {
		return err
	}
	if err := f.addMetrics(len(f.mu.specs), more); err != nil {
		return err
	}
	f.mu.specs, f.mu.last = slices.Concat(f.mu.specs, more), nil
	return nil
}

// append implements growing. All that may fail is done before anything changes.
func (f *folded) append(ctx context.Context, batch *vector.Batch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(batch.Cols) != len(f.mu.specs) {
		return fault.Defensive("Batch of [%d] columns was given to a segment of [%d]", len(batch.Cols), len(f.mu.specs))
	}
	g := f.group(batch)
	folded := make([]*vector.Vector, len(f.mu.metrics))
	size := f.mu.keys + g.keyBytes
	for i, m := range f.mu.metrics {
		var err error
		if folded[i], err = g.fold(m, batch.Cols[m.at]); err != nil {
			return err
		}
		size += 2 * (m.values.Bytes() + folded[i].Bytes()) // a reader may have those of before
	}
	if more := size - f.mu.taken; more > 0 {
		if err := f.held.Reserve(more); err != nil {
			return err
		}
		f.mu.taken = size
	}
	if err := f.dims.Append(ctx, g.firsts); err != nil {
		return err
	}
	maps.Copy(f.mu.rowOf, g.added)
	f.mu.keys += g.keyBytes
	for i, m := range f.mu.metrics {
		m.set(g, folded[i])
	}
	f.mu.last = nil
	return nil
}

// grouped is the rows of a batch by the row that they belong to.
type grouped struct {
	before int               // rows that were there
	added  map[string]uint32 // rows that are new, by key
	firsts *vector.Batch     // their dimensions
	// rows are the rows that the batch has something for, those that were there first; order are the
	// rows of the batch by place in rows, and starts where each place begins in it.
	rows     []uint32
	order    []uint32
	starts   []uint32
	old      int // how many of rows were there
	keyBytes int64
}

func (f *folded) group(batch *vector.Batch) *grouped {
	g := &grouped{before: f.dims.Rows(), added: map[string]uint32{}}
	var dims []*vector.Vector
	for i, c := range f.mu.specs {
		switch v := batch.Cols[i]; {
		case c.Metric != "":
		case c.Multi: // one value is the same as a list of it
			dims = append(dims, segment.AsMulti(v))
		default:
			dims = append(dims, v)
		}
	}
	var key []byte
	var firsts []uint32
	target := make([]uint32, batch.N)
	for i := range batch.N {
		key = keyOf(key[:0], dims, i)
		row, known := f.mu.rowOf[string(key)]
		if !known {
			row, known = g.added[string(key)]
		}
		if !known {
			row = uint32(g.before + len(firsts))
			g.added[string(key)] = row
			g.keyBytes += int64(len(key)) + keyBytes
			firsts = append(firsts, uint32(i))
		}
		target[i] = row
	}
	g.firsts = &vector.Batch{N: len(firsts), Cols: make([]*vector.Vector, len(dims))}
	for i, d := range dims {
		g.firsts.Cols[i] = d.Gather(firsts)
	}
	g.sort(target)
	return g
}

// keyOf appends what is equal for rows with equal dimensions. Nulls behind the last value leave no
// trace: a row has the same key when there are more dimensions, in which it has no value.
func keyOf(key []byte, dims []*vector.Vector, row int) []byte {
	end := len(key)
	for _, d := range dims {
		if key = vector.KeyText(key, d, row); !d.IsNull(row) {
			end = len(key)
		}
	}
	return key[:end]
}

// sort brings the rows of the batch into the order of the rows that they belong to.
func (g *grouped) sort(target []uint32) {
	g.order = make([]uint32, len(target))
	for i := range g.order {
		g.order[i] = uint32(i)
	}
	slices.SortStableFunc(g.order, func(a, b uint32) int { return int(target[a]) - int(target[b]) })
	for i, at := range g.order {
		if i == 0 || target[at] != g.rows[len(g.rows)-1] {
			g.rows = append(g.rows, target[at])
			g.starts = append(g.starts, uint32(i))
		}
	}
	g.starts = append(g.starts, uint32(len(target)))
	g.old, _ = slices.BinarySearch(g.rows, uint32(g.before))
}

// fold returns the values of a metric for the rows of g: what is there and what the batch brings.
func (g *grouped) fold(m *metric, batch *vector.Vector) (*vector.Vector, error) {
	if len(g.rows) == 0 {
		return vector.Nulls(m.values.Type, 0).Flat(), nil
	}
	values := vector.NewBuilder(m.values.Type, len(g.order)+g.old)
	starts := make([]uint32, 0, len(g.starts))
	for i := range g.rows {
		starts = append(starts, uint32(values.Len()))
		if i < g.old {
			values.AppendFrom(m.values, int(g.rows[i]))
		}
		values.AppendRows(batch, g.order[g.starts[i]:g.starts[i+1]])
	}
	starts = append(starts, uint32(values.Len()))
	out, err := m.fold(values.Build(), starts)
	if err != nil {
		return nil, err
	}
	if out.Type != m.values.Type || out.Len != len(g.rows) {
		return nil, fault.Defensive("Fold of [%d] groups of [%s] gave [%d] values of [%s]", len(g.rows), m.values.Type, out.Len, out.Type)
	}
	return out.Flat().OwnStrings(), nil
}

// set takes over the values that fold has made.
func (m *metric) set(g *grouped, folded *vector.Vector) {
	if m.values.Type.Kind == vector.KindList {
		m.setLists(g, folded)
		return
	}
	v := *m.values
	if m.shared && g.old > 0 {
		v.Longs, v.Doubles, v.Floats, v.Strings = slices.Clone(v.Longs), slices.Clone(v.Doubles), slices.Clone(v.Floats), slices.Clone(v.Strings)
		m.shared = false
	}
	n := folded.Len
	v.Len += n - g.old
	v.Valid = validOf(&v, g, folded)
	switch v.Type.Kind {
	case vector.KindLong:
		v.Longs = put(v.Longs, g, folded.Longs)
	case vector.KindDouble:
		v.Doubles = put(v.Doubles, g, folded.Doubles)
	case vector.KindFloat:
		v.Floats = put(v.Floats, g, folded.Floats)
	default:
		v.Strings = put(v.Strings, g, folded.Strings)
	}
	m.values = &v
}

// put changes the values of rows that were there, and appends those of new ones.
func put[T any](values []T, g *grouped, folded []T) []T {
	for i, row := range g.rows[:g.old] {
		values[row] = folded[i]
	}
	return append(values, folded[g.old:len(g.rows)]...)
}

// validOf returns the validity of v after a change; it is never that of before, which readers have.
func validOf(v *vector.Vector, g *grouped, folded *vector.Vector) vector.Bitmap {
	if v.Valid == nil && folded.Valid == nil {
		return nil
	}
	valid := vector.FullBitmap(v.Len)
	if v.Valid != nil {
		copy(valid, v.Valid[:(g.before+63)/64])
	}
	for i, row := range g.rows {
		if folded.IsNull(i) {
			valid.Clear(int(row))
		} else {
			valid.Set(int(row))
		}
	}
	return valid
}

// setLists is set for values that are not one element each.
func (m *metric) setLists(g *grouped, folded *vector.Vector) {
	b := vector.NewBuilder(m.values.Type, g.before+folded.Len-g.old)
	at := 0
	for row := range g.before {
		if at < g.old && int(g.rows[at]) == row {
			b.AppendFrom(folded, at)
			at++
		} else {
			b.AppendFrom(m.values, row)
		}
	}
	for i := g.old; i < folded.Len; i++ {
		b.AppendFrom(folded, i)
	}
	m.values, m.shared = b.Build().Flat(), false
}

// foldedSnapshot is the rows of a folded part at one moment.
type foldedSnapshot struct {
	of      *folded
	dims    segment.Reader
	metrics segment.Reader
	info    segment.Info
}

func (f *folded) reader() segment.Reader {
	if !f.acquire() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.mu.last; s != nil && s.dims.Acquire() {
		return s
	}
	s := &foldedSnapshot{of: f, dims: f.dims.Reader()}
	s.info = *s.dims.Info()
	dims := s.info.Columns
	s.info.Columns, s.info.Rollup = nil, true
	byName := map[string]*vector.Vector{}
	for _, m := range f.mu.metrics {
		m.shared = true
		byName[f.mu.specs[m.at].Name] = m.values
	}
	own := segment.Info{Rows: s.info.Rows}
	for _, c := range f.mu.specs {
		info := segment.ColumnInfo{Name: c.Name, Type: c.Type, Metric: c.Metric, Distinct: -1}
		if c.Metric == "" {
			info = dims[0]
			dims = dims[1:]
		} else {
			v := byName[c.Name]
			info.Size = v.Bytes()
			if v.Valid != nil {
				info.Nulls = v.Len - v.Valid.Count(v.Len)
			}
			own.Columns = append(own.Columns, info)
		}
		s.info.Columns = append(s.info.Columns, info)
	}
	s.metrics = segment.NewTable(own, func(name string) (*vector.Vector, error) { return byName[name], nil })
	f.mu.last = s
	return s
}

func (s *foldedSnapshot) Info() *segment.Info { return &s.info }
func (s *foldedSnapshot) Advise([]string)     {} // everything is in memory

func (s *foldedSnapshot) Column(name string) (segment.Column, error) {
	if c := s.info.Column(name); c != nil && c.Metric != "" {
		return s.metrics.Column(name)
	}
	return s.dims.Column(name)
}

func (s *foldedSnapshot) Acquire() bool {
	if !s.of.acquire() {
		return false
	}
	return s.dims.Acquire() // it is there as long as its owner
}

func (s *foldedSnapshot) Release() {
	s.dims.Release()
	s.of.release()
}

func (f *folded) acquire() bool {
	for {
		n := f.refs.Load()
		if n <= 0 {
			return false
		}
		if f.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (f *folded) release() {
	if f.refs.Add(-1) > 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.rowOf, f.mu.metrics, f.mu.last = nil, nil, nil
	f.held.Release(f.mu.taken)
	f.mu.taken = 0
	f.dims.Release()
}
