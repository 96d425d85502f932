package broker

import (
	"context"
	"iter"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/lookup"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/timeline"
)

// Pin implements nativequery.Engine.
func (b *Broker) Pin(ctx context.Context, q *query.Query, access *auth.Access, settings map[string]any) (query.Session, error) {
	s, err := b.session(ctx, q, access, settings)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (b *Broker) session(ctx context.Context, q *query.Query, access *auth.Access, settings map[string]any) (*Session, error) {
	wanted, err := readingOf(settings)
	if err != nil {
		return nil, err
	}
	pinned, err := b.pin(ctx)
	if err != nil {
		return nil, err
	}
	return &Session{broker: b, pin: pinned, lookups: b.o.Lookups.View(), reader: sql.ReaderOf(access), query: q, reading: wanted}, nil
}

// Session pins the newest state, for callers that build their own plans over published rows.
func (b *Broker) Session() *Session {
	return &Session{broker: b, pin: pin{state: b.Seen()}, lookups: b.o.Lookups.View(), reading: reading{published: true}}
}

// Session runs native queries over one state of the timeline.
type Session struct {
	broker  *Broker
	pin     pin
	lookups *lookup.View
	reader  sql.Reader
	// query, reading and fixed are those of Prepared.
	query   *query.Query
	reading reading
	fixed   bool
}

// Only implements query.Session.
func (s *Session) Only(segments map[string][]native.Descriptor) { s.reading.only = segments }

// Columns returns all columns of a datasource, regardless of the user.
func (s *Session) Columns(name string) []plan.Column {
	return s.broker.schemas.of(name, s.pin).columns
}

// Table implements query.Session.
func (s *Session) Table(ctx context.Context, name string) (plan.Node, error) {
	columns := s.Columns(name)
	if columns == nil {
		return nil, nil
	}
	scan := &plan.Scan{DataSource: name, Out: columns, Limit: -1}
	return sql.Protect(ctx, scan, s.reader, clock.Millis(s.broker.o.Clock))
}

// Whole implements query.Session.
func (s *Session) Whole(ctx context.Context, name string) (bool, error) {
	if s.reader.Rules == nil {
		return true, nil
	}
	rules, err := s.reader.Rules(ctx, name)
	return err == nil && auth.Together(rules) == nil, err
}

// Metrics implements query.Session.
func (s *Session) Metrics(name string) []string {
	var names []string
	for _, c := range s.broker.schemas.of(name, s.pin).metrics {
		names = append(names, c.Name)
	}
	return names
}

// Lookup implements query.Session.
func (s *Session) Lookup(name string) ([]plan.Column, error) {
	_, err := s.lookups.Table(name)
	return lookupColumns, err
}

// Chunks implements query.Session.
func (s *Session) Chunks(name string, intervals []chrono.Interval) []chrono.Interval {
	var out []chrono.Interval
	for _, l := range s.List(name, intervals) {
		out = append(out, l.Interval)
	}
	return out
}

// DataSources implements query.Session.
func (s *Session) DataSources() []string { return s.pin.dataSources() }

// Run implements query.Session. Native queries use UTC; time zones are part of their granularities
// and functions.
func (s *Session) Run(ctx context.Context, node plan.Node, id string) (query.Rows, error) {
	p := s.prepared()
	p.Plan = node
	for _, c := range node.Columns() {
		p.Columns = append(p.Columns, sql.Column{Name: c.Name, Type: c.Type})
	}
	return s.broker.Rows(ctx, p, id)
}

// prepared is a statement without a plan.
func (s *Session) prepared() *Prepared {
	return &Prepared{Statement: &sql.Statement{
		Now: clock.Millis(s.broker.o.Clock), Zone: chrono.UTC, Context: map[string]any{querycontext.StringifyArrays.Key(): false}, Lookups: mappings(s.lookups),
	}, State: s.pin.state, live: s.pin.live, Lookups: s.lookups, query: s.query, reading: s.reading, fixed: s.fixed}
}

// Env is Broker.Env for plans of the caller.
func (s *Session) Env(name string) (env *exec.Env, done func()) {
	return s.broker.Env(s.prepared(), name)
}

// Visible is Broker.Visible for plans of the caller.
func (s *Session) Visible(scan *plan.Scan) iter.Seq2[chrono.Interval, *timeline.Segment] {
	return s.broker.Visible(s.prepared(), scan)
}

// List implements query.Session.
func (s *Session) List(name string, intervals []chrono.Interval) []query.Listed {
	var out []query.Listed
	scan := &plan.Scan{DataSource: name, Intervals: intervals}
	for visible, t := range s.Visible(scan) {
		out = append(out, query.Listed{ID: t.ID.String(), Interval: t.ID.Interval, Visible: visible, Size: t.Size, LoadSpec: t.LoadSpec()})
	}
	for _, g := range s.broker.tablesOf(s.prepared()).growing(scan) {
		iv := g.Of.ID.Interval
		out = append(out, query.Listed{ID: g.Text, Interval: iv, Visible: iv, Live: true, Pinned: s.pin.state.Number()})
	}
	return out
}

// Spread implements query.Session.
func (s *Session) Spread(
	ctx context.Context, segments []query.Listed, ask func(ctx context.Context, at query.Server, files query.Files, part []query.Listed) error,
) error {
	files := s.broker.o.Files
	if s.broker.o.LiveSegments != nil {
		files = withLive{files, s.broker.o.LiveSegments}
	}
	if s.broker.o.Servers == nil || s.reading.own != nil {
		return ask(ctx, nil, files, segments)
	}
	workers := s.workers(segments)
	list := make([]dispatch.Segment, len(segments))
	for i := range segments {
		l := &segments[i]
		list[i] = dispatch.Segment{Of: &timeline.Segment{Rows: 1}, ID: l.ID, Visible: l.Visible, Live: l.Live}
		if list[i].Holders = workers[l.ID]; !l.Live {
			list[i].Holders = s.broker.o.Servers.Holders(l.ID)
		}
	}
	q := &dispatch.Query{Live: s.broker.o.Servers.Live, Holders: func(id string) []*dispatch.Server {
		if servers, growing := workers[id]; growing {
			return servers
		}
		return s.broker.o.Servers.Holders(id)
	}}
	return s.broker.o.Dispatcher.Each(ctx, q, list, func(ctx context.Context, server *dispatch.Server, numbers []int) error {
		part := make([]query.Listed, len(numbers))
		for i, n := range numbers {
			part[i] = segments[n]
		}
		if server.Here {
			return ask(ctx, nil, files, part)
		}
		return ask(ctx, far{s.broker.o.Dispatcher, server}, nil, part)
	})
}

// workers returns who has the live ones among some segments.
func (s *Session) workers(segments []query.Listed) map[string][]*dispatch.Server {
	growing := map[string]bool{}
	for i := range segments {
		if segments[i].Live {
			growing[segments[i].ID] = true
		}
	}
	if len(growing) == 0 {
		return nil
	}
	out := map[string][]*dispatch.Server{}
	for _, name := range s.pin.live.DataSources() {
		for _, g := range s.pin.live.Table(name).Segments {
			if growing[g.Text] {
				out[g.Text] = g.Servers()
			}
		}
	}
	return out
}

// withLive are the files of a process that has live segments.
type withLive struct {
	query.Files
	live LiveSegments
}

// AcquireLive implements query.LiveFiles.
func (w withLive) AcquireLive(ctx context.Context, id string, pinned int64) ([]segment.Reader, error) {
	return w.live.Acquire(ctx, id, pinned)
}

// far is a server of another process.
type far struct {
	d      *dispatch.Dispatcher
	server *dispatch.Server
}

// Call implements query.Server.
func (f far) Call(ctx context.Context, path string, body, out any) error {
	return f.d.Call(ctx, f.server, path, body, out)
}

// Segments implements query.Session.
func (s *Session) Segments(ctx context.Context, name string, intervals []chrono.Interval, f func(query.Segment) error) error {
	for visible, t := range s.Visible(&plan.Scan{DataSource: name, Intervals: intervals}) {
		if err := ctx.Err(); err != nil {
			return err
		}
		reader, err := s.broker.segments.Acquire(ctx, t)
		if err != nil {
			return err
		}
		err = exec.Protect(func() error {
			return f(query.Segment{ID: t.ID.String(), Interval: t.ID.Interval, Visible: visible, Size: t.Size, Info: reader.Info()})
		})
		reader.Release()
		if err != nil {
			return err
		}
	}
	return nil
}
