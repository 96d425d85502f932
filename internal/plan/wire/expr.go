package wire

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/vector"
)

// The tags of expressions. They are never given again to something else.
const (
	noExpr = iota
	tagColumn
	tagLiteral
	tagCall
	tagCast
	tagCase
	tagAnd
	tagOr
	tagNot
	tagIn
	tagEach
	tagAny
	tagElement
	tagLoop
)

func exprTag(e expr.Expr) uint64 {
	switch e.(type) {
	case *expr.Column:
		return tagColumn
	case *expr.Literal:
		return tagLiteral
	case *expr.Call:
		return tagCall
	case *expr.Cast:
		return tagCast
	case *expr.Case:
		return tagCase
	case *expr.And:
		return tagAnd
	case *expr.Or:
		return tagOr
	case *expr.Not:
		return tagNot
	case *expr.In:
		return tagIn
	case *expr.Each:
		return tagEach
	case *expr.Any:
		return tagAny
	case *expr.Element:
		return tagElement
	case *expr.Loop:
		return tagLoop
	}
	return noExpr
}

// fresh returns p's expression as a T to write, or a new one in p's place to read.
func fresh[T any, P interface {
	*T
	expr.Expr
}](c *coder, p *expr.Expr) *T {
	if !c.reading {
		return (*T)((*p).(P))
	}
	x := new(T)
	*p = P(x)
	return x
}

// expr codes an expression, nil included.
func (c *coder) expr(p *expr.Expr) {
	if !c.enter() {
		return
	}
	defer c.leave()
	tag := uint64(noExpr)
	if !c.reading && *p != nil {
		if tag = exprTag(*p); tag == noExpr {
			c.fail("Expression [%T] can't be sent to another process", *p)
			return
		}
	}
	c.uint(&tag)
	if c.err != nil {
		return
	}
	switch tag {
	case noExpr:
	case tagColumn:
		x := fresh[expr.Column](c, p)
		integer(c, &x.Index)
		c.text(&x.Name)
		c.typ(&x.T)
	case tagLiteral:
		x := fresh[expr.Literal](c, p)
		c.value(&x.Value)
		c.typ(&x.T)
	case tagCall:
		c.call(fresh[expr.Call](c, p))
	case tagCast:
		x := fresh[expr.Cast](c, p)
		c.operand(&x.X)
		c.typ(&x.T)
	case tagCase:
		x := fresh[expr.Case](c, p)
		list(c, &x.Whens, func(w *expr.When) {
			c.operand(&w.Cond)
			c.operand(&w.Then)
		})
		c.expr(&x.Else)
		c.typ(&x.T)
	case tagAnd:
		list(c, &fresh[expr.And](c, p).Terms, c.operand)
	case tagOr:
		list(c, &fresh[expr.Or](c, p).Terms, c.operand)
	case tagNot:
		c.operand(&fresh[expr.Not](c, p).X)
	case tagIn:
		x := fresh[expr.In](c, p)
		c.operand(&x.X)
		list(c, &x.Values, c.value)
		c.bool(&x.HasNull)
	case tagEach:
		x := fresh[expr.Each](c, p)
		c.operand(&x.Source)
		c.operand(&x.Body)
		c.typ(&x.T)
	case tagAny:
		x := fresh[expr.Any](c, p)
		c.operand(&x.Source)
		c.operand(&x.Body)
	case tagElement:
		x := fresh[expr.Element](c, p)
		integer(c, &x.Depth)
		c.typ(&x.T)
	case tagLoop:
		c.loop(fresh[expr.Loop](c, p))
	default:
		c.fail("A plan of a newer release can't be read: expression [%d] is unknown", tag)
	}
}

// operand codes an expression that must be there.
func (c *coder) operand(p *expr.Expr) {
	if c.expr(p); c.err == nil && *p == nil {
		c.fail("A plan can't be read: an operand is missing")
	}
}

