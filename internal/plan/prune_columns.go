package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// pruneColumns removes columns that nothing above reads.
func (o *optimizer) pruneColumns(n Node) Node {
	return (&Pruner{fired: o.fired}).Whole(n)
}

// Pruner removes columns.
type Pruner struct {
	// Instead, if not nil, replaces Default for the nodes for which it returns true. It may call the
	// Pruner for their inputs.
	Instead func(p *Pruner, n Node, need []bool) (Node, []int, bool)
	fired   func()
}

// Whole prunes a plan whose output columns are all needed.
func (p *Pruner) Whole(n Node) Node {
	all := make([]bool, Width(n))
	for i := range all {
		all[i] = true
	}
	out, _ := p.Prune(n, all)
	return out
}

// Prune returns n without some of the unneeded columns, and the new position of each old column, -1
// if it was removed. All needed columns are kept, in their order.
func (p *Pruner) Prune(n Node, need []bool) (Node, []int) {
	if p.Instead != nil {
		if out, to, ok := p.Instead(p, n, need); ok {
			return out, to
		}
	}
	return p.Default(n, need)
}

// Default is Prune without Instead for n itself.
func (p *Pruner) Default(n Node, need []bool) (Node, []int) {
	switch x := n.(type) {
	case *Scan:
		return p.pruneScan(x, need)
	case *Inline:
		keep, to := kept(need)
		if len(keep) == len(need) {
			return n, to
		}
		p.changed()
		rows := &vector.Batch{N: x.Rows.N, Sel: x.Rows.Sel}
		for _, k := range keep {
			rows.Cols = append(rows.Cols, x.Rows.Cols[k])
		}
		return &Inline{Out: pick(x.Out, keep), Rows: rows}, to
	case *External:
		keep, to := kept(need)
		if len(keep) == len(need) {
			return n, to
		}
		p.changed()
		c := *x
		c.Declared, c.Out = x.Signature(), pick(x.Out, keep)
		return &c, to
	case *System:
		keep, to := kept(need)
		if len(keep) == len(need) {
			return n, to
		}
		p.changed()
		c := *x
		c.Out = pick(x.Out, keep)
		return &c, to
	case *Filter:
		below := union(need, x.Cond)
		in, to := p.Prune(x.Input, below)
		return &Filter{Input: in, Cond: renumber(x.Cond, to)}, to
	case *Project:
		return p.pruneProject(x, need)
	case *Aggregate:
		return p.pruneAggregate(x, need)
	case *Sort:
		below := append([]bool(nil), need...)
		for _, k := range x.Keys {
			below[k.Column] = true
		}
		in, to := p.Prune(x.Input, below)
		c := *x
		c.Input, c.Keys = in, moveKeys(x.Keys, to)
		return &c, to
	case *Limit:
		in, to := p.Prune(x.Input, need)
		return WithInputs(x, []Node{in}), to
	case *Join:
		return p.pruneJoin(x, need)
	case *Union:
		return p.pruneUnion(x, need)
	case *Buckets:
		c := *x
		c.Input, _ = p.Prune(x.Input, make([]bool, Width(x.Input)))
		return &c, identity(len(need))
	case *Unnest:
		return p.pruneUnnest(x, need)
	case *Window:
		return p.pruneWindow(x, need)
	}
	// SetOp compares whole rows, Write and Export store them: their inputs keep all columns.
	n = MapInputs(n, p.Whole)
	return n, identity(len(need))
}

func (p *Pruner) pruneScan(x *Scan, need []bool) (Node, []int) {
	below := need
	if x.Filter != nil {
		below = union(need, x.Filter)
	}
	keep, to := kept(below)
	if len(keep) == len(need) {
		return x, to
	}
	p.changed()
	c := *x
	c.Out = pick(x.Out, keep)
	if x.Filter != nil {
		c.Filter = renumber(x.Filter, to)
	}
	return &c, to
}

