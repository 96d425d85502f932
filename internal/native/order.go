package native

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// narrow drops the columns behind the first width, which were added to sort by.
func narrow(n plan.Node, width int) plan.Node {
	if len(n.Columns()) == width {
		return n
	}
	keep := make([]int, width)
	for i := range keep {
		keep[i] = i
	}
	return plan.Select(n, keep)
}

// keyFunctions give texts whose own order is another.
var keyFunctions = map[OrderingOf]string{"alphanumeric": "$ALPHANUMERIC", "version": "$VERSION"}

// orderKey is the sort key for column i in an order of texts. Where that is not the column's own
// order, a column is added to sort by.
func orderKey(n plan.Node, i int, ordering OrderingOf, desc bool) (plan.Node, plan.SortKey, error) {
	key := plan.SortKey{Column: i, Desc: desc, NullsFirst: !desc}
	c := plan.ColumnAt(n, i)
	x := expr.Expr(&expr.Column{Index: i, Name: c.Name, T: c.Type})
	var by expr.Expr
	var err error
	switch ordering {
	case "", "natural":
		return n, key, nil
	case "lexicographic":
		if c.Type.IsCharacter() {
			return n, key, nil
		}
		by, err = cast(x, textType)
	case "numeric":
		if c.Type.IsNumeric() || c.Type.IsTime() {
			return n, key, nil
		}
		if by, err = cast(x, textType); err == nil {
			by, err = call("$NUMERIC_ORDER", by)
		}
	case "strlen":
		if by, err = cast(x, textType); err == nil {
			by, err = call("LENGTH", by)
		}
	case "alphanumeric", "version":
		if by, err = cast(x, textType); err == nil {
			by, err = call(keyFunctions[ordering], by)
		}
	default:
		return nil, key, fault.Unsupported("Ordering [%s] is not supported", ordering)
	}
	if err != nil {
		return nil, key, err
	}
	p := &plan.Project{Input: n}
	for j, c := range n.Columns() {
		p.Exprs, p.Names = append(p.Exprs, &expr.Column{Index: j, Name: c.Name, T: c.Type}), append(p.Names, c.Name)
	}
	p.Exprs, p.Names = append(p.Exprs, by), append(p.Names, "$order")
	key.Column = len(p.Exprs) - 1
	return p, key, nil
}

// ties are the keys behind one of orderKey: texts of one length come in their own order.
func ties(column int, ordering OrderingOf, desc bool) []plan.SortKey {
	if ordering != "strlen" {
		return nil
	}
	return []plan.SortKey{{Column: column, Desc: desc, NullsFirst: !desc}}
}

// limitEach keeps some rows of each subtotal: the first key is its number, the others are the order
// within it.
func limitEach(n plan.Node, keys []plan.SortKey, offset, limit int64) (plan.Node, error) {
	number := plan.WindowCall{Fn: "ROW_NUMBER", AggCall: plan.AggCall{Filter: -1, Name: "$row", Type: longType.NotNull()}, Frame: plan.Frame{
		FromUnbounded: true, ToUnbounded: true, FromColumn: -1, ToColumn: -1,
	}}
	w := &plan.Window{Input: n, Partition: []int{keys[0].Column}, Order: keys[1:], Calls: []plan.WindowCall{number}}
	at := len(w.Columns()) - 1
	x := &expr.Column{Index: at, Name: "$row", T: w.Columns()[at].Type}
	cond, err := compare(">", x, longLiteral(offset))
	if err != nil || limit < 0 {
		return &plan.Filter{Input: w, Cond: cond}, err
	}
	upto, err := compare("<=", x, longLiteral(offset+limit))
	if err != nil {
		return nil, err
	}
	both, err := all([]expr.Expr{cond, upto})
	return &plan.Filter{Input: w, Cond: both}, err
}
