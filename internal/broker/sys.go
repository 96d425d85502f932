package broker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/duty/why"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/timeline"
)

// Server is a row of sys.servers: a role of a process.
type Server struct {
	Host string
	// Port is that of plain HTTP, TLSPort that of HTTPS; 0: there is none.
	Port, TLSPort int
	// Role is the name in lower case: coordinator, overlord, broker, ...
	Role string
	// Tier is that of data servers, else empty.
	Tier string
	// MaxBytes is what a data server may hold.
	MaxBytes int64
	// Leads says that the role has leaders and that this is one.
	Leads bool
	// Used is the bytes that a data server holds, Loaded the ids of its segments.
	Used   int64
	Loaded []string
	// Started is in milliseconds.
	Started int64
	Version string
	// Labels is a JSON object of text, or empty.
	Labels     string
	Processors int
	// Memory is the process's memory number in bytes.
	Memory int64
}

// Supervisor is a row of sys.supervisors, as the leading Overlord tells it to Brokers.
type Supervisor struct {
	ID         string `json:"id"`
	DataSource string `json:"dataSource"`
	State      string `json:"state"`
	Detailed   string `json:"detailedState"`
	Healthy    bool   `json:"healthy"`
	// Spec is the specification as JSON.
	Spec      string `json:"specString"`
	Type      string `json:"type"`
	Source    string `json:"source"`
	Suspended bool   `json:"suspended"`
}

// Address returns host:port, the name of a server.
func (s *Server) Address() string {
	return net.JoinHostPort(s.Host, strconv.Itoa(cmp.Or(s.TLSPort, s.Port)))
}

// shownPort returns a port as the tables show it, where -1 is none.
func shownPort(port int) int64 {
	if port <= 0 {
		return -1
	}
	return int64(port)
}

// System is what the tables of sys tell of beside the published timeline. Its functions are called
// from any goroutine, once per scan.
type System struct {
	// Servers returns the roles of all processes; with segments also what they hold.
	Servers func(segments bool) []Server
	// LiveRows returns how many rows live segments have at the moment, by id; nil: as many as were
	// announced last. Of those that do not answer nothing is said.
	LiveRows func(ctx context.Context, live *cluster.LiveView) map[string]int64
	// Copies returns how a segment's rules are asked for the number of copies they want: -1 if no rule
	// is about it.
	Copies func(ctx context.Context) (func(*timeline.Segment) int64, error)
	// Tasks returns the active tasks and those that ended recently.
	Tasks func(ctx context.Context) ([]task.Status, error)
	// Supervisors returns those that have not ended.
	Supervisors func(ctx context.Context) ([]Supervisor, error)
	// Decisions returns what is not as it should be, and why.
	Decisions func(ctx context.Context) ([]why.Decision, error)
	// Queries returns the synchronous queries that ended lately and those that run now.
	Queries func(ctx context.Context) []query.Info
	// Properties returns the settings that may be shown.
	Properties func() map[string]string
}

// Tables returns the tables of the schema sys.
func (s *System) Tables() map[string]SystemTable {
	return map[string]SystemTable{
		"segments": s.segments, "servers": s.servers, "server_segments": s.serverSegments, "tasks": s.tasks, "queries": s.queries,
		"server_properties": s.properties, "supervisors": s.supervisors, "decisions": s.decisions,
	}
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// orNull gives NULL for what is empty.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (s *System) segments(ctx context.Context, state *timeline.State, live *cluster.LiveView) ([][]any, error) {
	copies, err := s.Copies(ctx)
	if err != nil {
		return nil, err
	}
	loaded := map[string]int64{}
	for _, server := range s.Servers(true) {
		for _, id := range server.Loaded {
			loaded[id]++
		}
	}
	held := map[string]int64{}
	for _, g := range growing(live) {
		held[g.Text] = int64(len(g.Holders))
	}
	schemas := map[*timeline.Schema][2]string{} // the texts are long and few
	var rows [][]any
	for _, dataSource := range state.DataSources() {
		t := state.Timeline(dataSource)
		for seg := range t.All() {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			names, ok := schemas[seg.Schema]
			if !ok {
				if names, err = schemaNames(seg.Schema); err != nil {
					return nil, err
				}
				schemas[seg.Schema] = names
			}
			id := seg.ID.String()
			at := served{historicals: loaded[id], workers: held[id]}
			row, err := segmentRow(seg, names, at, t.SegmentIsOvershadowed(seg), copies(seg))
			if err != nil {
				return nil, fmt.Errorf("describing segment [%s]: %w", seg.ID, err)
			}
			rows = append(rows, row)
		}
	}
	return s.liveSegments(ctx, state, live, rows)
}

