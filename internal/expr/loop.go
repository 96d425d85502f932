package expr

import (
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// LoopKind is the operation of a Loop on the values of its body.
type LoopKind uint8

// The kinds of loops.
const (
	// LoopMap returns the list of the values of the body.
	LoopMap LoopKind = iota
	// LoopKeep returns the list of the values for which the body, a predicate, is true.
	LoopKeep
	// LoopSome is true if the body is true for at least one value, and false without a list.
	LoopSome
	// LoopEvery is true if the body is true for each value, and false without a list.
	LoopEvery
	// LoopFold returns the accumulator, which starts as Initial and which the body computes for value
	// after value.
	LoopFold

	loopKinds
)

var loopNames = [loopKinds]string{"map", "filter", "any", "all", "fold"}

// String returns the name of the native function.
func (k LoopKind) String() string { return loopNames[k] }

// Loop evaluates Body over the values of lists, which are arrays or multi-value strings. For
// several lists, it evaluates all combinations, in which the last list varies fastest, or with Zip
// the first values of all lists, the second values and so on. If a list is NULL, the result is
// NULL, unless it is a truth value.
//
// Inside Body, the Element of depth 0 is the value of the last list, the Element of depth 1 the
// value of the preceding list, and so on; in a fold, depth 0 is the accumulator, and the lists
// start at depth 1.
type Loop struct {
	Kind  LoopKind
	Lists []Expr
	Zip   bool
	// Initial is the initial accumulator of a fold, with the type of the body; nil for other kinds.
	Initial Expr
	Body    Expr
	T       Type
}

// Type returns the type of the result.
func (e *Loop) Type() Type { return e.T }

func (*Loop) expr() {}

// Levels is the number by which the body increases the depth of the elements of surrounding loops.
func (e *Loop) Levels() int {
	if e.Kind == LoopFold {
		return len(e.Lists) + 1
	}
	return len(e.Lists)
}

// mapLoop returns x with outer applied to what stands beside the body and inner to the body, and x
// itself if that changed nothing.
func mapLoop(x *Loop, outer, inner func(Expr) Expr) Expr {
	lists, changed := mapList(x.Lists, outer)
	initial, body := x.Initial, inner(x.Body)
	if initial != nil {
		initial = outer(initial)
	}
	if !changed && initial == x.Initial && body == x.Body {
		return x
	}
	return &Loop{Kind: x.Kind, Lists: lists, Zip: x.Zip, Initial: initial, Body: body, T: x.T}
}

// MapOperands returns the loop with f applied to its lists, its initial value and its body, and the
// loop itself if none of them changed.
func (e *Loop) MapOperands(f func(Expr) Expr) Expr { return mapLoop(e, f, f) }

func equalLoops(x, y *Loop) bool {
	if x.Kind != y.Kind || x.Zip != y.Zip || len(x.Lists) != len(y.Lists) || !sameType(x.T, y.T) {
		return false
	}
	for i := range x.Lists {
		if !Equal(x.Lists[i], y.Lists[i]) {
			return false
		}
	}
	return (x.Initial == nil) == (y.Initial == nil) && (x.Initial == nil || Equal(x.Initial, y.Initial)) && Equal(x.Body, y.Body)
}

// loopNode is Loop. But for a fold, the body is evaluated once over the values of all rows
// together; the body of a fold once for all first values, once for all second ones and so on.
type loopNode struct {
	kind    LoopKind
	zip     bool
	lists   []node
	initial node
	body    node
	t       vector.Type
}

func (c *compiler) compileLoop(x *Loop) (node, error) {
	outer, kept := c.ctx, *c.ctx
	kept.Reuse = false // what a fold has made is kept while its body runs again
	c.ctx = &kept
	defer func() { c.ctx = outer }()
	lists, err := c.compileAll(x.Lists)
	if err != nil {
		return nil, err
	}
	n := &loopNode{kind: x.Kind, zip: x.Zip, lists: lists, t: x.T.Runtime()}
	if x.Initial != nil {
		if n.initial, err = c.compile(x.Initial); err != nil {
			return nil, err
		}
	}
	n.body, err = c.compile(x.Body)
	return n, err
}

// turns says over what combinations of values a loop goes.
type turns struct {
	lists []*vector.Vector
	zip   bool
	count []uint32 // by row: how many combinations it has
	valid vector.Bitmap
}

func (n *loopNode) turns(f *frame) (*turns, error) {
	t := &turns{lists: make([]*vector.Vector, len(n.lists)), zip: n.zip, count: make([]uint32, f.n), valid: vector.FullBitmap(f.n)}
	for i, l := range n.lists {
		v, err := l.eval(f)
		if err != nil {
			return nil, err
		}
		t.lists[i] = v
	}
	total := 0
	for row := range f.n {
		count := 1
		for i, l := range t.lists {
			if l.IsNull(row) {
				t.valid.Clear(row)
				count = 0
				break
			}
			lo, hi := l.ListAt(row)
			switch {
			case !n.zip:
				count *= hi - lo
			case i == 0:
				count = hi - lo
			default:
				count = min(count, hi-lo)
			}
			if count > maxListElements {
				break
			}
		}
		if total += count; count > maxListElements || total > maxLoopTurns {
			return nil, fault.InvalidInput("A lambda would go over more than [%d] combinations of values", maxListElements)
		}
		t.count[row] = uint32(count)
	}
	return t, nil
}

// at returns the position among the values of a list of what stands there at a turn of a row.
func (t *turns) at(list, row int, turn uint32) uint32 {
	lo, hi := t.lists[list].ListAt(row)
	if t.zip || len(t.lists) == 1 {
		return uint32(lo) + turn
	}
	for i := len(t.lists) - 1; i > list; i-- {
		from, to := t.lists[i].ListAt(row)
		turn /= uint32(to - from)
	}
	return uint32(lo) + turn%uint32(hi-lo)
}

// elements returns f with the values of the lists at those turns of its rows as elements.
func (t *turns) elements(f *frame, rows, turn []uint32) *frame {
	index := make([]uint32, len(rows))
	for i, l := range t.lists {
		for k, row := range rows {
			index[k] = t.at(i, int(row), turn[k])
		}
		var values *vector.Vector
		if len(rows) == 0 || l.Child.Len == 0 {
			values = vector.Nulls(l.Type.Elem(), len(rows))
		} else {
			values = l.Child.Gather(index)
		}
		if i == 0 {
			f = f.narrow(rows)
			f.elem = values
		} else {
			f = f.within(values)
		}
	}
	return f
}

func (n *loopNode) eval(f *frame) (*vector.Vector, error) {
	t, err := n.turns(f)
	if err != nil {
		return nil, err
	}
	if n.kind == LoopFold {
		return n.fold(f, t)
	}
	total := uint32(0)
	for _, c := range t.count {
		total += c
	}
	rows, turn := make([]uint32, 0, total), make([]uint32, 0, total)
	start := make([]uint32, f.n+1)
	for row, c := range t.count {
		for k := range c {
			rows, turn = append(rows, uint32(row)), append(turn, k)
		}
		start[row+1] = uint32(len(rows))
	}
	body, err := n.body.eval(t.elements(f, rows, turn))
	if err != nil {
		return nil, err
	}
	switch n.kind {
	case LoopMap:
		return &vector.Vector{Type: n.t, Len: f.n, Offsets: start, Child: body.Flat(), Valid: t.valid}, nil
	case LoopKeep:
		return t.keep(n.t, body, start), nil
	}
	out := make([]int64, f.n)
	for row := range out {
		if !t.valid.Get(row) {
			continue
		}
		wanted := n.kind == LoopSome // what ends the loop
		out[row] = kernel.Bool(!wanted)
		for k := int(start[row]); k < int(start[row+1]); k++ {
			if holds := !body.IsNull(k) && body.LongAt(k) > 0; holds == wanted {
				out[row] = kernel.Bool(wanted)
				break
			}
		}
	}
	return vector.FromLongs(out), nil
}

// keep returns the values of the first list for which the body is true.
func (t *turns) keep(as vector.Type, body *vector.Vector, start []uint32) *vector.Vector {
	list := t.lists[0]
	kept, offsets := make([]uint32, 0, len(start)), make([]uint32, len(start))
	for row := range t.count {
		lo, _ := list.ListAt(row)
		for k := start[row]; k < start[row+1]; k++ {
			if !body.IsNull(int(k)) && body.LongAt(int(k)) > 0 {
				kept = append(kept, uint32(lo)+k-start[row])
			}
		}
		offsets[row+1] = uint32(len(kept))
	}
	child := vector.Nulls(as.Elem(), 0)
	if len(kept) > 0 {
		child = list.Child.Gather(kept)
	}
	return &vector.Vector{Type: as, Len: len(t.count), Offsets: offsets, Child: child.Flat(), Valid: t.valid}
}

// fold evaluates the body turn by turn over the rows that have one.
func (n *loopNode) fold(f *frame, t *turns) (*vector.Vector, error) {
	made, err := n.initial.eval(f)
	if err != nil {
		return nil, err
	}
	made = made.Flat()
	// Of each row: in which of the vectors its result is, and where there.
	done, in, place := []*vector.Vector{made}, make([]uint32, f.n), make([]uint32, f.n)
	rows := make([]uint32, 0, f.n)
	for row, c := range t.count {
		place[row] = uint32(row)
		if c > 0 {
			rows = append(rows, uint32(row))
		}
	}
	for k := uint32(0); len(rows) > 0; k++ {
		so, turn := make([]uint32, len(rows)), make([]uint32, len(rows))
		for i, row := range rows {
			so[i], turn[i] = place[row], k
		}
		body, err := n.body.eval(t.elements(f, rows, turn).within(made.Gather(so)))
		if err != nil {
			return nil, err
		}
		made = body.Flat()
		if made.Bytes() > maxFoldBytes {
			return nil, fault.InvalidInput("A fold makes values of more than [%d] bytes", maxFoldBytes)
		}
		done = append(done, made)
		left := make([]uint32, 0, len(rows))
		for i, row := range rows {
			in[row], place[row] = uint32(len(done)-1), uint32(i)
			if t.count[row] > k+1 {
				left = append(left, row)
			}
		}
		if len(left) == len(rows) {
			done[len(done)-1] = nil // no row is done
		}
		rows = left
	}
	out := vector.NewBuilder(n.t, f.n)
	for row := range f.n {
		if !t.valid.Get(row) {
			out.AppendNull()
			continue
		}
		out.AppendFrom(done[in[row]], int(place[row]))
	}
	return out.Build(), nil
}
