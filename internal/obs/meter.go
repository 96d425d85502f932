package obs

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// Meter records occurrences: the duration of a query, the end of a task. A Monitor exports them: to
// scrapers as sums and histograms, to emitters as one event per occurrence, or for counts as one
// event per period. A nil Meter records nothing.
type Meter struct {
	clock clock.Clock
	// events is whether somebody takes events.
	events bool

	mu struct {
		sync.Mutex
		series  map[string]*series
		events  []occurrence
		dropped float64
	}
}

// NewMeter returns an empty meter. events says whether an emitter reads its events.
func NewMeter(c clock.Clock, events bool) *Meter {
	m := &Meter{clock: c, events: events}
	m.mu.series = map[string]*series{}
	return m
}

// Occurrence identifies what occurred, with names of the API.
type Occurrence struct {
	// Service is the service that measured it, such as "broker". Metric is its name, such as
	// "query/time".
	Service, Metric string
	// Dims are alternating names and values with low cardinality, which scrapers see. More are
	// additional ones, such as ids, which only events contain.
	Dims, More []string
}

// series is a metric with one set of dimensions.
type series struct {
	Occurrence
	timed   bool
	count   uint64
	sum     float64 // in seconds where timed
	buckets []uint64
}

// occurrence is one event.
type occurrence struct {
	at time.Time
	Occurrence
	value float64
}

// timeBuckets are the upper bounds of histograms of times, in seconds: those of docs/operations.md,
// and below them those of a store that answers in milliseconds.
var timeBuckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120, 300}

const (
	// maxSeries bounds the different sets of dimensions; what is beyond counts as "other".
	maxSeries = 10_000
	// maxEvents bounds the events of one period; the rest is counted as metric "events/dropped".
	maxEvents = 10_000
)

// Time records a duration. Scrapers see a histogram in seconds, events contain milliseconds.
func (m *Meter) Time(o Occurrence, took time.Duration) { m.time(o, took, time.Millisecond) }

// Micros records a duration that events contain in microseconds. Scrapers see a histogram in
// seconds.
func (m *Meter) Micros(o Occurrence, took time.Duration) { m.time(o, took, time.Microsecond) }

func (m *Meter) time(o Occurrence, took, unit time.Duration) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.find(o, true).add(took)
	m.note(o, float64(took/unit))
}

// Times records several durations. Their names are an additional dimension of their events; "": the
// dimension is omitted.
func (m *Meter) Times(o Occurrence, dim string, names []string, took []time.Duration) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.find(o, true)
	for i, d := range took {
		s.add(d)
		if m.events {
			one := o
			if names[i] != "" {
				one.More = slices.Concat(o.More, []string{dim, names[i]})
			}
			m.note(one, float64(d.Milliseconds()))
		}
	}
}

// Events reports whether an emitter reads events.
func (m *Meter) Events() bool { return m != nil && m.events }

// add counts a duration.
func (s *series) add(took time.Duration) {
	s.count++
	s.sum += took.Seconds()
	if i, _ := slices.BinarySearch(timeBuckets, took.Seconds()); i < len(s.buckets) {
		s.buckets[i]++
	}
}

// Size records a number, such as the bytes of a response. Scrapers see the sum, and there is one
// event per number.
func (m *Meter) Size(o Occurrence, n float64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.find(o, false).sum += n
	m.note(o, n)
}

// Note records a number that can't be summed, such as a priority. Only events contain it, scrapers
// do not see it.
func (m *Meter) Note(o Occurrence, value float64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(o, value)
}

// Count adds to a count. Scrapers see the sum, events contain the increase in a period.
func (m *Meter) Count(o Occurrence, n float64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.find(o, false)
	s.sum += n
	s.count++ // that of a Size stays 0: its events are told already
}

func (m *Meter) find(o Occurrence, timed bool) *series {
	key := o.Service + "\x00" + o.Metric + "\x00" + strings.Join(o.Dims, "\x00")
	s := m.mu.series[key]
	if s == nil {
		if other := otherDims(o.Dims); len(m.mu.series) >= maxSeries && !slices.Equal(other, o.Dims) {
			return m.find(Occurrence{Service: o.Service, Metric: o.Metric, Dims: other}, timed)
		}
		s = &series{Occurrence: Occurrence{Service: o.Service, Metric: o.Metric, Dims: slices.Clone(o.Dims)}, timed: timed}
		if timed {
			s.buckets = make([]uint64, len(timeBuckets))
		}
		m.mu.series[key] = s
	}
	return s
}

// otherDims returns dimensions with the value "other".
func otherDims(dims []string) []string {
	out := slices.Clone(dims)
	for i := 1; i < len(out); i += 2 {
		out[i] = "other"
	}
	return out
}

func (m *Meter) note(o Occurrence, value float64) {
	if !m.events {
		return
	}
	if len(m.mu.events) >= maxEvents {
		m.mu.dropped++
		return
	}
	m.mu.events = append(m.mu.events, occurrence{m.clock.Now(), o, value})
}

// take returns the events since the last call, and the counts as samples.
func (m *Meter) take() (events []occurrence, counts []Sample) {
	if m == nil {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	events, m.mu.events = m.mu.events, nil
	for _, s := range m.mu.series {
		if !s.timed && s.count > 0 {
			counts = append(counts, Sample{Service: s.Service, Metric: s.Metric, Value: s.sum, Total: true, Dims: s.Dims})
		}
	}
	if m.mu.dropped > 0 {
		counts = append(counts, Sample{Service: "emitter", Metric: "events/dropped", Value: m.mu.dropped, Total: true})
	}
	return events, counts
}

// each calls f with a copy of all series.
func (m *Meter) each(f func(s series)) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.mu.series {
		one := *s
		one.buckets = slices.Clone(s.buckets)
		f(one)
	}
}
