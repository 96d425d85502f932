package broker

import (
	"context"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/sql/infoschema"
)

// pinOf pins what a request reads.
func (b *Broker) pinOf(ctx context.Context, req *query.Request) (pin, error) {
	if p, ok := req.Pin.(pin); ok {
		return p, nil
	}
	return b.pin(ctx)
}

// PinState pins the current state, for several requests that must see the same rows.
func (b *Broker) PinState(ctx context.Context) (query.Pin, error) { return b.pin(ctx) }

// Tables lists the readable tables of a pinned state: datasources, lookups and the tables of sys.
func (b *Broker) Tables(ctx context.Context, of query.Pin) ([]query.Table, error) {
	p, ok := of.(pin)
	if !ok {
		var err error
		if p, err = b.pin(ctx); err != nil {
			return nil, err
		}
	}
	lookups := b.o.Lookups.View()
	c := b.catalog(p, lookups)
	var out []query.Table
	for _, name := range c.Names(ctx, sql.SchemaData) {
		e := b.schemas.of(name, p)
		if len(e.columns) > 0 {
			out = append(out, query.Table{Name: name, Columns: resultColumns(e.columns), Rows: e.rows})
		}
	}
	for _, name := range c.Names(ctx, sql.SchemaLookup) {
		out = append(out, query.Table{Schema: string(sql.SchemaLookup), Name: name, Columns: resultColumns(lookupColumns)})
	}
	for _, name := range infoschema.Tables(infoschema.System) {
		if _, ok := b.system[name]; ok {
			out = append(out, query.Table{Schema: infoschema.System, Name: name, Columns: resultColumns(infoschema.Columns(infoschema.System,
				name)), System: true})
		}
	}
	return out, nil
}

// Shown returns the columns of a datasource that an access may see; nil: a rule rejects all
// queries.
func (b *Broker) Shown(ctx context.Context, of query.Pin, dataSource string, access *auth.Access) ([]result.Column, error) {
	p, ok := of.(pin)
	if !ok {
		return nil, fault.Defensive("The state of the catalog does not belong to this Broker")
	}
	columns, err := b.catalog(p, b.o.Lookups.View()).shown(ctx, dataSource, access)
	if err != nil || columns == nil {
		return nil, err
	}
	return resultColumns(columns), nil
}

// shown returns the columns of a datasource that an access shows; nil: there are none, or a rule
// refuses all queries.
func (c catalog) shown(ctx context.Context, dataSource string, access *auth.Access) ([]plan.Column, error) {
	t, err := c.Table(ctx, sql.SchemaData, dataSource)
	if err != nil || t == nil {
		return nil, err
	}
	scan := &plan.Scan{DataSource: dataSource, Out: t.Columns, Limit: -1}
	n, err := sql.Protect(ctx, scan, sql.ReaderOf(access), 0)
	if err != nil {
		return nil, nil //nolint:nilerr // a rule refuses its queries
	}
	return n.Columns(), nil
}

func resultColumns(list []plan.Column) []result.Column {
	out := make([]result.Column, len(list))
	for i, c := range list {
		out[i] = result.Column{Name: c.Name, Type: c.Type}
	}
	return out
}
