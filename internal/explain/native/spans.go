package native

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
)

// bound is an end of a span: the comparison's operand and constant. The zero value is no bound.
type bound struct {
	x    expr.Expr
	l    *expr.Literal
	open bool
}

func (b bound) none() bool { return b.l == nil }

// span is what lies between two bounds.
type span struct{ lo, hi bound }

func (s span) isPoint() bool {
	return !s.lo.none() && !s.hi.none() && !s.lo.open && !s.hi.open && compareValues(s.lo.l.Value, s.hi.l.Value) == 0
}

func (s span) isEmpty() bool {
	if s.lo.none() || s.hi.none() {
		return false
	}
	c := compareValues(s.lo.l.Value, s.hi.l.Value)
	return c > 0 || c == 0 && (s.lo.open || s.hi.open)
}

// arePoints reports whether each span is one value.
func (s spans) arePoints() bool {
	return !slices.ContainsFunc(s, func(one span) bool { return !one.isPoint() })
}

// compareValues orders two constants of one operand.
func compareValues(a, b any) int {
	x, isText := a.(string)
	y, areTexts := b.(string)
	switch {
	case isText && areTexts:
		return strings.Compare(x, y)
	case isText:
		return 1
	case areTexts:
		return -1
	}
	i, ok := a.(int64)
	j, both := b.(int64)
	if ok && both {
		return cmp.Compare(i, j)
	}
	return cmp.Compare(numberOf(a), numberOf(b))
}

func numberOf(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float32:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// compareLow orders lower bounds by what they let in, compareHigh upper ones.
func compareLow(a, b bound) int {
	if a.none() || b.none() {
		return cmp.Compare(rank(!a.none()), rank(!b.none()))
	}
	if c := compareValues(a.l.Value, b.l.Value); c != 0 {
		return c
	}
	return cmp.Compare(rank(a.open), rank(b.open))
}

func compareHigh(a, b bound) int {
	if a.none() || b.none() {
		return cmp.Compare(rank(a.none()), rank(b.none()))
	}
	if c := compareValues(a.l.Value, b.l.Value); c != 0 {
		return c
	}
	return cmp.Compare(rank(!a.open), rank(!b.open))
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// spans are what a condition allows of its operand, disjoint and ascending.
type spans []span

func (s spans) equal(t spans) bool {
	return slices.EqualFunc(s, t, func(a, b span) bool { return compareLow(a.lo, b.lo) == 0 && compareHigh(a.hi, b.hi) == 0 })
}

func (s spans) and(t spans) spans {
	var out spans
	for _, a := range s {
		for _, b := range t {
			c := span{a.lo, a.hi}
			if compareLow(b.lo, c.lo) > 0 {
				c.lo = b.lo
			}
			if compareHigh(b.hi, c.hi) < 0 {
				c.hi = b.hi
			}
			if !c.isEmpty() {
				out = append(out, c)
			}
		}
	}
	return out
}

func (s spans) or(t spans) spans {
	all := slices.Concat(s, t)
	slices.SortStableFunc(all, func(a, b span) int { return compareLow(a.lo, b.lo) })
	var out spans
	for _, c := range all {
		if n := len(out); n > 0 && touches(out[n-1].hi, c.lo) {
			if compareHigh(c.hi, out[n-1].hi) > 0 {
				out[n-1].hi = c.hi
			}
			continue
		}
		out = append(out, c)
	}
	return out
}

// touches reports whether nothing lies between an upper bound and a lower one.
func touches(hi, lo bound) bool {
	if hi.none() || lo.none() {
		return true
	}
	c := compareValues(hi.l.Value, lo.l.Value)
	return c > 0 || c == 0 && !(hi.open && lo.open)
}

func (s spans) not() spans {
	var out spans
	lo := bound{}
	for _, c := range s {
		if !c.lo.none() {
			hi := c.lo
			hi.open = !hi.open
			out = append(out, span{lo, hi})
		}
		if c.hi.none() {
			return out
		}
		lo = c.hi
		lo.open = !lo.open
	}
	return append(out, span{lo: lo})
}
