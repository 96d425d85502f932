package sql

import (
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// block is one SELECT while it is bound.
type block struct {
	b  *binder
	in surroundings
	// node is what FROM, and then WHERE, gave; scope names its columns.
	node  plan.Node
	scope *scope
	// aliases are the names SELECT gives to its items; shared those that several items have.
	aliases map[string]*syntax.SelectItem
	shared  map[string]bool
	windows map[string]*syntax.WindowDef

	// What the expressions of the block have placeholders for.
	aggregates []aggregateCall
	calls      []windowCall
	subqueries []*subquery

	// grouped tells that the block groups; keys are then its keys and mentions where the text named a
	// column, for the message that one is not among them.
	grouped bool
	keys    []expr.Expr
	sets    [][]int
	// setColumn is where the Aggregate says which of several sets a group is of.
	setColumn int
	mentions  [][]mention
}

func newBlock(b *binder, in surroundings) *block { return &block{b: b, in: in} }

// item is a bound element of the select list.
type item struct {
	x    expr.Expr
	name string
	// named tells that the text gave the name, source that it is one of the text's expressions and no
	// part of a *.
	named  bool
	source syntax.Expr
}

// selectBody binds a SELECT with the ORDER BY and LIMIT of its query.
func (b *binder) selectBody(sel *syntax.Select, order []syntax.OrderItem, limit, offset int64, in surroundings) (*relational, error) {
	blk := newBlock(b, in)
	if err := blk.from(sel.From); err != nil {
		return nil, err
	}
	return blk.selectRest(sel, order, limit, offset)
}

// selectRest binds a SELECT whose FROM is bound.
func (blk *block) selectRest(sel *syntax.Select, order []syntax.OrderItem, limit, offset int64) (*relational, error) {
	if err := blk.where(sel.Where); err != nil {
		return nil, err
	}
	if err := blk.b.countItems(sel.Items); err != nil {
		return nil, err
	}
	if err := blk.collectNames(sel); err != nil {
		return nil, err
	}
	if err := blk.groupBy(sel); err != nil {
		return nil, err
	}
	items, err := blk.items(sel.Items)
	if err != nil {
		return nil, err
	}
	having, err := blk.condition(sel.Having, "HAVING")
	if err != nil {
		return nil, err
	}
	qualify, err := blk.condition(sel.Qualify, "QUALIFY")
	if err != nil {
		return nil, err
	}
	blk.grouped = blk.grouped || sel.GroupBy != nil || sel.Having != nil || len(blk.aggregates) > 0
	keys, err := blk.orderBy(order, items, sel.Distinct)
	if err != nil {
		return nil, err
	}
	if !blk.in.ordered && limit < 0 && offset == 0 {
		keys = nil // nobody sees the order
	}
	return blk.build(buildInput{items: items, having: having, qualify: qualify, order: keys, distinct: sel.Distinct, limit: limit, offset: offset})
}

// where filters the block's input.
func (blk *block) where(e syntax.Expr) error {
	if e == nil {
		return nil
	}
	cond, err := blk.exprs("WHERE").condition(e)
	if err != nil {
		return err
	}
	if err := blk.scope.joinableWhere(cond, e.Span()); err != nil {
		return err
	}
	blk.node, err = blk.filter(blk.node, cond)
	return err
}

// condition binds HAVING or QUALIFY, nil for none.
func (blk *block) condition(e syntax.Expr, clause string) (expr.Expr, error) {
	if e == nil {
		return nil, nil
	}
	x := blk.exprs(clause)
	x.aggregates, x.aliases = true, true
	x.windows = clause == "QUALIFY"
	return x.condition(e)
}

// collectNames notes what the clauses may name beside columns: the select list's aliases and the
// windows.
func (blk *block) collectNames(sel *syntax.Select) error {
	for i := range sel.Items {
		if it := &sel.Items[i]; it.Alias.Name != "" {
			if blk.aliases == nil {
				blk.aliases = map[string]*syntax.SelectItem{}
			}
			if _, taken := blk.aliases[it.Alias.Name]; !taken {
				blk.aliases[it.Alias.Name] = it
			}
		}
	}
	for i := range sel.Windows {
		w := &sel.Windows[i]
		if blk.windows == nil {
			blk.windows = map[string]*syntax.WindowDef{}
		}
		if _, taken := blk.windows[w.Name.Name]; taken {
			return fault.InvalidSQL(w.At, "Duplicate window names are not allowed")
		}
		blk.windows[w.Name.Name] = w
	}
	return nil
}

// items binds the select list.
func (blk *block) items(list []syntax.SelectItem) ([]item, error) {
	x := blk.exprs("SELECT")
	x.aggregates, x.windows = true, true
	out := make([]item, 0, len(list))
	var seen map[string]bool // the columns of * so far
	taken := make(map[string]bool, len(list))
	for i := range list {
		it := &list[i]
		star, ok := it.X.(*syntax.Star)
		if !ok {
			e, err := x.bind(it.X)
			if err != nil {
				return nil, err
			}
			if e.Type().Base == expr.Row {
				return nil, notYet(it.At, "A row value in SELECT")
			}
			name, named := itemName(it, len(taken))
			if taken[name] {
				blk.share(name)
			}
			taken[name] = true
			out = append(out, item{x: e, name: name, named: named, source: it.X})
			continue
		}
		if len(blk.scope.relations) == 0 {
			return nil, fault.InvalidSQL(star.At, "SELECT * requires a FROM clause")
		}
		if err := blk.scope.distinctStar(star); err != nil {
			return nil, err
		}
		cols, err := blk.scope.star(star)
		if err != nil {
			return nil, err
		}
		if seen == nil {
			seen = map[string]bool{}
		}
		for _, c := range cols {
			e := c.x
			if col, ok := e.(*expr.Column); ok {
				e = blk.mention(col, c.path, star.At)
			}
			name := unique(c.name, seen)
			taken[name] = true
			out = append(out, item{x: e, name: name, named: true})
		}
		if len(out) >= maxColumns {
			return nil, fault.InvalidSQL(star.At, "A query can't have more than [%d] columns", maxColumns)
		}
	}
	return out, nil
}

// share notes that several items have the name.
func (blk *block) share(name string) {
	if blk.shared == nil {
		blk.shared = map[string]bool{}
	}
	blk.shared[name] = true
}

// unique returns name, with a number behind it if it is taken, and takes it.
func unique(name string, taken map[string]bool) string {
	out := name
	for i := 0; taken[out]; i++ {
		out = name + strconv.Itoa(i)
	}
	taken[out] = true
	return out
}

// itemName returns the name of an element of the select list: its alias, the column it is, or EXPR$
// and a position, which counts the different names before it.
func itemName(it *syntax.SelectItem, position int) (name string, named bool) {
	if it.Alias.Name != "" {
		return it.Alias.Name, true
	}
	e := it.X
	for { // COALESCE of one argument is the argument
		c, ok := e.(*syntax.Call)
		if !ok || !strings.EqualFold(c.Name, "COALESCE") || len(c.Args) != 1 {
			break
		}
		e = c.Args[0]
	}
	switch x := e.(type) {
	case *syntax.Name:
		return x.Parts[len(x.Parts)-1].Name, true
	case *syntax.Call:
		if x.Niladic {
			return x.Name, true
		}
	}
	return unnamed(position), false
}

// unnamed is the name of a column to which the text gives none.
func unnamed(position int) string { return "EXPR$" + strconv.Itoa(position) }

// orderKey is a bound element of ORDER BY: an item of the select list (column >= 0) or another
// expression.
type orderKey struct {
	column int
	x      expr.Expr
	item   *syntax.OrderItem
	// later tells that x is over the columns of the select list, to be computed once they are
	// distinct.
	later bool
}

// overItems returns e over the columns of the select list, nil if it needs others.
func overItems(e expr.Expr, items []item) expr.Expr {
	column := func(i int) expr.Expr {
		t := items[i].x.Type()
		if t.Multi {
			t = t.Elem()
		}
		return &expr.Column{Index: i, Name: items[i].name, T: t}
	}
	for i := range items {
		if expr.Equal(items[i].x, e) {
			return column(i)
		}
	}
	if _, ok := e.(*expr.Column); ok {
		return nil
	}
	missing := false
	out := overSingles(e, func(source, body expr.Expr) expr.Expr {
		for i := range items {
			if isMap(items[i].x, source, body) {
				return column(i)
			}
		}
		return nil
	}, func(c expr.Expr) expr.Expr {
		by := overItems(c, items)
		if by == nil {
			missing = true
			return c
		}
		return by
	})
	if missing {
		return nil
	}
	return out
}

// ofItems returns an expression over the columns of the select list over what these are made of.
func ofItems(e expr.Expr, items []item) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok {
			return items[c.Index].x
		}
		return e
	})
}

