package role

import (
	"context"
	"log/slog"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/segment/cache"
	"github.com/hengedb/henge/internal/task"
)

// httpMetrics count the requests of all ports.
type httpMetrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	bytes    *prometheus.CounterVec
}

func newHTTPMetrics(r prometheus.Registerer) *httpMetrics {
	m := &httpMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "henge_http_requests_total", Help: "Requests by role, route and status; the status of an answer that broke off is broken.",
		}, []string{"role", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "henge_http_request_seconds", Help: "Time of requests by role.", Buckets: []float64{.001, .01, .1, 1, 10, 100},
		}, []string{"role"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "henge_http_response_bytes_total", Help: "Bytes of bodies sent, by role."}, []string{"role"}),
	}
	r.MustRegister(m.requests, m.seconds, m.bytes)
	return m
}

// seen counts an exchange of a role's port, and logs it for those who debug.
func (m *httpMetrics) seen(role string, log *slog.Logger) func(context.Context, edge.Exchange) {
	return func(ctx context.Context, e edge.Exchange) {
		status := strconv.Itoa(e.Status)
		if e.Broken {
			status = "broken"
		}
		m.requests.WithLabelValues(role, e.Route, status).Inc()
		m.seconds.WithLabelValues(role).Observe(e.Took.Seconds())
		m.bytes.WithLabelValues(role).Add(float64(e.Bytes))
		log.DebugContext(ctx, "request", "role", role, "method", e.Method, "path", e.Path, "status", status, "bytes", e.Bytes, "took", e.Took)
	}
}

func counter(name, help string, value func() float64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value)
}

func (s *services) scrubbed() cache.ScrubStats {
	stats, _ := s.cached.ScrubStats()
	return stats
}

// registerGauges shows the state of the process: memory, segments and tasks.
func (n *Node) registerGauges(s *services) {
	gauge := func(name, help string, value func() float64) {
		n.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("henge_memory_limit_bytes", "The one memory number of the process (service.memory.limit).", func() float64 { return float64(n.memory.Limit()) })
	gauge("henge_memory_reserved_bytes", "Memory reserved now by queries, tasks and caches.", func() float64 { return float64(n.memory.Used()) })
	gauge("henge_memory_reserved_peak_bytes", "Most memory that was ever reserved at once.", func() float64 { return float64(n.memory.Peak()) })
	gauge("henge_spill_bytes", "Bytes of spill files now.", func() float64 { return float64(n.disk.Used()) })
	gauge("henge_published_change", "Number of the last change of the published timeline that queries see.", func() float64 { return float64(n.published.Pin().Number()) })
	gauge("henge_datasources", "Datasources with used segments.", func() float64 { return float64(len(n.published.Pin().DataSources())) })
	gauge("henge_disk_full", "1 while the disk of the data directory is full: only queries and kill tasks go on.", n.diskFull)
	if n.opens(segmentService) {
		s.registerSegments(gauge)
	}
	if n.opens(taskService) {
		s.registerTasks(gauge)
	}
	n.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "henge_build_info", Help: "Always 1; the label is the release.", ConstLabels: prometheus.Labels{"version": n.o.Version},
	}, func() float64 { return 1 }))
}

// registerSegments shows which segment files the process has.
func (s *services) registerSegments(gauge func(name, help string, value func() float64)) {
	gauge("henge_segments_loaded", "Segments the Historical holds.", func() float64 { return float64(len(s.historical.Loaded())) })
	gauge("henge_segments_loaded_bytes", "Bytes of the segments the Historical holds.", func() float64 { return float64(s.historical.Used()) })
	s.n.metrics.MustRegister(
		counter("henge_segment_scrub_bytes_total", "Bytes of segments that were verified in the background.", func() float64 { return float64(s.scrubbed().Bytes) }),
		counter("henge_segment_scrub_files_total", "Segment files that were verified in the background.", func() float64 { return float64(s.scrubbed().Files) }),
		counter("henge_segments_damaged_total", "Segment files that were found to be damaged, in the background or by queries.",
			func() float64 { return float64(s.scrubbed().Damaged) }),
		counter("henge_segments_mended_total", "Damaged segment files that were fetched anew or found to be whole again.",
			func() float64 { return float64(s.scrubbed().Mended) }),
	)
	gauge("henge_segment_scrub_age_seconds", "How long ago the segment file was verified in the background whose turn is next.",
		func() float64 { _, oldest := s.cached.ScrubStats(); return oldest.Seconds() })
}

// registerTasks shows the tasks of the queue.
func (s *services) registerTasks(gauge func(name, help string, value func() float64)) {
	gauge("henge_task_slots", "Tasks that may run at once.", func() float64 { return float64(s.queue.Capacity()) })
	for state, is := range map[string]task.State{"waiting": task.Waiting, "pending": task.Pending, "running": task.Running} {
		s.n.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "henge_tasks_active", Help: "Tasks without an end, by state.", ConstLabels: prometheus.Labels{"state": state},
		}, func() float64 {
			count := 0
			for _, t := range s.queue.Active() {
				if t.State == is {
					count++
				}
			}
			return float64(count)
		}))
	}
}
