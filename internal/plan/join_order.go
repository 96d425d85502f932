package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
)

// maxOrderedJoins bounds the inputs of the inner joins that are put in order together: choosing
// takes the third power of it.
const maxOrderedJoins = 256

// joinOrder puts the inputs of neighbouring inner joins into another order when that is expected to
// make far fewer rows on the way: first the pair whose join is smallest, then the next (greedy
// operator ordering, Fegaras 1998). Inputs that no condition connects come last.
//
// The estimates are rough: rows of tables, guesses of what conditions keep, and that an equality
// finds the rows of the side with fewer different keys. Where rows are not known all inputs count
// the same, and only joins without a condition are avoided.
func (o *optimizer) joinOrder(n Node) Node {
	if !isInner(n) {
		return MapInputs(n, o.joinOrder)
	}
	inputs := 0
	n = o.orderInputs(n, &inputs)
	if inputs < 3 || inputs > maxOrderedJoins {
		return n
	}
	g := joinGraph{o: o}
	columns := g.add(n)
	g.equate()
	best := g.order()
	const worthwhile = 0.8 // of the estimated rows; above it the order of the text is as good a guess
	next := 0
	if written := g.written(n, &next); best.products >= written.products && best.cost >= worthwhile*written.cost {
		return n
	}
	o.fired()
	at := make(map[int]int, len(best.columns))
	for i, c := range best.columns {
		at[c] = i
	}
	keep := make([]int, len(columns))
	for i, c := range columns {
		keep[i] = at[c]
	}
	return Select(best.node, keep)
}

func isInner(n Node) bool {
	j, ok := n.(*Join)
	return ok && j.Kind == Inner && (j.On == nil || !IsVolatile(j.On))
}

// orderInputs orders what is below a tree of inner joins, and counts the inputs of the tree.
func (o *optimizer) orderInputs(n Node, count *int) Node {
	if p, ok := n.(*Project); isInner(n) || ok && passes(p) {
		return MapInputs(n, func(c Node) Node { return o.orderInputs(c, count) })
	}
	*count++
	return MapInputs(n, o.joinOrder)
}

// joinGraph is the inputs of a tree of inner joins and the conditions between them. Columns are
// numbered through all inputs.
type joinGraph struct {
	o      *optimizer
	inputs []joinInput
	owner  []int // by column: its input
	terms  []joinTerm
	// same is by column one that it is equal to: the representative of its class if that is itself.
	same []int
	// values is by representative about how many different values its class has.
	values []float64
}

// joinInput is what is joined.
type joinInput struct {
	node Node
	// rows is how many it gives, distinct about how many different values a key of it has.
	rows, distinct float64
}

// joinTerm is a condition, over the numbered columns, or a key.
type joinTerm struct {
	on     expr.Expr // nil: key
	key    EquiKey
	inputs inputSet // those it reads
	// left and right are the inputs of the two sides of an equality, empty for other conditions.
	left, right inputSet
}

// joined is a part of the tree.
type joined struct {
	node    Node
	columns []int // by position: the number of the column
	inputs  inputSet
	rows    float64
	cost    float64 // rows made on the way
	// products counts the joins without a condition.
	products int
}

// add takes a tree apart and returns the numbers of n's columns.
func (g *joinGraph) add(n Node) (columns []int) {
	switch x := n.(type) {
	case *Join:
		if !isInner(x) {
			break
		}
		left, right := g.add(x.Left), g.add(x.Right)
		columns = append(append(columns, left...), right...)
		for _, k := range x.Keys {
			t := joinTerm{key: EquiKey{Left: left[k.Left], Right: right[k.Right], NullSafe: k.NullSafe}}
			t.left, t.right = oneInput(g.owner[t.key.Left]), oneInput(g.owner[t.key.Right])
			t.inputs = t.left.or(t.right)
			g.terms = append(g.terms, t)
		}
		for e := range Terms(x.On) {
			g.terms = append(g.terms, g.term(renumber(e, columns)))
		}
		return columns
	case *Project:
		if !passes(x) {
			break
		}
		in := g.add(x.Input)
		for _, e := range x.Exprs {
			columns = append(columns, in[e.(*expr.Column).Index])
		}
		return columns
	}
	return g.input(n)
}

// written returns what a tree that was added costs as it was written; next is the number of its
// first input.
func (g *joinGraph) written(n Node, next *int) joined {
	switch x := n.(type) {
	case *Join:
		if isInner(x) {
			l, r := g.written(x.Left, next), g.written(x.Right, next)
			out, _ := g.estimate(&l, &r)
			return out
		}
	case *Project:
		if passes(x) {
			return g.written(x.Input, next)
		}
	}
	*next++
	return g.alone(*next-1, nil)
}

