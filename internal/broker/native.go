package broker

import (
	"context"
	"iter"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/lookup"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/timeline"
)

// Pin implements nativequery.Engine.
func (b *Broker) Pin(q *query.Query, settings map[string]any) (query.Session, error) {
	s := b.Session()
	s.query = q
	var err error
	if s.unpublishedOnly, err = unpublishedOnly(settings); err != nil {
		return nil, err
	}
	return s, nil
}

// Session pins the newest state, for what makes plans of its own.
func (b *Broker) Session() *Session {
	return &Session{broker: b, state: b.Seen(), lookups: b.o.Lookups.View()}
}

// Session answers native queries from one state of the timeline.
type Session struct {
	broker  *Broker
	state   *timeline.State
	lookups *lookup.View
	// query and unpublishedOnly are those of Prepared.
	query           *query.Query
	unpublishedOnly bool
}

// Columns implements query.Session.
func (s *Session) Columns(name string) []plan.Column {
	t := s.state.Timeline(name)
	if t.Len() == 0 {
		return nil
	}
	return s.broker.schemas.columns(name, t)
}

// Metrics implements query.Session.
func (s *Session) Metrics(name string) []string {
	t := s.state.Timeline(name)
	if t.Len() == 0 {
		return nil
	}
	var names []string
	for _, c := range s.broker.schemas.entry(name, t).metrics {
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
	for _, t := range s.Visible(&plan.Scan{DataSource: name, Intervals: intervals}) {
		out = append(out, t.ID.Interval)
	}
	return out
}

// DataSources implements query.Session.
func (s *Session) DataSources() []string { return s.state.DataSources() }

// Run implements query.Session. Native queries know UTC only: zones stand in their granularities and functions.
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
	}, State: s.state, Lookups: s.lookups, query: s.query, unpublishedOnly: s.unpublishedOnly}
}

// Env is Broker.Env for plans of the caller's own.
func (s *Session) Env(name string) (env *exec.Env, done func()) {
	return s.broker.Env(s.prepared(), name)
}

// Visible is Broker.Visible for plans of the caller's own.
func (s *Session) Visible(scan *plan.Scan) iter.Seq2[chrono.Interval, *timeline.Segment] {
	return s.broker.Visible(s.prepared(), scan)
}

// List implements query.Session.
func (s *Session) List(name string, intervals []chrono.Interval) []query.Listed {
	var out []query.Listed
	for visible, t := range s.Visible(&plan.Scan{DataSource: name, Intervals: intervals}) {
		out = append(out, query.Listed{ID: t.ID.String(), Interval: t.ID.Interval, Visible: visible, Size: t.Size, LoadSpec: t.LoadSpec()})
	}
	return out
}

// Spread implements query.Session.
func (s *Session) Spread(
	ctx context.Context, segments []query.Listed, ask func(ctx context.Context, at query.Server, files query.Files, part []query.Listed) error,
) error {
	if s.broker.o.Servers == nil {
		return ask(ctx, nil, s.broker.o.Files, segments)
	}
	list := make([]dispatch.Segment, len(segments))
	for i := range segments {
		list[i] = dispatch.Segment{Of: &timeline.Segment{Rows: 1}, ID: segments[i].ID, Visible: segments[i].Visible, Holders: s.broker.o.Servers.Holders(segments[i].ID)}
	}
	q := &dispatch.Query{Live: s.broker.o.Servers.Live, Holders: s.broker.o.Servers.Holders}
	return s.broker.o.Dispatcher.Each(ctx, q, list, func(ctx context.Context, server *dispatch.Server, numbers []int) error {
		part := make([]query.Listed, len(numbers))
		for i, n := range numbers {
			part[i] = segments[n]
		}
		if server.Here {
			return ask(ctx, nil, s.broker.o.Files, part)
		}
		return ask(ctx, far{s.broker.o.Dispatcher, server}, nil, part)
	})
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
