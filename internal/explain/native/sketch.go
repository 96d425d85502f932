package native

import (
	"strconv"

	"github.com/hengedb/henge/internal/expr"
)

// sketchPost is a post-aggregator of a sketch.
type sketchPost struct {
	kind string
	// param is what the second argument is called, without its value where there is none; "": there is
	// no such argument. shown is the value as it is written; nil: as it is.
	param   string
	without any
	shown   func(any) any
}

// value is what a call has for the parameter; false: it is not constant.
func (p *sketchPost) value(c *expr.Call) (any, bool) {
	value := p.without
	if p.param != "" && len(c.Args) > 1 {
		l, ok := c.Args[1].(*expr.Literal)
		if !ok {
			return nil, false
		}
		value = l.Value
	}
	if p.shown != nil {
		value = p.shown(value)
	}
	return value, true
}

// ofSketch adds the post-aggregator that a function of an HLL sketch is, which reads an aggregate
// by an access that has a number of its own, and returns its name; "": e is none.
func (g *groupWriter) ofSketch(e expr.Expr) string {
	c, form := formOf(e)
	if form.post == nil || len(c.Args) == 0 || g.s.w.stepwise {
		return ""
	}
	sketch, ok := c.Args[0].(*expr.Column)
	if !ok {
		return ""
	}
	value, ok := form.post.value(c)
	if !ok {
		return ""
	}
	access := g.postPrefix + strconv.Itoa(len(g.postExprs)+g.accesses)
	g.accesses++
	return g.post(e, func(name string) object {
		out := obj("type", form.post.kind, "name", name, "field", obj("type", "fieldAccess", "name", access, "fieldName", g.output(sketch)))
		if form.post.param != "" {
			out.set(form.post.param, value)
		}
		return out
	})
}
