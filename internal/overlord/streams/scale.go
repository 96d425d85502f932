package streams

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/metastore"
)

// Decision is the latest decision of the scaler: its inputs, and the reason for the number of
// groups.
type Decision struct {
	Time string `json:"time"`
	// InRate is the number of incoming records per second, Lag the number of records to read, Rate the
	// number of records per second that one task reads, and Need the resulting number of tasks.
	InRate float64 `json:"inRate"`
	Lag    int64   `json:"lag"`
	Rate   float64 `json:"ratePerTask"`
	Need   int     `json:"need"`
	Tasks  int     `json:"taskCount"`
	Why    string  `json:"why"`

	at int64
}

// scaler decides how many groups there are. It belongs to the keeper's goroutine.
type scaler struct {
	k       *keeper
	samples []float64 // of lag, the newest last
	sampled int64     // when the last sample was taken
	looked  int64     // when it last decided
	changed int64     // when it last changed the number; 0: never
	began   int64
	// perTask is the most that one task was seen to read in a second.
	perTask float64
}

func newScaler(k *keeper) *scaler { return &scaler{k: k, began: k.now()} }

// checkScale changes the number of groups if the load says so.
func (k *keeper) checkScale(ctx context.Context) {
	c := k.spec().IO.Scaler
	if c == nil || !c.Enabled || k.first {
		return
	}
	k.mu.Lock()
	l := k.mu.lag
	k.mu.Unlock()
	if l.at == 0 {
		return
	}
	s := k.scaler
	s.sample(c, &l)
	period, delay := c.Lag.ActionPeriod, c.Lag.StartDelay
	switch c.Strategy {
	case spec.CostBased:
		period, delay = c.Cost.ActionPeriod, 0
	case spec.RateBased:
		period, delay = c.Rate.ActionPeriod, 0
	}
	now := k.now()
	if now-s.looked < period || now-s.began < delay {
		return
	}
	s.looked = now
	d := s.decide(c, &l)
	most := max(1, len(k.known))
	d.Need = max(c.Min, min(d.Need, c.Max))
	if d.Need > most && d.Need > k.tasks {
		d.Need = max(min(k.tasks, c.Max), most)
	}
	if d.Need != k.tasks {
		if wait := s.barred(c, d.Need); wait != "" {
			d.Why, d.Need = d.Why+"; "+wait, k.tasks
		}
	}
	d.Time, d.at, d.Tasks = chrono.FormatMillis(now, chrono.UTC), now, d.Need
	k.mu.Lock()
	k.mu.scale = d
	k.mu.Unlock()
	if d.Need != k.tasks {
		k.rescale(ctx, d)
	}
}

// sample keeps the lag that was measured.
func (s *scaler) sample(c *spec.Scaler, l *lag) {
	now := s.k.now()
	if s.sampled > 0 && now-s.sampled < c.Lag.CollectionInterval {
		return
	}
	s.sampled = now
	value := float64(l.total)
	switch c.Lag.Aggregate {
	case "MAX":
		value = 0
		for _, n := range l.behind {
			value = max(value, float64(n))
		}
	case "AVERAGE":
		value /= float64(max(1, len(l.behind)))
	}
	s.samples = append(s.samples, value)
	if most := int(c.Lag.CollectionRange/max(1, c.Lag.CollectionInterval)) + 1; len(s.samples) > most {
		s.samples = slices.Clone(s.samples[len(s.samples)-most:])
	}
	if l.total > 0 && s.k.tasks > 0 { // who has all waits for more: how fast it could read is not seen
		s.perTask = max(s.perTask, l.read/float64(s.k.tasks))
	}
}

// decide computes how many groups there should be, without bounds.
func (s *scaler) decide(c *spec.Scaler, l *lag) *Decision {
	d := &Decision{InRate: l.rate, Lag: l.total, Rate: s.perTask, Need: s.k.tasks}
	switch c.Strategy {
	case spec.CostBased:
		s.decideCost(c, d)
	case spec.RateBased:
		s.decideRate(c, d)
	default:
		s.decideLag(c, d)
	}
	return d
}

// decideLag follows how often lag was over and under thresholds.
func (s *scaler) decideLag(c *spec.Scaler, d *Decision) {
	above, below := 0, 0
	for _, v := range s.samples {
		if v >= float64(c.Lag.OutThreshold) {
			above++
		}
		if v <= float64(c.Lag.InThreshold) {
			below++
		}
	}
	n := float64(len(s.samples))
	switch {
	case float64(above)/n > c.Lag.OutFraction:
		d.Need, d.Why = s.k.tasks+c.Lag.OutStep, "lag was at scaleOutThreshold or above in more samples than triggerScaleOutFractionThreshold"
	case float64(below)/n > c.Lag.InFraction:
		d.Need, d.Why = s.k.tasks-c.Lag.InStep, "lag was at scaleInThreshold or below in more samples than triggerScaleInFractionThreshold"
	default:
		d.Why = "lag is between the thresholds"
	}
}