// orderBy binds ORDER BY. Names of the select list come before columns.
func (blk *block) orderBy(order []syntax.OrderItem, items []item, isDistinct bool) ([]orderKey, error) {
	x := blk.exprs("ORDER BY")
	x.aggregates, x.windows, x.aliases = blk.grouped, true, true
	var out []orderKey
	for i := range order {
		o := &order[i]
		column, err := blk.b.ordinal(o.X, len(items))
		if err != nil {
			return nil, err
		}
		if column >= 0 {
			if err := sortable(items[column].x.Type(), o.X); err != nil {
				return nil, err
			}
			out = append(out, orderKey{column: column, item: o})
			continue
		}
		e, err := x.bind(o.X)
		if err != nil {
			return nil, err
		}
		if err := sortable(e.Type(), o.X); err != nil {
			return nil, err
		}
		column = -1
		for j := range items {
			if expr.Equal(items[j].x, e) {
				column = j
				break
			}
		}
		key := orderKey{column: column, x: e, item: o}
		if column < 0 && isDistinct {
			if key.x = overItems(e, items); key.x == nil {
				return nil, fault.InvalidSQL(o.X.Span(), "Expression '%s' is not in the select clause", syntax.Print(o.X))
			}
			key.later = true
		}
		out = append(out, key)
	}
	return out, nil
}

// sortable refuses to order by what has no order.
func sortable(t expr.Type, at syntax.Expr) error {
	if t.Base == expr.Other && t.ComplexName() != "json" {
		return fault.InvalidSQL(at.Span(), "Type [%s] has no order, so a query can't be ordered by it", t)
	}
	return nil
}
