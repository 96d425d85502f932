package sql

import (
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// joinUnnest binds left, UNNEST(array, ..): for each row of left the elements of arrays made of its
// columns.
func (blk *block) joinUnnest(left source, x *syntax.Join, u *syntax.Unnest, alias *syntax.Aliased) (source, error) {
	if err := distinctFromElements(left.scope, u, alias); err != nil {
		return source{}, err
	}
	outer := x.Kind == syntax.LeftJoin
	if x.Natural || len(x.Using) > 0 || x.Kind == syntax.RightJoin || x.Kind == syntax.FullJoin || outer && !isTrue(x.On) {
		return blk.joinDependent(left, x, alias, func(inner *block) (source, error) {
			return inner.unnest(source{node: oneRow(), scope: &scope{}}, u, false, nil)
		})
	}
	width := len(left.scope.relations)
	s, err := blk.unnest(left, u, outer, alias)
	if err != nil {
		return source{}, err
	}
	if alias != nil {
		r := &s.scope.relations[width]
		r.name, r.at = alias.Alias.Name, alias.At
		if r.sole = len(alias.Columns) == 0 && len(r.cols) == 1; r.sole {
			r.cols[0].shown = r.name
		}
		if n := len(alias.Columns); n > 0 {
			if err := differentNames(alias.Columns, "column alias list"); err != nil {
				return source{}, err
			}
			if n != len(r.cols) {
				return source{}, fault.InvalidSQL(alias.Columns[0].At, "List of column aliases must have same degree as table; table has %d columns (%s), "+
					"whereas alias list has %d columns", len(r.cols), "'"+strings.Join(s.scope.columnNames()[width:], "', '")+"'", n)
			}
			for i := range r.cols {
				r.cols[i].name = alias.Columns[i].Name
			}
		}
	}
	if err := uniqueRelations(s.scope); err != nil {
		return source{}, err
	}
	if x.On == nil || outer {
		return s, nil
	}
	on := newBlock(blk.b, blk.in)
	on.scope = s.scope
	cond, err := on.exprs("ON").condition(x.On)
	if err != nil {
		return source{}, err
	}
	s.node, err = on.filter(s.node, cond)
	return s, err
}

// distinctFromElements refuses an array whose bare name is also that of its elements: UNNEST(a) AS
// u(a) may mean either, UNNEST(t.a) AS u(a) only the array.
func distinctFromElements(left *scope, u *syntax.Unnest, alias *syntax.Aliased) error {
	if alias == nil {
		return nil
	}
	elements := make(map[string]bool, len(alias.Columns))
	for _, c := range alias.Columns {
		elements[c.Name] = true
	}
	var err error
	for _, arg := range u.Args {
		syntax.Walk(arg, func(n syntax.Node) bool {
			name, ok := n.(*syntax.Name)
			if ok && err == nil && len(name.Parts) == 1 && elements[name.Parts[0].Name] && left.first(name.Parts[0].Name) != nil {
				err = ambiguous(name.Parts[0].Name, name.At)
			}
			_, query := n.(*syntax.Query)
			return !query
		})
	}
	return err
}

// isTrue reports whether a join condition is the word TRUE.
func isTrue(e syntax.Expr) bool {
	b, ok := e.(*syntax.Bool)
	return ok && b.Value
}

// unnest appends the elements of arrays over left's columns to left, under the names that an alias
// gives them; nil: there is none.
func (blk *block) unnest(left source, u *syntax.Unnest, outer bool, alias *syntax.Aliased) (source, error) {
	inner := newBlock(blk.b, blk.in)
	inner.scope = left.scope
	arrays, err := inner.exprs("UNNEST").list(u.Args)
	if err != nil {
		return source{}, err
	}
	for i, a := range arrays {
		t := a.Type()
		if t.Base != expr.Array {
			return source{}, noArray(t, u, u.Args[i])
		}
		outer = outer || i == 0 && fromMulti(madeBy(left.node, a))
	}
	n, arrays, err := inner.attach(left.node, arrays)
	if err != nil {
		return source{}, err
	}
	n, columns := extend(n, arrays)
	node := &plan.Unnest{Input: n, Outer: outer, Ordinality: u.Ordinality}
	for i, c := range columns {
		name := unnamed(i)
		if alias != nil && i < len(alias.Columns) {
			name = alias.Columns[i].Name
		}
		node.Lists = append(node.Lists, plan.UnnestList{Column: c, Name: name, Elem: arrays[i].Type().Elem().OrNull(len(columns) > 1)})
	}
	width := plan.Width(n)
	r := relationOf("", node.Columns()[width:], width)
	r.at = u.At
	s := &scope{relations: append(append([]relation(nil), left.scope.relations...), r), merged: left.scope.merged}
	return source{node: node, scope: s}, nil
}

// noArray is the error for an argument of UNNEST of type t.
func noArray(t expr.Type, u *syntax.Unnest, arg syntax.Expr) error {
	err := fault.InvalidSQL(u.At, "Cannot apply 'UNNEST' to arguments of type 'UNNEST(<%s>)'. Supported form(s): 'UNNEST(<ARRAY>)'", strings.ToUpper(t.String()))
	if t.IsCharacter() {
		return err.With("suggestion", "UNNEST(MV_TO_ARRAY("+syntax.Print(arg)+")), the values of a multi-value string")
	}
	return err
}

// fromMulti reports whether an array is a string column as it is stored, which may have several
// values per row: a row of it without values counts as one with a NULL.
func fromMulti(e expr.Expr) bool {
	switch x := e.(type) {
	case *expr.Call:
		return x.Fn.ListsValues && fromMulti(x.Args[0])
	case *expr.Cast:
		return fromMulti(x.X)
	case *expr.Column:
		return x.T.IsCharacter()
	}
	return false
}

// madeBy returns the expression that makes a column of n in a subquery which n only selects from,
// else e itself.
func madeBy(n plan.Node, e expr.Expr) expr.Expr {
	for {
		c, column := e.(*expr.Column)
		switch x := n.(type) {
		case *plan.Filter:
			n = x.Input
			continue
		case *plan.Project:
			if column {
				n, e = x.Input, x.Exprs[c.Index]
				continue
			}
		}
		return e
	}
}

// joinLateral binds left, LATERAL (query): the query may name left's columns.
func (blk *block) joinLateral(left source, x *syntax.Join, d *syntax.Derived, alias *syntax.Aliased) (source, error) {
	return blk.joinDependent(left, x, alias, func(inner *block) (source, error) {
		rel, err := blk.b.queryIn(d.Query, inner.in)
		if err != nil {
			return source{}, err
		}
		return sourceOf(rel, d.At), nil
	})
}

// joinDependent joins left with a right side that may name left's columns: bind binds it in a block
// whose outer query is left.
func (blk *block) joinDependent(left source, x *syntax.Join, alias *syntax.Aliased, bind func(*block) (source, error)) (source, error) {
	around := newBlock(blk.b, blk.in)
	around.scope = left.scope
	outer, corr := around.exprs("FROM"), &correlation{}
	right, err := bind(newBlock(blk.b, surroundings{ctes: blk.in.ctes, outer: &outer, corr: corr}))
	if err != nil {
		return source{}, err
	}
	if alias != nil {
		if right, err = right.as(alias); err != nil {
			return source{}, err
		}
	}
	if len(corr.outer) == 0 {
		return blk.joinSources(x, left, right, nil)
	}
	kind := plan.Inner
	switch x.Kind {
	case syntax.LeftJoin:
		kind = plan.Left
	case syntax.RightJoin, syntax.FullJoin:
		return source{}, fault.InvalidSQL(x.At, "The right side of a RIGHT or FULL join can't use columns of the left side")
	}
	width := plan.Width(right.node)
	var values []expr.Expr
	if right.node, values, err = withZeroSigns(right.node, corr.outer); err != nil {
		return source{}, err
	}
	d := newDecorrelator(left.node, values, x.At)
	var columns []int
	left.node, columns = extend(left.node, d.values)
	if kind == plan.Left {
		d.sparse = nullForNone(right.node)
	}
	if right.node, err = d.apply(right.node); err != nil {
		return source{}, err
	}
	keys := make([]plan.EquiKey, len(columns))
	for i, c := range columns {
		keys[i] = plan.EquiKey{Left: c, Right: width + i, NullSafe: true}
	}
	return blk.joinSources(x, left, right, keys)
}
