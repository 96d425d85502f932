package pgwire

import (
	"context"
	"runtime"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/sql/pgcatalog"
)

// catalogSession is what statements of the catalog see of the session.
func (c *session) catalogSession(ctx context.Context) (*pgcatalog.Session, error) {
	pin, err := c.pinned(ctx)
	if err != nil {
		return nil, err
	}
	snapshot, err := c.catalogOf(ctx, pin)
	if err != nil {
		return nil, err
	}
	now := c.server.o.Clock.Now()
	return &pgcatalog.Session{
		Snapshot: snapshot, Database: c.database, User: c.user, PID: int64(c.pid), Zone: c.settings.zone, Now: now, Began: now,
		Started: c.server.started, Version: "PostgreSQL " + serverVersion + " (Henge " + c.server.o.Version + ") on " + runtime.GOARCH +
			", 64-bit",
		Number: serverVersionNumber, Short: serverVersion, Setting: c.settings.get, Settings: c.settings.all,
		SetConfig:   func(name, value string, _ bool) error { return c.settings.set(pgLower(name), value) },
		Transaction: c.txn.number + 1,
		Activities:  func() []pgcatalog.Activity { return c.server.activities(c) },
		Cancel: func(pid int64) bool {
			c.server.mu.Lock()
			other := c.server.mu.sessions[uint32(pid)]
			c.server.mu.Unlock()
			return other != nil && (other.user == c.user || !c.access.Limited()) && c.server.cancel(uint32(pid), nil)
		},
		Prepared: func() map[string]string {
			out := map[string]string{}
			for name, s := range c.statements {
				if name != "" {
					out[name] = s.plan.source
				}
			}
			return out
		},
		Cursors: func() map[string]string {
			out := map[string]string{}
			for name, k := range c.cursors {
				out[name] = k.text
			}
			return out
		},
	}, nil
}

// catalogOf makes the snapshot of a state, or takes the one that was made of it.
func (c *session) catalogOf(ctx context.Context, pin query.Pin) (*pgcatalog.Snapshot, error) {
	if c.snapshot != nil && c.snapshotOf == pin {
		return c.snapshot, nil
	}
	shared := &c.server.catalog
	if !c.access.Limited() {
		shared.Lock()
		defer shared.Unlock()
		if shared.snapshot != nil && shared.of == pin {
			return shared.snapshot, nil
		}
	}
	tables, err := c.server.engine.Tables(ctx, pin)
	if err != nil {
		return nil, err
	}
	var list []*pgcatalog.Relation
	for _, t := range tables {
		if !c.mayRead(ctx, t) {
			continue
		}
		r := &pgcatalog.Relation{Schema: t.Schema, Name: t.Name, Rows: t.Rows, View: t.System}
		if r.Schema == "" {
			r.Schema = pgcatalog.Public
		}
		for _, k := range t.Columns {
			r.Columns = append(r.Columns, pgcatalog.Column{Name: k.Name, Type: typeOf(k.Type), NotNull: !k.Type.Nullable})
		}
		list = append(list, r)
	}
	snapshot := pgcatalog.NewSnapshot(list)
	if c.access.Limited() {
		c.snapshot, c.snapshotOf = snapshot, pin
	} else {
		shared.snapshot, shared.of = snapshot, pin
	}
	return snapshot, nil
}

func (c *session) mayRead(ctx context.Context, t query.Table) bool {
	switch {
	case t.Schema == "":
		return c.access.May(ctx, auth.Reads(auth.Datasource, t.Name))
	case t.System:
		return c.access.May(ctx, auth.Reads(auth.SystemTable, t.Name))
	}
	return true
}
