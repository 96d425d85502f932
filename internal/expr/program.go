package expr

import (
	"github.com/hengedb/henge/internal/vector"
)

// Program evaluates one expression over batches. Only one goroutine at a time may use it; Clone
// returns a program for another goroutine.
type Program struct {
	root    node
	e       Expr
	ctx     *Context
	columns []int // by slot: the index of the column
	made    *made
	shared  *made // by expressions that come several times; those of Programs have it in common
}

// Compile compiles e into a program. The tree need not be folded, but folding avoids repeated work
// per batch.
func Compile(e Expr, ctx *Context) (*Program, error) {
	list, err := CompileTogether([]Expr{e}, ctx)
	if err != nil {
		return nil, err
	}
	return list.list[0], nil
}

// Clone returns a program of the same expression for another goroutine.
func (p *Program) Clone() (*Program, error) { return Compile(p.e, p.ctx) }

// Made returns the bytes of strings and array elements that the functions of the expression created
// for the last batch.
func (p *Program) Made() int64 { return p.made.bytes + p.shared.bytes }

// Type returns the type of the values.
func (p *Program) Type() Type { return p.e.Type() }

// Eval computes the expression for the selected rows of b. The result is dense and has b.Rows()
// rows. If strings or lists are too large, the caller can retry with fewer rows (IsForFewerRows).
func (p *Program) Eval(b *vector.Batch) (*vector.Vector, error) {
	v, err := p.root.eval(p.frame(b))
	if err != nil && p.inHalves(b, err) {
		return p.evalHalves(b)
	}
	return v, err
}

// inHalves reports whether an error of Eval is to be avoided by evaluating b in halves.
func (p *Program) inHalves(b *vector.Batch, err error) bool {
	return b.Rows() > 1 && p.Type().Runtime().IsNumeric() && IsForFewerRows(err)
}

// Filter returns the numbers of the selected rows of b for which the expression, a predicate, is
// true, in ascending order. The caller owns the slice, which is not nil.
func (p *Program) Filter(b *vector.Batch) ([]uint32, error) {
	sel, err := filter(p.root, p.frame(b))
	if err != nil && b.Rows() > 1 && IsForFewerRows(err) {
		return p.filterHalves(b)
	}
	return selected(sel, b.Sel, err)
}

// selected makes row numbers among those of a selection, nil: none, row numbers of the batch.
func selected(sel, of []uint32, err error) ([]uint32, error) {
	if err != nil || of == nil {
		return sel, err
	}
	for i, r := range sel {
		sel[i] = of[r]
	}
	return sel, nil
}

func (p *Program) frame(b *vector.Batch) *frame {
	p.made.bytes, p.shared.bytes = 0, 0
	return p.whole(b).selected(b.Sel)
}

// whole is the frame of all rows of b, whatever its selection.
func (p *Program) whole(b *vector.Batch) *frame {
	f := &frame{n: b.N, cols: make([]*vector.Vector, len(p.columns))}
	for slot, i := range p.columns {
		f.cols[slot] = b.Cols[i]
	}
	return f
}

// selected is the frame of the rows of a selection, nil: all.
func (f *frame) selected(sel []uint32) *frame {
	if sel == nil {
		return f
	}
	return f.narrow(sel)
}

// frame is a set of rows to evaluate over. A narrower frame gathers from its parent only the
// columns that are asked for, so rows outside it are never computed and columns not needed never
// copied.
type frame struct {
	n      int
	parent *frame
	sel    []uint32         // rows of the parent, when there is one
	same   bool             // the rows are all those of the parent
	cols   []*vector.Vector // by slot; nil: not gathered yet
	elem   *vector.Vector   // the elements, when the rows are those of a list
	elems  []*vector.Vector // gathered elements of the lists around, by depth
	shared map[*sharedNode]sharedPart
}

// narrow returns the frame of the rows named by sel, which may repeat and need not ascend.
func (f *frame) narrow(sel []uint32) *frame {
	return &frame{n: len(sel), parent: f, sel: sel, cols: make([]*vector.Vector, len(f.cols))}
}

// within returns the frame of the same rows with elements of their own.
func (f *frame) within(elem *vector.Vector) *frame {
	return &frame{n: f.n, parent: f, same: true, cols: make([]*vector.Vector, len(f.cols)), elem: elem}
}

func (f *frame) column(slot int) *vector.Vector {
	if f.cols[slot] == nil && f.same {
		f.cols[slot] = f.parent.column(slot)
	}
	if f.cols[slot] == nil {
		f.cols[slot] = f.parent.column(slot).Gather(f.sel)
	}
	return f.cols[slot]
}

func (f *frame) element(depth int) *vector.Vector {
	outer := depth
	if f.elem != nil {
		if depth == 0 {
			return f.elem
		}
		outer--
	}
	if f.same {
		return f.parent.element(outer)
	}
	for len(f.elems) <= depth {
		f.elems = append(f.elems, nil)
	}
	if f.elems[depth] == nil {
		f.elems[depth] = f.parent.element(outer).Gather(f.sel)
	}
	return f.elems[depth]
}

// all returns the row numbers 0 up to n.
func all(n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(i)
	}
	return out
}

// node is a compiled expression.
type node interface {
	eval(f *frame) (*vector.Vector, error)
}

// filterer is a node that finds the rows for which it is true faster than by computing its value.
type filterer interface {
	filter(f *frame) ([]uint32, error)
}

// filter returns the rows of f for which n is true, in a slice that belongs to the caller.
func filter(n node, f *frame) ([]uint32, error) {
	if p, ok := n.(filterer); ok {
		return p.filter(f)
	}
	v, err := n.eval(f)
	if err != nil {
		return nil, err
	}
	return trueRows(v), nil
}

// trueRows returns the rows of a boolean vector that are true.
func trueRows(v *vector.Vector) []uint32 {
	if v.Const {
		if v.Len == 0 || v.IsNull(0) || v.Longs[0] <= 0 {
			return []uint32{}
		}
		return all(v.Len)
	}
	out := make([]uint32, 0, v.Len)
	if v.Valid == nil {
		for i, x := range v.Longs[:v.Len] {
			if x > 0 {
				out = append(out, uint32(i))
			}
		}
		return out
	}
	for i, x := range v.Longs[:v.Len] {
		if x > 0 && v.Valid.Get(i) {
			out = append(out, uint32(i))
		}
	}
	return out
}

func depthExceeds(e Expr, limit int) bool {
	if limit == 0 {
		return true
	}
	exceeds := false
	mapOperands(e, func(c Expr) Expr {
		exceeds = exceeds || depthExceeds(c, limit-1)
		return c
	})
	return exceeds
}
