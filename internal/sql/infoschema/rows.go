package infoschema

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Catalog is the content that INFORMATION_SCHEMA describes.
type Catalog struct {
	// Name is the catalog and the schema of datasources: the API name of the request, "service" or an
	// alias.
	Name string
	// Tables are the datasources and lookups; the package adds system tables.
	Tables []Table
	// Hidden reports whether a table of the schema sys is omitted; nil: all are listed.
	Hidden func(table string) bool
}

// Table is a datasource (if Schema is empty) or a lookup.
type Table struct {
	Schema, Name string
	// Joinable and Broadcast tables are on every server that can join with them.
	Joinable, Broadcast bool
	Columns             []plan.Column
}

// Rows returns all rows of the INFORMATION_SCHEMA table name, with the columns cols of it by name.
func Rows(c *Catalog, name string, cols []plan.Column) (*vector.Batch, error) {
	all := Columns(Information, name)
	var rows [][]any
	switch name {
	case "SCHEMATA":
		rows = c.schemata()
	case "TABLES":
		rows = c.tables()
	case "COLUMNS":
		rows = c.columns()
	case "ROUTINES":
		rows = c.routines()
	default:
		return nil, fault.NotFound("Table [%s.%s] does not exist", Information, name)
	}
	return Batch(all, rows, cols)
}

// Batch returns a batch with the columns cols, by name, of rows with the columns all. Values are
// nil, string or int64.
func Batch(all []plan.Column, rows [][]any, cols []plan.Column) (*vector.Batch, error) {
	out := &vector.Batch{N: len(rows), Cols: make([]*vector.Vector, len(cols))}
	for i, col := range cols {
		at := slices.IndexFunc(all, func(c plan.Column) bool { return c.Name == col.Name })
		if at < 0 {
			return nil, fault.Defensive("A system table has no column [%s]", col.Name)
		}
		b := vector.NewBuilder(col.Type.Runtime(), len(rows))
		for _, row := range rows {
			b.Append(row[at])
		}
		out.Cols[i] = b.Build()
	}
	return out, nil
}

// list returns all tables in the order INFORMATION_SCHEMA shows them: by schema, then by name.
func (c *Catalog) list() []Table {
	out := slices.Clone(c.Tables)
	for i := range out {
		if out[i].Schema == "" {
			out[i].Schema = c.Name
		}
	}
	for schema, tables := range schemas {
		for _, t := range tables {
			if schema == System && c.Hidden != nil && c.Hidden(t.name) {
				continue
			}
			out = append(out, Table{Schema: schema, Name: t.name, Columns: t.cols})
		}
	}
	slices.SortFunc(out, func(a, b Table) int {
		return cmp.Or(strings.Compare(a.Schema, b.Schema), strings.Compare(a.Name, b.Name))
	})
	return out
}

func (c *Catalog) schemata() [][]any {
	var out [][]any
	names := []string{Information, c.Name, "lookup", System, "view"}
	slices.Sort(names)
	for _, name := range names {
		out = append(out, []any{c.Name, name, nil, nil, nil, nil, nil})
	}
	return out
}

func (c *Catalog) tables() [][]any {
	var out [][]any
	for _, t := range c.list() {
		kind := "TABLE"
		if t.Schema == Information || t.Schema == System {
			kind = "SYSTEM_TABLE"
		}
		out = append(out, []any{c.Name, t.Schema, t.Name, kind, yesNo(t.Joinable), yesNo(t.Broadcast)})
	}
	return out
}

func (c *Catalog) columns() [][]any {
	var out [][]any
	for _, t := range c.list() {
		for i, col := range t.Columns {
			d := describe(col.Type)
			out = append(out, []any{c.Name, t.Schema, t.Name, col.Name, int64(i + 1), "", yesNo(col.Type.Nullable && !Required(t.Schema, t.Name, col.Name)), d.name, nil, nil,
				d.precision, d.radix, d.scale, d.fraction, d.charset, d.collation, d.jdbc})
		}
	}
	return out
}

// description is how a type shows in COLUMNS.
type description struct {
	name                              string
	precision, radix, scale, fraction any
	charset, collation                any
	jdbc                              int64
}

// unsetScale stands for a scale that a floating-point type does not have.
const unsetScale = int64(math.MinInt32)

func describe(t expr.Type) description {
	const radix = int64(10)
	switch t.Base {
	case expr.Varchar, expr.Char:
		return description{name: "VARCHAR", charset: "UTF-16LE", collation: "UTF-16LE$en_US$primary", jdbc: 12}
	case expr.BigInt:
		return description{name: "BIGINT", precision: int64(19), radix: radix, scale: int64(0), jdbc: -5}
	case expr.Float:
		return description{name: "FLOAT", precision: int64(15), radix: radix, scale: unsetScale, jdbc: 6}
	case expr.Double:
		return description{name: "DOUBLE", precision: int64(15), radix: radix, scale: unsetScale, jdbc: 8}
	case expr.Timestamp:
		return description{name: "TIMESTAMP", fraction: int64(3), jdbc: 93}
	case expr.Boolean:
		return description{name: "BOOLEAN", jdbc: 16}
	case expr.Array:
		return description{name: "ARRAY", jdbc: 2003}
	}
	return description{name: t.String(), jdbc: 1111}
}

func (c *Catalog) routines() [][]any {
	var out [][]any
	row := func(name, aggregator, signatures string) {
		var s any
		if signatures != "" {
			s = signatures
		}
		out = append(out, []any{c.Name, Information, name, "FUNCTION", aggregator, s})
	}
	for _, f := range catalog.Functions() {
		quoted := make([]string, 0, len(f.Forms))
		for _, s := range f.Signatures() {
			quoted = append(quoted, "'"+s+"'")
		}
		row(f.Name, "NO", strings.Join(quoted, "\n"))
	}
	for _, f := range agg.Functions() {
		for _, name := range append([]string{f.Name}, f.Aliases...) {
			row(name, "YES", strings.ReplaceAll(f.Signature, "'"+f.Name+"(", "'"+name+"("))
		}
	}
	for _, f := range slices.Concat(Windows, Forms) {
		row(f.Name, yesNo(f.Aggregator), f.Signatures)
	}
	slices.SortFunc(out, func(a, b []any) int { return strings.Compare(a[2].(string), b[2].(string)) })
	return out
}

func yesNo(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
}
