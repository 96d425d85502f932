package pgwire

import (
	"context"
	"runtime"
	"slices"

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
			if other == nil || other.user != c.user && !c.access.May(ctx, auth.Writes(auth.State, string(auth.State))) {
				return false
			}
			return c.server.cancel(uint32(pid), nil)
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

// granted is what was granted of a table when a snapshot was made.
type granted struct {
	need  auth.Need
	grant auth.Grant
}

// catalogOf makes the snapshot of a state, or takes the one that was made of it.
func (c *session) catalogOf(ctx context.Context, pin query.Pin) (*pgcatalog.Snapshot, error) {
	if c.access.Limited() {
		if c.snapshot == nil || c.snapshotOf != pin || !c.stillGranted(ctx) {
			snapshot, grants, err := c.newSnapshot(ctx, pin)
			if err != nil {
				return nil, err
			}
			c.snapshot, c.snapshotOf, c.grants = snapshot, pin, grants
		}
		return c.snapshot, nil
	}
	shared := &c.server.catalog
	shared.Lock()
	defer shared.Unlock()
	if shared.snapshot == nil || shared.of != pin {
		snapshot, _, err := c.newSnapshot(ctx, pin)
		if err != nil {
			return nil, err
		}
		shared.snapshot, shared.of = snapshot, pin
	}
	return shared.snapshot, nil
}

// newSnapshot makes a snapshot of what the client may read. A decision that can't be made is a no.
func (c *session) newSnapshot(ctx context.Context, pin query.Pin) (*pgcatalog.Snapshot, []granted, error) {
	tables, err := c.server.engine.Tables(ctx, pin)
	if err != nil {
		return nil, nil, err
	}
	var list []*pgcatalog.Relation
	var grants []granted
	for _, t := range tables {
		if need, needed := c.needOf(t); needed {
			g, err := c.access.Grant(ctx, need)
			if err != nil {
				g = auth.Grant{}
			}
			grants = append(grants, granted{need, g})
			if !g.Allowed {
				continue
			}
			if g.Limited() { // how many rows there are tells of those that are not shown
				if t.Columns, err = c.server.engine.Shown(ctx, pin, t.Name, c.access); err != nil {
					return nil, nil, err
				}
				if t.Rows = 0; t.Columns == nil {
					continue
				}
			}
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
	return pgcatalog.NewSnapshot(list), grants, nil
}

// needOf returns the permission that a table is listed by, as in INFORMATION_SCHEMA.
func (c *session) needOf(t query.Table) (need auth.Need, needed bool) {
	switch {
	case t.Schema == "":
		return auth.Reads(auth.Datasource, t.Name), c.access.Limited()
	case t.System:
		return auth.Reads(auth.SystemTable, t.Name), c.access.Options().SystemTables
	}
	return need, false
}

// stillGranted tells whether nothing has changed since the snapshot was made.
func (c *session) stillGranted(ctx context.Context) bool {
	for _, was := range c.grants {
		g, err := c.access.Grant(ctx, was.need)
		if err != nil || g.Allowed != was.grant.Allowed || !slices.Equal(g.Rules, was.grant.Rules) {
			return false
		}
	}
	return true
}
