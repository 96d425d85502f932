package broker

import (
	"context"

	"github.com/hengedb/henge/internal/api/native"
	"github.com/hengedb/henge/internal/api/query"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/lookup"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/timeline"
)

// Pin implements native.Engine.
func (b *Broker) Pin() native.Session { return &session{b, b.published.Pin(), b.o.Lookups.View()} }

// session answers native queries from one state of the timeline.
type session struct {
	broker  *Broker
	state   *timeline.State
	lookups *lookup.View
}

// Columns implements native.Session.
func (s *session) Columns(name string) []plan.Column {
	t := s.state.Timeline(name)
	if t.Len() == 0 {
		return nil
	}
	return s.broker.schemas.columns(name, t)
}

// Lookup implements native.Session.
func (s *session) Lookup(name string) ([]plan.Column, error) {
	_, err := s.lookups.Table(name)
	return lookupColumns, err
}

// DataSources implements native.Session.
func (s *session) DataSources() []string { return s.state.DataSources() }

// Run implements native.Session. Native queries know UTC only: zones stand in their granularities and functions.
func (s *session) Run(ctx context.Context, node plan.Node, id string) (query.Rows, error) {
	st := &sql.Statement{
		Plan: node, Now: clock.Millis(s.broker.o.Clock), Zone: chrono.UTC, Context: map[string]any{"sqlStringifyArrays": false},
		Lookups: mappings(s.lookups),
	}
	for _, c := range node.Columns() {
		st.Columns = append(st.Columns, sql.Column{Name: c.Name, Type: c.Type})
	}
	return s.broker.Rows(ctx, &Prepared{Statement: st, State: s.state, Lookups: s.lookups}, id)
}

// Segments implements native.Session.
func (s *session) Segments(ctx context.Context, name string, intervals []chrono.Interval, f func(native.Segment) error) error {
	for _, holder := range s.state.Timeline(name).Lookup(intervals...) {
		for _, t := range holder.Segments() {
			if t.IsTombstone() {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			reader, err := s.broker.segments.Acquire(ctx, t)
			if err != nil {
				return err
			}
			err = exec.Protect(func() error {
				return f(native.Segment{ID: t.ID.String(), Interval: t.ID.Interval, Visible: holder.Interval, Size: t.Size, Info: reader.Info()})
			})
			reader.Release()
			if err != nil {
				return err
			}
		}
	}
	return nil
}
