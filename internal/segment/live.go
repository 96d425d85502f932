package segment

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

// Live is a growing segment in memory. Rows are appended in the order of their arrival, and a
// reader sees the rows that existed when it was created. Persist sorts the rows, rolls them up and
// writes a file.
//
//	Append ──► rows ──► Reader   a snapshot: appends after it do not show in it
//	             └────► Persist  a file of the rows that were there when it began
//
// It is safe for use by many goroutines: one appends while others read and one persists. A
// goroutine never waits for another one longer than the append of one batch takes. A batch is
// appended whole or not at all.
//
// A streaming task has one Live for each time chunk and partition that it fills. Its Reader is a
// leaf of ordinary queries, so a row can be queried as soon as Append has returned. To persist
// without a pause, the task first replaces the Live by a new one, persists the old one while
// queries read both, and releases it when readers can open the file. The file contains all rows of
// the old Live: the replacement of one by the other must be atomic for queries, or rows count twice
// or not at all.
//
// Append reserves memory from the budget first. If the reservation fails, no row of the batch is
// appended, and the existing rows can be read and persisted as before: the task persists and
// appends again. The memory is released when the owner and all readers have released their
// references.
type Live struct {
	opts   Options
	memory account // guarded by mu
	refs   atomic.Int64

	mu struct {
		sync.Mutex
		buffer           *rowBuffer
		rows             int
		minTime, maxTime int64
		// reader is that of the present rows; nil: nobody has asked since the last were appended.
		reader *liveReader
		// dicts are by column: what readers got last, which does as long as no text was new.
		dicts []*vector.Dict
		// failed is why no rows are taken any more: those of a batch came into some columns only.
		failed error
	}
}

// NewLive returns a Live without rows. The caller releases it.
func NewLive(opts Options) (*Live, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	l := &Live{opts: opts.withDefaults()}
	l.memory.budget = opts.Budget
	l.refs.Store(1)
	l.mu.buffer = newRowBuffer(l.opts.Columns)
	for i := range l.mu.buffer.columns {
		l.mu.buffer.columns[i].dict.loose = false // codes must be equal where texts are
	}
	l.mu.minTime, l.mu.maxTime = math.MaxInt64, math.MinInt64
	l.mu.dicts = make([]*vector.Dict, len(l.opts.Columns))
	return l, nil
}

// Columns returns the columns that the next batch must have, in order. The caller must not change
// them.
func (l *Live) Columns() []ColumnSpec {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.buffer.specs
}

// Extend adds columns after the existing ones; earlier rows have no value in them. Existing readers
// do not see the new columns.
func (l *Live) Extend(columns []ColumnSpec) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.failed != nil {
		return l.mu.failed
	}
	b := l.mu.buffer
	opts := l.opts
	opts.Columns = slices.Concat(b.specs, columns)
	if err := opts.Validate(); err != nil {
		return err
	}
	more := newRowBuffer(columns)
	for i := range more.columns {
		more.columns[i].dict.loose = false
		more.columns[i].values.appendNulls(b.rows)
	}
	if err := l.memory.set(2*b.bytes() + 2*more.bytes()); err != nil {
		return err
	}
	b.specs, b.columns = opts.Columns, append(b.columns, more.columns...)
	l.mu.dicts = append(l.mu.dicts, make([]*vector.Dict, len(columns))...)
	l.mu.reader = nil
	return l.memory.set(b.bytes())
}

// appendNulls appends n rows without a value.
func (g *growing) appendNulls(n int) {
	if n == 0 {
		return
	}
	one := vector.Nulls(g.typ, 1).Flat()
	if g.typ.Kind == vector.KindString {
		one.Codes, one.Dict = make([]uint32, 1), mergedCodes
	}
	for range n {
		_ = g.appendFlat(one, 0, 1, 0) // a null has no elements that could be too many
	}
}