// equate puts columns that are equal in all results into one class: a = b and b = c make three of
// them. None of them has more values that find partners than the smallest of their tables has rows:
// customers and suppliers that are joined by their nations have as many as there are nations, if
// nations are joined too.
func (g *joinGraph) equate() {
	g.same, g.values = make([]int, len(g.owner)), make([]float64, len(g.owner))
	for c, input := range g.owner {
		g.same[c], g.values[c] = c, g.known(g.inputs[input].distinct)
	}
	for i := range g.terms {
		a, b, ok := g.terms[i].columns()
		if !ok {
			continue
		}
		if a, b = g.class(a), g.class(b); a != b {
			g.same[a] = b
			g.values[b] = min(g.values[a], g.values[b])
		}
	}
}

// class returns the representative of a column's class.
func (g *joinGraph) class(column int) int {
	for g.same[column] != column {
		g.same[column] = g.same[g.same[column]]
		column = g.same[column]
	}
	return column
}

// columns returns the columns that an equality is of.
func (t *joinTerm) columns() (a, b int, ok bool) {
	if t.on == nil {
		return t.key.Left, t.key.Right, true
	}
	if t.left.isEmpty() {
		return 0, 0, false
	}
	args := t.on.(*expr.Call).Args
	l, isLeft := args[0].(*expr.Column)
	r, isRight := args[1].(*expr.Column)
	if !isLeft || !isRight {
		return 0, 0, false
	}
	return l.Index, r.Index, true
}

// passes reports whether p only picks columns of a join.
func passes(p *Project) bool {
	if !isInner(p.Input) {
		return false
	}
	for _, e := range p.Exprs {
		if _, ok := e.(*expr.Column); !ok {
			return false
		}
	}
	return true
}

func (g *joinGraph) input(n Node) []int {
	in := joinInput{node: n, rows: g.o.rows(n), distinct: g.o.distinct(n)}
	number := len(g.inputs)
	g.inputs = append(g.inputs, in)
	columns := make([]int, Width(n))
	for i := range columns {
		columns[i] = len(g.owner)
		g.owner = append(g.owner, number)
	}
	return columns
}

func (g *joinGraph) alone(number int, columns []int) joined {
	in := g.inputs[number]
	return joined{node: in.node, columns: columns, inputs: oneInput(number), rows: max(g.known(in.rows), 1)}
}

// known gives inputs the same size where the sizes are not known.
func (g *joinGraph) known(rows float64) float64 {
	const someRows = 1000
	if rows < 0 {
		return someRows
	}
	return rows
}

func (g *joinGraph) term(e expr.Expr) joinTerm {
	t := joinTerm{on: e, inputs: g.read(e)}
	if c, ok := e.(*expr.Call); ok && len(c.Args) == 2 && (c.Fn.Name == fnEqual || c.Fn.Name == fnNotDistinct) {
		l, r := g.read(c.Args[0]), g.read(c.Args[1])
		if !l.isEmpty() && !r.isEmpty() && !l.meets(&r) && c.Args[0].Type().Runtime() == c.Args[1].Type().Runtime() {
			t.left, t.right = l, r
		}
	}
	return t
}

func (g *joinGraph) read(e expr.Expr) (inputs inputSet) {
	expr.Walk(e, func(x expr.Expr) bool {
		if c, ok := x.(*expr.Column); ok {
			inputs = inputs.or(oneInput(g.owner[c.Index]))
		}
		return true
	})
	return inputs
}

// order builds the tree: the two parts whose join is smallest are joined, until there is one part.
func (g *joinGraph) order() joined {
	var parts []joined
	first := 0
	for i, in := range g.inputs {
		columns := make([]int, Width(in.node))
		for c := range columns {
			columns[c] = first + c
		}
		part := g.alone(i, columns)
		part.node = g.filtered(part.node, part.inputs, func(c int) int { return c - first })
		first += len(columns)
		parts = append(parts, part)
	}
	pairs := make([][]joinPair, len(parts)) // pairs[i][j-i-1] is of parts i and j
	for i := range parts {
		pairs[i] = make([]joinPair, 0, len(parts)-i-1)
		for j := i + 1; j < len(parts); j++ {
			pairs[i] = append(pairs[i], g.pair(&parts[i], &parts[j]))
		}
	}
	for len(parts) > 1 {
		a, b := 0, 1
		for i := range parts {
			for j := i + 1; j < len(parts); j++ {
				if pairs[i][j-i-1].better(pairs[a][b-a-1]) {
					a, b = i, j
				}
			}
		}
		parts[a] = g.build(parts[a], parts[b])
		parts = slices.Delete(parts, b, b+1)
		for i := range b {
			pairs[i] = slices.Delete(pairs[i], b-i-1, b-i)
		}
		pairs = slices.Delete(pairs, b, b+1)
		for i := range parts {
			switch {
			case i < a:
				pairs[i][a-i-1] = g.pair(&parts[i], &parts[a])
			case i > a:
				pairs[a][i-a-1] = g.pair(&parts[a], &parts[i])
			}
		}
	}
	out := parts[0]
	out.node = g.filtered(out.node, inputSet{}, func(c int) int { return c })
	return out
}

