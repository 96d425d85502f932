package exec

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// rangeCondition is what is asked of the order of values of both sides by the condition of a join without keys: the right rows lie sorted by one value,
// so that binary search finds the range of them for a left row, and within it a tree of maxima finds those for which a second comparison holds,
// as where a value of one side lies between two of the other.
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
	if len(n.Keys) > 0 || n.On == nil {
		return nil
	}
	c := &rangeCondition{width: len(n.Left.Columns())}
	terms := conjuncts(n.On, nil)
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

// rangeBoundOf returns what a term asks of the order of the two sides, nil if it asks something else.
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

// joinRanges are the right rows in the order of a value. It is read by any number of goroutines.
type joinRanges struct {
	rows   []uint32 // those of equal values in their order; rows with a null in what is compared are left out
	values []int64  // of rows, as orderOf has them
	second *maxTree // of the second comparison's values of rows; nil: there is none
}

// rangeRowBytes is about what joinRanges takes per row while it is made.
const rangeRowBytes = 4 + 8 + 9 + 16 + 8

// lazyRanges are made when the first worker wants them.
type lazyRanges struct {
	once   sync.Once
	ranges *joinRanges // nil: a value could not be computed
}

func (l *lazyRanges) get(c *rangeCondition, rows *vector.Batch, env *Env) *joinRanges {
	l.once.Do(func() { l.ranges, _ = newJoinRanges(c, rows, env) }) // whoever joins without it meets the error, if a left row comes to it
	return l.ranges
}

func newJoinRanges(c *rangeCondition, rows *vector.Batch, env *Env) (*joinRanges, error) {
	values, valid, err := rightOrder(c.first[0].right, c.width, rows, env)
	if err != nil {
		return nil, err
	}
	var others []int64
	if c.second != nil {
		var also vector.Bitmap
		if others, also, err = rightOrder(c.second.right, c.width, rows, env); err != nil {
			return nil, err
		}
		valid = vector.And(valid, also, rows.N)
	}
	type placed struct {
		value int64
		row   uint32
	}
	sorted := make([]placed, 0, rows.N)
	for i, v := range values {
		if valid.Get(i) {
			sorted = append(sorted, placed{v, uint32(i)})
		}
	}
	slices.SortFunc(sorted, func(a, b placed) int {
		if a.value != b.value {
			return cmp.Compare(a.value, b.value)
		}
		return cmp.Compare(a.row, b.row)
	})
	out := &joinRanges{rows: make([]uint32, len(sorted)), values: values[:len(sorted)]}
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

// rightOrder returns the values of e, an expression over both sides that looks at the right one only, of all right rows.
func rightOrder(e expr.Expr, width int, rows *vector.Batch, env *Env) (values []int64, valid vector.Bitmap, err error) {
	program, err := expr.Compile(expr.Remap(e, func(c int) int { return c - width }), env.Expr)
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

// orderOf sets out to numbers that have the order of the values of v, Longs or Doubles: -0.0 is 0.0, and NaN the greatest.
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
	env       *Env
	rest      *expr.Program
	first     []*expr.Program
	second    *expr.Program

	ranges *joinRanges // nil: the present batch is joined row by row
	values []int64
	lo, hi []uint32 // by left row: from which place up to, not including, which
	limits []int64  // of the second comparison
}

// newRangeProbe returns nil if the join's condition is nothing to be searched for. With existence pairs are not listed one by one, so that a second
// comparison must decide alone.
func newRangeProbe(n *plan.Join, existence bool, env *Env) (*rangeProbe, error) {
	c := rangeConditionOf(n)
	if c == nil {
		return nil, nil
	}
	if existence && c.second != nil && c.rest != nil {
		c.second, c.rest = nil, n.On
	}
	p := &rangeProbe{condition: c, env: env}
	var err error
	compile := func(e expr.Expr) (out *expr.Program) {
		if err == nil && e != nil {
			out, err = expr.Compile(e, env.Expr)
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

// fewRangeRows is up to how many left rows a table is not sorted for.
const fewRangeRows = 32

// begin finds the ranges of a batch of left rows, and reports whether it did: for few of them a table is not sorted.
func (p *rangeProbe) begin(t *joinTable, b *vector.Batch, full int) (bool, error) {
	if p.ranges = nil; t.rows.N == 0 || b.N < min(fewRangeRows, full) {
		return false, nil
	}
	ranges := t.ranges.get(p.condition, t.rows, p.env)
	if ranges == nil {
		return false, nil
	}
	p.values, p.lo, p.hi = sized(p.values, b.N), sized(p.lo, b.N), sized(p.hi, b.N)
	clear(p.lo)
	for i := range p.hi {
		p.hi[i] = uint32(len(ranges.rows))
	}
	for i, program := range p.first {
		v, err := program.Eval(b)
		if err != nil {
			return false, err
		}
		p.bound(&p.condition.first[i], v, ranges.values)
	}
	if p.second != nil {
		v, err := p.second.Eval(b)
		if err != nil {
			return false, err
		}
		p.limit(v)
	}
	p.ranges = ranges
	for i, lo := range p.lo {
		if p.lo[i] = min(lo, p.hi[i]); p.second != nil {
			p.lo[i] = p.next(i, p.lo[i])
		}
	}
	return true, nil
}

// bound cuts the ranges by one of the first comparisons, v being its left values.
func (p *rangeProbe) bound(b *rangeBound, v *vector.Vector, values []int64) {
	orderOf(v, p.values)
	nulls := v.HasNulls()
	for i, x := range p.values {
		if nulls && v.IsNull(i) {
			p.hi[i] = 0
			continue
		}
		at, found := slices.BinarySearch(values, x)
		if found && b.equal == b.below { // behind those that are equal
			at = afterEqual(values, at, x)
		}
		if b.below {
			p.hi[i] = min(p.hi[i], uint32(at))
		} else {
			p.lo[i] = max(p.lo[i], uint32(at))
		}
	}
}

// afterEqual returns the first place from at on where there is a greater value than x.
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
	p.limits = sized(p.limits, v.Len)
	orderOf(v, p.limits)
	for i, x := range p.limits {
		x = b.upward(x)
		switch {
		case v.IsNull(i), !b.equal && x == math.MaxInt64:
			p.hi[i] = 0
		case !b.equal:
			x++
		}
		p.limits[i] = x
	}
}

// next returns the first place from from on that a left row is joined with, the end of its range if there is none.
func (p *rangeProbe) next(i int, from uint32) uint32 {
	return uint32(p.ranges.second.next(int(from), int(p.hi[i]), p.limits[i]))
}

// take sets out to the rows that left row i is joined with, from a place on, and returns how many there are and the place behind them.
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

// maxTree finds values that are large enough: above the values lie the maxima of each treeFan of them, above these those of treeFan maxima and so on.
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

// next returns the first place from from up to, not including, to whose value is at least limit, to if there is none.
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
