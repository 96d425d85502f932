package plan

import "github.com/hengedb/henge/internal/fault"

// SubqueryPositions returns the positions in the statement of the subqueries of the Single joins of
// n, in the order of Walk; nil if there are none. They are sent to other processes beside the plan,
// so that releases that do not know them can read the plan.
func SubqueryPositions(n Node) (positions []fault.Span) {
	singles(n, func(j *Join) { positions = append(positions, j.At) })
	return positions
}

// SetSubqueryPositions sets the positions of the Single joins of n to the result of
// SubqueryPositions. No other goroutine may use n yet.
func SetSubqueryPositions(n Node, positions []fault.Span) {
	singles(n, func(j *Join) {
		if len(positions) > 0 {
			j.At, positions = positions[0], positions[1:]
		}
	})
}

func singles(n Node, f func(*Join)) {
	Walk(n, func(n Node) bool {
		if j, ok := n.(*Join); ok && j.Kind == Single {
			f(j)
		}
		return true
	})
}
