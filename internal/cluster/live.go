package cluster

import (
	"encoding/json"
	"fmt"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/live"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// SentLive is a live segment as workers tell of it.
type SentLive struct {
	DataSource string            `json:"dataSource"`
	Interval   [2]int64          `json:"interval"`
	Version    string            `json:"version"`
	Shard      json.RawMessage   `json:"shardSpec"`
	TaskID     string            `json:"taskId,omitempty"`
	Columns    []timeline.Column `json:"columns"`
	Rows       int64             `json:"rows"`
	// Number is that under which it was published; 0: it is not.
	Number int64 `json:"number,omitempty"`
}

// send returns an announcement as it is sent.
func send(a *live.Announcement) (*SentLive, error) {
	shard, err := timeline.MarshalShardSpec(a.Shard)
	if err != nil {
		return nil, err
	}
	return &SentLive{
		DataSource: a.ID.DataSource, Interval: [2]int64{a.ID.Interval.Start, a.ID.Interval.End}, Version: a.ID.Version, Shard: shard,
		TaskID: a.TaskID, Columns: columnsOf(a.Columns), Rows: a.Rows, Number: a.Number,
	}, nil
}

// columnsOf describes columns as published segments do.
func columnsOf(specs []segment.ColumnSpec) []timeline.Column {
	out := make([]timeline.Column, len(specs))
	for i, c := range specs {
		out[i] = timeline.Column{Name: c.Name, Type: c.Type.String(), MultiValue: c.Multi, Metric: c.Metric != ""}
		if c.Multi {
			out[i].Type = vector.String.String()
		}
	}
	return out
}

// received returns the segment that was sent.
func (s *SentLive) received() (id timeline.SegmentID, shard timeline.ShardSpec, err error) {
	if shard, err = timeline.ParseShardSpec(s.Shard); err != nil {
		return id, nil, err
	}
	id = timeline.SegmentID{
		DataSource: s.DataSource, Interval: chrono.Interval{Start: s.Interval[0], End: s.Interval[1]}, Version: s.Version,
		Partition: shard.PartitionNum(),
	}
	return id, shard, (&timeline.Segment{ID: id, Shard: shard}).Validate()
}

// LiveLog tells other processes of the live segments of this one. It implements live.Announcer.
type LiveLog struct{ log *Log }

// NewLiveLog returns the log of a process that started at an instant (milliseconds). all returns
// the live segments at the time of the call.
func NewLiveLog(started int64, all func() []live.Announcement) *LiveLog {
	return &LiveLog{newLog(started, func() (held []Change, used int64) {
		for _, a := range all() {
			if c, err := loaded(&a); err == nil {
				held = append(held, c)
			}
		}
		return held, 0
	})}
}

// Log returns what other processes follow.
func (l *LiveLog) Log() *Log { return l.log }

// Announce implements live.Announcer.
func (l *LiveLog) Announce(a live.Announcement) {
	if c, err := loaded(&a); err == nil { // every shard spec has a JSON form
		l.log.add(c)
	}
}

// Withdraw implements live.Announcer.
func (l *LiveLog) Withdraw(id timeline.SegmentID, number int64) {
	l.log.add(Change{Action: actionDrop, ID: id.String(), Number: number})
}

func loaded(a *live.Announcement) (Change, error) {
	sent, err := send(a)
	if err != nil {
		return Change{}, fmt.Errorf("announcing segment [%s]: %w", a.ID, err)
	}
	return Change{Action: actionLoad, ID: a.ID.String(), Live: sent}, nil
}

// LiveView is the live segments of all workers at one moment. It is immutable: a query that keeps
// it sees one moment. A nil LiveView is one of none.
type LiveView struct {
	// Number is the number of the change stream from which on all segments that were published, and
	// are live no longer, are used. A query pins a state of that number or a later one beside the
	// view: else it would see the rows of such a segment nowhere.
	Number int64

	tables map[string]*LiveTable
	source *LiveView // that it is a part of; nil: it is whole
}

// Only returns the view without the datasources that are not among names.
func (v *LiveView) Only(names []string) *LiveView {
	out := &LiveView{Number: v.Number, tables: map[string]*LiveTable{}, source: v}
	for _, name := range names {
		if t := v.tables[name]; t != nil {
			out.tables[name] = t
		}
	}
	return out
}

// IsOf reports whether the view is another one or a part of it.
func (v *LiveView) IsOf(o *LiveView) bool { return v == o || v != nil && v.source == o }

// LiveTable is the live segments of a datasource.
type LiveTable struct {
	// Segments are sorted by id.
	Segments []*LiveSegment
	// Schemas are the different schemas of them. While they stay the same so does the value.
	Schemas *LiveSchemas
}

// LiveSchemas are the different schemas of live segments, each with the newest version that has it.
type LiveSchemas struct{ List []LiveSchema }

// LiveSchema is one of them.
type LiveSchema struct {
	*timeline.Schema
	Version string
}

// LiveSegment is a live segment.
type LiveSegment struct {
	// Of describes it as a published one: its rows are those that were announced last.
	Of *timeline.Segment
	// Text is its id.
	Text string
	// Holders are the workers that have it, the one with the most rows first.
	Holders []LiveHolder
}

// LiveHolder is a worker that has a live segment.
type LiveHolder struct {
	Server *dispatch.Server
	TaskID string
	Rows   int64
	// Number is that under which the worker's task has published it; 0: it has not.
	Number int64

	schema *timeline.Schema
}

// DataSources returns the names of those that have live segments, in no order.
func (v *LiveView) DataSources() []string {
	if v == nil {
		return nil
	}
	out := make([]string, 0, len(v.tables))
	for name := range v.tables {
		out = append(out, name)
	}
	return out
}

// Table returns the live segments of a datasource; nil: it has none.
func (v *LiveView) Table(name string) *LiveTable {
	if v == nil {
		return nil
	}
	return v.tables[name]
}

// Find returns a live segment, or nil.
func (v *LiveView) Find(id timeline.SegmentID) *LiveSegment {
	t := v.Table(id.DataSource)
	if t == nil {
		return nil
	}
	if i, found := t.find(id); found {
		return t.Segments[i]
	}
	return nil
}

// Servers returns the workers that have live segments, in no order.
func (v *LiveView) Servers() []*dispatch.Server {
	seen := map[*dispatch.Server]bool{}
	var out []*dispatch.Server
	for _, name := range v.DataSources() {
		for _, s := range v.tables[name].Segments {
			for _, h := range s.Holders {
				if !seen[h.Server] {
					seen[h.Server] = true
					out = append(out, h.Server)
				}
			}
		}
	}
	return out
}

// Servers returns the workers that have the segment, the one with the most rows first.
func (s *LiveSegment) Servers() []*dispatch.Server {
	out := make([]*dispatch.Server, len(s.Holders))
	for i, h := range s.Holders {
		out[i] = h.Server
	}
	return out
}
