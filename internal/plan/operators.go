package plan

import (
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
)

// FormatOperators writes an expression as operators before their operands, and columns by their
// position: =($1, 'x').
func FormatOperators(e expr.Expr) string {
	return FormatOperatorsOver(e, func(c *expr.Column) string { return "$" + strconv.Itoa(c.Index) })
}

// FormatOperatorsOver is FormatOperators with a function that formats columns.
func FormatOperatorsOver(e expr.Expr, column func(*expr.Column) string) string {
	list := func(name string, args ...expr.Expr) string {
		texts := make([]string, len(args))
		for i, a := range args {
			texts[i] = FormatOperatorsOver(a, column)
		}
		return name + "(" + strings.Join(texts, ", ") + ")"
	}
	switch x := e.(type) {
	case nil:
		return "true"
	case *expr.Column:
		return column(x)
	case *expr.Call:
		return list(x.Fn.Name, x.Args...)
	case *expr.And:
		var terms []expr.Expr
		for _, t := range x.Terms {
			if not, ok := t.(*expr.Not); ok {
				if in, ok := not.X.(*expr.In); ok {
					terms = append(terms, eachOf(in, "<>")...)
					continue
				}
			}
			terms = append(terms, t)
		}
		return list("AND", terms...)
	case *expr.Or:
		return list("OR", x.Terms...)
	case *expr.Not:
		if in, ok := x.X.(*expr.In); ok {
			return list("AND", eachOf(in, "<>")...)
		}
		return list("NOT", x.X)
	case *expr.In:
		return list("OR", eachOf(x, "=")...)
	case *expr.Cast:
		return "CAST(" + FormatOperatorsOver(x.X, column) + "):" + x.T.String()
	case *expr.Case:
		var args []expr.Expr
		for _, w := range x.Whens {
			args = append(args, w.Cond, w.Then)
		}
		if x.Else != nil {
			args = append(args, x.Else)
		}
		return list("CASE", args...)
	}
	return FormatExpr(e)
}

// eachOf are the comparisons that a list stands for.
func eachOf(x *expr.In, op string) []expr.Expr {
	var out []expr.Expr
	for _, v := range x.Values {
		l := &expr.Literal{Value: v, T: x.X.Type().NotNull()}
		out = append(out, &expr.Call{Fn: catalog.MustLookup(op), Args: []expr.Expr{x.X, l}, T: expr.Of(expr.Boolean)})
	}
	if x.HasNull {
		out = append(out, &expr.Literal{T: expr.Of(expr.Boolean)})
	}
	return out
}
