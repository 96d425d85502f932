package stringfn

import (
	"cmp"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/javaregex"
)

var regexpLikeFunction = &expr.Function{
	Name: "REGEXP_LIKE", Min: 2, Max: 2, RefusesNull: true,
	Summary: "Returns whether a regular expression, in Java's syntax, matches any part of a string.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Text(0)
		b.Pattern(1)
		return b.Strict(expr.Of(expr.Boolean))
	},
	Kernel: func(c *expr.Call, ctx *expr.Context) (expr.Kernel, error) {
		p, err := expr.PatternOf(c, 1, ctx)
		if err != nil {
			return nil, err
		}
		return kernel.OnFirst(kernel.Failing1(func(s string) (int64, bool, error) {
			ok, err := p.Matches(s)
			return kernel.Bool(ok), true, err
		})), nil
	},
}

var regexpExtractFunction = &expr.Function{
	Name: "REGEXP_EXTRACT", Min: 2, Max: 3, RefusesNull: true,
	Summary: "Returns the first match of a regular expression, or of one of its groups. Returns NULL if nothing matches.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>, [<INTEGER>])"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Text(0)
		b.Pattern(1)
		if b.Has(2) {
			b.Whole(2)
			if _, ok := b.Constant(2, "group").(int64); b.Err == nil && !ok {
				b.Fail("Function[regexp_extract] index must be a numeric literal")
			}
		}
		return b.Call(expr.Of(expr.Varchar))
	},
	Kernel: func(c *expr.Call, ctx *expr.Context) (expr.Kernel, error) {
		p, err := expr.PatternOf(c, 1, ctx)
		if err != nil {
			return nil, err
		}
		group := 0
		if len(c.Args) == 3 {
			x, _ := expr.LiteralValue(c.Args[2])
			n, _ := x.(int64)
			group = int(n)
		}
		if group < 0 || group > p.Groups { // an error of the rows that match
			return kernel.OnFirst(kernel.Failing1(func(s string) (string, bool, error) {
				_, ok, err := p.Find(s, 0)
				if ok {
					err = fault.InvalidSQL(fault.Span{}, "No group %d", group)
				}
				return "", false, err
			})), nil
		}
		return kernel.OnFirst(kernel.Failing1(func(s string) (string, bool, error) { return p.Find(s, group) })), nil
	},
}

var regexpReplaceFunction = &expr.Function{
	Name: "REGEXP_REPLACE", Min: 3, Max: 3, RefusesNull: true,
	Summary: "Replaces all matches of a regular expression. In the replacement, $1 stands for the first group.",
	Forms:   []string{"$F(<CHARACTER>, <CHARACTER>, <CHARACTER>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		for i := range b.Args {
			b.Text(i)
		}
		b.LiteralPattern(1)
		return b.Strict(expr.Of(expr.Varchar))
	},
	Kernel: func(c *expr.Call, ctx *expr.Context) (expr.Kernel, error) {
		r := &replacer{last: expr.LastPattern{Function: c.Fn.Name, Context: ctx}}
		return expr.Growing3(r.replace)(c, ctx)
	},
}

// replacer keeps the replacement it saw last, too.
type replacer struct {
	last     expr.LastPattern
	compiled *javaregex.Pattern // that parsed is of
	text     string
	parsed   javaregex.Replacement
	invalid  error // why the replacement can't be used, which only matters where something is replaced
}

func (r *replacer) replace(s, pattern, with string) (string, bool, error) {
	p, err := r.last.Of(pattern)
	if err != nil {
		return "", false, err
	}
	if p != r.compiled || with != r.text {
		r.compiled, r.text = p, strings.Clone(with)
		r.parsed, r.invalid = p.ParseReplacement(with)
	}
	if r.invalid != nil {
		if matches, err := p.Matches(s); matches || err != nil {
			return "", false, cmp.Or(err, r.invalid)
		}
		return s, true, nil
	}
	out, err := p.Replace(s, r.parsed)
	return out, true, err
}
