package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/invariant"
)

// onlyInput returns where n has its input; nil: it has none, or several.
func onlyInput(n Node) *Node {
	switch x := n.(type) {
	case *Filter:
		return &x.Input
	case *Project:
		return &x.Input
	case *Aggregate:
		return &x.Input
	case *Sort:
		return &x.Input
	case *Limit:
		return &x.Input
	case *Unnest:
		return &x.Input
	case *Window:
		return &x.Input
	case *Buckets:
		return &x.Input
	case *Shared:
		return &x.Input
	case *Write:
		return &x.Input
	case *Export:
		return &x.Input
	}
	return nil
}

// withInput returns n, one of those with a single input, over in; n itself if that is the one it has.
func withInput(n, in Node) Node {
	if *onlyInput(n) == in {
		return n
	}
	var c Node
	switch x := n.(type) {
	case *Filter:
		c = copied(x)
	case *Project:
		c = copied(x)
	case *Aggregate:
		c = copied(x)
	case *Sort:
		c = copied(x)
	case *Limit:
		c = copied(x)
	case *Unnest:
		c = copied(x)
	case *Window:
		c = copied(x)
	case *Buckets:
		c = copied(x)
	case *Shared:
		c = copied(x)
	case *Write:
		c = copied(x)
	case *Export:
		c = copied(x)
	}
	*onlyInput(c) = in
	return c
}

func copied[T any](n *T) *T {
	c := *n
	return &c
}

// WithInputs returns n over other inputs, as many as n has; n itself if they are the ones it has.
func WithInputs(n Node, in []Node) Node {
	if onlyInput(n) != nil {
		return withInput(n, in[0])
	}
	switch x := n.(type) {
	case *Join:
		if x.Left == in[0] && x.Right == in[1] {
			return n
		}
		c := *x
		c.Left, c.Right = in[0], in[1]
		return &c
	case *SetOp:
		if x.Left == in[0] && x.Right == in[1] {
			return n
		}
		c := *x
		c.Left, c.Right = in[0], in[1]
		return &c
	case *Union:
		if slices.Equal(x.Ins, in) {
			return n
		}
		c := *x
		c.Ins = slices.Clone(in)
		return &c
	}
	invariant.Check(len(in) == 0, "plan: node %T has no inputs to replace", n)
	return n
}

// MapInputs returns n with f applied to each input, the leftmost first. Rules call it for every node of a plan: it allocates nothing
// but the node, and that only where an input changed.
func MapInputs(n Node, f func(Node) Node) Node {
	if at := onlyInput(n); at != nil {
		return withInput(n, f(*at))
	}
	switch x := n.(type) {
	case *Join:
		left := f(x.Left)
		return WithInputs(n, []Node{left, f(x.Right)})
	case *SetOp:
		left := f(x.Left)
		return WithInputs(n, []Node{left, f(x.Right)})
	case *Union:
		in := make([]Node, len(x.Ins))
		for i, c := range x.Ins {
			in[i] = f(c)
		}
		return WithInputs(n, in)
	}
	return n
}

// Width returns how many columns n has. It doesn't make them, as Columns does.
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
		return Width(*onlyInput(n))
	}
	return len(n.Columns())
}

// Walk calls f for n and then for everything below it, until f returns false for a node, whose inputs are then left out.
func Walk(n Node, f func(Node) bool) {
	if !f(n) {
		return
	}
	if at := onlyInput(n); at != nil {
		Walk(*at, f)
		return
	}
	for _, c := range n.Inputs() {
		Walk(c, f)
	}
}

// OverGroups reports whether the rows of n are groups, fewer or combined with others, and not rows of a table.
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

// OverAnswers reports whether the rows of n are constants or what another query answered, and not rows of a table.
func OverAnswers(n Node) bool {
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
