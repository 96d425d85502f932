package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
)

// pushLimits moves limits down: through projections, into the inputs of a union, onto sorts (which
// then keep a top-N only) and into scans (which stop early). A limit that moved into several inputs
// or a scan stays above as well, for each input obeys it on its own.
func (o *optimizer) pushLimits(n Node) Node {
	switch x := n.(type) {
	case *Limit:
		if moved := o.limit(x); moved != nil {
			o.fired()
			return o.pushLimits(moved)
		}
	case *Sort:
		if scan := o.limitSortedScan(x); scan != nil {
			o.fired()
			return scan
		}
	}
	return MapInputs(n, o.pushLimits)
}

// limit returns x one step further down, or nil.
func (o *optimizer) limit(x *Limit) Node {
	switch in := x.Input.(type) {
	case *Project:
		return WithInputs(in, []Node{&Limit{Input: in.Input, Offset: x.Offset, Count: x.Count}})
	case *Limit:
		offset, count := compose(in.Offset, in.Count, x.Offset, x.Count)
		return &Limit{Input: in.Input, Offset: offset, Count: count}
	case *Sort:
		offset, count := compose(in.Offset, in.Limit, x.Offset, x.Count)
		c := *in
		c.Offset, c.Limit = offset, count
		return &c
	case *Union:
		most := reach(x.Offset, x.Count)
		if most < 0 {
			return nil
		}
		ins := make([]Node, len(in.Ins))
		changed := false
		for i, c := range in.Ins {
			ins[i] = c
			if !bounded(c, most) {
				ins[i], changed = &Limit{Input: c, Count: most}, true
			}
		}
		if !changed {
			return nil
		}
		return &Limit{Input: &Union{Ins: ins, Out: in.Out}, Offset: x.Offset, Count: x.Count}
	case *Scan:
		most := reach(x.Offset, x.Count)
		if most < 0 || in.Limit >= 0 && in.Limit <= most {
			return nil
		}
		c := *in
		c.Limit = most
		return &Limit{Input: &c, Offset: x.Offset, Count: x.Count}
	}
	return nil
}

// compose returns the offset and count of an outer limit over an inner one.
func compose(innerOffset, innerCount, offset, count int64) (int64, int64) {
	if innerCount >= 0 {
		left := max(innerCount-offset, 0)
		if count < 0 || count > left {
			count = left
		}
	}
	sum := innerOffset + offset
	if sum < 0 {
		sum = 1<<63 - 1
	}
	return sum, count
}

// reach is how many rows of the input a limit looks at, -1 if all.
func reach(offset, count int64) int64 {
	if count < 0 || offset+count < 0 {
		return -1
	}
	return offset + count
}

func bounded(n Node, most int64) bool {
	switch x := n.(type) {
	case *Limit:
		return x.Count >= 0 && x.Count <= most
	case *Sort:
		return x.Limit >= 0 && x.Limit <= most
	case *Scan:
		return x.Limit >= 0 && x.Limit <= most
	case *Inline:
		return int64(x.Rows.Rows()) <= most
	case *Project:
		return bounded(x.Input, most)
	}
	return false
}

// limitSortedScan lets a scan below a top-N over __time alone read in that order and stop. The sort
// stays: it merges the segments.
func (o *optimizer) limitSortedScan(x *Sort) Node {
	most := reach(x.Offset, x.Limit)
	if len(x.Keys) != 1 || most < 0 {
		return nil
	}
	column := x.Keys[0].Column
	var projects []*Project
	n := x.Input
	for {
		p, ok := n.(*Project)
		if !ok {
			break
		}
		c, ok := p.Exprs[column].(*expr.Column)
		if !ok {
			return nil
		}
		projects = append(projects, p)
		n, column = p.Input, c.Index
	}
	scan, ok := n.(*Scan)
	if !ok || scan.Out[column].Name != TimeColumn || scan.Limit >= 0 {
		return nil
	}
	c := *scan
	c.Limit, c.Time = most, 1
	if x.Keys[0].Desc {
		c.Time = -1
	}
	n = &c
	for _, project := range slices.Backward(projects) {
		n = WithInputs(project, []Node{n})
	}
	return WithInputs(x, []Node{n})
}