// Append adds the selected rows of batch, all or none. The columns of batch are those of Columns,
// as for a Writer. Append does not retain batch.
func (l *Live) Append(ctx context.Context, batch *vector.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	batch = batch.Compact()
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.mu.buffer
	switch {
	case l.mu.failed != nil:
		return l.mu.failed
	case l.mu.rows+batch.N > MaxRows:
		return fault.ResourceLimit("Segment of more than [%d] rows is not possible; make smaller segments", MaxRows)
	}
	if err := b.takes(batch); err != nil {
		return err
	}
	// What grows is copied to a larger place, and for a moment there are both.
	if err := l.memory.set(2*b.bytes() + 4*batch.Bytes()); err != nil {
		return err
	}
	err := b.append(batch, l.opts.Threads)
	if err == nil {
		err = l.memory.set(b.bytes())
	}
	if err != nil {
		l.mu.failed = err
		return err
	}
	l.noteTimes(batch)
	l.mu.rows += batch.N
	l.mu.reader = nil
	return nil
}

// noteTimes follows the least and the greatest time.
func (l *Live) noteTimes(batch *vector.Batch) {
	at := slices.IndexFunc(l.mu.buffer.specs, func(s ColumnSpec) bool { return s.Name == TimeColumn && s.Type == vector.Long })
	if at < 0 {
		return
	}
	v := batch.Cols[at]
	for i := range batch.N {
		if !v.IsNull(i) {
			ms := v.LongAt(i)
			l.mu.minTime, l.mu.maxTime = min(l.mu.minTime, ms), max(l.mu.maxTime, ms)
		}
	}
}

// Rows returns the number of appended rows.
func (l *Live) Rows() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.rows
}

// Bytes returns the memory that rows take.
func (l *Live) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.buffer == nil {
		return 0
	}
	return l.mu.buffer.bytes()
}

// Reader returns a snapshot of the rows. The caller releases it. It is nil if the Live was
// released.
func (l *Live) Reader() Reader {
	if !l.acquire() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.reader == nil {
		l.mu.reader = l.readerLocked()
	} else {
		l.mu.reader.again = true
	}
	return l.mu.reader
}

func (l *Live) readerLocked() *liveReader {
	r := &liveReader{live: l, table: memoryTable{info: Info{Rows: l.mu.rows, Size: l.mu.buffer.bytes(),
		QueryGranularity: l.opts.QueryGranularity, Metadata: l.opts.Metadata}}}
	if r.table.info.HasTimes = l.mu.minTime <= l.mu.maxTime; r.table.info.HasTimes {
		r.table.info.MinTime, r.table.info.MaxTime = l.mu.minTime, l.mu.maxTime
	}
	for i, s := range l.mu.buffer.specs {
		c := &l.mu.buffer.columns[i]
		r.table.info.Columns = append(r.table.info.Columns, ColumnInfo{Name: s.Name, Type: s.Type, Multi: s.Multi, Metric: s.Metric,
			Nulls: c.values.nullsBefore(l.mu.rows), Distinct: -1, Size: c.values.bytes() + c.dict.bytes() + c.texts.total})
	}
	r.open = make([]*memoryColumn, len(l.mu.buffer.specs))
	return r
}

// nullsBefore counts the nulls among the first rows.
func (g *growing) nullsBefore(rows int) int {
	if g.nulls == 0 || rows == g.n {
		return g.nulls
	}
	return rows - vector.Bitmap(g.valid).Count(rows)
}

