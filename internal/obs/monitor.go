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

// Sample is a measured value in the words of the interface, such as [segment/count] of a datasource.
type Sample struct {
	// Service measured it, such as "coordinator".
	Service string
	Metric  string
	Value   float64
	// Total says that Value counts since the start of the process: events then carry what came to it, and its name in the format of
	// Prometheus ends with _total.
	Total bool
	// Dims are names and values in turn.
	Dims []string
	// Alert says that this is no value but something that somebody should look at, in a sentence; Data is about what.
	Alert string
	Data  map[string]any
}

// Measure takes all samples of a part of the process.
type Measure func(ctx context.Context, emit func(Sample)) error

// MonitorOptions are the settings of a Monitor.
type MonitorOptions struct {
	// Period is the time between two rounds of events.
	Period time.Duration
	// Emitter takes events; nil: nobody does.
	Emitter Emitter
	// Product is the name that services and metrics begin with; Host is host:port of the process.
	Product, Host, Version string
	// Meter has what happened; nil: nothing is metered.
	Meter *Meter
	// Labels are added to every metric in the format of Prometheus.
	Labels map[string]string
	Clock  clock.Clock
	Log    *slog.Logger
}

// Monitor measures a process: it sends events once a period, and answers scrapes as a prometheus.Collector.
type Monitor struct {
	o        MonitorOptions
	measures []Measure

	mu struct {
		sync.Mutex
		samples []Sample
		at      time.Time
	}
}

// NewMonitor returns a monitor of parts.
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
			m.o.Log.WarnContext(ctx, "some metrics could not be measured", "error", err)
		}
	}
	m.mu.samples, m.mu.at = out, now
	return out
}

// Run sends events until ctx is done; at once if nobody takes any.
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
			m.o.Log.WarnContext(ctx, "events of metrics could not be sent; they are dropped", "events", len(events), "error", err)
		}
	}
	return nil
}

// Describe implements prometheus.Collector. Which metrics there are depends on the datasources.
func (m *Monitor) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *Monitor) Collect(out chan<- prometheus.Metric) {
	for _, s := range m.measure(context.Background(), freshness) {
		if s.Alert != "" {
			continue
		}
		d, values := m.describe(s)
		kind := prometheus.GaugeValue
		if s.Total {
			kind = prometheus.CounterValue
		}
		out <- prometheus.MustNewConstMetric(d, kind, s.Value, values...)
	}
	m.o.Meter.collect(out, m.describe)
}

// describe returns the description of a sample's metric in the format of Prometheus, and the values of its labels.
func (m *Monitor) describe(s Sample) (*prometheus.Desc, []string) {
	names, values := []string{"service"}, []string{m.o.Product + "/" + s.Service}
	for i := 0; i+1 < len(s.Dims); i += 2 {
		names, values = append(names, prometheusLabel(s.Dims[i])), append(values, s.Dims[i+1])
	}
	name := m.o.Product + "_" + prometheusName(s.Metric)
	if s.Total {
		name += "_total"
	}
	return prometheus.NewDesc(name, "Metric "+s.Metric+" of the interface.", names, m.o.Labels), values
}

var (
	noName  = regexp.MustCompile(`[^a-zA-Z0-9_:]+`)
	noLabel = regexp.MustCompile(`[^a-zA-Z0-9_]+`)
)

func prometheusName(metric string) string { return noName.ReplaceAllString(metric, "_") }

func prometheusLabel(dim string) string { return noLabel.ReplaceAllString(dim, "_") }
