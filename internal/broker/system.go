package broker

import (
	"context"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/lookup"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/sql/infoschema"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// SystemTable builds a table of the schema sys; exactly one of its functions is set.
type SystemTable struct {
	// Rows returns all rows with all columns in the order of the definition. Values are nil, string or
	// int64. The caller removes the rows that the user may not see.
	Rows func(ctx context.Context, state *timeline.State, live *cluster.LiveView) ([][]any, error)
	// Scan returns the requested columns of the rows that the user may see.
	Scan func(ctx context.Context, scan SystemScan) (*vector.Batch, error)
}

// SystemScan is a request for rows of a table.
type SystemScan struct {
	State *timeline.State
	Live  *cluster.LiveView
	// May reports whether rows about a datasource are shown.
	May func(dataSource string) bool
	// Out are the requested columns.
	Out []plan.Column
}

// systemRows gives the rows of system tables as of one state of the timeline.
type systemRows struct {
	broker  *Broker
	pin     pin
	lookups *lookup.View
	dialect string
	access  *auth.Access // nil: all rows are shown
}

// Rows implements exec.SystemTables.
func (s *systemRows) Rows(ctx context.Context, n *plan.System) (*vector.Batch, error) {
	if n.Schema == infoschema.Information {
		return infoschema.Rows(s.information(ctx), n.Table, n.Out)
	}
	if n.Schema == string(sql.SchemaLookup) {
		return s.lookup(ctx, n)
	}
	table, ok := s.broker.system[n.Table]
	if !ok {
		return nil, fault.Unsupported("System table [%s.%s] is not supported yet", n.Schema, n.Table)
	}
	if table.Scan != nil {
		m := newMay(s.access)
		may := func(dataSource string) bool { return m.all(ctx, dataSource) }
		return table.Scan(ctx, SystemScan{State: s.pin.state, Live: s.pin.live, May: may, Out: n.Out})
	}
	rows, err := table.Rows(ctx, s.pin.state, s.pin.live)
	if err != nil {
		return nil, err
	}
	return infoschema.Batch(infoschema.Columns(n.Schema, n.Table), s.permitted(ctx, n.Table, rows), n.Out)
}

func (s *systemRows) information(ctx context.Context) *infoschema.Catalog {
	c := s.broker.catalog(s.pin, s.lookups)
	out, m := &infoschema.Catalog{Name: s.dialect}, newMay(s.access)
	if m != nil && m.access.Options().SystemTables {
		out.Hidden = func(table string) bool { return !m.access.May(ctx, auth.Reads(auth.SystemTable, table)) }
	}
	for _, name := range c.Names(ctx, sql.SchemaData) {
		if !m.read(ctx, name) {
			continue
		}
		if columns, err := c.shown(ctx, name, s.access); err == nil && columns != nil { // no I/O: it can't fail
			out.Tables = append(out.Tables, infoschema.Table{Name: name, Columns: columns})
		}
	}
	for _, name := range c.Names(ctx, sql.SchemaLookup) {
		out.Tables = append(out.Tables, infoschema.Table{
			Schema: string(sql.SchemaLookup), Name: name, Joinable: true, Broadcast: true, Columns: lookupColumns,
		})
	}
	return out
}

// lookup gives the entries of a lookup, by key.
func (s *systemRows) lookup(ctx context.Context, n *plan.System) (*vector.Batch, error) {
	t, err := s.lookups.Table(n.Table)
	if err != nil {
		return nil, err
	}
	keys, values := vector.NewBuilder(vector.String, t.Len()), vector.NewBuilder(vector.String, t.Len())
	for k, v := range t.All() {
		keys.Append(k)
		values.Append(v)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	columns := map[string]*vector.Vector{lookupColumns[0].Name: keys.Build(), lookupColumns[1].Name: values.Build()}
	out := &vector.Batch{N: t.Len(), Cols: make([]*vector.Vector, len(n.Out))}
	for i, c := range n.Out {
		out.Cols[i] = columns[c.Name]
	}
	return out, nil
}