// weight is by what the side of a join that streams is chosen.
func (j *joined) weight() float64 {
	if isJoined(j.node) {
		return streamingWeight(j.rows)
	}
	return j.rows
}

// joinPair is what the join of two parts is expected to be.
type joinPair struct {
	rows      float64
	connected bool // by a condition
}

func (g *joinGraph) pair(l, r *joined) joinPair {
	together, condition := g.estimate(l, r)
	return joinPair{rows: together.rows, connected: condition}
}

func (p joinPair) better(q joinPair) bool {
	if p.connected != q.connected {
		return p.connected
	}
	return p.rows < q.rows
}

// filtered asks the conditions that read exactly some inputs, one or none, of n. Most of them are
// elsewhere: filters are pushed before.
func (g *joinGraph) filtered(n Node, inputs inputSet, at func(column int) int) Node {
	var own []expr.Expr
	for i := range g.terms {
		if t := &g.terms[i]; t.inputs == inputs {
			own = append(own, expr.Remap(t.on, at))
		}
	}
	return filter(n, own)
}

// estimate returns the size of the join of two parts, and whether a condition connects them.
func (g *joinGraph) estimate(l, r *joined) (out joined, condition bool) {
	out = joined{inputs: l.inputs.or(r.inputs), rows: l.rows * r.rows}
	keys, keyed := 1.0, false
	var ofLeft, ofRight inputSet // inputs of the keys
	for i := range g.terms {
		t := &g.terms[i]
		if !t.between(l, r, &out) {
			continue
		}
		condition = true
		switch {
		case t.left.isEmpty(), !t.left.within(&l.inputs) && !t.left.within(&r.inputs), !t.right.within(&l.inputs) && !t.right.within(&r.inputs):
			out.rows *= otherSelectivity
			continue
		case t.left.within(&l.inputs):
			ofLeft, ofRight = ofLeft.or(t.left), ofRight.or(t.right)
		default:
			ofLeft, ofRight = ofLeft.or(t.right), ofRight.or(t.left)
		}
		keyed = true
		keys *= g.different(t)
	}
	if keyed {
		// Keys of several columns are rarely independent of each other: there are no more of them than
		// rows that have them.
		out.rows /= max(1, min(keys, g.combinations(ofLeft), g.combinations(ofRight)))
	}
	out.rows = max(out.rows, 1)
	out.cost = l.cost + r.cost + out.rows
	out.products = l.products + r.products
	if !condition {
		out.products++
	}
	return out, condition
}

// between reports whether a term can be asked once two parts are joined, and could not before.
func (t *joinTerm) between(l, r, both *joined) bool {
	return t.inputs.within(&both.inputs) && !t.inputs.within(&l.inputs) && !t.inputs.within(&r.inputs)
}

// different is about how many different values the sides of an equality have in common.
func (g *joinGraph) different(t *joinTerm) float64 {
	if a, _, ok := t.columns(); ok {
		return g.values[g.class(a)]
	}
	return min(g.combinations(t.left), g.combinations(t.right))
}

// combinations bounds how many different values rows of some inputs have.
func (g *joinGraph) combinations(inputs inputSet) float64 {
	product := 1.0
	inputs.each(func(number int) { product *= max(1, g.known(g.inputs[number].distinct)) })
	return product
}

// build joins two parts on all terms between them. The larger one streams, or one that is joined
// already and so is there row by row in any case, unless it is far smaller.
func (g *joinGraph) build(l, r joined) joined {
	if l.weight() < r.weight() {
		l, r = r, l
	}
	out, _ := g.estimate(&l, &r)
	out.columns = append(append(out.columns, l.columns...), r.columns...)
	at := make([]int, len(g.owner)) // by number: the position
	for i, c := range out.columns {
		at[c] = i
	}
	j := &Join{Kind: Inner, Left: l.node, Right: r.node}
	var on []expr.Expr
	for i := range g.terms {
		t := &g.terms[i]
		switch {
		case !t.between(&l, &r, &out):
		case t.on != nil:
			on = append(on, renumber(t.on, at))
		default:
			k := EquiKey{Left: at[t.key.Left], Right: at[t.key.Right], NullSafe: t.key.NullSafe}
			if k.Left >= len(l.columns) {
				k.Left, k.Right = k.Right, k.Left
			}
			k.Right -= len(l.columns)
			j.Keys = append(j.Keys, k)
		}
	}
	j.On = Conjunction(on)
	out.node = j
	return out
}
