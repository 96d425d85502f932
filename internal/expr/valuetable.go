package expr

import (
	"math"

	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

// A function of one column of whole numbers that lie near each other is computed once for each of
// the numbers, in a table; rows look their results up. Delays, ages, codes and quantities are such
// columns. Whether a column is one is seen in its rows: the table has the numbers from the least to
// the greatest that came, and is made when as many rows have come as it would have entries.

const (
	// maxTable bounds the entries of a table, which the second cache of a core should hold.
	maxTable = 1 << 16
	// freeTable is how many entries a table may have whatever few rows there are.
	freeTable = vector.BatchRows
	// tableRest is for how many batches a table is not thought of after one whose numbers lie too far
	// from each other.
	tableRest = 64
	// tableWorth is from which cost on, in additions, looking up is quicker than computing.
	tableWorth = 5
)

// tableSource finds the one column of whole numbers that e is a pure function of, if looking its
// results up is worth it.
func tableSource(e Expr) (*Column, bool) {
	switch e.Type().Runtime().Kind {
	case vector.KindLong, vector.KindDouble, vector.KindFloat, vector.KindString:
	default:
		return nil, false
	}
	var source *Column
	pure, cost := true, 0
	Walk(e, func(x Expr) bool {
		switch x := x.(type) {
		case *Column:
			if x.T.Multi || x.T.Runtime() != vector.Long || source != nil && source.Index != x.Index {
				pure = false
			}
			source = x
		case *Element, *Each, *Any, *Loop:
			pure = false
		case *Call:
			pure = pure && !x.Fn.Volatile
			cost += costOfCall(x)
		case *Cast:
			cost++
			if from, to := x.X.Type().Runtime(), x.T.Runtime(); !from.IsNumeric() || !to.IsNumeric() {
				cost += tableWorth
			}
		case *Case, *In:
			cost += 3
		case *And, *Or, *Not:
			cost++
		}
		return pure
	})
	return source, pure && source != nil && cost >= tableWorth
}

// costOfCall is how many additions a call costs, about.
func costOfCall(c *Call) int {
	fn := c.Fn.Entry()
	if _, compares := comparisonOf(fn); compares || isCheap(fn) {
		return 1
	}
	switch fn {
	case addFunction, subtractFunction, multiplyFunction:
		return 1
	}
	return tableWorth
}

func (c *compiler) compileTable(e Expr, source *Column) (node, error) {
	inner, err := c.compileRemembered(e)
	if err != nil {
		return nil, err
	}
	c.inDict = true // no table within that of the whole
	plain, err := c.compileNode(e)
	c.inDict = false
	if err != nil {
		return nil, err
	}
	return &tableNode{inner: inner, plain: plain, slot: c.slot(source.Index), nullable: source.T.Nullable, reuse: c.ctx.Reuse}, nil
}

// tableNode evaluates a function of one column of whole numbers over the numbers between the least
// and the greatest that it has met, or over the rows.
type tableNode struct {
	inner, plain node
	slot         int
	nullable     bool
	reuse        bool

	rows  int // met so far
	rest  int // batches that are computed before a table is thought of again
	least int64
	// values has the results of the numbers from least on, and then that of NULL; nil: there is no
	// table. It is flat, or encoded with a dictionary of its own.
	values *vector.Vector
	size   int // numbers that the table has
	// whole says that no number has the result NULL, strict that NULL has it.
	whole, strict bool
	truth         []uint8 // of predicates: 1 where values are true; nil: nobody has asked

	// Memory for results, where it is used again.
	entries, codes []uint32
	longs, scratch []int64
	doubles        []float64
}

func (n *tableNode) eval(f *frame) (*vector.Vector, error) {
	v := f.column(n.slot)
	if !n.serves(v) {
		return n.plain.eval(f)
	}
	if !n.whole || v.Valid != nil && !n.strict {
		return n.values.Gather(n.entriesOf(v)), nil
	}
	numbers := v.Longs[:v.Len]
	if v.Valid != nil {
		numbers = n.filled(v)
	}
	out := &vector.Vector{Type: n.values.Type, Len: v.Len, Valid: v.Valid, Dict: n.values.Dict}
	switch {
	case n.values.Dict != nil:
		n.codes = again(n.codes, v.Len, n.reuse)
		out.Codes = lookUp(n.values.Codes[:n.size], n.least, numbers, n.codes)
	case n.values.Type.Kind == vector.KindLong:
		n.longs = again(n.longs, v.Len, n.reuse)
		out.Longs = lookUp(n.values.Longs[:n.size], n.least, numbers, n.longs)
	case n.values.Type.Kind == vector.KindDouble:
		n.doubles = again(n.doubles, v.Len, n.reuse)
		out.Doubles = lookUp(n.values.Doubles[:n.size], n.least, numbers, n.doubles)
	default:
		out.Floats = lookUp(n.values.Floats[:n.size], n.least, numbers, make([]float32, v.Len))
	}
	return out, nil
}

// again returns memory for so many results: that of the ones before if they are done with.
func again[T any](before []T, rows int, reuse bool) []T {
	if !reuse || cap(before) < rows {
		return make([]T, rows)
	}
	if invariant.Enabled { // the results before are released
		return make([]T, rows)
	}
	return before[:rows]
}

// filled returns the numbers of v, of which some are NULL: in their place is one that the table
// has.
func (n *tableNode) filled(v *vector.Vector) []int64 {
	n.scratch = again(n.scratch, v.Len, true)
	for i, x := range v.Longs[:v.Len] {
		if !v.Valid.Get(i) {
			x = n.least
		}
		n.scratch[i] = x
	}
	return n.scratch
}

// lookUp sets out to the entries of numbers, all of which the table has, and returns it.
func lookUp[T any](table []T, least int64, numbers []int64, out []T) []T {
	all := out
	for ; len(numbers) >= 4 && len(out) >= 4; numbers, out = numbers[4:], out[4:] {
		x, o := (*[4]int64)(numbers), (*[4]T)(out)
		o[0], o[1] = table[x[0]-least], table[x[1]-least]
		o[2], o[3] = table[x[2]-least], table[x[3]-least]
	}
	for i, x := range numbers {
		out[i] = table[x-least]
	}
	return all
}

func (n *tableNode) filter(f *frame) ([]uint32, error) {
	v := f.column(n.slot)
	if !n.serves(v) {
		return filter(n.plain, f)
	}
	if n.truth == nil {
		n.truth = make([]uint8, n.size+1)
		for i := range n.values.Len {
			if !n.values.IsNull(i) && n.values.LongAt(i) > 0 {
				n.truth[i] = 1
			}
		}
	}
	out, k := make([]uint32, v.Len+1), 0
	if v.Valid == nil {
		table, least := n.truth[:n.size], n.least
		for i, x := range v.Longs[:v.Len] {
			out[k] = uint32(i)
			k += int(table[x-least])
		}
		return out[:k], nil
	}
	for i, e := range n.entriesOf(v) {
		out[k] = uint32(i)
		k += int(n.truth[e])
	}
	return out[:k], nil
}

// entriesOf returns the entry of each row.
func (n *tableNode) entriesOf(v *vector.Vector) []uint32 {
	if cap(n.entries) < v.Len {
		n.entries = make([]uint32, v.Len)
	}
	out := n.entries[:v.Len]
	if v.Valid == nil {
		for i, x := range v.Longs[:v.Len] {
			out[i] = uint32(x - n.least)
		}
		return out
	}
	for i, x := range v.Longs[:v.Len] {
		if out[i] = uint32(x - n.least); !v.Valid.Get(i) {
			out[i] = uint32(n.size)
		}
	}
	return out
}

// serves reports whether the table has all rows of v; it makes or extends it if that is worth it.
func (n *tableNode) serves(v *vector.Vector) bool {
	if v.Const || v.Len == 0 || v.Longs == nil || v.Valid != nil && !n.nullable {
		return false
	}
	n.rows += v.Len
	if n.rest > 0 {
		n.rest--
		return false
	}
	least, greatest := rangeOf(v)
	if least > greatest { // all are NULL: any number will do
		least, greatest = n.least, n.least
	}
	if n.values != nil {
		have := n.least + int64(n.size-1)
		if least >= n.least && greatest <= have {
			return true
		}
		least, greatest = min(least, n.least), max(greatest, have)
	}
	most := uint64(min(maxTable, max(freeTable, n.rows)))
	span := uint64(greatest) - uint64(least) // one less than there are numbers
	if span >= maxTable {
		n.rest = tableRest
	}
	if span >= most {
		return false
	}
	if n.values == nil {
		return n.make(least, int(span)+1)
	}
	// As much again on the side where the table ends too early, so that it is seldom made anew.
	from, to, more := least, greatest, int64(min(span, most-1-span)/4)
	if from < n.least && from >= math.MinInt64+more {
		from -= more
	}
	if to > n.least+int64(n.size-1) && to <= math.MaxInt64-more {
		to += more
	}
	return n.make(from, int(to-from)+1) || n.make(least, int(span)+1)
}

// rangeOf returns the least and the greatest number of the rows that have one.
func rangeOf(v *vector.Vector) (least, greatest int64) {
	least, greatest = math.MaxInt64, math.MinInt64
	xs := v.Longs[:v.Len]
	if v.Valid != nil {
		for i, x := range xs {
			if v.Valid.Get(i) {
				least, greatest = min(least, x), max(greatest, x)
			}
		}
		return least, greatest
	}
	a, b := least, greatest // twice, so that one comparison need not wait for the other
	for ; len(xs) >= 4; xs = xs[4:] {
		x := (*[4]int64)(xs)
		least, greatest = min(least, x[0], x[2]), max(greatest, x[0], x[2])
		a, b = min(a, x[1], x[3]), max(b, x[1], x[3])
	}
	for _, x := range xs {
		least, greatest = min(least, x), max(greatest, x)
	}
	return min(least, a), max(greatest, b)
}

// make computes the table of so many numbers from least on. It reports false, and leaves all as it
// was, if some number, perhaps of no row that counts, is an error.
func (n *tableNode) make(least int64, size int) bool {
	in := vector.New(vector.Long, size+1)
	for i := range size {
		in.Longs[i] = least + int64(i)
	}
	in.Longs[size] = least
	if n.nullable {
		in.Valid = vector.FullBitmap(size + 1)
		in.Valid.Clear(size)
	}
	inner := &frame{n: size + 1, cols: make([]*vector.Vector, n.slot+1)}
	inner.cols[n.slot] = in
	out, err := n.inner.eval(inner)
	if err != nil {
		n.rest = tableRest
		return false
	}
	if out.Type == vector.String {
		out = encode(out)
	} else {
		out = out.Flat()
	}
	n.whole = out.Valid == nil || out.Valid.Count(size) == size
	n.strict = out.IsNull(size)
	n.values, n.least, n.size, n.truth = out, least, size, nil
	return true
}
