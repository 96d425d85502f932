package streaming

import (
	"maps"
	"math"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/tasktype/streaming/intake"
	"github.com/hengedb/henge/internal/timeline"
)

// stats count what a task read.
type stats struct {
	clock func() time.Time
	// Of the goroutine that reads: the greatest time of a row, and when metrics were reported last.
	latest   int64
	gap      int64 // the greatest between a row and when it came, since that was reported
	measured time.Time

	mu struct {
		sync.Mutex
		totals      chat.Counters
		thrownAway  map[string]int64
		records     map[stream.Partition]int64
		rates       [3]average
		ticked      time.Time
		segments    int
		available   bool
		waited      time.Duration
		reported    chat.Counters
		reportedWhy map[string]int64
	}
}

// tick is how often averages are brought up to date.
const tick = 5 * time.Second

// average is an exponentially weighted average a second, as of a number of minutes.
type average struct {
	minutes float64
	rate    chat.Counters
	counted chat.Counters // at the last tick
	begun   bool
}

func newStats(now func() time.Time) *stats {
	s := &stats{clock: now, latest: math.MinInt64, gap: math.MinInt64, measured: now()}
	s.mu.thrownAway, s.mu.records, s.mu.reportedWhy = map[string]int64{}, map[stream.Partition]int64{}, map[string]int64{}
	s.mu.rates = [3]average{{minutes: 1}, {minutes: 5}, {minutes: 15}}
	s.mu.ticked, s.mu.available = now(), true
	return s
}

// plus returns a + f*b.
func plus(a chat.Counters, f float64, b chat.Counters) chat.Counters {
	return chat.Counters{
		Processed: a.Processed + f*b.Processed, ProcessedBytes: a.ProcessedBytes + f*b.ProcessedBytes,
		ProcessedWithError: a.ProcessedWithError + f*b.ProcessedWithError, ThrownAway: a.ThrownAway + f*b.ThrownAway,
		Unparseable: a.Unparseable + f*b.Unparseable,
	}
}

// add counts records of a partition.
func (s *stats) add(p stream.Partition, made *intake.Made) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tickLocked()
	s.mu.totals = plus(s.mu.totals, 1, made.Counters)
	for why, n := range made.ThrownAway {
		s.mu.thrownAway[why] += n
	}
	s.mu.records[p] += int64(made.Counters.Processed + made.Counters.ProcessedWithError)
}

// tickLocked brings the averages up to date.
func (s *stats) tickLocked() {
	now := s.clock()
	for now.Sub(s.mu.ticked) >= tick {
		s.mu.ticked = s.mu.ticked.Add(tick)
		for i := range s.mu.rates {
			a := &s.mu.rates[i]
			seen := plus(s.mu.totals, -1, a.counted)
			a.counted = s.mu.totals
			rate := plus(chat.Counters{}, 1/tick.Seconds(), seen)
			if !a.begun {
				a.rate, a.begun = rate, true
				continue
			}
			alpha := 1 - math.Exp(-tick.Minutes()/a.minutes)
			a.rate = plus(plus(chat.Counters{}, 1-alpha, a.rate), alpha, rate)
		}
		if s.idleLocked() {
			s.mu.ticked = now // after hours without records there is nothing to decay
		}
	}
}

// idleLocked reports whether all averages are as good as none.
func (s *stats) idleLocked() bool {
	for i := range s.mu.rates {
		a := &s.mu.rates[i]
		sum := a.rate.Processed + a.rate.ProcessedBytes + a.rate.ThrownAway + a.rate.Unparseable + a.rate.ProcessedWithError
		if a.counted != s.mu.totals || sum > 1e-6 {
			return false
		}
	}
	return true
}

// published and handedOff note what became of segments.
func (s *stats) published(segments []*timeline.Segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.segments += len(segments)
}

func (s *stats) handedOff(loaded bool, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.available, s.mu.waited = s.mu.available && loaded, s.mu.waited+took
}

// snapshot returns the counters as a supervisor asks for them.
func (s *stats) snapshot() chat.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tickLocked()
	out := chat.Stats{Totals: s.mu.totals, Averages: map[string]chat.Counters{}, ThrownAway: maps.Clone(s.mu.thrownAway)}
	for i, name := range []string{"1m", "5m", "15m"} {
		out.Averages[name] = s.mu.rates[i].rate
	}
	return out
}

// measureEvery is how often metrics of what was read are reported.
const measureEvery = 10 * time.Second

// measure tells the metrics of what was read, now and then.
func (s *stats) measure(r *run, now time.Time) {
	if now.Sub(s.measured) >= measureEvery {
		s.measured = now
		s.tell(r, now)
	}
}

// tell tells the metrics of what was read since it last did.
func (s *stats) tell(r *run, now time.Time) {
	s.mu.Lock()
	more := plus(s.mu.totals, -1, s.mu.reported)
	why := map[string]int64{}
	for reason, n := range s.mu.thrownAway {
		why[reason] = n - s.mu.reportedWhy[reason]
	}
	s.mu.reported, s.mu.reportedWhy = s.mu.totals, maps.Clone(s.mu.thrownAway)
	s.mu.Unlock()
	r.meter.Count(r.measured("ingest/events/processed"), more.Processed)
	r.meter.Count(r.measured("ingest/events/processedWithError"), more.ProcessedWithError)
	r.meter.Count(r.measured("ingest/events/unparseable"), more.Unparseable)
	r.meter.Count(r.measured("ingest/input/bytes"), more.ProcessedBytes)
	for reason, n := range why {
		o := r.measured("ingest/events/thrownAway")
		o.Dims = append(o.Dims, "reason", reason)
		r.meter.Count(o, float64(n))
	}
	r.meter.Note(r.measured("ingest/sink/count"), float64(len(r.open)))
	if s.latest != math.MinInt64 {
		r.meter.Note(r.measured("ingest/events/messageGap"), float64(now.UnixMilli()-s.latest))
	}
	if s.gap != math.MinInt64 {
		r.meter.Note(r.measured("ingest/events/maxMessageGap"), float64(s.gap))
		s.gap = math.MinInt64
	}
}
