package compact

import (
	"context"
	"strings"
)

// The values of Snapshot.ScheduleStatus.
const (
	Enabled    = "RUNNING"
	NotEnabled = "NOT_ENABLED"
)

// Snapshot is the status of a datasource as of the last round. Before the first round the counts
// are 0. Segments of a running task count as compacted.
type Snapshot struct {
	DataSource       string  `json:"dataSource"`
	ScheduleStatus   string  `json:"scheduleStatus"`
	Message          *string `json:"message"`
	BytesAwaiting    int64   `json:"bytesAwaitingCompaction"`
	BytesCompacted   int64   `json:"bytesCompacted"`
	BytesSkipped     int64   `json:"bytesSkipped"`
	SegmentsAwaiting int64   `json:"segmentCountAwaitingCompaction"`
	SegmentsCompact  int64   `json:"segmentCountCompacted"`
	SegmentsSkipped  int64   `json:"segmentCountSkipped"`
	IntervalsAwait   int64   `json:"intervalCountAwaitingCompaction"`
	IntervalsCompact int64   `json:"intervalCountCompacted"`
	IntervalsSkipped int64   `json:"intervalCountSkipped"`
}

// add counts a group.
func (s *Snapshot) add(o *Outcome) {
	bytes, segments, intervals := &s.BytesAwaiting, &s.SegmentsAwaiting, &s.IntervalsAwait
	switch o.Status {
	case Compacted, Running:
		bytes, segments, intervals = &s.BytesCompacted, &s.SegmentsCompact, &s.IntervalsCompact
	case Skipped:
		bytes, segments, intervals = &s.BytesSkipped, &s.SegmentsSkipped, &s.IntervalsSkipped
	}
	*bytes += o.Group.Bytes
	*segments += int64(len(o.Group.Segments))
	*intervals += o.Group.intervals
}

// snapshotOf sums the groups of a datasource up. Its message is why some are skipped, the newest
// first.
func snapshotOf(dataSource string, outcomes []Outcome) Snapshot {
	s := Snapshot{DataSource: dataSource, ScheduleStatus: Enabled}
	var why []string
	for i := range outcomes {
		o := &outcomes[i]
		s.add(o)
		if o.Status == Skipped && len(why) < maxMessages {
			why = append(why, "["+o.Group.Interval.String()+"] "+o.Why)
		}
	}
	if len(why) > 0 {
		message := "Skipped: " + strings.Join(why, "; ")
		s.Message = &message
	}
	return s
}

// maxMessages is how many skipped groups the message of a snapshot names.
const maxMessages = 3

// Snapshots returns the status of the datasources with settings, or of one datasource, whose
// settings may have been removed since the start.
func (s *Scheduler) Snapshots(ctx context.Context, dataSource string) ([]Snapshot, error) {
	configs, cluster, err := s.configs(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Snapshot{}
	if cluster.MaxSlots == 0 && dataSource == "" {
		return out, nil
	}
	for _, c := range configs {
		if dataSource != "" && dataSource != c.DataSource {
			continue
		}
		snapshot, ok := s.mu.snapshots[c.DataSource]
		if !ok {
			snapshot = Snapshot{DataSource: c.DataSource, ScheduleStatus: Enabled}
		}
		out = append(out, snapshot)
	}
	if len(out) == 0 && s.mu.removed[dataSource] {
		out = append(out, Snapshot{DataSource: dataSource, ScheduleStatus: NotEnabled})
	}
	return out, nil
}

// Removed records that the settings of a datasource were removed. Its status remains readable until
// the process ends.
func (s *Scheduler) Removed(dataSource string) {
	s.mu.Lock()
	s.mu.removed[dataSource] = true
	delete(s.mu.snapshots, dataSource)
	delete(s.mu.outcomes, dataSource)
	s.mu.Unlock()
	s.Nudge()
}
