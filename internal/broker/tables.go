package broker

import (
	"context"

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

// PinState pins what there is now, for several requests that must see the same.
func (b *Broker) PinState(ctx context.Context) (query.Pin, error) { return b.pin(ctx) }

// Tables lists what can be read of a pinned state: datasources, lookups and the tables of sys.
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
		if b.system[name] != nil {
			out = append(out, query.Table{Schema: infoschema.System, Name: name, Columns: resultColumns(infoschema.Columns(infoschema.System,
				name)), System: true})
		}
	}
	return out, nil
}

func resultColumns(list []plan.Column) []result.Column {
	out := make([]result.Column, len(list))
	for i, c := range list {
		out[i] = result.Column{Name: c.Name, Type: c.Type}
	}
	return out
}
