package plan

import (
	"reflect"

	"github.com/hengedb/henge/internal/expr"
)

// commonSubplans finds parts of the plan that are written, or were made, more than once and cost
// something: a WITH query that groups and is used twice, the values of a correlated subquery. They
// are computed once. It runs when conditions are where they stay, so that parts which read
// different rows are different, and before columns are pruned, after which equal parts may have
// different ones.
func (o *optimizer) commonSubplans(n Node) Node {
	s := &sharer{}
	s.find(n)
	if len(s.candidates) < 2 {
		return n
	}
	byKind := map[reflect.Type][]Node{}
	for _, c := range s.candidates {
		kind := reflect.TypeOf(c)
		byKind[kind] = append(byKind[kind], c)
	}
	for _, list := range byKind {
		if len(list) > 1 {
			s.compare(list)
		}
	}
	if s.next == 0 {
		return n
	}
	return s.replace(o, n)
}

// maxShareCandidates bounds the nodes that are compared; statements of people have a handful.
const maxShareCandidates = 200

// sharer finds equal parts of a plan.
type sharer struct {
	candidates []Node
	groups     map[uint64][]*sharedPart // by shape
	ids        map[Node]int
	next       int
}

// sharedPart is a part of the plan and the nodes that are equal to it.
type sharedPart struct {
	node Node
	id   int // 0: only one node so far
}

// find collects the nodes whose rows are worth keeping.
func (s *sharer) find(n Node) {
	Walk(n, func(n Node) bool {
		worth := false
		switch x := n.(type) {
		case *Aggregate, *Window, *SetOp:
			worth = true
		case *Sort:
			worth = x.Limit >= 0
		}
		if worth && len(s.candidates) < maxShareCandidates {
			s.candidates = append(s.candidates, n)
		}
		return true
	})
}

// compare gives the same number to equal nodes of a list.
func (s *sharer) compare(list []Node) {
	if s.ids == nil {
		s.ids, s.groups = map[Node]int{}, map[uint64][]*sharedPart{}
	}
next:
	for _, n := range list {
		if !stable(n) {
			continue
		}
		alike := shape(n)
		for _, part := range s.groups[alike] {
			if part.node != n && !reflect.DeepEqual(part.node, n) {
				continue
			}
			if part.id == 0 {
				s.next++
				part.id = s.next
				s.ids[part.node] = part.id
			}
			s.ids[n] = part.id
			continue next
		}
		s.groups[alike] = append(s.groups[alike], &sharedPart{node: n})
	}
}

// shape returns a number that equal plans have in common, and others rarely: it looks at the nodes
// and their sizes.
func shape(n Node) uint64 {
	const prime = 1099511628211 // FNV-1a
	h := uint64(14695981039346656037)
	mix := func(values ...int) {
		for _, v := range values {
			h = (h ^ uint64(v)) * prime
		}
	}
	Walk(n, func(n Node) bool {
		switch x := n.(type) {
		case *Scan:
			mix(1, len(x.Out), len(x.Intervals))
			for i := range len(x.DataSource) {
				mix(int(x.DataSource[i]))
			}
		case *Inline:
			mix(2, len(x.Out), x.Rows.Rows())
		case *Filter:
			mix(3)
		case *Project:
			mix(4, len(x.Exprs))
		case *Aggregate:
			mix(5, len(x.Sets), len(x.Aggs))
			mix(x.Keys...)
		case *Sort:
			mix(6, len(x.Keys), int(x.Limit))
		case *Join:
			mix(7, int(x.Kind), len(x.Keys))
		case *SetOp:
			mix(8, int(x.Kind))
		case *Window:
			mix(9, len(x.Calls))
			mix(x.Partition...)
		default:
			mix(10, len(n.Inputs()))
		}
		return true
	})
	return h
}

// stable reports whether computing n twice gives the same rows, of tables.
func stable(n Node) bool {
	volatile, tables := false, false
	Walk(n, func(n Node) bool {
		switch n.(type) {
		case *Scan, *External, *System:
			tables = true
		}
		MapExprs(n, func(e expr.Expr) expr.Expr {
			volatile = volatile || IsVolatile(e)
			return e
		})
		return !volatile
	})
	return tables && !volatile
}

// replace puts a Shared over each of equal nodes, those below others of them included.
func (s *sharer) replace(o *optimizer, n Node) Node {
	id := s.ids[n]
	n = MapInputs(n, func(c Node) Node { return s.replace(o, c) })
	if id == 0 {
		return n
	}
	o.fired()
	return &Shared{ID: id, Input: n}
}
