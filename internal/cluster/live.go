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

// SentLive is a live segment in messages of workers.
type SentLive struct {
	DataSource string            `json:"dataSource"`
	Interval   [2]int64          `json:"interval"`
	Version    string            `json:"version"`
	Shard      json.RawMessage   `json:"shardSpec"`
	TaskID     string            `json:"taskId,omitempty"`
	Priority   *int              `json:"priority,omitempty"`
	Columns    []timeline.Column `json:"columns"`
	Rows       int64             `json:"rows"`
	// Number is the number under which it was published; 0: not published.
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
		TaskID: a.TaskID, Priority: a.Priority, Columns: columnsOf(a.Columns), Rows: a.Rows, Number: a.Number,
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

// LiveLog announces the live segments of this process to other processes. It implements
// live.Announcer.
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

// Log returns the log that other processes follow.
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

// LiveView is an immutable snapshot of the live segments of all workers. A nil LiveView is empty.
type LiveView struct {
	// Number is the number of the change stream in which all published segments that are no longer
	// live are used. A query that uses the view must pin this number or a higher one, because it would
	// otherwise miss the rows of such segments.
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

// IsOf reports whether the view is the other one or a part of it.
func (v *LiveView) IsOf(o *LiveView) bool { return v == o || v != nil && v.source == o }

// LiveTable contains the live segments of a datasource.
type LiveTable struct {
	// Segments are sorted by id.
	Segments []*LiveSegment
	// Schemas are the distinct schemas of the segments. The value is unchanged as long as they are.
	Schemas *LiveSchemas
}

// LiveSchemas are the distinct schemas of live segments, each with the newest version that has it.
type LiveSchemas struct{ List []LiveSchema }

// LiveSchema is one of LiveSchemas.
type LiveSchema struct {
	*timeline.Schema
	Version string
}

// LiveSegment is a live segment.
type LiveSegment struct {
	// Of describes it in the form of a published segment; its number of rows is the last announced
	// one.
	Of *timeline.Segment
	// Text is its id.
	Text string
	// Holders are the workers that have it, by rank and then by descending number of rows. Workers
	// that this process does not query are last.
	Holders []LiveHolder
}

// LiveHolder is a worker that has a live segment.
type LiveHolder struct {
	Server *dispatch.Server
	TaskID string
	Rows   int64
	// Number is the number under which the task of the worker has published it; 0: not published.
	Number int64
	// Priority is the priority of the task of the worker, or nil.
	Priority *int

	schema  *timeline.Schema
	rank    int
	unasked bool
}

// DataSources returns the names of the datasources with live segments, in any order.
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

// Table returns the live segments of a datasource, or nil.
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

// Servers returns the workers with live segments, in any order.
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

// Asked reports whether this process reads the rows of any worker.
func (s *LiveSegment) Asked() bool { return !s.Holders[0].unasked }

// Servers returns the workers that a query can read the segment from: the responding workers of the
// highest rank, in descending order of rows. It is empty if this process does not query any of
// their priorities.
func (s *LiveSegment) Servers() []*dispatch.Server {
	var out, down []*dispatch.Server
	rank := 0
	for _, h := range s.Holders {
		switch {
		case h.unasked:
		case h.Server.Down():
			down = append(down, h.Server)
		case len(out) == 0 || h.rank == rank:
			out, rank = append(out, h.Server), h.rank
		}
	}
	if len(out) == 0 {
		return down
	}
	return out
}