func (l *Live) acquire() bool {
	for {
		n := l.refs.Load()
		if n <= 0 {
			return false
		}
		if l.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release drops a reference, of the owner or of a reader. The last Release frees the memory.
func (l *Live) Release() {
	n := l.refs.Add(-1)
	invariant.Check(n >= 0, "a growing segment was released more often than acquired")
	if n == 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.mu.buffer.poison()
		l.mu.buffer, l.mu.reader, l.mu.dicts = nil, nil, nil
		l.memory.set(0) // releasing does not fail
	}
}

// Persist writes the current rows to a segment file at path, with the order and the rollup of the
// options.
func (l *Live) Persist(ctx context.Context, path string) (*Info, error) {
	r := l.Reader()
	if r == nil {
		return nil, fault.Defensive("A growing segment was persisted after it was released")
	}
	defer r.Release()
	opts := l.opts
	opts.Columns = l.Columns()[:len(r.Info().Columns)]
	return WriteRows(ctx, path, r, opts)
}

// WriteRows writes the rows of r, which may be in any order, to a segment file at path with the
// columns, the order and the rollup of opts. Columns that r does not have are null; the other
// columns must have the types of opts.
func WriteRows(ctx context.Context, path string, r Reader, opts Options) (*Info, error) {
	w, err := Create(path, opts)
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	columns := make([]Column, len(opts.Columns))
	for i, s := range opts.Columns {
		if columns[i], err = r.Column(s.Name); err != nil {
			return nil, err
		}
	}
	rows := r.Info().Rows
	for at := 0; at < rows; at += BlockRows {
		to := min(at+BlockRows, rows)
		b := &vector.Batch{N: to - at, Cols: make([]*vector.Vector, len(columns))}
		for i, c := range columns {
			if c == nil {
				b.Cols[i] = vector.Nulls(opts.Columns[i].Type, b.N)
			} else if b.Cols[i], err = c.Read(nil, at, to); err != nil {
				return nil, err
			}
		}
		if err := w.Append(ctx, b); err != nil {
			return nil, err
		}
	}
	return w.Finish(ctx)
}

// liveReader is the first rows of a Live. They do not change, and what is appended behind them lies
// behind them in memory.
type liveReader struct {
	live  *Live
	table memoryTable     // without columns
	open  []*memoryColumn // by column, those that were asked for; guarded by live.mu
	// again says that the same rows were asked for more than once: their dictionaries get sources, as
	// it is worth remembering what is computed of their entries. Guarded by live.mu.
	again bool
}

func (r *liveReader) Info() *Info     { return &r.table.info }
func (r *liveReader) Advise([]string) {} // everything is in memory
func (r *liveReader) Acquire() bool   { return r.live.acquire() }
func (r *liveReader) Release()        { r.live.Release() }

func (r *liveReader) Column(name string) (Column, error) {
	i := slices.IndexFunc(r.table.info.Columns, func(c ColumnInfo) bool { return c.Name == name })
	if i < 0 {
		return nil, nil
	}
	r.live.mu.Lock()
	defer r.live.mu.Unlock()
	if c := r.open[i]; c == nil || r.again && c.dict != nil && c.dict.Source == nil {
		r.open[i] = r.columnLocked(i)
	}
	return r.open[i], nil
}

func (r *liveReader) columnLocked(i int) *memoryColumn {
	from, rows := &r.live.mu.buffer.columns[i], r.table.info.Rows
	c := &memoryColumn{table: &r.table, info: r.table.info.Columns[i]}
	values := from.values.vector()
	texts := leafOf(values).Type.Kind == vector.KindString
	if texts {
		c.dict = r.live.dictLocked(i, r.again)
		leafOf(values).Dict = c.dict
	}
	c.values = values.Slice(0, rows)
	own(c.values, rows)
	if texts {
		withoutTexts(leafOf(c.values))
	}
	return c
}

// dictLocked returns a dictionary of the texts of column i, with a source or not; those of rows to
// come may be in it.
func (l *Live) dictLocked(i int, source bool) *vector.Dict {
	texts, d := &l.mu.buffer.columns[i].dict, l.mu.dicts[i]
	if d == nil || d.Len() < texts.len() || source && d.Source == nil {
		d = texts.dict() // others read the one that was there
		if source {
			d.Source = &vector.DictSource{}
		}
		l.mu.dicts[i] = d
	}
	return d
}

// own cuts v, which has the memory of rows to come, to its first rows. What says which of them have
// a value is copied: its last word is theirs, too.
func own(v *vector.Vector, rows int) {
	if v.Valid != nil {
		v.Valid = slices.Clone(v.Valid[:(rows+63)/64])
	}
	if v.Child != nil {
		elements := int(v.Offsets[rows])
		v.Child = v.Child.Slice(0, elements)
		own(v.Child, elements)
	}
}
