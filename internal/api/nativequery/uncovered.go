package nativequery

import (
	"github.com/hengedb/henge/internal/chrono"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
)

// responseContext makes the header that says beside an answer what it does not cover. With
// uncoveredIntervalsLimit in its context, a query learns which of its time has no segments, up to
// so many intervals.
func responseContext(s query.Session, q *lang.Common, settings map[string]any) (string, error) {
	limit, err := querycontext.UncoveredIntervals.Read(settings)
	if err != nil || limit <= 0 || !lang.ReadsTables(q.DataSource.DataSource) {
		return "{}", err
	}
	asked := q.When()
	var covered []chrono.Interval
	for _, name := range lang.ScannedTables(q.DataSource.DataSource) {
		for _, l := range s.List(name, asked) {
			covered = append(covered, l.Visible)
		}
	}
	return query.Uncovered(chrono.Subtract(asked, chrono.Condense(covered)), limit)
}
