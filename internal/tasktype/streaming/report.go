package streaming

import (
	"encoding/json"

	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/task"
)

// buildSegments names the one phase of a task that reads a stream.
const buildSegments = "buildSegments"

const reportType = "ingestionStatsAndErrors"

type reportEntry struct {
	Type    string `json:"type"`
	TaskID  string `json:"taskId"`
	Payload any    `json:"payload"`
}

// whole are counters of whole rows.
type whole struct {
	Processed          int64 `json:"processed"`
	ProcessedBytes     int64 `json:"processedBytes"`
	ProcessedWithError int64 `json:"processedWithError"`
	ThrownAway         int64 `json:"thrownAway"`
	Unparseable        int64 `json:"unparseable"`
}

func wholeOf(c chat.Counters) whole {
	return whole{int64(c.Processed), int64(c.ProcessedBytes), int64(c.ProcessedWithError), int64(c.ThrownAway), int64(c.Unparseable)}
}

// rowStats are counters as the interface shows them.
func rowStats(s chat.Stats) any {
	return map[string]any{
		"movingAverages": map[string]any{buildSegments: s.Averages},
		"totals":         map[string]any{buildSegments: wholeOf(s.Totals)},
	}
}

type reportPayload struct {
	State     string           `json:"ingestionState"`
	Events    map[string]any   `json:"unparseableEvents"`
	Rows      any              `json:"rowStats"`
	Error     *string          `json:"errorMsg"`
	Available bool             `json:"segmentAvailabilityConfirmed"`
	Waited    int64            `json:"segmentAvailabilityWaitTimeMs"`
	Records   map[string]int64 `json:"recordsProcessed"`
	Published int              `json:"segmentsPublished"`
	Letters   *lettersShown    `json:"deadLetters,omitempty"`
}

// lettersShown says that there are dead letters, and where.
type lettersShown struct {
	Count int64  `json:"count"`
	Path  string `json:"path"`
}

// events are the bad records that a report shows.
func (r *run) events() map[string]any {
	if r.job.tuning.savedParseErrors <= 0 {
		return map[string]any{}
	}
	return map[string]any{buildSegments: r.letters.Newest()}
}

// report is that of a task that has ended.
func (r *run) report(failure error, letters *lettersShown) ([]byte, error) {
	s := r.stats.snapshot()
	p := reportPayload{
		State: "COMPLETED", Events: r.events(), Rows: map[string]any{buildSegments: wholeOf(s.Totals)},
		Records: map[string]int64{}, Letters: letters,
	}
	r.stats.mu.Lock()
	p.Available, p.Waited, p.Published = r.stats.mu.available && failure == nil, r.stats.mu.waited.Milliseconds(), r.stats.mu.segments
	for partition, n := range r.stats.mu.records {
		p.Records[r.job.partitionKey(partition)] = n
	}
	r.stats.mu.Unlock()
	if failure != nil {
		message := task.Message(failure)
		p.State, p.Error = r.phase(), &message
	}
	out := map[string]reportEntry{reportType: {reportType, r.task.ID, p}}
	if len(r.job.shown) > 0 {
		out["taskContext"] = reportEntry{"taskContext", r.task.ID, r.job.shown}
	}
	return json.Marshal(out)
}

// phase is how far the task is, in the words of reports.
func (r *run) phase() string {
	switch r.ctl.Status().State {
	case chat.NotStarted, chat.Starting:
		return "NOT_STARTED"
	}
	return "BUILD_SEGMENTS"
}

// live is the report of a running task.
func (r *run) live() []byte {
	text, err := json.Marshal(map[string]reportEntry{reportType: {reportType, r.task.ID, map[string]any{
		"ingestionState": r.phase(), "unparseableEvents": r.events(), "rowStats": rowStats(r.stats.snapshot()),
	}}})
	if err != nil {
		return nil
	}
	return text
}
