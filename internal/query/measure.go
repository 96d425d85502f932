package query

import (
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
)

// Outcome is the name of the way in which a query ended.
func Outcome(err error) string {
	if err == nil {
		return "success"
	}
	switch fault.Classify(err).Category {
	case fault.CategoryInvalidInput, fault.CategoryNotFound, fault.CategoryForbidden, fault.CategoryUnauthorized, fault.CategoryUnsupported, fault.CategoryConflict:
		return "invalid"
	case fault.CategoryCanceled:
		return "canceled"
	case fault.CategoryTimeout:
		return "timeout"
	case fault.CategoryCapacityExceeded, fault.CategoryServiceUnavailable:
		return "refused"
	}
	return "failed"
}

// SQLKind is the kind of SQL queries for Describe.
const SQLKind = "sql"

// measure tells a meter how a query ended, in the words of the interface.
func measure(m *obs.Meter, q *Info, priority int64) {
	const service = "broker"
	kind, sources := q.Kind, strings.Join(q.DataSources, ",")
	if kind == "" {
		kind = "unknown" // it failed before it was understood
	}
	end := Outcome(q.Err)
	success := strconv.FormatBool(end == "success")
	dims := []string{"dataSource", sources, "type", kind, "success", success}
	more := []string{"id", q.ID, "lane", q.Lane}
	m.Time(obs.Occurrence{Service: service, Metric: "query/time", Dims: dims, More: more}, q.Took)
	m.Size(obs.Occurrence{Service: service, Metric: "query/bytes", Dims: dims[:4], More: more}, float64(q.Bytes))
	m.Note(obs.Occurrence{Service: service, Metric: "query/priority", Dims: dims[:4], More: more}, float64(priority))
	if kind == SQLKind {
		dims := []string{"dataSource", sources, "engine", "native", "success", success}
		m.Time(obs.Occurrence{Service: service, Metric: "sqlQuery/time", Dims: dims, More: more}, q.Took)
		m.Size(obs.Occurrence{Service: service, Metric: "sqlQuery/bytes", Dims: dims[:4], More: more}, float64(q.Bytes))
	}
	m.Count(obs.Occurrence{Service: service, Metric: "query/count"}, 1)
	for name, counted := range map[string]bool{
		"success": end == "success", "timeout": end == "timeout", "interrupted": end == "canceled",
		"failed": end != "success" && end != "timeout" && end != "canceled",
	} {
		if counted {
			m.Count(obs.Occurrence{Service: service, Metric: "query/" + name + "/count"}, 1)
		}
	}
}
