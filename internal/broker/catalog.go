package broker

import (
	"context"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/lookup"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// catalog answers what tables one state of the timeline holds.
type catalog struct {
	pin
	cache   *schemaCache
	lookups *lookup.View
	local   LocalTables
}

// LocalTables are the files that replace tables in a local run, which does not have datasources.
// Its methods are safe for use by many goroutines.
type LocalTables interface {
	// Table returns the table with a name, or nil.
	Table(ctx context.Context, name string) (*sql.Table, error)
	// File returns the table for a path.
	File(ctx context.Context, path string) (*sql.Table, error)
	Names() []string
}

// localCatalog is the catalog of a local run.
type localCatalog struct{ catalog }

// File implements sql.Files.
func (c localCatalog) File(ctx context.Context, path string) (*sql.Table, error) {
	return c.local.File(ctx, path)
}

// named returns what statements are bound against.
func (c catalog) named() sql.Catalog {
	if c.local != nil {
		return localCatalog{c}
	}
	return c
}

// lookupColumns are the columns of the tables of the schema lookup.
var lookupColumns = []plan.Column{
	{Name: "k", Type: expr.Of(expr.Varchar).NotNull()}, {Name: "v", Type: expr.Of(expr.Varchar).OrNull(true)},
}

// Table returns the columns of a datasource or a lookup.
func (c catalog) Table(ctx context.Context, schema sql.Schema, name string) (*sql.Table, error) {
	switch schema {
	case sql.SchemaData:
		if c.local != nil {
			return c.local.Table(ctx, name)
		}
	case sql.SchemaLookup:
		if !c.lookups.Known(name) {
			return nil, nil
		}
		_, err := c.lookups.Table(name)
		return &sql.Table{Columns: lookupColumns}, err
	default:
		return nil, nil
	}
	columns := c.cache.of(name, c.pin).columns
	if len(columns) == 0 {
		return nil, nil
	}
	return &sql.Table{Columns: columns}, nil
}

// Names lists the datasources, or the lookups that are loaded.
func (c catalog) Names(_ context.Context, schema sql.Schema) []string {
	switch schema {
	case sql.SchemaData:
		if c.local != nil {
			return c.local.Names()
		}
		return c.dataSources()
	case sql.SchemaLookup:
		return c.lookups.Names()
	}
	return nil
}

// dataSources returns the names of the datasources that have published or live segments, sorted.
func (p pin) dataSources() []string {
	names := p.state.DataSources()
	growing := p.live.DataSources()
	if len(growing) == 0 {
		return names
	}
	names = append(names, growing...)
	slices.Sort(names)
	return slices.Compact(names)
}

// schemaCache remembers the columns of each datasource's newest timeline, and how many rows can be
// seen, so that planning does not walk over all segments.
type schemaCache struct {
	mu      sync.Mutex
	entries map[string]schemaEntry
}

type schemaEntry struct {
	of      *timeline.Timeline
	live    *cluster.LiveSchemas
	columns []plan.Column
	metrics []plan.Column // the last ones of columns
	rows    float64
	// stored is how many rows the segments have that are visible, at any time.
	stored int64
	// published are the schemas of the visible segments.
	published []cluster.LiveSchema
}

// of returns what is known of a datasource; without segments it has no columns.
func (c *schemaCache) of(name string, p pin) schemaEntry {
	t, growing := p.state.Timeline(name), p.live.Table(name)
	if t.Len() == 0 && growing == nil {
		return schemaEntry{}
	}
	var schemas *cluster.LiveSchemas
	if growing != nil {
		schemas = growing.Schemas
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, known := c.entries[name]
	if known && e.of == t && e.live == schemas {
		return e
	}
	if c.entries == nil {
		c.entries = map[string]schemaEntry{}
	}
	if !known || e.of != t {
		e = entryOf(t)
	}
	e.live = schemas
	e.columns, e.metrics = mergeSchemas(e.published, schemas)
	c.entries[name] = e
	return e
}

// visibleRows returns how many rows the visible segments have in some intervals, as far as it is
// known: of a chunk that is cut, the part that is left of its time.
func visibleRows(t *timeline.Timeline, intervals ...chrono.Interval) float64 {
	rows := 0.0
	for _, holder := range t.Lookup(intervals...) {
		_, visible := rowCount(holder)
		rows += visible
	}
	return rows
}

// rowCount returns how many rows the segments of a holder have, as far as it is known, and how many
// of them are visible, if the rows are spread evenly over the chunk's time.
func rowCount(h timeline.Holder) (stored int64, visible float64) {
	for _, s := range h.Segments() {
		stored += max(s.Rows, 0)
	}
	return stored, float64(stored) * visiblePart(h)
}

// visiblePart returns which part of the time of a holder's chunk is visible in it.
func visiblePart(h timeline.Holder) float64 {
	whole := h.Chunk.Interval
	if whole == h.Interval || whole == chrono.Eternity || whole.IsEmpty() {
		return 1
	}
	return float64(h.Interval.Millis()) / float64(whole.Millis())
}

// scanRows estimates how many rows a scan reads, for the optimizer.
func (c catalog) scanRows(scan *plan.Scan) float64 {
	rows := 0.0
	if growing := c.live.Table(scan.DataSource); growing != nil {
		for _, s := range growing.Segments {
			rows += float64(s.Of.Rows)
		}
	}
	t := c.state.Timeline(scan.DataSource)
	switch {
	case t.Len() == 0:
		return rows
	case scan.Intervals != nil:
		return rows + visibleRows(t, scan.Intervals...)
	}
	return rows + c.cache.of(scan.DataSource, c.pin).rows
}

// entryOf returns what the visible segments of a timeline say, in one walk over them: their rows,
// and their different schemas, each with the newest version that has it. What is overshadowed is
// not seen, nor are its columns.
func entryOf(t *timeline.Timeline) schemaEntry {
	e := schemaEntry{of: t}
	at := map[*timeline.Schema]int{}
	var last *timeline.Schema // of the segment before, as of nearly all
	i := 0
	for _, holder := range t.Lookup(chrono.Eternity) {
		stored, visible := rowCount(holder)
		e.stored += stored
		e.rows += visible
		for _, s := range holder.Segments() {
			if s.Schema == nil {
				continue
			}
			if s.Schema != last {
				var known bool
				if i, known = at[s.Schema]; !known {
					i = len(e.published)
					at[s.Schema] = i
					e.published = append(e.published, cluster.LiveSchema{Schema: s.Schema})
				}
				last = s.Schema
			}
			e.published[i].Version = max(e.published[i].Version, s.ID.Version)
		}
	}
	return e
}

// mergeSchemas returns the columns of a datasource: time first, then those of the newest segments
// in their order, dimensions before metrics, then what only older ones have; and the part of them
// that are the metrics. A column whose type differs between segments gets the least restrictive
// type.
func mergeSchemas(published []cluster.LiveSchema, growing *cluster.LiveSchemas) (all, metrics []plan.Column) {
	schemas := slices.Clone(published) // oldest first
	if growing != nil {
		schemas = append(schemas, growing.List...)
	}
	if len(schemas) == 0 {
		return nil, nil
	}
	for i := 1; i < len(schemas); i++ { // few: insertion by version, newest first
		for j := i; j > 0 && schemas[j].Version >= schemas[j-1].Version; j-- {
			schemas[j], schemas[j-1] = schemas[j-1], schemas[j]
		}
	}
	out := []plan.Column{{Name: plan.TimeColumn, Type: expr.Of(expr.Timestamp).NotNull()}}
	dimensions := 0
	at := map[string]int{plan.TimeColumn: 0}
	for _, metrics := range []bool{false, true} {
		dimensions = len(out)
		for _, s := range schemas {
			for _, c := range s.Columns {
				if c.Metric != metrics || c.Name == plan.TimeColumn {
					continue
				}
				typ, ok := columnType(c)
				if !ok {
					continue
				}
				if i, seen := at[c.Name]; seen {
					out[i].Type = Widen(out[i].Type, typ)
					continue
				}
				at[c.Name] = len(out)
				out = append(out, plan.Column{Name: c.Name, Type: typ})
			}
		}
	}
	return out, out[dimensions:]
}

func columnType(c timeline.Column) (expr.Type, bool) {
	physical, err := vector.ParseType(c.Type)
	if err != nil { // a type of a newer release, or one that was never recorded: the column can't be read
		return expr.Type{}, false
	}
	if c.MultiValue {
		return expr.MultiString, true
	}
	return expr.FromRuntime(physical, false), true
}

// Widen returns the type that can represent the values of both types.
func Widen(a, b expr.Type) expr.Type {
	switch {
	case a == b:
		return a
	case a.ComplexName() == "json" || b.ComplexName() == "json":
		return expr.JSON
	case a.Base == expr.Array || b.Base == expr.Array:
		return expr.ArrayOf(Widen(element(a), element(b)))
	case a.Multi || b.Multi:
		return expr.MultiString
	case a.IsCharacter() || b.IsCharacter() || a.Base == expr.Other || b.Base == expr.Other:
		return expr.Of(expr.Varchar)
	case a.Base == expr.Double || b.Base == expr.Double:
		return expr.Of(expr.Double)
	}
	return expr.Of(expr.Float)
}

// element returns the type of one value of what may have several.
func element(t expr.Type) expr.Type {
	if t.Multi || t.Base == expr.Array {
		return t.Elem()
	}
	return t
}
