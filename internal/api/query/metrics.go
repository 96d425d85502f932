package query

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
)

// metrics are what operators watch of the synchronous queries.
type metrics struct {
	ended   *prometheus.CounterVec
	seconds prometheus.Histogram
	bytes   prometheus.Counter
}

func newMetrics(r prometheus.Registerer, running *Running) *metrics {
	m := &metrics{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "henge_queries_total", Help: "Synchronous SQL queries by how they ended: success, invalid, canceled, timeout, refused, failed.",
		}, []string{"outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "henge_query_seconds", Help: "Time of synchronous SQL queries that ended well, from arrival to the last byte.",
			Buckets: []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10, 30, 100, 300},
		}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{Name: "henge_query_result_bytes_total", Help: "Bytes of results, before compression."}),
	}
	for _, outcome := range []string{"success", "invalid", "canceled", "timeout", "refused", "failed"} {
		m.ended.WithLabelValues(outcome) // shown from the start, so that rates have a beginning
	}
	if r != nil {
		r.MustRegister(m.ended, m.seconds, m.bytes, prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: "henge_queries_running", Help: "Synchronous SQL queries that run now."},
			func() float64 { return float64(running.Count()) }))
	}
	return m
}

// outcome names how a query ended.
func outcome(err error) string {
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

// SQLKind is what Describe calls queries in SQL.
const SQLKind = "sql"

// measure tells a meter how a query ended, in the words of the interface.
func measure(m *obs.Meter, q *Info, priority int64) {
	const service = "broker"
	kind, sources := q.Kind, strings.Join(q.DataSources, ",")
	if kind == "" {
		kind = "unknown" // it failed before it was understood
	}
	end := outcome(q.Err)
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
