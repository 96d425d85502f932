package expr

import (
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

type compiler struct {
	ctx     *Context
	slots   map[int]int // column index to slot
	columns []int
	made    *made
	inDict  bool // below a node that evaluates over the entries of a dictionary
	// repeats are the expressions that share a result, nil: none; madeShared counts what they make.
	repeats    *repeats
	madeShared *made
}

func (c *compiler) slot(column int) int {
	s, ok := c.slots[column]
	if !ok {
		s = len(c.columns)
		c.slots[column] = s
		c.columns = append(c.columns, column)
	}
	return s
}

func (c *compiler) compile(e Expr) (node, error) {
	if c.repeats != nil {
		if r := c.repeats.of[e]; r != nil && r.times > 1 {
			return c.compileShared(r)
		}
	}
	return c.compileAlone(e)
}

func (c *compiler) compileAlone(e Expr) (node, error) {
	if !c.inDict && !c.ctx.Entries {
		if source, ok := dictSource(e); ok {
			return c.compileDict(e, source)
		}
		if source, ok := tableSource(e); ok {
			return c.compileTable(e, source)
		}
	}
	return c.compileNode(e)
}

func (c *compiler) compileNode(e Expr) (node, error) {
	switch x := e.(type) {
	case *Column:
		return columnNode(c.slot(x.Index)), nil
	case *Element:
		return elementNode(x.Depth), nil
	case *Literal:
		return newConstNode(x), nil
	case *Cast:
		in, err := c.compile(x.X)
		if err != nil {
			return nil, err
		}
		return newCastNode(in, x, c.ctx)
	case *Call:
		return c.compileCall(x)
	case *Case:
		return c.compileCase(x)
	case *And:
		terms, err := c.compileAll(x.Terms)
		return &andNode{terms: terms}, err
	case *Or:
		terms, err := c.compileAll(x.Terms)
		return &orNode{terms: terms}, err
	case *Not:
		in, err := c.compile(x.X)
		return &notNode{in: in}, err
	case *In:
		in, err := c.compile(x.X)
		if err != nil {
			return nil, err
		}
		return newInNode(in, x), nil
	case *Each:
		return c.compileEach(x)
	case *Any:
		return c.compileAny(x)
	case *Loop:
		return c.compileLoop(x)
	}
	return nil, fault.Defensive("Expression of kind [%T] can't be evaluated", e)
}

func (c *compiler) compileAll(list []Expr) ([]node, error) {
	out := make([]node, len(list))
	for i, e := range list {
		n, err := c.compile(e)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

func (c *compiler) compileCall(x *Call) (node, error) {
	if isNullByOperand(x) {
		return c.compile(&Literal{T: x.T.OrNull(true)})
	}
	if x.Fn.NativeName == "concat" {
		whole := *x
		whole.Args = concatenated(x.Args)
		x = &whole
	}
	args, err := c.compileAll(x.Args)
	if err != nil {
		return nil, err
	}
	if lazy := x.Fn.Entry(); lazy == CoalesceFunction {
		return &coalesceNode{args: args, t: x.T.Runtime()}, nil
	}
	if op, ok := comparisonOf(x.Fn); ok {
		return newCompareNode(op, args[0], args[1], x.Args[0].Type()), nil
	}
	if x.Fn.Kernel == nil {
		return nil, fault.Defensive("Function [%s] has no kernel", x.Fn.Name)
	}
	run, err := x.Fn.Kernel(x, c.ctx)
	if err != nil {
		return nil, fault.WithPosition(err, x.At)
	}
	run = inPieces(x, run, c.ctx)
	switch x.T.Runtime().Kind {
	case vector.KindString, vector.KindComplex, vector.KindList:
		run = inRoom(x, run, c.ctx.textRoom(), c.made)
	}
	if invariant.Enabled && !x.T.Nullable {
		run = neverNull(x, run)
	}
	for i, a := range x.Args {
		if x.HoldsNull(i) {
			args[i] = &heldNullNode{of: args[i], t: a.Type().Runtime()}
		}
	}
	return &callNode{args: args, kernel: run, t: x.T.Runtime(), seesNulls: x.Fn.SeesNulls, volatile: x.Fn.Volatile, at: x.At, ctx: c.ctx}, nil
}

// neverNull checks what the planner relies on where it counts or compares values that a call can't
// leave out.
func neverNull(x *Call, run Kernel) Kernel {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		v, err := run(args, n, valid)
		for i := 0; err == nil && i < n; i++ {
			invariant.Check(!v.IsNull(i), "function [%s] is NULL in a row, its type [%s] is not", x.Fn.Name, x.T)
		}
		return v, err
	}
}

// columnNode reads the column of a slot.
type columnNode int

func (n columnNode) eval(f *frame) (*vector.Vector, error) { return f.column(int(n)), nil }

// elementNode reads the current values of the list that is that many levels out.
type elementNode int

func (n elementNode) eval(f *frame) (*vector.Vector, error) { return f.element(int(n)), nil }

// constNode is a literal.
type constNode struct{ one *vector.Vector }

func newConstNode(l *Literal) *constNode {
	t := l.T.Runtime()
	if l.Value == nil {
		return &constNode{one: vector.Nulls(t, 1)}
	}
	return &constNode{one: vector.Constant(t, runtimeValue(l.Value, t), 1)}
}

// runtimeValue makes a literal's value fit the physical type exactly; numbers of another kind are
// converted.
func runtimeValue(value any, t vector.Type) any {
	switch x := value.(type) {
	case int64:
		switch t.Kind {
		case vector.KindDouble:
			return float64(x)
		case vector.KindFloat:
			return float32(x)
		}
	case float64:
		switch t.Kind {
		case vector.KindFloat:
			return float32(x)
		case vector.KindLong:
			return truncate(x)
		}
	case float32:
		if t.Kind == vector.KindDouble {
			return float64(x)
		}
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = runtimeValue(e, t.Elem())
		}
		return out
	}
	return value
}

func (n *constNode) eval(f *frame) (*vector.Vector, error) {
	v := *n.one
	v.Len = f.n
	return &v, nil
}

// callNode runs a kernel.
type callNode struct {
	args                []node
	kernel              Kernel
	t                   vector.Type
	seesNulls, volatile bool
	at                  fault.Span
	ctx                 *Context
}

func (n *callNode) eval(f *frame) (*vector.Vector, error) {
	args, constant := make([]*vector.Vector, len(n.args)), !n.volatile
	for i, a := range n.args {
		v, err := a.eval(f)
		if err != nil {
			return nil, err
		}
		if !n.seesNulls && v.AllNull() {
			return vector.Nulls(n.t, f.n), nil
		}
		args[i] = v
		constant = constant && v.Const
	}
	if constant && f.n > 0 {
		for i, v := range args {
			one := *v
			one.Len = 1
			args[i] = &one
		}
		v, err := n.run(args, 1)
		if err != nil {
			return nil, err
		}
		out := *v
		out.Const, out.Len = true, f.n
		return &out, nil
	}
	return n.run(args, f.n)
}

func (n *callNode) run(args []*vector.Vector, rows int) (*vector.Vector, error) {
	if err := n.ctx.Stopped(); err != nil {
		return nil, err
	}
	var valid vector.Bitmap
	if !n.seesNulls {
		valid = kernel.ValidRows(args, rows)
	}
	v, err := n.kernel(args, rows, valid)
	if err != nil {
		return nil, fault.WithPosition(err, n.at)
	}
	if valid == nil {
		return v, nil
	}
	return kernel.WithValid(v, valid), nil
}

// concatenated returns the arguments of a concatenation with those of one inside another in its
// place, so that "a || b || c" copies once.
func concatenated(args []Expr) []Expr {
	var out []Expr
	for _, a := range args {
		if c, ok := a.(*Call); ok && c.Fn.NativeName == "concat" {
			out = append(out, concatenated(c.Args)...)
		} else {
			out = append(out, a)
		}
	}
	return out
}