// growing returns all live segments, by datasource and id.
func growing(live *cluster.LiveView) (out []*cluster.LiveSegment) {
	names := live.DataSources()
	slices.Sort(names)
	for _, name := range names {
		out = append(out, live.Table(name).Segments...)
	}
	return out
}

// liveSegments adds the rows of segments that are not published.
func (s *System) liveSegments(ctx context.Context, state *timeline.State, live *cluster.LiveView, rows [][]any) ([][]any, error) {
	all := growing(live)
	if len(all) == 0 {
		return rows, nil
	}
	var now map[string]int64
	if s.LiveRows != nil {
		now = s.LiveRows(ctx, live)
	}
	for _, g := range all {
		if state.Timeline(g.Of.ID.DataSource).Segment(g.Of.ID) != nil {
			continue
		}
		names, err := schemaNames(g.Of.Schema)
		if err != nil {
			return nil, err
		}
		of := *g.Of
		of.Rows = max(of.Rows, now[g.Text])
		row, err := segmentRow(&of, names, served{workers: int64(len(g.Holders)), unpublished: true}, false, -1)
		if err != nil {
			return nil, fmt.Errorf("describing live segment [%s]: %w", g.Text, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// served says where a segment can be read.
type served struct {
	historicals, workers int64
	unpublished          bool
}

// schemaNames returns the names of the dimensions and of the metrics as JSON.
func schemaNames(s *timeline.Schema) (names [2]string, err error) {
	if s == nil { // a tombstone
		return [2]string{"[]", "[]"}, nil
	}
	for i, list := range [][]string{s.Dimensions(), s.Metrics()} {
		if list == nil {
			list = []string{}
		}
		text, err := jsontext.Marshal(list)
		if err != nil {
			return names, err
		}
		names[i] = string(text)
	}
	return names, nil
}

func segmentRow(s *timeline.Segment, names [2]string, at served, overshadowed bool, copies int64) ([]any, error) {
	shard, err := timeline.MarshalShardSpec(s.Shard)
	if err != nil {
		return nil, err
	}
	if s.IsTombstone() { // there is nothing to hold
		at.historicals = 1
	}
	loaded := at.historicals + at.workers
	var projections, compaction any
	if s.Details != nil {
		if len(s.Details.Projections) > 0 {
			text, err := jsontext.Marshal(s.Details.Projections)
			if err != nil {
				return nil, err
			}
			projections = string(text)
		}
		if len(s.Details.LastCompactionState) > 0 {
			compaction = string(s.Details.LastCompactionState)
		}
	}
	return []any{
		s.ID.String(), s.ID.DataSource, chrono.FormatMillis(s.ID.Interval.Start, chrono.UTC), chrono.FormatMillis(s.ID.Interval.End, chrono.UTC), s.Size,
		s.ID.Version, int64(s.ID.Partition), loaded, max(s.Rows, 0), flag(!overshadowed), flag(!at.unpublished), flag(loaded > 0),
		flag(at.historicals == 0 && at.workers > 0),
		flag(overshadowed), string(shard), names[0], names[1], projections, compaction, copies,
	}, nil
}

func (s *System) servers(context.Context, *timeline.State, *cluster.LiveView) ([][]any, error) {
	servers := s.Servers(false)
	rows := make([][]any, 0, len(servers))
	for i := range servers {
		v := &servers[i]
		var leads any
		if v.Role == "coordinator" || v.Role == "overlord" {
			leads = flag(v.Leads)
		}
		rows = append(rows, []any{
			v.Address(), v.Host, shownPort(v.Port), shownPort(v.TLSPort), v.Role, orNull(v.Tier), v.Used, v.MaxBytes, v.MaxBytes, leads,
			chrono.FormatMillis(v.Started, chrono.UTC), v.Version, nil, orNull(v.Labels), int64(v.Processors), v.Memory,
		})
	}
	return rows, nil
}

func (s *System) serverSegments(_ context.Context, _ *timeline.State, live *cluster.LiveView) ([][]any, error) {
	var rows [][]any
	for _, server := range s.Servers(true) {
		for _, id := range server.Loaded {
			rows = append(rows, []any{server.Address(), id})
		}
	}
	for _, g := range growing(live) {
		for _, h := range g.Holders {
			rows = append(rows, []any{h.Server.Name, g.Text})
		}
	}
	return rows, nil
}

func (s *System) tasks(ctx context.Context, _ *timeline.State, _ *cluster.LiveView) ([][]any, error) {
	list, err := s.Tasks(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([][]any, 0, len(list))
	for i := range list {
		t := &list[i]
		var location, host any
		port, secure, queued := int64(-1), int64(-1), int64(0)
		if t.Location.Host != "" {
			location, host = t.Location.Address(), t.Location.Host
			port, secure = shownPort(t.Location.Port), shownPort(t.Location.TLSPort)
		}
		if !t.State.Done() {
			queued = t.Queued
		}
		rows = append(rows, []any{
			t.Task.ID, t.Task.GroupID, t.Task.Type, t.Task.DataSource, chrono.FormatMillis(t.Task.Created, chrono.UTC), chrono.FormatMillis(queued, chrono.UTC),
			t.State.StatusCode(), t.State.RunnerStatusCode(), t.Duration, location, host, port, secure, orNull(t.Error),
		})
	}
	return rows, nil
}

func (s *System) queries(ctx context.Context, _ *timeline.State, _ *cluster.LiveView) ([][]any, error) {
	var rows [][]any
	for _, q := range s.Queries(ctx) {
		info, err := jsontext.Marshal(struct {
			ID        string `json:"sqlQueryId"`
			SQL       string `json:"sql"`
			Identity  string `json:"identity,omitempty"`
			StartTime string `json:"startTime"`
		}{q.ID, secret.MaskSQL(q.SQL), q.Identity, chrono.FormatMillis(q.Started.UnixMilli(), chrono.UTC)})
		if err != nil {
			return nil, fmt.Errorf("describing query [%s]: %w", q.ID, err)
		}
		var failure any
		if q.Err != nil {
			failure = fault.Classify(q.Err).Message
		}
		rows = append(rows, []any{
			q.ID, "native", q.State(), string(info), chrono.FormatMillis(q.Started.UnixMilli(), chrono.UTC), q.Took.Milliseconds(), q.Rows, q.Memory,
			orNull(q.Identity), failure,
		})
	}
	return rows, nil
}

// properties shows the settings of every process; those of one process are the same for all its
// roles.
func (s *System) properties(context.Context, *timeline.State, *cluster.LiveView) ([][]any, error) {
	type process struct {
		address string
		roles   []string
	}
	var processes []process
	servers := s.Servers(false)
	for i := range servers {
		v := &servers[i]
		at := slices.IndexFunc(processes, func(p process) bool { return p.address == v.Address() })
		if at < 0 {
			at = len(processes)
			processes = append(processes, process{address: v.Address()})
		}
		processes[at].roles = append(processes[at].roles, v.Role)
	}
	slices.SortFunc(processes, func(a, b process) int { return cmp.Compare(a.address, b.address) })
	values := s.Properties()
	keys := slices.Sorted(maps.Keys(values))
	var rows [][]any
	for _, p := range processes {
		for _, key := range keys {
			rows = append(rows, []any{p.address, obs.Product + "/" + p.roles[0], "[" + strings.Join(p.roles, ",") + "]", key, values[key], nil})
		}
	}
	return rows, nil
}

func (s *System) supervisors(ctx context.Context, _ *timeline.State, _ *cluster.LiveView) ([][]any, error) {
	list, err := s.Supervisors(ctx)
	if err != nil {
		return nil, err
	}
	var rows [][]any
	for _, v := range list {
		shown, err := secret.MaskJSON([]byte(v.Spec))
		if err != nil {
			return nil, fmt.Errorf("describing supervisor [%s]: %w", v.ID, err)
		}
		rows = append(rows, []any{
			v.ID, orNull(v.DataSource), v.State, v.Detailed, flag(v.Healthy), v.Type, orNull(v.Source), flag(v.Suspended), string(shown),
		})
	}
	return rows, nil
}

func (s *System) decisions(ctx context.Context, _ *timeline.State, _ *cluster.LiveView) ([][]any, error) {
	list, err := s.Decisions(ctx)
	if err != nil {
		return nil, err
	}
	var rows [][]any
	for _, d := range list {
		details, err := jsontext.Marshal(d.Details)
		if err != nil {
			return nil, fmt.Errorf("describing %s [%s]: %w", d.Subject, d.ID, err)
		}
		rows = append(rows, []any{d.Subject, d.ID, orNull(d.DataSource), d.Topic, d.Outcome, d.Reason, string(details)})
	}
	return rows, nil
}
