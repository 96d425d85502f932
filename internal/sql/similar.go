package sql

import (
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// similar binds x SIMILAR TO pattern [ESCAPE c]: the pattern, which must be constant, becomes a
// regular expression of the whole text.
func (x exprs) similar(e *syntax.Like) (expr.Expr, error) {
	value, err := x.bind(e.X)
	if err != nil {
		return nil, err
	}
	pattern, err := x.constantText(e.Pattern)
	if err != nil {
		return nil, err
	}
	escape := rune(-1)
	if e.Escape != nil {
		text, err := x.constantText(e.Escape)
		if err != nil {
			return nil, err
		}
		r := []rune(text)
		if len(r) != 1 {
			return nil, fault.InvalidSQL(e.Escape.Span(), "ESCAPE must be a single character")
		}
		escape = r[0]
	}
	re, ok := similarPattern(pattern, escape)
	if !ok {
		return nil, fault.InvalidSQL(e.Pattern.Span(), "Pattern [%s] of SIMILAR TO is not complete", pattern)
	}
	out, err := x.callOf("REGEXP_LIKE", []expr.Expr{value, &expr.Literal{Value: re, T: expr.Of(expr.Varchar).NotNull()}}, e.At)
	return negated(out, err, e.Not, e.At)
}

func (x exprs) constantText(e syntax.Expr) (string, error) {
	bound, err := x.bind(e)
	if err != nil {
		return "", err
	}
	if bound, err = expr.Fold(bound, &x.b.env); err != nil {
		return "", err
	}
	if l, ok := bound.(*expr.Literal); ok {
		if text, ok := l.Value.(string); ok {
			return text, nil
		}
	}
	return "", fault.InvalidSQL(e.Span(), "The pattern of SIMILAR TO must be a constant text")
}

// similarPattern translates a pattern of SIMILAR TO (ISO 9075-2, 8.6): %, _, and of regular
// expressions | * + ? {m,n} ( ) [ ].
func similarPattern(pattern string, escape rune) (re string, ok bool) {
	var b strings.Builder
	b.WriteString("(?s)^(?:")
	escaped, inList := false, false
	for _, r := range pattern {
		switch {
		case escaped:
			b.WriteString("\\" + string(r))
			escaped = false
		case r == escape:
			escaped = true
		case inList:
			inList = r != ']'
			if r == '\\' || r == '&' { // no sign of a list here, but one of Java's
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		case r == '[':
			inList = true
			b.WriteByte('[')
		case r == '%':
			b.WriteString(".*")
		case r == '_':
			b.WriteByte('.')
		case strings.ContainsRune(`.^$\`, r):
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteString(")$")
	return b.String(), !escaped && !inList
}

// orderRows binds (a, b) < (c, d) and its like: the first columns that differ decide.
func (x exprs) orderRows(op string, left, right []expr.Expr, at fault.Span) (expr.Expr, error) {
	b := boolBuilder{at: at}
	var cases, equal []expr.Expr
	for i := range left {
		decides := op
		if i < len(left)-1 {
			decides = op[:1] // < or >
		}
		cases = append(cases, b.and(append(append([]expr.Expr(nil), equal...), b.compare(decides, left[i], right[i]))))
		equal = append(equal, b.compare("=", left[i], right[i]))
	}
	return b.or(cases), b.err
}

// overlaps binds (start, end) OVERLAPS (start, end), where an end may be an interval and come
// before its start. Periods hold their start and not their end, unless that is the same.
func (x exprs) overlaps(left, right []expr.Expr, at fault.Span) (expr.Expr, error) {
	if len(left) != 2 || len(right) != 2 {
		return nil, fault.InvalidSQL(at, "Both sides of OVERLAPS must be (start, end)")
	}
	b := boolBuilder{at: at}
	period := func(p []expr.Expr) (start, end expr.Expr) {
		start, end = p[0], p[1]
		if !end.Type().IsTime() {
			end = b.keep(x.callOf("+", []expr.Expr{start, end}, at))
		}
		if b.err != nil || !start.Type().IsTime() {
			return start, end
		}
		inOrder := b.compare("<=", start, end)
		return b.choose([]expr.When{{Cond: inOrder, Then: start}}, end), b.choose([]expr.When{{Cond: inOrder, Then: end}}, start)
	}
	s1, e1 := period(left)
	s2, e2 := period(right)
	if b.err == nil && (!s1.Type().IsTime() || !s2.Type().IsTime()) {
		return nil, fault.InvalidSQL(at, "Both sides of OVERLAPS must be periods of time")
	}
	out := b.or([]expr.Expr{b.and([]expr.Expr{b.compare("<", s1, e2), b.compare("<", s2, e1)}), b.compare("=", s1, s2)})
	return out, b.err
}
