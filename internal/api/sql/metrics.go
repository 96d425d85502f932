package sql

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/query"
)

// metrics are what operators watch of the synchronous queries.
type metrics struct {
	ended   *prometheus.CounterVec
	seconds prometheus.Histogram
	bytes   prometheus.Counter
}

func newMetrics(r prometheus.Registerer, running *query.Running) *metrics {
	m := &metrics{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "henge_queries_total", Help: obs.Help("henge_queries_total"),
		}, []string{"outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "henge_query_seconds", Help: obs.Help("henge_query_seconds"),
			Buckets: []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10, 30, 100, 300},
		}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "henge_query_result_bytes_total", Help: obs.Help("henge_query_result_bytes_total"),
		}),
	}
	for _, outcome := range []string{"success", "invalid", "canceled", "timeout", "refused", "failed"} {
		m.ended.WithLabelValues(outcome) // shown from the start, so that rates have a beginning
	}
	if r != nil {
		r.MustRegister(m.ended, m.seconds, m.bytes, prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Name: "henge_queries_running", Help: obs.Help("henge_queries_running")},
			func() float64 { return float64(running.Count()) }))
	}
	return m
}
