package streams

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
)

// report is the payload of a status, in the order of the interface.
type report struct {
	ID          string                      `json:"id"`
	DataSource  string                      `json:"dataSource"`
	Stream      string                      `json:"stream"`
	Partitions  int                         `json:"partitions"`
	Replicas    int                         `json:"replicas"`
	Duration    int64                       `json:"durationSeconds"`
	Active      []taskReport                `json:"activeTasks"`
	Publishing  []taskReport                `json:"publishingTasks"`
	Latest      stream.Positions            `json:"latestOffsets,omitempty"`
	Lag         map[stream.Partition]int64  `json:"minimumLag"`
	Total       int64                       `json:"aggregateLag"`
	Millis      map[stream.Partition]int64  `json:"minimumLagMillis,omitempty"`
	TotalMillis *int64                      `json:"aggregateLagMillis,omitempty"`
	Updated     *string                     `json:"offsetsLastUpdated,omitempty"`
	Positions   *string                     `json:"currentOffsetsLastUpdated,omitempty"`
	Suspended   bool                        `json:"suspended"`
	Healthy     bool                        `json:"healthy"`
	State       string                      `json:"state"`
	Detailed    detailed                    `json:"detailedState"`
	Errors      []problem                   `json:"recentErrors"`
	Advice      map[stream.Partition]Advice `json:"offsetAdvice,omitempty"`
	Scale       *Decision                   `json:"autoScaler,omitempty"`
}

type taskReport struct {
	ID        string                      `json:"id"`
	Starts    stream.Positions            `json:"startingOffsets"`
	Started   *string                     `json:"startTime"`
	Remaining *int64                      `json:"remainingSeconds"`
	Type      string                      `json:"type"`
	Current   stream.Positions            `json:"currentOffsets"`
	Lag       *map[stream.Partition]int64 `json:"lag,omitempty"`
	Millis    map[stream.Partition]int64  `json:"lagMillis,omitempty"`
}

// report tells how the supervisor goes.
func (k *keeper) report() report {
	s := k.spec()
	k.mu.Lock()
	defer k.mu.Unlock()
	v, l, st := &k.mu.view, &k.mu.lag, k.mu.states
	out := report{
		ID: s.ID(), DataSource: s.Schema.DataSource, Stream: s.IO.Source(), Partitions: len(v.partitions), Replicas: s.IO.Replicas,
		Duration: s.IO.TaskMillis / 1000, Active: []taskReport{}, Publishing: []taskReport{}, Lag: map[stream.Partition]int64{},
		Suspended: s.Suspended, Healthy: st.current.healthy(), State: st.current.basic(), Detailed: st.current, Errors: slices.Clone(st.problems),
		Advice: k.mu.advice, Scale: k.mu.scale,
	}
	if out.Errors == nil {
		out.Errors = []problem{}
	}
	if l.at > 0 {
		out.Latest, out.Total, out.Updated, out.Positions = l.latest, l.total, instant(l.at), instant(l.positionsAt)
		if s.Type != spec.Kinesis {
			out.Lag = l.behind
		}
		if l.millis != nil {
			total := int64(0)
			for _, n := range l.millis {
				total += max(0, n)
			}
			out.Millis, out.TotalMillis = l.millis, &total
		}
	}
	now := k.now()
	for _, g := range v.groups {
		for _, t := range g.tasks {
			r := taskReport{ID: t.id, Starts: g.starts, Type: "ACTIVE", Current: l.current[t.id]}
			if r.Current == nil {
				r.Current = stream.Positions{}
			}
			if t.started > 0 {
				r.Started = instant(t.started)
				left := max(0, (s.IO.TaskMillis-g.early-(now-t.started))/1000)
				r.Remaining = &left
			}
			if !g.pending {
				r.behind(v.source, l)
				out.Active = append(out.Active, r)
				continue
			}
			left := max(0, (g.deadline-now)/1000)
			r.Type, r.Remaining = "PUBLISHING", &left
			out.Publishing = append(out.Publishing, r)
		}
	}
	return out
}

// behind adds how far a task is behind.
func (r *taskReport) behind(source stream.Source, l *lag) {
	lags := map[stream.Partition]int64{}
	for p, at := range r.Current {
		if end, ok := l.latest[p]; ok && source != nil {
			lags[p] = distance(source, at, end)
		}
		if late, ok := l.millis[p]; ok {
			if r.Millis == nil {
				r.Millis = map[stream.Partition]int64{}
			}
			r.Millis[p] = late
		}
	}
	r.Lag = &lags
}

func instant(at int64) *string {
	text := chrono.FormatMillis(at, chrono.UTC)
	return &text
}

