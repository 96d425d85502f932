package plan

import "github.com/hengedb/henge/internal/fault"

// Places returns where the statement has the subqueries of n's Single joins, in the order of Walk;
// nil: n has none. They go beside a plan that is sent to another process, as releases that don't
// know them can then read it.
func Places(n Node) (places []fault.Span) {
	singles(n, func(j *Join) { places = append(places, j.At) })
	return places
}

// SetPlaces gives the Single joins of n, which nobody else has yet, the places that Places
// returned.
func SetPlaces(n Node, places []fault.Span) {
	singles(n, func(j *Join) {
		if len(places) > 0 {
			j.At, places = places[0], places[1:]
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