func (p *Pruner) pruneProject(x *Project, need []bool) (Node, []int) {
	keep, to := kept(need)
	below := make([]bool, Width(x.Input))
	c := &Project{Exprs: make([]expr.Expr, 0, len(keep)), Names: make([]string, 0, len(keep))}
	for _, k := range keep {
		mark(below, x.Exprs[k])
		c.Exprs = append(c.Exprs, x.Exprs[k])
		c.Names = append(c.Names, x.Names[k])
	}
	in, moved := p.Prune(x.Input, below)
	if len(keep) < len(need) {
		p.changed()
	}
	c.Input = in
	for i, e := range c.Exprs {
		c.Exprs[i] = renumber(e, moved)
	}
	return c, to
}

func (p *Pruner) pruneAggregate(x *Aggregate, need []bool) (Node, []int) {
	// Keys make the groups and stay; aggregates that nobody reads go.
	want := append([]bool(nil), need...)
	for i := range x.Keys {
		want[i] = true
	}
	if x.Grouping {
		want[len(want)-1] = true
	}
	keep, to := kept(want)
	below := make([]bool, Width(x.Input))
	for _, k := range x.Keys {
		below[k] = true
	}
	for _, k := range x.Order {
		below[k.Column] = true
	}
	c := *x
	c.Keys, c.Aggs = nil, make([]AggCall, 0, len(x.Aggs))
	for i, a := range x.Aggs {
		if !want[len(x.Keys)+i] {
			continue
		}
		for _, arg := range a.Args {
			below[arg] = true
		}
		if a.Filter >= 0 {
			below[a.Filter] = true
		}
		c.Aggs = append(c.Aggs, a)
	}
	if len(keep) < len(need) {
		p.changed()
	}
	in, moved := p.Prune(x.Input, below)
	c.Input = in
	c.Keys, c.Order = moveAll(x.Keys, moved), moveKeys(x.Order, moved)
	for i := range c.Aggs {
		c.Aggs[i] = moveCall(c.Aggs[i], moved)
	}
	return &c, to
}

func (p *Pruner) pruneJoin(x *Join, need []bool) (Node, []int) {
	width := Width(x.Left)
	all := make([]bool, width+Width(x.Right))
	copy(all, need)
	if x.Kind == Single && !slices.Contains(all[width:], true) {
		// Nobody reads what the scalar subquery gives: it is not asked, so that it can't fail for having
		// several rows either.
		p.changed()
		left, to := p.Prune(x.Left, all[:width])
		return left, append(to, slices.Repeat([]int{-1}, len(need)-width)...)
	}
	if x.On != nil {
		mark(all, x.On)
	}
	for _, k := range x.Keys {
		all[k.Left], all[width+k.Right] = true, true
	}
	left, toLeft := p.Prune(x.Left, all[:width])
	right, toRight := p.Prune(x.Right, all[width:])
	newWidth := Width(left)
	to := append([]int(nil), toLeft...)
	for _, t := range toRight {
		if t >= 0 {
			t += newWidth
		}
		to = append(to, t)
	}
	c := *x
	c.Left, c.Right, c.Keys = left, right, nil
	for _, k := range x.Keys {
		c.Keys = append(c.Keys, EquiKey{Left: toLeft[k.Left], Right: toRight[k.Right], NullSafe: k.NullSafe})
	}
	if x.On != nil {
		c.On = renumber(x.On, to)
	}
	if x.LeftOnly() {
		to = to[:width]
	}
	return &c, to
}

func (p *Pruner) pruneUnion(x *Union, need []bool) (Node, []int) {
	keep, to := kept(need)
	ins := make([]Node, len(x.Ins))
	for i, in := range x.Ins {
		pruned, moved := p.Prune(in, need)
		ins[i] = exactly(pruned, moveAll(keep, moved))
	}
	return &Union{Ins: ins, Out: pick(x.Out, keep)}, to
}

