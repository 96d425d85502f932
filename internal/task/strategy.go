package task

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Strategy chooses the workers of tasks. The zero value prefers the worker with the most free
// slots.
type Strategy struct {
	// Fill prefers the worker with the fewest, but at least one, free slots.
	Fill bool
	// Affinity lists, by datasource, the workers (host:port) that run only its tasks. With strong
	// affinity, its tasks wait for one of them.
	Affinity       map[string][]string
	StrongAffinity bool
	// Categories are the preferred worker categories by type of task. With strong assignment, tasks
	// wait for a worker of the category.
	Categories     map[string]Category
	StrongCategory bool
	// MaxSlots and MaxRatio limit the slots of tasks of a type, the latter as a fraction of all slots.
	MaxSlots map[string]int
	MaxRatio map[string]float64
}

// Category is the preferred category of workers for tasks of a type.
type Category struct {
	// Default is the category of datasources that are not in DataSources; empty: any.
	Default     string            `json:"defaultCategory"`
	DataSources map[string]string `json:"categoryAffinity"`
}

// ParseStrategy reads the setting worker.config; nil: there is none.
func ParseStrategy(text json.RawMessage) (*Strategy, error) {
	var config struct {
		Strategy struct {
			Type     string `json:"type"`
			Affinity struct {
				Workers map[string][]string `json:"affinity"`
				Strong  bool                `json:"strong"`
			} `json:"affinityConfig"`
			Spec struct {
				Kinds  map[string]Category `json:"categoryMap"`
				Strong bool                `json:"strong"`
			} `json:"workerCategorySpec"`
			Limits struct {
				Count map[string]int     `json:"maxSlotCountByType"`
				Ratio map[string]float64 `json:"maxSlotRatioByType"`
			} `json:"taskLimits"`
		} `json:"selectStrategy"`
	}
	if len(text) == 0 {
		return &Strategy{}, nil
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("reading how tasks choose their workers: %w", err)
	}
	c := &config.Strategy
	s := &Strategy{Fill: strings.HasPrefix(c.Type, "fillCapacity"), MaxSlots: c.Limits.Count, MaxRatio: c.Limits.Ratio}
	if strings.HasSuffix(c.Type, "WithCategorySpec") {
		s.Categories, s.StrongCategory = c.Spec.Kinds, c.Spec.Strong
	} else {
		s.Affinity, s.StrongAffinity = c.Affinity.Workers, c.Affinity.Strong
	}
	return s, nil
}

// load is what runs now: the slots that are taken by worker, the tasks by type, and the standing
// tasks by worker and by group.
type load struct {
	worker, kind, standing map[string]int
	apart                  map[place]bool
}

// place is a worker that runs a standing task of a group.
type place struct{ worker, group string }

// room returns how many more tasks a worker takes. Standing tasks take no slots: workers that have
// fewer of them count as having more room.
func (l *load) room(w *Worker, apart string) int {
	switch {
	case apart == "":
		return w.Capacity - l.worker[w.Process]
	case l.apart[place{w.Process, apart}]:
		return 0
	}
	return max(1, math.MaxInt32-l.standing[w.Process])
}

// choose returns the worker for a task, or nil if it has to wait. A standing task is apart from
// others of its group.
func (s *Strategy) choose(workers []Worker, l load, t *Task, apart string) *Worker {
	total := 0
	for i := range workers {
		total += workers[i].Capacity
	}
	if limit, ok := s.limit(t.Type, total); ok && l.kind[t.Type] >= limit {
		return nil
	}
	return s.among(s.preferred(workers, t), l, apart)
}

// limit returns how many slots tasks of a type may take.
func (s *Strategy) limit(kind string, total int) (limit int, ok bool) {
	limit, ok = s.MaxSlots[kind]
	if ratio, is := s.MaxRatio[kind]; is {
		if part := int(ratio * float64(total)); !ok || part < limit {
			limit, ok = part, true
		}
	}
	return limit, ok
}

// preferred returns the workers that may run a task, in groups: the first that has room counts.
func (s *Strategy) preferred(workers []Worker, t *Task) [][]*Worker {
	pick := func(ok func(*Worker) bool) []*Worker {
		var out []*Worker
		for i := range workers {
			if ok(&workers[i]) {
				out = append(out, &workers[i])
			}
		}
		return out
	}
	rest := pick(func(w *Worker) bool {
		for _, reserved := range s.Affinity {
			if slices.Contains(reserved, w.Address()) {
				return false
			}
		}
		return true
	})
	if own, ok := s.Affinity[t.DataSource]; ok {
		first := pick(func(w *Worker) bool { return slices.Contains(own, w.Address()) })
		if s.StrongAffinity {
			return [][]*Worker{first}
		}
		return [][]*Worker{first, rest}
	}
	if c, ok := s.Categories[t.Type]; ok {
		category := c.Default
		if special, ok := c.DataSources[t.DataSource]; ok {
			category = special
		}
		if category != "" {
			first := pick(func(w *Worker) bool { return w.Category == category })
			if s.StrongCategory {
				return [][]*Worker{first}
			}
			return [][]*Worker{first, rest}
		}
	}
	return [][]*Worker{rest}
}

// among returns the best worker of the first group that has room.
func (s *Strategy) among(groups [][]*Worker, l load, apart string) *Worker {
	for _, group := range groups {
		var best *Worker
		most := 0
		for _, w := range group {
			room := l.room(w, apart)
			if !w.Enabled || room <= 0 {
				continue
			}
			if best == nil || !s.Fill && room > most || s.Fill && room < most {
				best, most = w, room
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// Address returns host:port.
func (w *Worker) Address() string { return w.Location.Address() }
