package plan

import "github.com/hengedb/henge/internal/invariant"

// WithInputs returns n over other inputs, as many as n has; n itself if they are the ones it has.
func WithInputs(n Node, in []Node) Node {
	same := true
	for i, old := range n.Inputs() {
		same = same && old == in[i]
	}
	if same {
		return n
	}
	switch x := n.(type) {
	case *Filter:
		c := *x
		c.Input = in[0]
		return &c
	case *Project:
		c := *x
		c.Input = in[0]
		return &c
	case *Aggregate:
		c := *x
		c.Input = in[0]
		return &c
	case *Sort:
		c := *x
		c.Input = in[0]
		return &c
	case *Limit:
		c := *x
		c.Input = in[0]
		return &c
	case *Join:
		c := *x
		c.Left, c.Right = in[0], in[1]
		return &c
	case *Union:
		c := *x
		c.Ins = in
		return &c
	case *SetOp:
		c := *x
		c.Left, c.Right = in[0], in[1]
		return &c
	case *Unnest:
		c := *x
		c.Input = in[0]
		return &c
	case *Window:
		c := *x
		c.Input = in[0]
		return &c
	case *Buckets:
		c := *x
		c.Input = in[0]
		return &c
	case *Shared:
		return &Shared{ID: x.ID, Input: in[0]}
	case *Write:
		c := *x
		c.Input = in[0]
		return &c
	case *Export:
		c := *x
		c.Input = in[0]
		return &c
	}
	invariant.Check(false, "plan: node %T has no inputs to replace", n)
	return n
}

// MapInputs returns n with f applied to each input.
func MapInputs(n Node, f func(Node) Node) Node {
	old := n.Inputs()
	if len(old) == 0 {
		return n
	}
	in := make([]Node, len(old))
	for i, c := range old {
		in[i] = f(c)
	}
	return WithInputs(n, in)
}

// Walk calls f for n and then for everything below it, until f returns false for a node, whose inputs are then left out.
func Walk(n Node, f func(Node) bool) {
	if !f(n) {
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
