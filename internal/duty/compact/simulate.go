package compact

import (
	"cmp"
	"context"
	"slices"
)

// Table is a list of rows with column names.
type Table struct {
	Columns []string `json:"columnNames"`
	Rows    [][]any  `json:"rows"`
}

// Simulate returns the decisions of a round for every group under other cluster settings, by state.
// It submits no tasks. PENDING groups are in the order in which tasks would be submitted.
func (s *Scheduler) Simulate(ctx context.Context, cluster Cluster) (map[string]*Table, error) {
	s.round.Lock()
	defer s.round.Unlock()
	configs, _, err := s.configs(ctx)
	if err != nil {
		return nil, err
	}
	shared := []string{"dataSource", "interval", "numSegments", "bytes"}
	out := map[string]*Table{
		Compacted.String(): {Columns: shared, Rows: [][]any{}},
		Running.String():   {Columns: append(slices.Clip(shared), "maxTaskSlots", "reasonToCompact"), Rows: [][]any{}},
		Pending.String():   {Columns: append(slices.Clip(shared), "maxTaskSlots", "reasonToCompact"), Rows: [][]any{}},
		Skipped.String():   {Columns: append(slices.Clip(shared), "reasonToSkip"), Rows: [][]any{}},
	}
	byName := map[string]*Config{}
	var all []Outcome
	active, state := s.active(), s.published.Pin()
	for i := range configs {
		c := &configs[i]
		byName[c.DataSource] = c
		v, err := s.survey(c, state.Timeline(c.DataSource))
		if err != nil {
			return nil, err
		}
		list, err := s.judge(ctx, v, active[c.DataSource], &cluster)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b Outcome) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cluster.Policy.compare(a.Group, b.Group))
	})
	slots := cluster.slots(s.tasks.Capacity())
	for _, o := range all {
		row := []any{o.Group.DataSource, o.Group.Interval.String(), len(o.Group.Segments), o.Group.Bytes}
		switch o.Status {
		case Pending, Running:
			row = append(row, cost(byName[o.Group.DataSource], &cluster, slots), o.Why)
		case Skipped:
			row = append(row, o.Why)
		}
		t := out[o.Status.String()]
		t.Rows = append(t.Rows, row)
	}
	return out, nil
}