func (p *Pruner) pruneUnnest(x *Unnest, need []bool) (Node, []int) {
	width := Width(x.Input)
	below := append([]bool(nil), need[:width]...)
	for _, l := range x.Lists {
		below[l.Column] = true
	}
	in, to := p.Prune(x.Input, below)
	c := *x
	c.Input, c.Lists = in, append([]UnnestList(nil), x.Lists...)
	for i := range c.Lists {
		c.Lists[i].Column = to[c.Lists[i].Column]
	}
	newWidth := Width(in)
	for i := range len(need) - width {
		to = append(to, newWidth+i)
	}
	return &c, to
}

func (p *Pruner) pruneWindow(x *Window, need []bool) (Node, []int) {
	width := Width(x.Input)
	below := append([]bool(nil), need[:width]...)
	for _, k := range x.Partition {
		below[k] = true
	}
	for _, k := range x.Order {
		below[k.Column] = true
	}
	c := *x
	c.Calls = nil
	calls := make([]int, 0, len(x.Calls))
	for i, call := range x.Calls {
		if !need[width+i] {
			calls = append(calls, -1)
			continue
		}
		for _, arg := range call.Args {
			below[arg] = true
		}
		for _, extra := range []int{call.Filter, call.Frame.FromColumn, call.Frame.ToColumn} {
			if extra >= 0 {
				below[extra] = true
			}
		}
		calls = append(calls, len(c.Calls))
		c.Calls = append(c.Calls, call)
	}
	in, to := p.Prune(x.Input, below)
	if len(c.Calls) < len(x.Calls) {
		p.changed()
	}
	newWidth := Width(in)
	for i := range c.Calls {
		call := c.Calls[i]
		call.AggCall = moveCall(call.AggCall, to)
		if call.Frame.FromColumn >= 0 {
			call.Frame.FromColumn = to[call.Frame.FromColumn]
		}
		if call.Frame.ToColumn >= 0 {
			call.Frame.ToColumn = to[call.Frame.ToColumn]
		}
		c.Calls[i] = call
	}
	c.Partition, c.Order = moveAll(x.Partition, to), moveKeys(x.Order, to)
	for _, i := range calls {
		if i >= 0 {
			i += newWidth
		}
		to = append(to, i)
	}
	if len(c.Calls) == 0 {
		return in, to
	}
	c.Input = in
	return &c, to
}

// exactly returns the columns keep of n, n itself if those are all it has, in that order.
func exactly(n Node, keep []int) Node {
	if len(keep) == Width(n) {
		same := true
		for i, k := range keep {
			same = same && i == k
		}
		if same {
			return n
		}
	}
	return Select(n, keep)
}

// kept returns the positions that are needed and where each position goes.
func kept(need []bool) (keep, to []int) {
	keep, to = make([]int, 0, len(need)), make([]int, len(need))
	for i, n := range need {
		to[i] = -1
		if n {
			to[i] = len(keep)
			keep = append(keep, i)
		}
	}
	return keep, to
}

func identity(n int) []int {
	to := make([]int, n)
	for i := range to {
		to[i] = i
	}
	return to
}

func pick(cols []Column, keep []int) []Column {
	out := make([]Column, len(keep))
	for i, k := range keep {
		out[i] = cols[k]
	}
	return out
}

// union returns need with the columns that e reads.
func union(need []bool, e expr.Expr) []bool {
	out := slices.Clone(need)
	mark(out, e)
	return out
}

// mark adds the columns that e reads to need.
func mark(need []bool, e expr.Expr) {
	expr.Walk(e, func(x expr.Expr) bool {
		if c, ok := x.(*expr.Column); ok {
			need[c.Index] = true
		}
		return true
	})
}

func moveAll(list, to []int) []int {
	out := make([]int, len(list))
	for i, k := range list {
		out[i] = to[k]
	}
	return out
}

func moveKeys(keys []SortKey, to []int) []SortKey {
	out := make([]SortKey, len(keys))
	for i, k := range keys {
		k.Column = to[k.Column]
		out[i] = k
	}
	return out
}

func moveCall(a AggCall, to []int) AggCall {
	a.Args = moveAll(a.Args, to)
	if a.Filter >= 0 {
		a.Filter = to[a.Filter]
	}
	return a
}

func (p *Pruner) changed() {
	if p.fired != nil {
		p.fired()
	}
}
