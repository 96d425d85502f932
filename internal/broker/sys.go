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
	// Port is the port of plain HTTP, TLSPort the port of HTTPS; 0: not open.
	Port, TLSPort int
	// Role is the name in lower case: coordinator, overlord, broker, ...
	Role string
	// Tier is the tier of a data server, else empty.
	Tier string
	// MaxBytes is the capacity of a data server.
	MaxBytes int64
	// Leads is true if the role has leaders and this server is the leader.
	Leads bool
	// Used is the number of bytes on a data server, Loaded the ids of its segments.
	Used   int64
	Loaded []string
	// Started is in milliseconds.
	Started int64
	Version string
	// Revision is the revision of the sources, or empty.
	Revision string
	// Labels is a JSON object of strings, or empty.
	Labels     string
	Processors int
	// Memory is the memory limit of the process in bytes.
	Memory int64
}

// Supervisor is a row of sys.supervisors, which the leading Overlord sends to Brokers.
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

// System supplies the rows of sys tables that do not come from the published timeline. Its
// functions are called from any goroutine, once per scan.
type System struct {
	// Servers returns the roles of all processes; with segments, also the segments of each server.
	Servers func(segments bool) []Server
	// LiveRows returns the current number of rows of live segments by id, without the segments of
	// servers that do not respond; nil: the last announced numbers are used.
	LiveRows func(ctx context.Context, live *cluster.LiveView) map[string]int64
	// Copies returns a function for the number of copies that the rules require of a segment: -1 if no
	// rule matches.
	Copies func(ctx context.Context) (func(*timeline.Segment) int64, error)
	// Tasks returns the active tasks and the recently finished ones.
	Tasks func(ctx context.Context) ([]task.Status, error)
	// Supervisors returns the supervisors that have not ended.
	Supervisors func(ctx context.Context) ([]Supervisor, error)
	// Decisions returns the objects that are not in their desired state, with the reasons.
	Decisions func(ctx context.Context) ([]why.Decision, error)
	// Queries returns the running and the recently finished synchronous queries.
	Queries func(ctx context.Context) []query.Info
	// Properties returns the settings that may be shown.
	Properties func() map[string]string
}

// Tables returns the tables of the schema sys.
func (s *System) Tables() map[string]SystemTable {
	return map[string]SystemTable{
		"segments": {Scan: s.segments}, "servers": {Rows: s.servers}, "server_segments": {Rows: s.serverSegments}, "tasks": {Rows: s.tasks},
		"queries": {Rows: s.queries}, "server_properties": {Rows: s.properties}, "supervisors": {Rows: s.supervisors}, "decisions": {Rows: s.decisions},
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
			chrono.FormatMillis(v.Started, chrono.UTC), v.Version, orNull(v.Revision), orNull(v.Labels), int64(v.Processors), v.Memory,
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
