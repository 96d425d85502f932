package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/invariant"
)

// inputFields returns where n has its inputs, one (second is nil) or two; nil: it has none, or a
// list of them (Union).
func inputFields(n Node) (first, second *Node) {
	switch x := n.(type) {
	case *Filter:
		return &x.Input, nil
	case *Project:
		return &x.Input, nil
	case *Aggregate:
		return &x.Input, nil
	case *Sort:
		return &x.Input, nil
	case *Limit:
		return &x.Input, nil
	case *Unnest:
		return &x.Input, nil
	case *Window:
		return &x.Input, nil
	case *Buckets:
		return &x.Input, nil
	case *Shared:
		return &x.Input, nil
	case *Write:
		return &x.Input, nil
	case *Export:
		return &x.Input, nil
	case *Join:
		return &x.Left, &x.Right
	case *SetOp:
		return &x.Left, &x.Right
	}
	return nil, nil
}

// shallow returns a copy of n, one of those that inputFields knows, with the same inputs.
func shallow(n Node) Node {
	switch x := n.(type) {
	case *Filter:
		return copied(x)
	case *Project:
		return copied(x)
	case *Aggregate:
		return copied(x)
	case *Sort:
		return copied(x)
	case *Limit:
		return copied(x)
	case *Unnest:
		return copied(x)
	case *Window:
		return copied(x)
	case *Buckets:
		return copied(x)
	case *Shared:
		return copied(x)
	case *Write:
		return copied(x)
	case *Export:
		return copied(x)
	case *Join:
		return copied(x)
	case *SetOp:
		return copied(x)
	}
	invariant.Check(false, "plan: node %T has no fields of inputs", n)
	return n
}

func copied[T any](n *T) *T {
	c := *n
	return &c
}

// over returns n with left and, where it has two inputs, right as its inputs; n itself if they are
// the ones it has.
func over(n, left, right Node) Node {
	first, second := inputFields(n)
	if *first == left && (second == nil || *second == right) {
		return n
	}
	c := shallow(n)
	first, second = inputFields(c)
	*first = left
	if second != nil {
		*second = right
	}
	return c
}

func overAll(u *Union, in []Node) Node {
	if slices.Equal(u.Ins, in) {
		return u
	}
	c := *u
	c.Ins = slices.Clone(in)
	return &c
}

// WithInputs returns n with other inputs, of the same number; n itself if the inputs are unchanged.
func WithInputs(n Node, in []Node) Node {
	if u, ok := n.(*Union); ok {
		return overAll(u, in)
	}
	switch first, second := inputFields(n); {
	case second != nil:
		return over(n, in[0], in[1])
	case first != nil:
		return over(n, in[0], nil)
	}
	invariant.Check(len(in) == 0, "plan: node %T has no inputs to replace", n)
	return n
}

// MapInputs returns n with f applied to each input, the leftmost first. Rules call it for every
// node of a plan: it allocates only the node, and only if an input changed.
func MapInputs(n Node, f func(Node) Node) Node {
	if u, ok := n.(*Union); ok {
		in := make([]Node, len(u.Ins))
		for i, c := range u.Ins {
			in[i] = f(c)
		}
		return overAll(u, in)
	}
	switch first, second := inputFields(n); {
	case second != nil:
		left := f(*first)
		return over(n, left, f(*second))
	case first != nil:
		return over(n, f(*first), nil)
	}
	return n
}

// Width returns the number of columns of n without building them, unlike Columns.
func Width(n Node) int {
	switch x := n.(type) {
	case *Project:
		return len(x.Exprs)
	case *Aggregate:
		if x.Grouping {
			return len(x.Keys) + len(x.Aggs) + 1
		}
		return len(x.Keys) + len(x.Aggs)
	case *Join:
		if x.LeftOnly() {
			return Width(x.Left)
		}
		return Width(x.Left) + Width(x.Right)
	case *Unnest:
		if x.Ordinality {
			return Width(x.Input) + len(x.Lists) + 1
		}
		return Width(x.Input) + len(x.Lists)
	case *Window:
		return Width(x.Input) + len(x.Calls)
	case *Write:
		return Width(x.Input) - x.Hidden
	case *SetOp:
		return Width(x.Left)
	case *Filter, *Sort, *Limit, *Shared, *Export:
		first, _ := inputFields(n)
		return Width(*first)
	}
	return len(n.Columns())
}

// ColumnAt returns column i of n without building the others, unlike Columns.
func ColumnAt(n Node, i int) Column {
	width, null := -1, false // of n if it is known, and whether a join above has the column without a value
	for {
		switch x := n.(type) {
		case *Join:
			if width < 0 {
				width = Width(x)
			}
			leftNull, rightNull := x.mayLackPartner()
			if !x.LeftOnly() {
				right := Width(x.Right)
				if width -= right; i >= width {
					n, i, width, null = x.Right, i-width, right, null || rightNull
					continue
				}
				null = null || leftNull
			}
			n = x.Left
		case *Filter, *Sort, *Limit, *Shared, *Export:
			first, _ := inputFields(n)
			n = *first
		default:
			c := ownColumn(n, i)
			c.Type = c.Type.OrNull(null)
			return c
		}
	}
}

// ownColumn is ColumnAt for nodes that don't have just the columns of their inputs.
func ownColumn(n Node, i int) Column {
	switch x := n.(type) {
	case *Project:
		return Column{Name: x.Names[i], Type: x.Exprs[i].Type()}
	case *Aggregate:
		if i < len(x.Keys) {
			return x.key(x.Keys[i])
		}
		if at := i - len(x.Keys); at < len(x.Aggs) {
			return Column{Name: x.Aggs[at].Name, Type: x.Aggs[at].Type}
		}
		return groupingColumn
	case *Window:
		width := Width(x.Input)
		if i < width {
			return ColumnAt(x.Input, i)
		}
		return Column{Name: x.Calls[i-width].Name, Type: x.Calls[i-width].Type}
	case *SetOp:
		return ColumnAt(x.Left, i)
	case *Write:
		return ColumnAt(x.Input, i)
	}
	return n.Columns()[i]
}

// Walk calls f for n and then for all nodes below it. If f returns false for a node, Walk skips its
// inputs.
func Walk(n Node, f func(Node) bool) {
	if !f(n) {
		return
	}
	first, second := inputFields(n)
	if first != nil {
		Walk(*first, f)
	}
	if second != nil {
		Walk(*second, f)
	}
	if first != nil {
		return
	}
	for _, c := range n.Inputs() {
		Walk(c, f)
	}
}

// OverGroups reports whether the rows of n are groups, possibly filtered or combined, and not rows
// of a table.
func OverGroups(n Node) bool {
	for {
		if _, ok := n.(*Aggregate); ok {
			return true
		}
		in := n.Inputs()
		if len(in) == 0 {
			return false
		}
		n = in[0]
	}
}

// overAnswers reports whether the rows of n are constants or what another query answered, and not
// rows of a table.
func overAnswers(n Node) bool {
	for {
		switch x := n.(type) {
		case *Aggregate, *Limit, *Window, *Inline:
			return true
		case *Sort:
			if x.Limit >= 0 {
				return true
			}
		case *Scan:
			return x.Limit >= 0
		}
		in := n.Inputs()
		if len(in) == 0 {
			return false
		}
		n = in[0]
	}
}
