package msq

import (
	"slices"
	"time"
)

// Report returns the current state of the job.
func (c *Controller) Report() (*Report, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	r := &Report{TaskID: c.job.ID, Status: c.mu.status, Error: c.mu.failure, Start: c.ledger.started(), Host: c.deps.Host,
		Results: c.mu.results, Running: 1}
	var load *LoadStatus
	if r.Segments, load = c.publisher.reports(); c.opts.WaitUntilLoaded {
		r.Load = load
	}
	current := WorkerReport{State: Running, Duration: -1}
	ended := !c.mu.end.IsZero()
	if ended {
		now = c.mu.end
	}
	if !r.Start.IsZero() {
		r.Duration = now.Sub(r.Start)
	}
	if ended {
		current = WorkerReport{State: c.mu.status, Duration: r.Duration}
	}
	var begun int
	r.Workers, begun = c.ledger.reports(current)
	r.Running += begun
	c.warnings.mu.Lock()
	r.Warnings = slices.Clone(c.warnings.mu.kept)
	c.warnings.mu.Unlock()
	for _, s := range c.mu.stages {
		stage, counted, err := s.report(now, c.opts.AllCounters)
		if err != nil {
			return nil, err
		}
		r.Stages = append(r.Stages, stage)
		if counted.Workers != nil {
			r.Counters = append(r.Counters, counted)
		}
	}
	return r, nil
}

// report returns the state and the counters of a stage.
func (s *stage) report(now time.Time, allCounters bool) (StageReport, StageCounters, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := StageReport{Number: s.number, Definition: s.definition, Phase: string(s.mu.phase), Workers: s.mu.workers, Partitions: s.mu.partitions,
		Start: s.mu.started, Sort: s.shuffle.kind == sortedShuffle || s.shuffle.kind == rangeShuffle}
	if s.mu.phase != phaseNone {
		if r.Partitions == 0 && s.shuffle.kind != rangeShuffle { // those of ranges follow from the rows, others are settled before
			r.Partitions = s.shuffle.partitions
		}
		r.Shuffle, r.Output = s.shuffle.reported(), "localStorage"
		if s.durable {
			r.Output = "durableStorage"
		}
		end := now
		if !s.mu.ended.IsZero() {
			end = s.mu.ended
		}
		r.Duration = end.Sub(s.mu.started)
	}
	counted := StageCounters{Stage: s.number}
	for _, c := range s.mu.counters {
		text, err := c.snapshot(allCounters)
		if err != nil {
			return r, counted, err
		}
		counted.Workers = append(counted.Workers, text)
	}
	return r, counted, nil
}
