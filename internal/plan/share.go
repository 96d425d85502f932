package plan

import (
	"reflect"

	"github.com/hengedb/henge/internal/expr"
)

// share finds parts of the plan that are written, or were made, more than once and cost something: a WITH query that groups and is used
// twice, the values of a correlated subquery. They are computed once. It runs when conditions are where they stay, so that parts which
// read different rows are different, and before columns are pruned, after which equal parts may have different ones.
func (o *optimizer) share(n Node) Node {
	s := &sharer{groups: map[string][]*sharedPart{}}
	s.find(n)
	if s.candidates < 2 {
		return n
	}
	for _, list := range s.byKind {
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
	candidates int
	byKind     map[reflect.Type][]Node
	groups     map[string][]*sharedPart // by Format
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
		if worth && s.candidates < maxShareCandidates {
			if s.byKind == nil {
				s.byKind = map[reflect.Type][]Node{}
			}
			s.candidates++
			kind := reflect.TypeOf(n)
			s.byKind[kind] = append(s.byKind[kind], n)
		}
		return true
	})
}

// compare gives the same number to equal nodes of a list.
func (s *sharer) compare(list []Node) {
	if s.ids == nil {
		s.ids = map[Node]int{}
	}
next:
	for _, n := range list {
		if !stable(n) {
			continue
		}
		text := Format(n) // equal nodes have equal texts; texts leave out values
		for _, part := range s.groups[text] {
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
		s.groups[text] = append(s.groups[text], &sharedPart{node: n})
	}
}

// stable reports whether computing n twice gives the same rows, of tables.
func stable(n Node) bool {
	volatile, tables := false, false
	Walk(n, func(n Node) bool {
		switch n.(type) {
		case *Scan, *External, *System:
			tables = true
		}
		mapExprs(n, func(e expr.Expr) expr.Expr {
			volatile = volatile || isVolatile(e)
			return e
		})
		return !volatile
	})
	return tables && !volatile
}

// replace puts a Shared over each of equal nodes, those below others of them included.
func (s *sharer) replace(o *optimizer, n Node) Node {
	id := s.ids[n]
	n = mapInputs(n, func(c Node) Node { return s.replace(o, c) })
	if id == 0 {
		return n
	}
	o.fired()
	return &Shared{ID: id, Input: n}
}
