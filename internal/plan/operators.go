package plan

import (
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/expr"
)

// FormatOperators writes an expression as operators before their operands, and columns by their position: =($1, 'x').
func FormatOperators(e expr.Expr) string {
	return FormatOperatorsOver(e, func(c *expr.Column) string { return "$" + strconv.Itoa(c.Index) })
}

// FormatOperatorsOver is FormatOperators with columns in words of its own.
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
		return list("AND", x.Terms...)
	case *expr.Or:
		return list("OR", x.Terms...)
	case *expr.Not:
		return list("NOT", x.X)
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