// pendingReport is that of a supervisor that does not run here yet.
func pendingReport(s *spec.Stream) report {
	return report{
		ID: s.ID(), DataSource: s.Schema.DataSource, Stream: s.IO.Source(), Replicas: s.IO.Replicas, Duration: s.IO.TaskMillis / 1000,
		Active: []taskReport{}, Publishing: []taskReport{}, Lag: map[stream.Partition]int64{}, Suspended: s.Suspended, Healthy: true,
		State: pendingState.basic(), Detailed: pendingState, Errors: []problem{},
	}
}

// statsShown are the counters of a task as the interface shows them.
type statsShown struct {
	Averages map[string]map[string]countersShown `json:"movingAverages"`
	Totals   map[string]countersShown            `json:"totals"`
}

// countersShown are counters; those of averages have a fraction even where it is zero.
type countersShown struct {
	chat.Counters
	average bool
}

// MarshalJSON returns the counters.
func (c countersShown) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, m := range []struct {
		name  string
		value float64
	}{{"processed", c.Processed}, {"processedBytes", c.ProcessedBytes}, {"processedWithError", c.ProcessedWithError},
		{"thrownAway", c.ThrownAway}, {"unparseable", c.Unparseable}} {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(strconv.AppendQuote(out, m.name), ':'), number(m.value, c.average)...)
	}
	return append(out, '}'), nil
}

func number(v float64, average bool) string {
	if !average {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	if v == float64(int64(v)) {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// buildSegments is the phase that counters are of.
const buildSegments = "buildSegments"

// StatsShown returns counters in the form of API responses.
func StatsShown(s chat.Stats) json.Marshaler {
	shown := statsShown{Averages: map[string]map[string]countersShown{}, Totals: map[string]countersShown{buildSegments: {s.Totals, false}}}
	byName := map[string]countersShown{}
	for name, c := range s.Averages {
		byName[name] = countersShown{c, true}
	}
	shown.Averages[buildSegments] = byName
	return rawJSON{shown}
}

type rawJSON struct{ v any }

// MarshalJSON returns the value.
func (r rawJSON) MarshalJSON() ([]byte, error) { return json.Marshal(r.v) }

// stats asks the tasks for their counters, by group. One that does not answer has none.
func (k *keeper) stats(ctx context.Context) map[string]map[string]any {
	k.mu.Lock()
	groups := k.mu.view.groups
	k.mu.Unlock()
	var names []string
	out := map[string]map[string]any{}
	for _, g := range groups {
		id := strconv.Itoa(g.id)
		if out[id] == nil {
			out[id] = map[string]any{}
		}
		for _, t := range g.tasks {
			names = append(names, t.id)
			out[id][t.id] = struct{}{}
		}
	}
	answers := askAll(ctx, k, names, func(t chat.Task, ctx context.Context) (any, error) {
		s, err := t.Stats(ctx)
		return StatsShown(s), err
	})
	for i, id := range names {
		if answers[i] == nil {
			continue
		}
		for _, tasks := range out {
			if _, ok := tasks[id]; ok {
				tasks[id] = answers[i]
			}
		}
	}
	return out
}

// parseErrors returns the rows that were none, the newest first.
func (k *keeper) parseErrors(ctx context.Context) []chat.ParseError {
	most := int(k.spec().Tuning.SavedParseErrors)
	out := []chat.ParseError{}
	if most <= 0 {
		return out
	}
	k.mu.Lock()
	groups, kept := k.mu.view.groups, k.mu.errors
	k.mu.Unlock()
	var names []string
	for _, g := range groups {
		for _, t := range g.tasks {
			names = append(names, t.id)
		}
	}
	if merged := mergeErrors(askAll(ctx, k, names, chat.Task.ParseErrors), most); len(merged) > 0 {
		return merged
	}
	return append(out, kept...)
}

// mergeErrors joins the lists of tasks, the newest first. What several tasks have is there once:
// replicas read the same.
func mergeErrors(lists [][]chat.ParseError, most int) []chat.ParseError {
	type row struct {
		kind, input string
		nth         int // of the same ones of a task
	}
	seen := map[row]bool{}
	out := []chat.ParseError{}
	for _, list := range lists {
		count := map[row]int{}
		for _, e := range list {
			key := row{e.Type, e.Input, 0}
			n := count[key]
			count[key]++
			key.nth = n
			if !seen[key] {
				seen[key] = true
				out = append(out, e)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b chat.ParseError) int { return cmp.Compare(b.At, a.At) })
	return out[:min(len(out), most)]
}
