package join

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// rangeCondition is what is asked of the order of values of both sides by the condition of a join,
// beside its keys: the right rows of each key lie sorted by one value, so that binary search finds
// the range of them for a left row, and within it a tree of maxima finds those for which a second
// comparison holds, as where a value of one side lies between two of the other.
type rangeCondition struct {
	width  int          // columns of the left side
	first  []rangeBound // of one value of the right side
	second *rangeBound  // of another; nil: there is none
	rest   expr.Expr    // what else is asked; nil: nothing
}

// rangeBound is a comparison of a value of the right side with one of the left side.
type rangeBound struct {
	right, left expr.Expr
	below       bool // the right value is the lesser
	equal       bool // or both are equal
}

// rangeConditionOf takes a join's condition apart; nil: there is nothing in it to be searched for.
func rangeConditionOf(n *plan.Join) *rangeCondition {
	if n.On == nil || n.Kind == plan.AntiNull {
		return nil
	}
	c := &rangeCondition{width: len(n.Left.Columns())}
	terms := plan.Split(n.On)
	bounds := make([]*rangeBound, len(terms))
	first := -1
	for i, t := range terms {
		bounds[i] = rangeBoundOf(t, c.width)
		if bounds[i] != nil && (first < 0 || c.bothSides(bounds[:i], bounds[i]) && !c.bothSides(bounds[:i], bounds[first])) {
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	var rest []expr.Expr
	for i, b := range bounds {
		switch {
		case b != nil && expr.Equal(b.right, bounds[first].right):
			c.first = append(c.first, *b)
		case b != nil && c.second == nil:
			c.second = b
		default:
			rest = append(rest, terms[i])
		}
	}
	c.rest = plan.Conjunction(rest)
	return c
}

// bothSides reports whether one of the others bounds the same value as b on its other side.
func (c *rangeCondition) bothSides(others []*rangeBound, b *rangeBound) bool {
	return slices.ContainsFunc(others, func(o *rangeBound) bool { return o != nil && o.below != b.below && expr.Equal(o.right, b.right) })
}

// rangeBoundOf returns what a term asks of the order of the two sides, nil if it asks something
// else.
func rangeBoundOf(term expr.Expr, width int) *rangeBound {
	call, ok := term.(*expr.Call)
	if !ok || len(call.Args) != 2 || plan.IsVolatile(call) {
		return nil
	}
	b := &rangeBound{right: call.Args[0], left: call.Args[1]}
	switch call.Fn.Name {
	case "<", "<=":
		b.below = true
	case ">", ">=":
	default:
		return nil
	}
	b.equal = call.Fn.Name == "<=" || call.Fn.Name == ">="
	if columns := expr.Columns(b.right); len(columns) > 0 && columns[0] < width {
		b.right, b.left, b.below = b.left, b.right, !b.below
	}
	left, right := expr.Columns(b.left), expr.Columns(b.right)
	if len(left) == 0 || len(right) == 0 || left[len(left)-1] >= width || right[0] < width {
		return nil
	}
	kind := b.left.Type().Runtime().Kind
	if kind != b.right.Type().Runtime().Kind || kind != vector.KindLong && kind != vector.KindDouble {
		return nil
	}
	return b
}

// ranges are the right rows in the order of a value, with keys by key as the table has them. It
// is read by any number of goroutines.
type ranges struct {
	rows   []uint32 // by position in the table's order; those of equal values in their order
	values []int64  // of rows, as orderOf has them
	second *maxTree // of the second comparison's values of rows; nil: there is none
}

const (
	// rangeRowBytes is about what ranges take per row while it is made.
	rangeRowBytes = 4 + 8 + 9 + 24 + 8
	// rangeWorth is how many candidates for each right row are looked at before the rows are sorted.
	rangeWorth = 32
	// fewOfKey is with how many rows of each key, on average, the rest of the condition is asked of
	// each.
	fewOfKey = 8
)

// lazyRanges are made when they are worth it.
type lazyRanges struct {
	mu      sync.Mutex
	account budget.Account
	tried   atomic.Bool
	ranges  *ranges // nil: rows are joined without
}

// get returns the ranges of a table, nil if it has none. They are made if worth is true.
func (l *lazyRanges) get(c *rangeCondition, t *table, worth bool, options *Options) *ranges {
	if !l.tried.Load() {
		if !worth {
			return nil
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.tried.Load() {
			if l.account.TrySet(rangeRowBytes * int64(t.rows.N)) {
				// An error is left to whoever joins without ranges, if a left row comes to it.
				if l.ranges, _ = newRanges(c, t, options); l.ranges == nil {
					l.account.Close()
				}
			}
			l.tried.Store(true)
		}
	}
	return l.ranges
}

func (l *lazyRanges) close() {
	if l != nil {
		l.account.Close()
	}
}

// newRanges returns nil if the rows are better joined without.
func newRanges(c *rangeCondition, t *table, options *Options) (*ranges, error) {
	rows := t.rows
	groups, ok := t.groups()
	if !ok {
		return nil, nil
	}
	values, valid, err := rightOrder(c.first[0].right, c.width, rows, options)
	if err != nil {
		return nil, err
	}
	var others []int64
	if c.second != nil {
		var also vector.Bitmap
		if others, also, err = rightOrder(c.second.right, c.width, rows, options); err != nil {
			return nil, err
		}
		valid = vector.And(valid, also, rows.N)
	}
	if groups != nil && valid != nil {
		return nil, nil // positions of rows that can't be compared would have to be skipped
	}
	sorted := make([]rangeRow, 0, rows.N)
	for i, v := range values {
		switch {
		case !valid.Get(i):
		case groups == nil:
			sorted = append(sorted, rangeRow{value: v, row: uint32(i)})
		case groups[i] != noGroup:
			sorted = append(sorted, rangeRow{value: v, row: uint32(i), group: groups[i]})
		}
	}
	slices.SortFunc(sorted, rangeRow.compare)
	out := &ranges{rows: make([]uint32, len(sorted)), values: values[:len(sorted)]}
	for i, s := range sorted {
		out.rows[i], out.values[i] = s.row, s.value
	}
	if c.second != nil {
		leaves := make([]int64, len(sorted))
		for i, s := range sorted {
			leaves[i] = c.second.upward(others[s.row])
		}
		out.second = newMaxTree(leaves)
	}
	return out, nil
}

// rangeRow is a right row: the position where the rows of its key begin, and its value.
type rangeRow struct {
	value int64
	group uint32
	row   uint32
}

func (a rangeRow) compare(b rangeRow) int {
	switch {
	case a.group != b.group:
		return cmp.Compare(a.group, b.group)
	case a.value != b.value:
		return cmp.Compare(a.value, b.value)
	}
	return cmp.Compare(a.row, b.row)
}

// noGroup is the group of rows without a key.
const noGroup = math.MaxUint32

// groups returns by row the position where the rows of its key begin, nil without keys; ok is false
// if Keys have few rows.
func (t *table) groups() (groups []uint32, ok bool) {
	if !t.keyed() {
		return nil, true
	}
	finder := newFinder(t)
	groups = make([]uint32, t.rows.N)
	cols := make([]*vector.Vector, len(t.equi))
	members := 0
	for lo := 0; lo < t.rows.N; lo += vector.BatchRows {
		n := min(vector.BatchRows, t.rows.N-lo)
		for i, k := range t.equi {
			cols[i] = vector.OneZero(t.rows.Cols[k.Right].Slice(lo, lo+n))
		}
		finder.find(cols, n)
		for i := range n {
			from, to := finder.candidates(i)
			if groups[lo+i] = from; from == to {
				groups[lo+i] = noGroup
			}
			members += int(to - from)
		}
	}
	return groups, members >= fewOfKey*t.rows.N
}

// rightOrder returns the values of e, an expression over both sides that looks at the right one
// only, of all right rows.
func rightOrder(e expr.Expr, width int, rows *vector.Batch, options *Options) (values []int64, valid vector.Bitmap, err error) {
	program, err := expr.Compile(expr.Remap(e, func(c int) int { return c - width }), options.Expr)
	if err != nil {
		return nil, nil, err
	}
	values = make([]int64, rows.N)
	for lo := 0; lo < rows.N; lo += vector.BatchRows {
		v, err := program.Eval(rows.Slice(lo, min(lo+vector.BatchRows, rows.N)))
		if err != nil {
			return nil, nil, err
		}
		orderOf(v, values[lo:lo+v.Len])
		if !v.HasNulls() {
			continue
		}
		if valid == nil {
			valid = vector.FullBitmap(rows.N)
		}
		for i := range v.Len {
			if v.IsNull(i) {
				valid.Clear(lo + i)
			}
		}
	}
	return values, valid, nil
}

// orderOf sets out to numbers that have the order of the values of v, Longs or Doubles: -0.0 is
// 0.0, and NaN the greatest.
func orderOf(v *vector.Vector, out []int64) {
	v = v.Flat()
	if v.Type.Kind == vector.KindLong {
		copy(out, v.Longs)
		return
	}
	for i, x := range v.Doubles[:len(out)] {
		switch bits := int64(math.Float64bits(x + 0)); {
		case x != x:
			out[i] = math.MaxInt64
		case bits < 0:
			out[i] = bits ^ math.MaxInt64
		default:
			out[i] = bits
		}
	}
}

// upward returns v so that the values that the bound asks for are the greater ones.
func (b *rangeBound) upward(v int64) int64 {
	if b.below {
		return ^v
	}
	return v
}

// rangeProbe finds the ranges of the left rows of a batch. It is for one goroutine.
type rangeProbe struct {
	condition *rangeCondition
	options   *Options
	rest      *expr.Program
	first     []*expr.Program
	second    *expr.Program
	seen      int // candidates for rows that were joined without ranges

	ranges *ranges // of the present batch
	values []int64
	lo, hi []uint32 // by left row: from which position up to, not including, which
	limits []int64  // of the second comparison
}

// newRangeProbe returns nil if the join's condition is nothing to be searched for. With existence
// pairs are not listed one by one, so that a second comparison must decide alone.
func newRangeProbe(n *plan.Join, existence bool, options *Options) (*rangeProbe, error) {
	c := rangeConditionOf(n)
	if c == nil {
		return nil, nil
	}
	if existence && c.second != nil && c.rest != nil {
		c.second, c.rest = nil, n.On
	}
	p := &rangeProbe{condition: c, options: options}
	var err error
	compile := func(e expr.Expr) (out *expr.Program) {
		if err == nil && e != nil {
			out, err = expr.Compile(e, options.Expr)
		}
		return out
	}
	p.rest = compile(c.rest)
	for _, b := range c.first {
		p.first = append(p.first, compile(b.left))
	}
	if c.second != nil {
		p.second = compile(c.second.left)
	}
	return p, err
}

// begin finds the ranges of the present batch of a join, and reports whether it did: for few
// candidates a table is not sorted.
func (p *rangeProbe) begin(j *prober) (bool, error) {
	if j.table.ranges == nil {
		return false, nil
	}
	n := j.batch.N
	p.values, p.lo, p.hi = vector.Sized(p.values, n), vector.Sized(p.lo, n), vector.Sized(p.hi, n)
	for i := range n {
		p.lo[i], p.hi[i] = j.candidates(i)
		p.seen += int(p.hi[i] - p.lo[i])
	}
	p.ranges = j.table.ranges.get(p.condition, j.table, p.seen >= rangeWorth*j.table.rows.N, p.options)
	if p.ranges == nil || j.table.rows.N == 0 {
		return false, nil
	}
	for i, program := range p.first {
		v, err := program.Eval(j.batch)
		if err != nil {
			return false, err
		}
		p.bound(&p.condition.first[i], v)
	}
	if p.second == nil {
		return true, nil
	}
	v, err := p.second.Eval(j.batch)
	if err != nil {
		return false, err
	}
	p.limit(v)
	for i, lo := range p.lo {
		p.lo[i] = p.next(i, lo)
	}
	return true, nil
}

// bound cuts the ranges by one of the first comparisons, v being its left values.
func (p *rangeProbe) bound(b *rangeBound, v *vector.Vector) {
	orderOf(v, p.values)
	nulls := v.HasNulls()
	most := uint32(len(p.ranges.rows)) // without keys there may be rows left out
	for i, x := range p.values {
		lo, hi := p.lo[i], min(p.hi[i], most)
		if nulls && v.IsNull(i) {
			p.hi[i] = lo
			continue
		}
		values := p.ranges.values[lo:hi]
		at, found := slices.BinarySearch(values, x)
		if found && b.equal == b.below { // behind those that are equal
			at = afterEqual(values, at, x)
		}
		if p.hi[i] = hi; b.below {
			p.hi[i] = lo + uint32(at)
		} else {
			p.lo[i] = lo + uint32(at)
		}
	}
}

// afterEqual returns the first position from at on where there is a greater value than x.
func afterEqual(values []int64, at int, x int64) int {
	if x == math.MaxInt64 {
		return len(values)
	}
	n, _ := slices.BinarySearch(values[at:], x+1)
	return at + n
}

// limit notes from which value on the second comparison holds for the left rows.
func (p *rangeProbe) limit(v *vector.Vector) {
	b := p.condition.second
	p.limits = vector.Sized(p.limits, v.Len)
	orderOf(v, p.limits)
	for i, x := range p.limits {
		x = b.upward(x)
		switch {
		case v.IsNull(i), !b.equal && x == math.MaxInt64:
			p.hi[i] = p.lo[i]
		case !b.equal:
			x++
		}
		p.limits[i] = x
	}
}

// next returns the first position from from on that a left row is joined with, the end of its range
// if there is none.
func (p *rangeProbe) next(i int, from uint32) uint32 {
	return uint32(p.ranges.second.next(int(from), int(p.hi[i]), p.limits[i]))
}

// take sets out to the rows that left row i is joined with, from a position on, and returns how
// many there are and the position behind them.
func (p *rangeProbe) take(i int, from uint32, out []uint32) (n int, next uint32) {
	rows, hi := p.ranges.rows, p.hi[i]
	if p.second == nil {
		n = copy(out, rows[from:hi])
		return n, from + uint32(n)
	}
	for from < hi && n < len(out) {
		out[n] = rows[from]
		n++
		from = p.next(i, from+1)
	}
	return n, from
}

// maxTree finds values that are large enough: above the values lie the maxima of each treeFan of
// them, above these those of treeFan maxima and so on.
type maxTree struct {
	levels [][]int64 // the values first
}

const (
	treeBits = 5
	treeFan  = 1 << treeBits
)

func newMaxTree(values []int64) *maxTree {
	t := &maxTree{levels: [][]int64{values}}
	for below := values; len(below) > 1; {
		above := make([]int64, 0, (len(below)+treeFan-1)/treeFan)
		for part := range slices.Chunk(below, treeFan) {
			above = append(above, slices.Max(part))
		}
		t.levels = append(t.levels, above)
		below = above
	}
	return t
}

// next returns the first position from from up to, not including, to whose value is at least limit,
// to if there is none.
func (t *maxTree) next(from, to int, limit int64) int {
	for at := from; at < to; {
		level := 0
		for level+1 < len(t.levels) && at&(1<<(treeBits*(level+1))-1) == 0 && t.levels[level+1][at>>(treeBits*(level+1))] < limit {
			level++
		}
		if level == 0 && t.levels[0][at] >= limit {
			return at
		}
		at += 1 << (treeBits * level)
	}
	return max(from, to)
}
