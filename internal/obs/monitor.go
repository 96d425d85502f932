package obs

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hengedb/henge/internal/clock"
)

// Sample is a measured value with names of the API, such as [segment/count] of a datasource.
type Sample struct {
	// Service is the service that measured it, such as "coordinator".
	Service string
	Metric  string
	Value   float64
	// Total says that Value is a counter since the start of the process. Events then contain the
	// increase, and its name in the format of Prometheus ends with _total.
	Total bool
	// Dims are alternating names and values.
	Dims []string
	// Alert says, in a sentence, that something needs attention; the Sample is then not a value. Data
	// are the details.
	Alert string
	Data  map[string]any
}

// Measure emits all samples of a part of the process.
type Measure func(ctx context.Context, emit func(Sample)) error

// MonitorOptions are the settings of a Monitor.
type MonitorOptions struct {
	// Period is the time between two rounds of events.
	Period time.Duration
	// Emitter emits the events; may be nil.
	Emitter Emitter
	// Product is the prefix of the names of services and metrics. Host is the host:port of the
	// process.
	Product, Host, Version string
	// Meter contains recorded occurrences; may be nil.
	Meter *Meter
	// Map defines which metrics scrapers see; nil: all, with all dimensions.
	Map DimensionMap
	// Labels are added to every metric in the format of Prometheus.
	Labels map[string]string
	Clock  clock.Clock
	Log    *slog.Logger
}

// Monitor measures a process. It emits events once per period, and serves scrapes as a
// prometheus.Collector.
type Monitor struct {
	o        MonitorOptions
	measures []Measure

	mu struct {
		sync.Mutex
		samples []Sample
		at      time.Time
	}
}

// NewMonitor returns a monitor of parts of the process.
func NewMonitor(o MonitorOptions, measures ...Measure) *Monitor {
	return &Monitor{o: o, measures: measures}
}

// freshness is how old a measurement may be that a scrape gets: several scrapers cost one.
const freshness = 5 * time.Second

func (m *Monitor) measure(ctx context.Context, maxAge time.Duration) []Sample {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.o.Clock.Now()
	if !m.mu.at.IsZero() && now.Sub(m.mu.at) < maxAge {
		return m.mu.samples
	}
	var out []Sample
	for _, measure := range m.measures {
		if err := measure(ctx, func(s Sample) { out = append(out, s) }); err != nil && ctx.Err() == nil {
			m.o.Log.WarnContext(ctx, "failed to measure some metrics", "error", err)
		}
	}
	m.mu.samples, m.mu.at = out, now
	return out
}

// Run emits events until ctx is done. It returns immediately if there is no emitter.
func (m *Monitor) Run(ctx context.Context) error {
	if m.o.Emitter == nil {
		return nil
	}
	before := map[string]float64{}
	for m.o.Clock.Sleep(ctx, m.o.Period) == nil {
		happened, counts := m.o.Meter.take()
		samples := m.measure(ctx, 0)
		events := make([]Event, 0, len(happened)+len(samples)+len(counts))
		for _, o := range happened {
			events = append(events, Event{
				Time: o.at, Service: m.o.Product + "/" + o.Service, Host: m.o.Host, Version: m.o.Version, Metric: o.Metric, Value: o.value,
				Dims: slices.Concat(o.Dims, o.More),
			})
		}
		for _, s := range slices.Concat(samples, counts) {
			value := s.Value
			if s.Total {
				key := s.Service + "\x00" + s.Metric + "\x00" + strings.Join(s.Dims, "\x00")
				value -= before[key]
				before[key] = s.Value
			}
			events = append(events, Event{
				Time: m.o.Clock.Now(), Service: m.o.Product + "/" + s.Service, Host: m.o.Host, Version: m.o.Version, Metric: s.Metric, Value: value, Dims: s.Dims,
				Alert: s.Alert, Data: s.Data,
			})
		}
		if err := m.o.Emitter.Emit(ctx, events); err != nil && ctx.Err() == nil {
			m.o.Log.WarnContext(ctx, "failed to send metric events; they are dropped", "events", len(events), "error", err)
		}
	}
	return nil
}

// Describe implements prometheus.Collector. It describes nothing, because the set of metrics
// depends on the datasources.
func (m *Monitor) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *Monitor) Collect(out chan<- prometheus.Metric) {
	var all points
	for _, s := range m.measure(context.Background(), freshness) {
		if s.Alert != "" {
			continue
		}
		kind := "gauge"
		if s.Total {
			kind = "count"
		}
		if p, ok := m.point(s.Service, s.Metric, s.Dims, kind); ok {
			p.value = s.Value
			all.add(p)
		}
	}
	m.o.Meter.each(func(s series) {
		kind := "count"
		if s.timed {
			kind = "timer"
		}
		p, ok := m.point(s.Service, s.Metric, s.Dims, kind)
		if !ok {
			return
		}
		if p.value, p.count, p.buckets = s.sum, s.count, s.buckets; s.timed {
			p.value *= p.unit
		}
		all.add(p)
	})
	for _, p := range all.list {
		out <- p.metric(m.o.Labels)
	}
}

// point returns how scrapers see a metric with these dimensions, without a value; false: not at
// all. What is no time can't become one.
func (m *Monitor) point(service, metric string, dims []string, kind string) (point, bool) {
	service = m.o.Product + "/" + service
	mapped, ok := m.o.Map.of(service, metric)
	if !ok || mapped.Type != "" && (mapped.Type == "timer") != (kind == "timer") {
		return point{}, false
	}
	if mapped.Type != "" {
		kind = mapped.Type
	}
	p := point{name: m.o.Product + "_" + prometheusName(metric), help: mapped.Help, kind: kind, unit: mapped.unit(),
		labels: []string{"service"}, values: []string{service}}
	if p.help == "" {
		p.help = Help(metric)
	}
	if kind == "count" {
		p.name += "_total"
	}
	names, values := mapped.with(dims, m.o.Map == nil)
	for i, name := range names {
		p.labels, p.values = append(p.labels, prometheusLabel(name)), append(p.values, values[i])
	}
	return p, true
}

// metric returns a point in the types of the library.
func (p *point) metric(labels map[string]string) prometheus.Metric {
	d := prometheus.NewDesc(p.name, p.help, p.labels, labels)
	switch p.kind {
	case "timer":
		buckets, below := make(map[float64]uint64, len(timeBuckets)), uint64(0)
		for i, n := range p.buckets {
			below += n
			buckets[timeBuckets[i]*p.unit] = below
		}
		return prometheus.MustNewConstHistogram(d, p.count, p.value, buckets, p.values...)
	case "count":
		return prometheus.MustNewConstMetric(d, prometheus.CounterValue, p.value, p.values...)
	}
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, p.value, p.values...)
}

var (
	noName  = regexp.MustCompile(`[^a-zA-Z0-9_:]+`)
	noLabel = regexp.MustCompile(`[^a-zA-Z0-9_]+`)
)

func prometheusName(metric string) string { return noName.ReplaceAllString(metric, "_") }

func prometheusLabel(dim string) string { return noLabel.ReplaceAllString(dim, "_") }