func (c *coder) loop(x *expr.Loop) {
	integer(c, &x.Kind)
	if c.err == nil && x.Kind > expr.LoopFold {
		c.fail("A plan of a newer release can't be read: loop [%d] is unknown", x.Kind)
		return
	}
	list(c, &x.Lists, c.operand)
	c.bool(&x.Zip)
	c.expr(&x.Initial)
	c.operand(&x.Body)
	c.typ(&x.T)
	if c.err == nil && (len(x.Lists) == 0 || (x.Initial != nil) != (x.Kind == expr.LoopFold)) {
		c.fail("A plan can't be read: a loop is not whole")
	}
}

func (c *coder) call(x *expr.Call) {
	name := ""
	if !c.reading {
		name = x.Fn.Name
		c.varies = c.varies || x.Fn.Volatile || x.Fn.Contextual
	}
	c.text(&name)
	if c.err != nil {
		return
	}
	fn, ok := catalog.Lookup(name)
	if !ok || !c.reading && fn != x.Fn {
		c.fail("Function [%s] can't be sent to another process: it is not in the catalog", name)
		return
	}
	if c.reading {
		x.Fn = fn
	}
	list(c, &x.Args, c.operand)
	c.typ(&x.T)
	for _, p := range []*int32{&x.At.Line, &x.At.Column, &x.At.EndLine, &x.At.EndColumn} {
		integer(c, p)
	}
}

// typ codes a SQL type.
func (c *coder) typ(p *expr.Type) {
	if !c.enter() {
		return
	}
	defer c.leave()
	base, nullable, multi := p.Base, p.Nullable, p.Multi
	integer(c, &base)
	c.bool(&nullable)
	c.bool(&multi)
	if c.err == nil && base > expr.Other {
		c.fail("A plan of a newer release can't be read: type [%d] is unknown", base)
	}
	if c.err != nil {
		return
	}
	switch base {
	case expr.Array:
		elem := p.Elem()
		if p.Multi {
			c.fail("Type [%s] can't be sent to another process", *p)
			return
		}
		if c.typ(&elem); c.reading && c.err == nil {
			*p = expr.ArrayOf(elem)
		}
	case expr.Other:
		name := p.ComplexName()
		if c.text(&name); c.reading && c.err == nil {
			*p = expr.ComplexOf(name)
		}
	default:
		if c.reading {
			p.Base = base
		}
	}
	if c.reading {
		p.Nullable, p.Multi = nullable, multi
	}
}

// physical codes a physical type.
func (c *coder) physical(p *vector.Type) {
	name := p.String()
	c.text(&name)
	if c.reading && c.err == nil {
		t, err := vector.ParseType(name)
		if err != nil {
			c.fail("A plan can't be read: type [%s] is unknown", name)
			return
		}
		*p = t
	}
}

// The tags of values.
const (
	tagNull = iota
	tagLong
	tagDouble
	tagFloat
	tagText
	tagList
)

// value codes the value of a literal.
func (c *coder) value(p *any) {
	if !c.enter() {
		return
	}
	defer c.leave()
	tag := uint64(tagNull)
	switch (*p).(type) {
	case nil:
	case int64:
		tag = tagLong
	case float64:
		tag = tagDouble
	case float32:
		tag = tagFloat
	case string:
		tag = tagText
	case []any:
		tag = tagList
	default:
		c.fail("Constant [%T] can't be sent to another process", *p)
	}
	c.uint(&tag)
	if c.err != nil {
		return
	}
	out := *p
	switch tag {
	case tagNull:
	case tagLong:
		x, _ := (*p).(int64)
		integer(c, &x)
		out = x
	case tagDouble:
		x, _ := (*p).(float64)
		c.double(&x)
		out = x
	case tagFloat:
		f, _ := (*p).(float32)
		x := float64(f)
		c.double(&x)
		out = float32(x)
	case tagText:
		x, _ := (*p).(string)
		c.text(&x)
		out = x
	case tagList:
		x, _ := (*p).([]any)
		list(c, &x, c.value)
		out = x
	default:
		c.fail("A plan of a newer release can't be read: constant [%d] is unknown", tag)
	}
	if c.reading {
		*p = out
	}
}
