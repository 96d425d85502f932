package role

import (
	"context"
	"log/slog"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/keystore"
	"github.com/hengedb/henge/internal/obs"
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
			Name: "henge_http_requests_total", Help: obs.Help("henge_http_requests_total"),
		}, []string{"role", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "henge_http_request_seconds", Help: obs.Help("henge_http_request_seconds"),
			Buckets: []float64{.001, .01, .1, 1, 10, 100},
		}, []string{"role"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "henge_http_response_bytes_total", Help: obs.Help("henge_http_response_bytes_total"),
		}, []string{"role"}),
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

func counter(name string, value func() float64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: obs.Help(name)}, value)
}

func (s *services) scrubbed() cache.ScrubStats {
	stats, _ := s.cached.ScrubStats()
	return stats
}

// registerGauges shows the state of the process: memory, segments and tasks.
func (n *Node) registerGauges(s *services) {
	gauge := func(name string, value func() float64) {
		n.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: obs.Help(name)}, value))
	}
	gauge("henge_memory_limit_bytes", func() float64 { return float64(n.memory.Limit()) })
	gauge("henge_memory_reserved_bytes", func() float64 { return float64(n.memory.Used()) })
	gauge("henge_memory_reserved_peak_bytes", func() float64 { return float64(n.memory.Peak()) })
	gauge("henge_spill_bytes", func() float64 { return float64(n.disk.Used()) })
	gauge("henge_published_change", func() float64 { return float64(n.published.Pin().Number()) })
	gauge("henge_datasources", func() float64 { return float64(len(n.published.Pin().DataSources())) })
	gauge("henge_disk_full", n.diskFull)
	if n.opens(segmentService) {
		s.registerSegments(gauge)
	}
	if n.opens(taskService) {
		s.registerTasks(gauge)
	}
	n.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "henge_build_info", Help: obs.Help("henge_build_info"),
		ConstLabels: prometheus.Labels{"version": n.o.Version, "revision": n.o.Revision},
	}, func() float64 { return 1 }))
}

// registerSegments shows which segment files the process has.
func (s *services) registerSegments(gauge func(name string, value func() float64)) {
	gauge("henge_segments_loaded", func() float64 { return float64(len(s.historical.Loaded())) })
	gauge("henge_segments_loaded_bytes", func() float64 { return float64(s.historical.Used()) })
	s.n.metrics.MustRegister(
		counter("henge_segment_scrub_bytes_total", func() float64 { return float64(s.scrubbed().Bytes) }),
		counter("henge_segment_scrub_files_total", func() float64 { return float64(s.scrubbed().Files) }),
		counter("henge_segments_damaged_total", func() float64 { return float64(s.scrubbed().Damaged) }),
		counter("henge_segments_mended_total", func() float64 { return float64(s.scrubbed().Mended) }),
	)
	gauge("henge_segment_scrub_age_seconds", func() float64 { _, oldest := s.cached.ScrubStats(); return oldest.Seconds() })
}

// registerTasks shows the tasks of the queue.
func (s *services) registerTasks(gauge func(name string, value func() float64)) {
	gauge("henge_task_slots", func() float64 { return float64(s.queue.Capacity()) })
	for state, is := range map[string]task.State{"waiting": task.Waiting, "pending": task.Pending, "running": task.Running} {
		s.n.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "henge_tasks_active", Help: obs.Help("henge_tasks_active"), ConstLabels: prometheus.Labels{"state": state},
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

// surroundings shows what a process needs of its machine and what runs out there: room on disks and
// certificates. It implements prometheus.Collector.
type surroundings struct {
	n *Node
	s *services
}

var (
	roomFree = prometheus.NewDesc("henge_disk_free_bytes", obs.Help("henge_disk_free_bytes"),
		[]string{"use", "directory"}, nil)
	roomSize = prometheus.NewDesc("henge_disk_size_bytes", obs.Help("henge_disk_size_bytes"),
		[]string{"use", "directory"}, nil)
	certificateExpiry = prometheus.NewDesc("henge_certificate_expiry_seconds", obs.Help("henge_certificate_expiry_seconds"),
		[]string{"certificate", "file"}, nil)
)

// Describe implements prometheus.Collector.
func (c *surroundings) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{roomFree, roomSize, certificateExpiry} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *surroundings) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for _, d := range c.directories() {
		if free, size, err := durable.Room(d.path); err == nil {
			gauge(roomFree, float64(free), d.use, d.path)
			gauge(roomSize, float64(size), d.use, d.path)
		}
	}
	now := c.n.o.Clock.Now()
	type key struct{ use, file string }
	seen := map[key]bool{}
	show := func(side string, list []keystore.Expiry) {
		for _, e := range list {
			use := side
			if e.Trust {
				use += "_authority"
			}
			if k := (key{use, e.File}); !seen[k] {
				seen[k] = true
				gauge(certificateExpiry, e.At.Sub(now).Seconds(), use, e.File)
			}
		}
	}
	if c.n.tls.server != nil {
		show("server", c.n.tls.server.Expiries(now))
	}
	show("client", c.n.tls.client.Expiries(now))
	for _, other := range c.n.tls.others {
		if o, ok := other.(*keystore.Client); ok {
			show("outside", o.Expiries(now))
		}
	}
}

// placed is a directory that the process writes to.
type placed struct{ use, path string }

func (c *surroundings) directories() []placed {
	out := []placed{{"data", c.n.dir.path}, {"spill", c.n.spill.Path()}}
	if c.s.cached != nil {
		for _, p := range c.s.cached.Locations() {
			out = append(out, placed{"segments", p.Dir})
		}
	}
	return out
}
