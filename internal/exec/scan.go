package exec

import (
	"context"
	"fmt"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec/progress"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// leafScan is one segment under a scan, shared by the workers.
type leafScan struct {
	scan *reading
	leaf Leaf
	// times are the intervals rows must lie in; exact says that every row of the ranges does.
	times []chrono.Interval
	exact bool
	// next and end bound its morsels that were not taken yet, by number; under the pipeline's lock.
	next, end int
	// rows is how many lie in the ranges.
	rows int
	time segmentTime
	// progress is how far workers have come with them.
	progress progress.Segment

	planned struct {
		sync.Mutex
		done  bool
		terms []term
		// rows are those that indexes leave; nil: no index is worth it.
		rows  *roaring.Bitmap
		empty bool // no row can count
	}
}

// rowRanges returns the runs of rows that can count, by time.
func (t *leafScan) rowRanges() ([][2]int, error) {
	info := t.leaf.Reader.Info()
	t.times = t.leaf.intervals(t.scan.Scan)
	for _, iv := range t.times {
		if info.HasTimes && iv.Start <= info.MinTime && info.MaxTime < iv.End {
			t.exact = true // all rows lie in one interval
			return [][2]int{{0, info.Rows}}, nil
		}
	}
	sorted := len(info.SortOrder) > 0 && info.SortOrder[0] == segment.TimeColumn
	if !sorted {
		if len(t.times) == 0 {
			return nil, nil
		}
		return [][2]int{{0, info.Rows}}, nil
	}
	t.exact = true
	var out [][2]int
	for _, iv := range t.times {
		from, to, err := segment.TimeRows(t.leaf.Reader, iv.Start, iv.End)
		if err != nil {
			return nil, fmt.Errorf("finding rows by time: %w", err)
		}
		if from < to {
			out = append(out, [2]int{from, to})
		}
	}
	return out, nil
}

// plan finds out once, for all workers, what the conditions of a scan mean in this segment.
func (t *leafScan) plan(ctx context.Context, conditions []condition, env *Env) error {
	if !t.planned.TryLock() {
		// Planning may yield: who waits for it must not hold the slot that it needs to go on.
		err := scheduler.Wait(ctx, func() error { t.planned.Lock(); return nil })
		if err != nil {
			t.planned.Unlock()
			return err
		}
	}
	defer t.planned.Unlock()
	if t.planned.done {
		return nil
	}
	p := planner{leaf: t, env: env}
	if err := p.plan(ctx, conditions); err != nil {
		return err
	}
	t.planned.terms, t.planned.rows, t.planned.empty, t.planned.done = p.terms, p.rows, p.empty, true
	return nil
}

// scanner reads batches of one segment in one goroutine. What an index leaves is narrowed term by
// term, and each reads its columns only of the batches, or of the rows, that the terms before it
// left. Columns that no term needs come last.
type scanner struct {
	leaf    *leafScan
	env     *Env
	columns []scanColumn
	fresh   bool // batches stay valid
	gathers bool // rows of several batches may come as one
	// programs are those that the worker has compiled.
	programs *termPrograms
	tallies  []tally // by term
	skip     []bool  // by term: it is true of the whole present batch

	// The present batch: rows from up to to of the segment, or those named by rows, and of these the
	// ones in sel (nil: all).
	from, to int
	rows     []uint32
	n        int
	cols     []*vector.Vector
	sel      []uint32
	// bits, if not nil, are those in place of sel, bitsLeft in number, until a term wants row numbers.
	bits     vector.Bitmap
	bitsLeft int

	// gatherers are by column, unless batches stay valid.
	gatherers []vector.Gatherer
	codesBuf  segment.Buffer
	selBuf    []uint32
	passBuf   [2]vector.Bitmap
	rowsBuf   []uint32
	pending   []uint32         // rows of batches before that are still to come
	nulls     []*vector.Vector // by column: what stands for those that nobody looks at
}

// tally counts what a term that need not be asked has been asked.
type tally struct{ asked, passed int }

// scanColumn is a column of a scan in one segment.
type scanColumn struct {
	column segment.Column // nil: the segment has none
	// find finds what is wanted in column number texts; nil: column has it.
	find   *expr.Program
	texts  int
	want   expr.Type
	cast   *expr.Program // nil: the stored type is the wanted one
	buf    *segment.Buffer
	needed bool // after the filter
	closed bool // nothing has looked at it yet
}

// newScanner returns a scanner of leaf, whose terms are planned. Need says which columns are looked
// at after the filter, nil: all. Before is the worker's scanner of another segment of the same
// scan, nil: there was none; its memory is used again.
func newScanner(leaf *leafScan, need []bool, programs *termPrograms, env *Env, fresh bool, before *scanner) (*scanner, error) {
	s := &scanner{leaf: leaf, env: env, programs: programs, fresh: fresh}
	for i := range leaf.scan.Out {
		column := scanColumn{want: leaf.scan.Out[i].Type, closed: true}
		if leaf.scan.used[i] {
			var err error
			if column, err = openColumn(leaf, i, env); err != nil {
				return nil, err
			}
		}
		column.buf = &segment.Buffer{}
		column.needed = i < leaf.scan.width && (need == nil || need[i])
		s.columns = append(s.columns, column)
	}
	if !leaf.exact {
		column, err := openStored(leaf, segment.TimeColumn, expr.Of(expr.Timestamp), env)
		if err != nil {
			return nil, err
		}
		column.buf = &segment.Buffer{}
		s.columns = append(s.columns, column)
	}
	programs.use(leaf.planned.terms)
	s.tallies, s.skip = make([]tally, len(leaf.planned.terms)), make([]bool, len(leaf.planned.terms))
	if before != nil && !fresh {
		s.selBuf, s.passBuf, s.rowsBuf, s.codesBuf, s.gatherers = before.selBuf, before.passBuf, before.rowsBuf, before.codesBuf, before.gatherers
		for i := range min(len(s.columns), len(before.columns)) {
			s.columns[i].buf = before.columns[i].buf
		}
	}
	if n := len(s.columns); len(s.gatherers) < n && !fresh {
		s.gatherers = append(s.gatherers, make([]vector.Gatherer, n-len(s.gatherers))...)
	}
	s.cols = make([]*vector.Vector, len(s.columns))
	s.nulls = make([]*vector.Vector, len(s.columns))
	return s, nil
}

// openColumn opens column i of what is read of a segment.
func openColumn(leaf *leafScan, i int, env *Env) (scanColumn, error) {
	want := leaf.scan.Out[i]
	if i < leaf.scan.own {
		return openStored(leaf, want.Name, want.Type, env)
	}
	if stored, err := leaf.scan.stored(i, leaf.leaf.Reader); err != nil || stored != nil {
		if err != nil {
			return scanColumn{}, err
		}
		return castColumn(stored, want.Name, want.Type, env)
	}
	texts, find, err := leaf.scan.parsing(i)
	if err != nil {
		return scanColumn{}, err
	}
	out := scanColumn{want: want.Type, texts: texts}
	out.find, err = expr.Compile(find, env.Expr)
	return out, err
}

// openStored opens a column of a segment, if it has it.
func openStored(leaf *leafScan, name string, want expr.Type, env *Env) (scanColumn, error) {
	column, err := leaf.leaf.Reader.Column(name)
	if err != nil || column == nil {
		return scanColumn{want: want}, err
	}
	return castColumn(column, name, want, env)
}

func castColumn(column segment.Column, name string, want expr.Type, env *Env) (scanColumn, error) {
	out := scanColumn{column: column, want: want}
	info := column.Info()
	stored := expr.FromRuntime(info.Type, info.Multi)
	to := want
	if want.Multi {
		to = expr.Of(expr.Varchar) // made a list afterwards
	}
	if info.Type == want.Runtime() || info.Type == to.Runtime() {
		return out, nil
	}
	x, err := asStored(&expr.Column{Index: 0, Name: name, T: stored}, to)
	if err != nil {
		return out, err
	}
	out.cast, err = expr.Compile(x, env.Expr)
	return out, err
}

// asStored converts a column of a segment to the type that the datasource has it as: where some
// segments have nested values, what others have are such, too.
func asStored(x *expr.Column, to expr.Type) (expr.Expr, error) {
	if to.ComplexName() == expr.JSON.ComplexName() && x.T.Base != expr.Other {
		return expr.NewCall(catalog.MustLookup("TO_JSON"), []expr.Expr{x}, fault.Span{})
	}
	return &expr.Cast{X: x, T: to}, nil
}

// read returns the rows from up to, not including, to that count, or nil if there are none. Those
// it keeps pending come with a later batch.
func (s *scanner) read(from, to int) (*vector.Batch, error) {
	p := &s.leaf.planned
	if p.empty {
		return nil, nil
	}
	for i, t := range p.terms {
		switch t.within(from, to) {
		case never:
			return nil, nil
		case always:
			s.skip[i] = true
		default:
			s.skip[i] = s.idle(t, i)
		}
	}
	s.from, s.to, s.n, s.rows, s.sel, s.bits = from, to, to-from, nil, nil, nil
	clear(s.cols)
	s.programs.begin()
	if p.rows != nil {
		s.rowsBuf = rowsBetween(p.rows, from, to, s.rowsBuf[:0])
		switch len(s.rowsBuf) {
		case 0:
			return nil, nil
		case s.n:
		default:
			s.rows, s.n = s.rowsBuf, len(s.rowsBuf)
		}
	}
	for i, t := range p.terms {
		if s.skip[i] {
			continue
		}
		before := s.left()
		if err := t.narrow(s); err != nil {
			return nil, err
		}
		left := s.left()
		s.tallies[i].asked += before
		s.tallies[i].passed += left
		if left == 0 {
			return nil, nil
		}
		if s.bits != nil && !s.nextAsksBits(i) {
			s.settle()
		}
	}
	if s.gathers && !s.gather() {
		return nil, nil
	}
	return s.late()
}

// idle reports whether a term need not be asked because it hardly ever says no.
func (s *scanner) idle(t term, i int) bool {
	const enough = 4 * vector.BatchRows
	if k, ok := t.(*keyTerm); !ok || k.exact {
		return false
	}
	asked := s.tallies[i]
	return asked.asked >= enough && asked.passed > asked.asked/8*7
}

// left returns how many rows of the present batch are left.
func (s *scanner) left() int {
	if s.bits != nil {
		return s.bitsLeft
	}
	if s.sel != nil {
		return len(s.sel)
	}
	return s.n
}

const (
	// sparse is the share of rows below which conditions are asked row by row, and rows of several
	// batches come as one.
	sparse = 16
	// sparseRead is that below which columns are read row by row.
	sparseRead = 4
)

// thin makes rows of the selection if few are left: what is read from then on is read of these
// only.
func (s *scanner) thin() {
	if s.sel == nil || len(s.sel)*sparseRead >= s.n {
		return
	}
	s.programs.narrow(s.sel)
	for i, c := range s.cols {
		if c != nil {
			s.cols[i] = s.picked(i, c)
		}
	}
	if s.rows != nil {
		for i, r := range s.sel {
			s.rows[i] = s.rows[r] // the selection ascends
		}
		s.rows = s.rows[:len(s.sel)]
	} else {
		s.rowsBuf = s.rowsBuf[:0]
		for _, r := range s.sel {
			s.rowsBuf = append(s.rowsBuf, uint32(s.from)+r)
		}
		s.rows = s.rowsBuf
	}
	s.n, s.sel = len(s.rows), nil
}

// picked returns the rows of column i that are selected; they ascend.
func (s *scanner) picked(i int, c *vector.Vector) *vector.Vector {
	if s.fresh || s.programs.share() {
		return c.Gather(s.sel)
	}
	return s.gatherers[i].Gather(c, s.sel)
}

// load returns column c of the present batch.
func (s *scanner) load(c int) (*vector.Vector, error) {
	if s.cols[c] == nil {
		s.thin()
		v, err := s.column(&s.columns[c])
		if err != nil {
			return nil, err
		}
		s.cols[c] = v
	}
	return s.cols[c], nil
}

// late completes the batch with the columns that no term needed.
func (s *scanner) late() (*vector.Batch, error) {
	s.thin()
	b := &vector.Batch{N: s.n, Sel: s.sel, Cols: make([]*vector.Vector, s.leaf.scan.width)}
	for i := range b.Cols {
		if !s.columns[i].needed {
			b.Cols[i] = s.unused(i)
			continue
		}
		v, err := s.load(i)
		if err != nil {
			return nil, err
		}
		b.Cols[i] = v
	}
	return b, nil
}

// unused returns what stands for a column that nobody looks at.
func (s *scanner) unused(i int) *vector.Vector {
	if v := s.nulls[i]; v != nil && v.Len == s.n {
		return v
	}
	s.nulls[i] = vector.Nulls(s.columns[i].want.Runtime(), s.n)
	return s.nulls[i]
}

// column reads a column of the present batch.
func (s *scanner) column(c *scanColumn) (*vector.Vector, error) {
	if c.find != nil {
		return s.find(c)
	}
	if c.column == nil {
		return vector.Nulls(c.want.Runtime(), s.n), nil
	}
	buf := c.buf
	if s.fresh {
		buf = nil
	}
	var v *vector.Vector
	var err error
	if s.rows != nil {
		v, err = c.column.ReadRows(buf, s.rows)
	} else {
		v, err = c.column.Read(buf, s.from, s.to)
	}
	if err != nil {
		return nil, err
	}
	if c.cast != nil {
		if v, err = c.cast.Eval(&vector.Batch{N: s.n, Cols: []*vector.Vector{v}}); err != nil {
			return nil, err
		}
	}
	if c.want.Multi && v.Type.Kind == vector.KindString {
		return segment.AsMulti(v), nil
	}
	return v, nil
}

// find finds what a column wants in the texts of another one, in those of the rows that are left.
func (s *scanner) find(c *scanColumn) (*vector.Vector, error) {
	if of := &s.columns[c.texts]; of.closed {
		opened, err := openColumn(s.leaf, c.texts, s.env)
		if err != nil {
			return nil, err
		}
		opened.buf = of.buf
		*of = opened
	}
	texts, err := s.load(c.texts)
	if err != nil {
		return nil, err
	}
	v, err := c.find.Eval(&vector.Batch{N: s.n, Sel: s.sel, Cols: []*vector.Vector{texts}})
	if err != nil || s.sel == nil {
		return v, err
	}
	rows := make([]uint32, s.n)
	for i, r := range s.sel {
		rows[r] = uint32(i)
	}
	return v.Gather(rows), nil
}

// dense reports whether the present batch is a run of rows of which so many are left that a
// condition is better asked of all.
func (s *scanner) dense() bool {
	return s.rows == nil && s.left()*sparse >= s.n
}

// keepBits narrows the present batch, a run of rows, to those whose bits fill sets. It may leave
// them as bits, which read settles.
func (s *scanner) keepBits(fill func(pass vector.Bitmap) error) error {
	buf := &s.passBuf[0]
	if s.bits != nil {
		buf = &s.passBuf[1]
	}
	*buf = vector.Sized(*buf, (s.n+63)/64)
	pass := *buf
	if err := fill(pass); err != nil {
		return err
	}
	switch {
	case s.sel != nil:
		s.sel = present(s.sel, pass)
		return nil
	case s.bits == nil:
		s.bits = pass
	default:
		for i, x := range pass {
			s.bits[i] &= x
		}
	}
	s.bitsLeft = s.bits.Count(s.n)
	return nil
}

// nextAsksBits reports whether the term that is asked after number i gives bits, too.
func (s *scanner) nextAsksBits(i int) bool {
	for i++; i < len(s.skip); i++ {
		if !s.skip[i] {
			t, ok := s.leaf.planned.terms[i].(bitsTerm)
			return ok && t.givesBits(s)
		}
	}
	return false
}

// settle makes row numbers of bits.
func (s *scanner) settle() {
	switch {
	case s.bitsLeft == s.n:
	case s.fresh:
		s.sel = s.bits.Rows(nil) // which may be few
	default:
		s.sel = s.bits.Rows(s.room()[:0])
	}
	s.bits = nil
}

// room returns memory for a selection of the present batch, longer by one than it can get, so that
// loops can write before they know.
func (s *scanner) room() []uint32 {
	if s.fresh {
		return make([]uint32, s.n+1)
	}
	s.selBuf = vector.Sized(s.selBuf, s.n+1)
	return s.selBuf
}

// keep narrows the present batch to its rows at which pass is 1; of rows without a value of v there
// are none.
//
// The loops have no branch to mispredict: every row number is written, and the position moves on
// only past those that count.
func (s *scanner) keep(v *vector.Vector, pass func(out, sel []uint32) int) {
	out, sel := s.sel, s.sel
	if sel == nil {
		out = s.room()
	}
	out = out[:pass(out, sel)]
	if v.Valid != nil {
		out = present(out, v.Valid)
	}
	s.sel = out
	if len(out) == s.n {
		s.sel = nil
	}
}

// present returns the rows of sel whose bits are set, in its memory.
func present(sel []uint32, valid vector.Bitmap) []uint32 {
	k := 0
	for _, r := range sel {
		sel[k] = r
		k += int(valid[r>>6] >> (r & 63) & 1)
	}
	return sel[:k]
}

// rowsBetween appends the rows of b from up to, not including, to.
func rowsBetween(b *roaring.Bitmap, from, to int, out []uint32) []uint32 {
	it := b.Iterator()
	it.AdvanceIfNeeded(uint32(from))
	for it.HasNext() {
		r := it.Next()
		if int(r) >= to {
			break
		}
		out = append(out, r)
	}
	return out
}
