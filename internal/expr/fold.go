package expr

import (
	"slices"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Fold evaluates constant subexpressions of e. It simplifies AND, OR, NOT and CASE with constant
// conditions and drops casts without effect. If a constant cannot be computed, Fold fails, except
// if the constant may never be evaluated (a branch of CASE, a later term of AND): then the error
// occurs at run time.
func Fold(e Expr, ctx *Context) (Expr, error) {
	if ctx == nil {
		ctx = &Context{}
	}
	f := &folder{ctx: ctx}
	out := f.fold(e, 0)
	return out, f.err
}

// Constants limits the memory of the constants of a statement that are computed during planning.
// The zero value is ready to use.
type Constants struct {
	bytes int64
	sizes map[Expr]int64 // of the large ones among those that are kept
	large map[Expr]bool  // what was computed and is too large to keep
}

// keep reports whether made, of so many bytes, may stand in the place of e, whose operands are then
// not kept any more.
func (c *Constants) keep(e, made Expr, bytes int64) bool {
	if c == nil {
		return bytes <= maxConstantBytes
	}
	if bytes > maxConstantBytes || c.bytes+bytes > maxConstantsBytes {
		if c.large == nil {
			c.large = map[Expr]bool{}
		}
		c.large[e] = true
		return false
	}
	if len(c.sizes) > 0 {
		mapOperands(e, func(x Expr) Expr {
			c.bytes -= c.sizes[x]
			delete(c.sizes, x)
			return x
		})
	}
	if bytes >= largeConstant {
		if c.sizes == nil {
			c.sizes = map[Expr]int64{}
		}
		c.bytes += bytes
		c.sizes[made] = bytes
	}
	return true
}

func (c *Constants) tooLarge(e Expr) bool { return c != nil && c.large[e] }

type folder struct {
	ctx  *Context
	lazy int   // depth of operands that may never be evaluated
	err  error // the first that occurred outside such operands
}

// later folds an operand that may never be evaluated.
func (f *folder) later(e Expr, depth int) Expr {
	f.lazy++
	out := f.fold(e, depth+1)
	f.lazy--
	return out
}

func (f *folder) fold(e Expr, depth int) Expr {
	if depth > maxDepth {
		return e // Compile refuses it
	}
	switch x := e.(type) {
	case *Column, *Element, *Literal:
		return e
	case *And:
		return f.junction(x.Terms, 0, e, depth)
	case *Or:
		return f.junction(x.Terms, 1, e, depth)
	case *Case:
		return f.choice(x, depth)
	case *Call:
		if x.Fn.Entry() == CoalesceFunction {
			return f.coalesce(x, depth)
		}
	}
	before := f.err
	e = mapOperands(e, func(c Expr) Expr { return f.fold(c, depth+1) })
	if isNullByOperand(e) {
		f.err = before
		return &Literal{T: e.Type().OrNull(true)}
	}
	if c, ok := e.(*Cast); ok {
		if l, ok := c.X.(*Literal); ok && l.Value == nil {
			return &Literal{T: c.T.OrNull(true)}
		}
	}
	if !constantOperands(e) || f.ctx.Constants.tooLarge(e) {
		return e
	}
	return f.evaluate(e)
}

// constantOperands reports whether e can be computed now: all it takes are literals.
func constantOperands(e Expr) bool {
	switch x := e.(type) {
	case *Call:
		return !x.Fn.Volatile && !slices.ContainsFunc(x.Args, func(a Expr) bool { return !isLiteral(a) })
	case *Cast:
		return isLiteral(x.X)
	case *Not:
		return isLiteral(x.X)
	case *In:
		return isLiteral(x.X)
	case *Each:
		return isLiteral(x.Source) && IsConstant(x.Source) && closed(x.Body, 1)
	case *Any:
		return isLiteral(x.Source) && closed(x.Body, 1)
	case *Loop:
		return !slices.ContainsFunc(x.Lists, func(l Expr) bool { return !isLiteral(l) }) &&
			(x.Initial == nil || isLiteral(x.Initial)) && closed(x.Body, x.Levels())
	}
	return false
}

// closed reports whether e reads no column, and elements of the innermost levels only.
func closed(e Expr, levels int) bool {
	switch x := e.(type) {
	case *Column:
		return false
	case *Element:
		return x.Depth < levels
	case *Each:
		return closed(x.Source, levels) && closed(x.Body, levels+1)
	case *Any:
		return closed(x.Source, levels) && closed(x.Body, levels+1)
	case *Loop:
		ok := true
		mapLoop(x, func(c Expr) Expr {
			ok = ok && closed(c, levels)
			return c
		}, func(c Expr) Expr {
			ok = ok && closed(c, levels+x.Levels())
			return c
		})
		return ok
	case *Call:
		if x.Fn.Volatile {
			return false
		}
	}
	ok := true
	mapOperands(e, func(c Expr) Expr {
		ok = ok && closed(c, levels)
		return c
	})
	return ok
}

func isLiteral(e Expr) bool {
	_, ok := e.(*Literal)
	return ok
}

// fail records an error that a row would meet for certain.
func (f *folder) fail(err error) {
	if f.lazy == 0 && f.err == nil {
		f.err = err
	}
}

// evaluate computes an expression without columns.
func (f *folder) evaluate(e Expr) Expr {
	made, err := EvaluateRow(e, f.ctx)
	if err != nil {
		f.fail(err)
		return e
	}
	v, t := made.ValueAt(0), e.Type()
	if c, ok := e.(*Cast); ok && v == nil && c.X.Type().IsCharacter() {
		switch {
		case t.Base == Boolean:
			v = int64(0) // a constant that is no truth value counts as false; in rows it is NULL
		case t.IsTime():
			f.fail(fault.InvalidSQL(fault.Span{}, "Illegal %s constant [CAST('%s'):%s NOT NULL]", t, c.X.(*Literal).Value, t))
			return e
		}
	}
	out := &Literal{Value: v, T: t.NotNull().OrNull(v == nil)}
	if !f.ctx.Constants.keep(e, out, made.Bytes()) {
		return e
	}
	return out
}

// EvaluateRow evaluates an expression without columns for one row.
func EvaluateRow(e Expr, ctx *Context) (*vector.Vector, error) {
	p, err := Compile(e, ctx)
	if err != nil {
		return nil, err
	}
	return p.Eval(&vector.Batch{N: 1})
}

// truth returns the value of a constant condition.
func truth(e Expr) (isTrue, isConstant bool) {
	l, ok := e.(*Literal)
	if !ok {
		return false, false
	}
	n, _ := l.Value.(int64)
	return n > 0, true
}

// junction folds AND (decisive 0) or OR (decisive 1).
func (f *folder) junction(terms []Expr, decisive int64, e Expr, depth int) Expr {
	out, changed, null := make([]Expr, 0, len(terms)), false, false
	for i, t := range terms {
		var g Expr
		if i == 0 {
			g = f.fold(t, depth+1)
		} else {
			g = f.later(t, depth)
		}
		changed = changed || g != t
		if l, ok := g.(*Literal); ok {
			if l.Value == nil {
				null = true
			} else if v, _ := truth(g); kernel.Bool(v) == decisive {
				return &Literal{Value: decisive, T: Of(Boolean).NotNull()}
			} else {
				changed = true
				continue
			}
		}
		out = append(out, g)
	}
	switch {
	case len(out) == 0:
		return &Literal{Value: 1 - decisive, T: Of(Boolean).NotNull()}
	case len(out) == 1:
		return out[0]
	case null && !slices.ContainsFunc(out, func(t Expr) bool { return !isLiteral(t) }):
		return &Literal{T: Of(Boolean)}
	case !changed:
		return e
	case decisive == 0:
		return &And{Terms: out}
	}
	return &Or{Terms: out}
}

// choice folds CASE: arms that can't be taken go, and an arm that is always taken ends it.
func (f *folder) choice(x *Case, depth int) Expr {
	out := &Case{T: x.T, Whens: make([]When, 0, len(x.Whens))}
	for i, w := range x.Whens {
		var cond Expr
		if i == 0 {
			cond = f.fold(w.Cond, depth+1)
		} else {
			cond = f.later(w.Cond, depth)
		}
		isTrue, constant := truth(cond)
		if constant && !isTrue {
			continue
		}
		if constant && len(out.Whens) == 0 {
			return f.arm(w.Then, x.T, depth)
		}
		if constant {
			out.Else = f.later(w.Then, depth)
			return out
		}
		out.Whens = append(out.Whens, When{Cond: cond, Then: f.later(w.Then, depth)})
	}
	if len(out.Whens) == 0 {
		if x.Else == nil {
			return &Literal{T: x.T.OrNull(true)}
		}
		return f.arm(x.Else, x.T, depth)
	}
	if x.Else != nil {
		out.Else = f.later(x.Else, depth)
	}
	if out.Else == x.Else && slices.Equal(out.Whens, x.Whens) {
		return x
	}
	return out
}

// arm is the only result of a CASE, with the type of the CASE.
func (f *folder) arm(e Expr, t Type, depth int) Expr {
	e = f.fold(e, depth+1)
	return retype(e, t)
}

// retype gives e the base type t, which has the same physical type.
func retype(e Expr, t Type) Expr {
	if e.Type().Base == t.Base {
		return e
	}
	if l, ok := e.(*Literal); ok {
		return &Literal{Value: l.Value, T: t.NotNull().OrNull(l.Value == nil)}
	}
	return &Cast{X: e, T: t.NotNull().OrNull(e.Type().Nullable)}
}

// coalesce folds COALESCE: NULLs go, and a constant ends it.
func (f *folder) coalesce(x *Call, depth int) Expr {
	args := make([]Expr, 0, len(x.Args))
	for i, a := range x.Args {
		if i == 0 {
			a = f.fold(a, depth+1)
		} else {
			a = f.later(a, depth)
		}
		if IsNullLiteral(a) {
			continue
		}
		args = append(args, a)
		if isLiteral(a) || !a.Type().Nullable {
			break
		}
	}
	switch len(args) {
	case 0:
		return &Literal{T: x.T.OrNull(true)}
	case 1:
		return retype(args[0], x.T)
	}
	return &Call{Fn: x.Fn, Args: args, T: x.T, At: x.At}
}
