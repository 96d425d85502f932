package join

import (
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// buildFacts is what a join has to know of its whole right input, where a table may have a part of
// it only.
type buildFacts struct {
	any     bool // has rows
	nullKey bool
}

// prober joins left batches with a table. Candidate pairs are collected by row number, an output
// batch at a time; then the residual condition decides. It is for one goroutine.
type prober struct {
	node       *plan.Join
	leftTypes  []vector.Type
	rightTypes []vector.Type
	need       []bool // columns of both sides that are looked at; the others are nulls
	whole      *expr.Program
	ranges     *rangeProbe // nil: whole holds nothing to be searched for
	rows       int         // of an output batch
	facts      buildFacts
	matched    rowMarks // right rows with a partner, for RIGHT and FULL; nil: nobody asks

	table *table
	keys  finder
	base  int // number of the table's first row in matched
	// last says that no further table follows for the present batch, so that left rows without a
	// partner are known.
	last bool

	batch *vector.Batch
	// ranged says that the ranges of the batch are known. On is what has to be asked of pairs then, or
	// all of the condition; nil: nothing.
	ranged bool
	on     *expr.Program
	found  []bool           // by left row: has a partner
	nulls  []*vector.Vector // by output column: what stands for one that nobody looks at
	// gatherers are by output column, where a batch need not stay valid when the next is asked for;
	// nil: it must.
	gatherers []vector.Gatherer
	pairsBuf  [2][]uint32
	outerBuf  [2][]uint32
	valid     vector.Bitmap
	row       int
	next      uint32 // candidate of row to look at next, of all rows for one that searches
	searching int    // rows that had candidates left the last time
}

// Check returns an error if the condition of a join is invalid, before its sides are read.
func Check(n *plan.Join, need []bool, options *Options) error {
	_, err := newProber(n, need, options)
	return err
}

func newProber(n *plan.Join, need []bool, options *Options) (*prober, error) {
	p := &prober{node: n, need: need, rows: options.BatchRows, last: true}
	p.leftTypes, p.rightTypes = operator.Types(n.Left.Columns()), operator.Types(n.Right.Columns())
	if n.On != nil {
		var err error
		if p.whole, err = expr.Compile(n.On, options.Expr); err != nil {
			return nil, err
		}
		if p.ranges, err = newRangeProbe(n, p.node.LeftOnly(), options); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// use sets the table that batches are joined with from now on.
func (p *prober) use(t *table) {
	p.table, p.keys = t, newFinder(t)
}

// begin starts a left batch, whose rows all count.
func (p *prober) begin(b *vector.Batch) error {
	p.batch = b
	p.found = vector.Sized(p.found, b.N)
	clear(p.found)
	return p.again()
}

// again starts the same batch over, with the table now in use.
func (p *prober) again() (err error) {
	p.row, p.next, p.searching, p.ranged, p.on = 0, 0, p.batch.N, false, p.whole
	if p.table.keyed() {
		cols := make([]*vector.Vector, len(p.node.Keys))
		for i, k := range p.node.Keys {
			cols[i] = vector.OneZero(p.batch.Cols[k.Left])
		}
		p.keys.find(cols, p.batch.N)
	}
	if p.ranges != nil {
		if p.ranged, err = p.ranges.begin(p); p.ranged {
			p.on = p.ranges.rest
		}
	}
	return err
}

// candidates returns the range of positions that left row i may be joined with; see take.
func (p *prober) candidates(i int) (lo, hi uint32) {
	switch {
	case p.ranged:
		return p.ranges.lo[i], p.ranges.hi[i]
	case !p.table.keyed():
		return 0, uint32(p.table.rows.N)
	}
	return p.keys.candidates(i)
}

// take sets out to the right rows that left row i may be joined with, at positions from lo up to
// hi, and returns how many there are and the position behind them.
func (p *prober) take(i int, lo, hi uint32, out []uint32) (n int, next uint32) {
	if p.ranged {
		return p.ranges.take(i, lo, out[:min(len(out), int(hi-lo))])
	}
	n = min(int(hi-lo), len(out))
	p.table.rowsAt(lo, out[:n])
	return n, lo + uint32(n)
}

// step joins as many rows of the batch as give one output batch, which may be nil; done says that
// the batch is finished.
func (p *prober) step() (out *vector.Batch, done bool, err error) {
	from := p.row
	if p.node.LeftOnly() && p.on == nil {
		for ; p.row < p.batch.N; p.row++ {
			lo, hi := p.candidates(p.row)
			p.found[p.row] = p.found[p.row] || lo < hi
		}
		return p.exist(from, p.row), true, nil
	}
	if p.node.LeftOnly() {
		return p.search()
	}
	if out, ok := p.atOnce(); ok {
		p.row = p.batch.N
		return out, true, nil
	}
	lefts, rights := p.collect()
	done = p.row >= p.batch.N
	if lefts, rights, err = p.residual(lefts, rights); err != nil {
		return nil, false, err
	}
	if err := p.mark(lefts, rights); err != nil {
		return nil, false, err
	}
	if p.node.Kind == plan.Inner || p.node.Kind == plan.Right {
		return p.pairs(lefts, rights), done, nil
	}
	return p.outer(lefts, rights, from, p.row), done, nil
}

// atOnce joins the whole batch if no row can have more than one partner, and no condition decides.
func (p *prober) atOnce() (out *vector.Batch, ok bool) {
	switch {
	case p.on != nil:
	case p.alone():
		return p.besideOne(), true
	case !p.table.unique:
	case p.node.Kind == plan.Inner || p.node.Kind == plan.Right:
		lefts, rights := p.partners()
		p.markMatched(rights)
		return p.pairs(lefts, rights), true
	case (p.node.Kind == plan.Left || p.node.Kind == plan.Full) && p.last && p.base == 0:
		return p.padded(), true
	}
	return nil, false
}

// collect returns the next candidate pairs, at most as many as an output batch has rows, and goes
// on by them. They stay until it is called again.
func (p *prober) collect() (lefts, rights []uint32) {
	lefts, rights = p.buffers(p.rows)
	k := 0
	for p.row < p.batch.N && k < p.rows {
		lo, hi := p.candidates(p.row)
		n, next := p.take(p.row, lo+p.next, hi, rights[k:])
		left := uint32(p.row)
		for i := range lefts[k : k+n] {
			lefts[k+i] = left
		}
		k += n
		if next == hi {
			p.row, p.next = p.row+1, 0
		} else {
			p.next = next - lo
		}
	}
	return lefts[:k], rights[:k]
}

// buffers returns memory for n pairs, the same each time.
func (p *prober) buffers(n int) (lefts, rights []uint32) {
	p.pairsBuf[0], p.pairsBuf[1] = vector.Sized(p.pairsBuf[0], n), vector.Sized(p.pairsBuf[1], n)
	return p.pairsBuf[0], p.pairsBuf[1]
}

// Mark notes which rows of both sides have a partner, where that is asked for.
func (p *prober) mark(lefts, rights []uint32) error {
	switch p.node.Kind {
	case plan.Inner:
		return nil
	case plan.Single:
		for _, l := range lefts {
			if p.found[l] {
				return fault.WithPosition(fault.InvalidInput("Subquery expression returned more than one row"), p.node.At)
			}
			p.found[l] = true
		}
	default:
		for _, l := range lefts {
			p.found[l] = true
		}
	}
	p.markMatched(rights)
	return nil
}

// markMatched notes that right rows have a partner, if anybody asks.
func (p *prober) markMatched(rights []uint32) {
	if p.matched != nil {
		for _, r := range rights {
			p.matched.set(p.base + int(r))
		}
	}
}

// search looks at some candidates of each row that has not found a partner, at more of them each
// time: most rows that have one find it soon.
func (p *prober) search() (out *vector.Batch, done bool, err error) {
	take, left, k := max(1, min(p.next, uint32(p.rows/max(1, p.searching)))), 0, 0
	lefts, rights := p.buffers(int(take) * p.searching)
	for i := range p.batch.N {
		if p.found[i] {
			continue
		}
		lo, hi := p.candidates(i)
		if hi-lo <= p.next {
			continue
		}
		lo += p.next
		n, _ := p.take(i, lo, min(hi, lo+take), rights[k:])
		for ; n > 0; n-- {
			lefts[k] = uint32(i)
			k++
		}
		left++
	}
	p.next, p.searching = p.next+take, left
	if left == 0 {
		p.row = p.batch.N
		return p.exist(0, p.row), true, nil
	}
	if lefts, _, err = p.residual(lefts[:k], rights[:k]); err != nil {
		return nil, false, err
	}
	for _, l := range lefts {
		p.found[l] = true
	}
	return nil, false, nil
}

// alone reports whether every left row is joined with one right row, the same for all, as with the
// value of a subquery.
func (p *prober) alone() bool {
	if p.ranged || p.table.keyed() || p.table.rows.N != 1 || !p.last || p.base != 0 {
		return false
	}
	return p.node.Kind == plan.Inner || p.node.Kind == plan.Left || p.node.Kind == plan.Single
}

// besideOne gives all rows of the batch, each with the one right row.
func (p *prober) besideOne() *vector.Batch {
	n := p.batch.N
	out := &vector.Batch{N: n, Cols: append(make([]*vector.Vector, 0, len(p.batch.Cols)+len(p.rightTypes)), p.batch.Cols...)}
	for i, c := range p.table.rows.Cols {
		if at := len(p.leftTypes) + i; !p.need[at] {
			out.Cols = append(out.Cols, p.unused(at, p.rightTypes[i], n))
		} else {
			out.Cols = append(out.Cols, vector.Constant(p.rightTypes[i], c.ValueAt(0), n))
		}
	}
	return out
}

// partners returns the pairs of the whole batch when no row has more than one partner.
func (p *prober) partners() (lefts, rights []uint32) {
	n := p.batch.N
	lefts, rights = p.buffers(n)
	k := 0
	for i, r := range p.keys.to[:n] {
		lefts[k], rights[k] = uint32(i), r-1
		k += oneIf(r != 0)
	}
	return lefts[:k], rights[:k]
}

// padded gives all rows of the batch, each with its one partner or with nulls.
func (p *prober) padded() *vector.Batch {
	n := p.batch.N
	_, rights := p.buffers(n)
	valid, missing := p.validity(n), 0
	for i, r := range p.keys.to[:n] {
		if r == 0 {
			valid.Clear(i)
			missing++
			r = 1
		} else if p.matched != nil {
			p.matched.set(int(r) - 1)
		}
		rights[i] = r - 1
	}
	out := &vector.Batch{N: n, Cols: append(make([]*vector.Vector, 0, len(p.batch.Cols)+len(p.rightTypes)), p.batch.Cols...)}
	return p.rightPadded(out, rights, valid, missing)
}

// validity returns a bitmap of n set bits for the right columns of an output batch.
func (p *prober) validity(n int) vector.Bitmap {
	if p.gatherers == nil {
		return vector.FullBitmap(n)
	}
	p.valid = vector.Sized(p.valid, (n+63)/64)
	clear(p.valid) // also the bits behind n, as in a new one
	p.valid.SetRange(0, n)
	return p.valid
}

// rightPadded appends the right columns to out: the given rows, and nulls where valid is not set,
// which is so missing times.
func (p *prober) rightPadded(out *vector.Batch, rights []uint32, valid vector.Bitmap, missing int) *vector.Batch {
	for i, c := range p.table.rows.Cols {
		at := len(p.leftTypes) + i
		if missing == out.N || !p.need[at] {
			out.Cols = append(out.Cols, p.unused(at, p.rightTypes[i], out.N))
			continue
		}
		v := p.gather(at, c, p.rightTypes[i], rights)
		if missing > 0 {
			v = v.Where(valid)
		}
		out.Cols = append(out.Cols, v)
	}
	return out
}

// residual keeps the pairs for which the condition is true.
func (p *prober) residual(lefts, rights []uint32) ([]uint32, []uint32, error) {
	if p.on == nil || len(lefts) == 0 {
		return lefts, rights, nil
	}
	sel, err := p.on.Filter(p.pairs(lefts, rights))
	if err != nil {
		return nil, nil, err
	}
	for i, s := range sel {
		lefts[i], rights[i] = lefts[s], rights[s]
	}
	return lefts[:len(sel)], rights[:len(sel)], nil
}

// pairs gives the columns of both sides, nil if there are no pairs.
func (p *prober) pairs(lefts, rights []uint32) *vector.Batch {
	if len(lefts) == 0 {
		return nil
	}
	out := p.lefts(lefts)
	for i, c := range p.table.rows.Cols {
		out.Cols = append(out.Cols, p.gather(len(p.leftTypes)+i, c, p.rightTypes[i], rights))
	}
	return out
}

// lefts gives the left columns of pairs.
func (p *prober) lefts(rows []uint32) *vector.Batch {
	out := &vector.Batch{N: len(rows), Cols: make([]*vector.Vector, 0, len(p.batch.Cols)+len(p.rightTypes))}
	if p.every(rows) {
		out.Cols = append(out.Cols, p.batch.Cols...)
		return out
	}
	for i, c := range p.batch.Cols {
		out.Cols = append(out.Cols, p.gather(i, c, p.leftTypes[i], rows))
	}
	return out
}

// gather returns the given rows of output column i, nulls if nobody looks at it.
func (p *prober) gather(i int, c *vector.Vector, t vector.Type, rows []uint32) *vector.Vector {
	if !p.need[i] {
		return p.unused(i, t, len(rows))
	}
	if p.gatherers != nil {
		return p.gatherers[i].Gather(c, rows)
	}
	return c.Gather(rows)
}

// reuse lets each batch take the memory of the one before.
func (p *prober) reuse() {
	p.gatherers = make([]vector.Gatherer, len(p.leftTypes)+len(p.rightTypes))
}

// unused returns n nulls for output column i, the same as for the batch before if that had as many
// rows.
func (p *prober) unused(i int, t vector.Type, n int) *vector.Vector {
	if p.nulls == nil {
		p.nulls = make([]*vector.Vector, len(p.leftTypes)+len(p.rightTypes))
	}
	if v := p.nulls[i]; v == nil || v.Len != n {
		p.nulls[i] = vector.Nulls(t, n)
	}
	return p.nulls[i]
}

// every reports whether lefts are all rows of the batch, each once.
func (p *prober) every(lefts []uint32) bool {
	if len(lefts) != p.batch.N || lefts[0] != 0 || int(lefts[len(lefts)-1]) != p.batch.N-1 {
		return false
	}
	for i, l := range lefts {
		if int(l) != i {
			return false
		}
	}
	return true
}

// Outer gives the pairs and, in between, the finished left rows without a partner, padded with
// nulls.
func (p *prober) outer(lefts, rights []uint32, from, to int) *vector.Batch {
	if !p.last {
		return p.pairs(lefts, rights)
	}
	missing := 0
	for _, found := range p.found[from:to] {
		missing += oneIf(!found)
	}
	if missing == 0 {
		return p.pairs(lefts, rights)
	}
	n := len(lefts) + missing
	p.outerBuf[0], p.outerBuf[1] = vector.Sized(p.outerBuf[0], n), vector.Sized(p.outerBuf[1], n)
	ls, rs, valid := p.outerBuf[0], p.outerBuf[1], p.validity(n)
	at, k := 0, 0
	for i := from; i < to; i++ {
		if !p.found[i] {
			valid.Clear(k)
			ls[k], rs[k] = uint32(i), 0
			k++
			continue
		}
		for ; at < len(lefts) && int(lefts[at]) == i; at++ {
			ls[k], rs[k] = lefts[at], rights[at]
			k++
		}
	}
	// A row that goes on in the next step has its pairs here too.
	copy(ls[k:], lefts[at:])
	copy(rs[k:], rights[at:])
	return p.rightPadded(p.lefts(ls), rs, valid, missing)
}

// exist gives the finished left rows that SEMI, ANTI and NOT IN keep.
func (p *prober) exist(from, to int) *vector.Batch {
	if !p.last {
		return nil
	}
	var without []bool
	if p.node.Kind == plan.AntiNull && p.facts.any {
		if p.facts.nullKey {
			return nil
		}
		cols := make([]*vector.Vector, len(p.node.Keys))
		for i, k := range p.node.Keys {
			cols[i] = p.batch.Cols[k.Left]
		}
		without = nullKeys(cols, p.node.Keys, p.batch.N)
	}
	rows := make([]uint32, 0, to-from)
	for i := from; i < to; i++ {
		if p.found[i] == (p.node.Kind == plan.Semi) && (without == nil || !without[i]) {
			rows = append(rows, uint32(i))
		}
	}
	switch len(rows) {
	case 0:
		return nil
	case p.batch.N:
		return p.batch
	}
	return &vector.Batch{N: p.batch.N, Cols: p.batch.Cols, Sel: rows}
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}