// decideRate takes as many tasks as the records that come, and the lag within the time in which it
// should be gone, need.
func (s *scaler) decideRate(c *spec.Scaler, d *Decision) {
	if c.Rate.Rate > 0 {
		d.Rate = c.Rate.Rate
	}
	if d.Rate <= 0 {
		d.Why = "how fast a task reads is not known yet"
		return
	}
	want := (d.InRate + float64(d.Lag)/(float64(c.Rate.Recovery)/1000)) / d.Rate
	d.Need = max(1, int(math.Ceil(want)))
	has := float64(s.k.tasks)
	switch {
	case d.Need > s.k.tasks && want <= has*(1+c.Rate.Band), d.Need < s.k.tasks && want >= (has-1)*(1-c.Rate.Band):
		d.Need, d.Why = s.k.tasks, "the need differs by less than the dead band"
	default:
		d.Why = "(inRate + lag/recoveryTarget) / ratePerTask, rounded up"
	}
}

// idealIdle is which part of their time tasks should have nothing to read.
const idealIdle = 0.25

// decideCost takes the number of tasks whose cost is least: the time in which they read the lag,
// and how far they are from being idle for a quarter of their time.
func (s *scaler) decideCost(c *spec.Scaler, d *Decision) {
	if d.Rate <= 0 {
		d.Why = "how fast a task reads is not known yet"
		return
	}
	best, least := s.k.tasks, math.Inf(1)
	low, high := c.Min, c.Max
	if c.Cost.BoundUp {
		high = min(high, 2*s.k.tasks)
	}
	if c.Cost.BoundDown {
		low = max(low, s.k.tasks/2)
	}
	for n := max(1, low); n <= max(1, high); n++ {
		idle := max(0, 1-d.InRate/(d.Rate*float64(n)))
		drain := float64(d.Lag) / (d.Rate * float64(n))
		weight := c.Cost.LagWeight
		if c.Cost.CriticalLag != nil && d.Lag >= *c.Cost.CriticalLag {
			weight *= c.Cost.HighLagFactor
		}
		cost := weight*drain/60 + c.Cost.IdleWeight*math.Abs(idle-idealIdle)
		if cost < least {
			best, least = n, cost
		}
	}
	d.Need, d.Why = best, "the cost of lag and idle time is least"
	if d.Need < s.k.tasks && c.Cost.DownAtRollover && len(s.k.dueGroups()) == 0 {
		d.Need, d.Why = s.k.tasks, "fewer tasks are enough; they come with the next rollover"
	}
}

// barred says why the number of groups can't change now; "": it can.
func (s *scaler) barred(c *spec.Scaler, need int) string {
	since := s.k.now() - s.changed
	wait := c.UpDelay
	if need < s.k.tasks {
		wait = c.DownDelay
	}
	if wait == 0 || c.Strategy == spec.LagBased {
		wait = max(wait, c.Frequency)
	}
	switch {
	case s.k.spec().Suspended:
		return "the supervisor is suspended"
	case len(s.k.pending) > 0:
		return "groups publish at the moment"
	case s.changed > 0 && since < wait:
		return "the last change was less than [" + (time.Duration(wait) * time.Millisecond).String() + "] ago"
	}
	return ""
}

// rescale changes the number of groups: all publish what they have, and their successors share the
// partitions anew.
func (k *keeper) rescale(ctx context.Context, d *Decision) {
	began := k.o.Clock.Now()
	next := k.spec().WithTasks(d.Need)
	payload, err := json.Marshal(next)
	if err == nil {
		err = k.o.Store.PutSupervisor(ctx, metastore.Fence{}, metastore.SupervisorVersion{ID: next.ID(), Payload: payload}, nil)
	}
	if err != nil {
		k.meet(ctx, err)
		return
	}
	k.o.Log.InfoContext(ctx, "supervisor changes its number of "+
		"task groups", "supervisor", next.ID(), "from", k.tasks, "to", d.Need, "why", d.Why)
	k.finish(ctx, slices.Collect(maps.Values(k.reading)))
	k.is.Store(next)
	k.tasks, k.scaler.changed = d.Need, k.now()
	k.meterTime("task/autoScaler/scaleActionTime", k.o.Clock.Now().Sub(began))
}
