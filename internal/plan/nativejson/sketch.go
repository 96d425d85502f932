package nativejson

import (
	"strconv"

	"github.com/hengedb/henge/internal/expr"
)

// ofSketch adds the post-aggregator that a function of an HLL sketch is, which reads an aggregate
// by an access that has a number of its own, and returns its name; "": e is none.
func (g *grouped) ofSketch(e expr.Expr) string {
	c, ok := e.(*expr.Call)
	if !ok || len(c.Args) == 0 || g.s.w.asItIs {
		return ""
	}
	sketch, ok := c.Args[0].(*expr.Column)
	if !ok {
		return ""
	}
	// constant is argument i, or what holds without it; false if that is none.
	constant := func(i int, without any) (any, bool) {
		if len(c.Args) <= i {
			return without, true
		}
		l, ok := c.Args[i].(*expr.Literal)
		if !ok {
			return nil, false
		}
		return l.Value, true
	}
	var kind, param string
	var value any
	switch c.Fn.Name {
	case "HLL_SKETCH_ESTIMATE":
		kind, param = "HLLSketchEstimate", "round"
		value, ok = constant(1, int64(0))
		value = value == int64(1)
	case "HLL_SKETCH_ESTIMATE_WITH_ERROR_BOUNDS":
		kind, param = "HLLSketchEstimateWithBounds", "numStdDev"
		value, ok = constant(1, int64(1))
	case "HLL_SKETCH_TO_STRING":
		kind = "HLLSketchToString"
	}
	if kind == "" || !ok {
		return ""
	}
	access := g.postPrefix + strconv.Itoa(len(g.postExprs)+g.accesses)
	g.accesses++
	return g.post(e, func(name string) object {
		out := obj("type", kind, "name", name, "field", obj("type", "fieldAccess", "name", access, "fieldName", g.output(sketch)))
		if param != "" {
			out.set(param, value)
		}
		return out
	})
}
