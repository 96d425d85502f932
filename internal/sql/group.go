package sql

import (
	"fmt"
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// groupBy binds GROUP BY: the block's keys, and its grouping sets if there is more than one.
func (blk *block) groupBy(sel *syntax.Select) error {
	if sel.GroupBy == nil {
		return nil
	}
	blk.grouped = true
	g := grouper{blk: blk, sel: sel, x: blk.exprs("GROUP BY")}
	g.x.fallback = true
	sets := [][]int{{}}
	plain := true
	for _, it := range sel.GroupBy.Items {
		_, isExpr := it.(*syntax.GroupExpr)
		plain = plain && isExpr
		more, err := g.item(it)
		if err != nil {
			return err
		}
		if sets, err = product(sets, more, it.Span()); err != nil {
			return err
		}
	}
	sets = distinctSets(sets)
	if !plain && !(len(sets) == 1 && len(sets[0]) == len(blk.keys)) {
		blk.sets = sets
	}
	return nil
}

type grouper struct {
	blk *block
	sel *syntax.Select
	x   exprs
}

// item returns the grouping sets of an element, each a list of keys.
func (g *grouper) item(it syntax.GroupItem) ([][]int, error) {
	switch x := it.(type) {
	case *syntax.GroupExpr:
		key, err := g.key(x.X)
		return [][]int{{key}}, err
	case *syntax.GroupTuple:
		set, err := g.keys(x.Items)
		return [][]int{set}, err
	case *syntax.GroupingSets:
		var out [][]int
		for _, e := range x.Items {
			sets, err := g.item(e)
			if err != nil {
				return nil, err
			}
			if out = append(out, sets...); len(out) > maxGroupingSets {
				return nil, tooManySets(x.At)
			}
		}
		return out, nil
	case *syntax.Rollup:
		parts, err := g.parts(x.Items)
		if err != nil {
			return nil, err
		}
		out := make([][]int, 0, len(parts)+1)
		for n := len(parts); n >= 0; n-- {
			out = append(out, slices.Concat(append([][]int{{}}, parts[:n]...)...))
		}
		return out, nil
	case *syntax.Cube:
		parts, err := g.parts(x.Items)
		if err != nil {
			return nil, err
		}
		if len(parts) > 12 {
			return nil, tooManySets(x.At)
		}
		var out [][]int
		for mask := 1<<len(parts) - 1; mask >= 0; mask-- {
			set := []int{}
			for i, p := range parts {
				if mask>>(len(parts)-1-i)&1 == 1 {
					set = append(set, p...)
				}
			}
			out = append(out, set)
		}
		return out, nil
	}
	return nil, notYet(it.Span(), "This element of GROUP BY")
}

// parts returns the keys of each element of a ROLLUP or CUBE.
func (g *grouper) parts(items []syntax.GroupItem) ([][]int, error) {
	var out [][]int
	for _, it := range items {
		sets, err := g.item(it)
		if err != nil {
			return nil, err
		}
		out = append(out, sets...)
	}
	return out, nil
}

func (g *grouper) keys(list []syntax.Expr) ([]int, error) {
	out := []int{}
	for _, e := range list {
		k, err := g.key(e)
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// key returns the position of e among the block's keys and adds it if it is new. A number is the
// position of a select item.
func (g *grouper) key(e syntax.Expr) (int, error) {
	x := g.x
	if n := x.b.numberOf(e); n != nil {
		i, err := x.b.ordinal(n, len(g.sel.Items))
		if err != nil {
			return 0, err
		}
		target := g.sel.Items[i].X
		if _, star := target.(*syntax.Star); star {
			return g.starKey(i+1, n)
		}
		e, x.fallback = target, false
	}
	bound, err := x.bind(e)
	if err != nil {
		return 0, err
	}
	return g.add(bound, e)
}

// starKey handles an ordinal in a list with a *: positions count the columns it stands for.
func (g *grouper) starKey(position int, n *syntax.Number) (int, error) {
	at := 0
	for i := range g.sel.Items {
		star, ok := g.sel.Items[i].X.(*syntax.Star)
		if !ok {
			at++
			continue
		}
		cols, err := g.blk.scope.star(star)
		if err != nil {
			return 0, err
		}
		if position <= at+len(cols) {
			return g.add(cols[position-at-1].x, n)
		}
		at += len(cols)
	}
	return 0, fault.InvalidSQL(n.At, "Ordinal out of range")
}

func (g *grouper) add(bound expr.Expr, e syntax.Expr) (int, error) {
	t := bound.Type()
	if t.Base == expr.Other && t.ComplexName() != "json" {
		return 0, fault.InvalidSQL(e.Span(), "SQL requires a group-by on a column with type [%s] that is unsupported.", t)
	}
	for i, k := range g.blk.keys {
		if expr.Equal(k, bound) {
			return i, nil
		}
	}
	g.blk.keys = append(g.blk.keys, bound)
	return len(g.blk.keys) - 1, nil
}

// product returns every union of a set of a with one of b.
func product(a, b [][]int, at fault.Span) ([][]int, error) {
	if len(a)*len(b) > maxGroupingSets {
		return nil, tooManySets(at)
	}
	out := make([][]int, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			set := slices.Clone(x)
			for _, k := range y {
				if !slices.Contains(set, k) {
					set = append(set, k)
				}
			}
			out = append(out, set)
		}
	}
	return out, nil
}

// distinctSets drops sets that came before: a set that is listed twice counts once, as in Druid.
// See quirk Q020.
func distinctSets(sets [][]int) [][]int {
	if len(sets) < 2 {
		return sets
	}
	var out [][]int
	seen := map[string]bool{}
	for _, s := range sets {
		keys := fmt.Sprint(slices.Sorted(slices.Values(s)))
		if !seen[keys] {
			seen[keys] = true
			out = append(out, s)
		}
	}
	return out
}

func tooManySets(at fault.Span) error {
	return fault.InvalidSQL(at, "GROUP BY makes more than [%d] grouping sets", maxGroupingSets)
}
