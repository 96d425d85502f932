package obs

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// Meter takes what happens, as it happens: how long a query took, how many ended. A Monitor shows
// it: to scrapers as sums and histograms, to those who take events each time as an event of its
// own, each count as what came to it in a period. A nil Meter takes nothing.
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

// NewMeter returns an empty meter; events says whether somebody will take events of it.
func NewMeter(c clock.Clock, events bool) *Meter {
	m := &Meter{clock: c, events: events}
	m.mu.series = map[string]*series{}
	return m
}

// Occurrence is what happened, in the words of the interface.
type Occurrence struct {
	// Service measured it, such as "broker"; Metric is its name, such as "query/time".
	Service, Metric string
	// Dims are names and values in turn, of which there are few different ones: scrapers see them.
	// More are further ones of the event only, such as ids.
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

// timeBuckets are the upper bounds of histograms of times, in seconds (spec/cluster.md, section
// 19).
var timeBuckets = []float64{0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120, 300}

const (
	// maxSeries bounds the different sets of dimensions; what is beyond counts as "other".
	maxSeries = 10_000
	// maxEvents bounds the events of one period; the rest is counted as metric "events/dropped".
	maxEvents = 10_000
)

// Time takes a duration. Scrapers see a histogram in seconds, events have milliseconds.
func (m *Meter) Time(o Occurrence, took time.Duration) { m.time(o, took, time.Millisecond) }

// Micros takes a duration that is told in microseconds to those who take events. Scrapers see a
// histogram in seconds.
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

// Times takes several durations. A further dimension of their events has their names; "": it is
// left out.
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

// Events reports whether somebody takes events.
func (m *Meter) Events() bool { return m != nil && m.events }

// add counts a duration.
func (s *series) add(took time.Duration) {
	s.count++
	s.sum += took.Seconds()
	if i, _ := slices.BinarySearch(timeBuckets, took.Seconds()); i < len(s.buckets) {
		s.buckets[i]++
	}
}

// Size takes a number that happened, such as the bytes of an answer. Scrapers see the sum, events
// each.
func (m *Meter) Size(o Occurrence, n float64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.find(o, false).sum += n
	m.note(o, n)
}

// Note takes a number that says something by itself only, such as a priority. Events have it,
// scrapers see nothing.
func (m *Meter) Note(o Occurrence, value float64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(o, value)
}

// Count adds to a count. Scrapers see the sum, events what came to it in a period.
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
