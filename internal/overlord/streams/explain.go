package streams

import (
	"cmp"
	"fmt"
	"slices"
)

// Explanation explains the state of a supervisor.
type Explanation struct {
	ID, DataSource string
	// Topic is Reading or Groups.
	Topic string
	// Outcome is a word, Reason a sentence, and Details are the facts.
	Outcome, Reason string
	Details         map[string]any
}

// The topics of explanations: whether the stream is read, and the reason for the number of task
// groups.
const (
	Reading = "reading"
	Groups  = "groups"
)

// Explain explains the state of a supervisor. It returns nothing if the supervisor does not run
// here.
func (m *Manager) Explain(id string) []Explanation {
	k := m.find(id)
	if k == nil {
		return nil
	}
	return []Explanation{k.explainReading(), k.explainGroups()}
}

// ExplainTroubled explains the supervisors that have problems.
func (m *Manager) ExplainTroubled() []Explanation {
	var out []Explanation
	for _, k := range m.all() {
		if !k.state().healthy() {
			out = append(out, k.explainReading())
		}
	}
	slices.SortFunc(out, func(a, b Explanation) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// explainReading says whether the stream is read.
func (k *keeper) explainReading() Explanation {
	r := k.report()
	e := Explanation{
		ID: r.ID, DataSource: r.DataSource, Topic: Reading, Outcome: "reading", Reason: "its tasks read the stream",
		Details: map[string]any{
			"state": r.Detailed, "partitions": r.Partitions, "activeTasks": len(r.Active), "publishingTasks": len(r.Publishing), "lag": r.Total,
		},
	}
	if len(r.Advice) > 0 {
		e.Details["offsetAdvice"] = r.Advice
	}
	waits := 0
	for _, t := range r.Active {
		if t.Started == nil {
			waits++
		}
	}
	last := ""
	if n := len(r.Errors); n > 0 {
		last = r.Errors[n-1].Message
	}
	switch d := r.Detailed; {
	case d == suspendedState:
		e.Outcome, e.Reason = "suspended", "somebody has suspended it"
	case d == stopping:
		e.Outcome, e.Reason = "stopping", "it ends, or gets another specification"
	case d == idleState:
		e.Outcome, e.Reason = "idle", "nothing has come for so long that no new tasks are made; they are when there are records again"
	case d == completed:
		e.Outcome, e.Reason = "completed", "all that it was to read is published"
	case d == pendingState:
		e.Outcome, e.Reason = "waiting", "it begins after startDelay"
	case d == unhealthyTasks:
		e.Outcome, e.Reason = "failing", "its tasks fail one after the other; what the last ones have met is in their status"
	case !d.healthy():
		e.Outcome, e.Reason = "failing", "the last looks at its stream have failed: "+last
	case d == connecting:
		e.Outcome, e.Reason = "waiting", "its stream has not answered yet"
		if last != "" {
			e.Reason += ": " + last
		}
	case len(r.Active) == 0:
		e.Outcome, e.Reason = "waiting", "it has no tasks"
		if last != "" {
			e.Reason += ": " + last
		}
	case waits > 0:
		e.Outcome, e.Reason = "waiting",
			fmt.Sprintf("[%d] of its [%d] tasks have not begun: they wait for slots of workers, or for others to end",
				waits, len(r.Active))
	}
	return e
}

// explainGroups says why there are as many groups of tasks as there are.
func (k *keeper) explainGroups() Explanation {
	r, s := k.report(), k.spec()
	e := Explanation{
		ID: r.ID, DataSource: r.DataSource, Topic: Groups, Outcome: "fixed", Details: map[string]any{"taskCount": s.IO.Tasks,
			"replicas": s.IO.Replicas},
		Reason: fmt.Sprintf("its specification says [%d]", s.IO.Tasks),
	}
	if r.Partitions > 0 && s.IO.Tasks > r.Partitions {
		e.Reason += fmt.Sprintf(", of which [%d] have a partition", r.Partitions)
	}
	c := s.IO.Scaler
	switch {
	case c == nil || !c.Enabled:
		return e
	case r.Scale == nil:
		e.Outcome, e.Reason = "scaled", "lag was not measured yet, so that nothing was decided"
		return e
	}
	d := r.Scale
	e.Outcome, e.Reason = "scaled", d.Why
	e.Details["time"], e.Details["inRate"], e.Details["lag"], e.Details["ratePerTask"], e.Details["need"] = d.Time, d.InRate, d.Lag, d.Rate,
		d.Need
	e.Details["strategy"], e.Details["taskCountMin"], e.Details["taskCountMax"] = c.Strategy, c.Min, c.Max
	return e
}
