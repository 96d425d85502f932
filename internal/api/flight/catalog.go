package flight

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/hengedb/henge/internal/api/grpc"
	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/vector"
)

// catalog is a command that asks for metadata.
type catalog struct {
	// columns are those of the answer; extra, if not nil, adds those that the command asks for.
	columns []arrow.Column
	extra   func(in fields) []arrow.Column
	// rows returns the values of the answer.
	rows func(ctx context.Context, c *call, in fields) ([][]any, error)
	// send, if not nil, sends an answer that has columns which vectors have not.
	send  func(c *call, in fields) error
	fixed *arrow.Schema
}

// schema is the schema of the answer to a command.
func (m *catalog) schema(in fields) *arrow.Schema {
	if m.fixed != nil {
		return m.fixed
	}
	return arrow.SchemaOf(m.all(in))
}

func (m *catalog) all(in fields) []arrow.Column {
	if m.extra == nil {
		return m.columns
	}
	return append(append([]arrow.Column(nil), m.columns...), m.extra(in)...)
}

// must and may are columns that have no nulls, and that may have.
func must(name string, t *arrow.Type) arrow.Column {
	return arrow.Column{Field: arrow.Field{Name: name, Type: t}}
}

func may(name string, t *arrow.Type) arrow.Column {
	return arrow.Column{Field: arrow.Field{Name: name, Type: t, Nullable: true}}
}

// noRows is for what there is none of: Henge has no keys.
func noRows(context.Context, *call, fields) ([][]any, error) { return nil, nil }

var foreignKeys = []arrow.Column{
	may("pk_catalog_name", arrow.Text), may("pk_db_schema_name", arrow.Text), must("pk_table_name", arrow.Text),
	must("pk_column_name", arrow.Text), may("fk_catalog_name", arrow.Text), may("fk_db_schema_name", arrow.Text),
	must("fk_table_name", arrow.Text), must("fk_column_name", arrow.Text), must("key_sequence", arrow.Int32),
	may("fk_key_name", arrow.Text), may("pk_key_name", arrow.Text), must("update_rule", arrow.Uint8), must("delete_rule", arrow.Uint8),
}

// catalogs are the commands by their names.
var catalogs map[string]*catalog

func init() { // the commands use the calls, which look them up
	catalogs = map[string]*catalog{
		"CommandGetCatalogs": {columns: []arrow.Column{must("catalog_name", arrow.Text)}, rows: catalogNames},
		"CommandGetDbSchemas": {columns: []arrow.Column{may("catalog_name", arrow.Text), must("db_schema_name", arrow.Text)},
			rows: schemaNames},
		"CommandGetTables": {
			columns: []arrow.Column{may("catalog_name", arrow.Text), may("db_schema_name", arrow.Text), must("table_name", arrow.Text),
				must("table_type", arrow.Text)},
			extra: func(in fields) []arrow.Column {
				if in.number(5) == 0 {
					return nil
				}
				return []arrow.Column{must("table_schema", arrow.Bytes)}
			}, rows: tableNames},
		"CommandGetTableTypes": {columns: []arrow.Column{must("table_type", arrow.Text)}, rows: tableTypes},
		"CommandGetPrimaryKeys": {columns: []arrow.Column{may("catalog_name", arrow.Text), may("db_schema_name", arrow.Text),
			must("table_name", arrow.Text), must("column_name", arrow.Text), must("key_sequence", arrow.Int32), may("key_name", arrow.Text)},
			rows: noRows},
		"CommandGetImportedKeys":   {columns: foreignKeys, rows: noRows},
		"CommandGetExportedKeys":   {columns: foreignKeys, rows: noRows},
		"CommandGetCrossReference": {columns: foreignKeys, rows: noRows},
		"CommandGetXdbcTypeInfo":   {columns: typeInfoColumns, rows: typeInfo},
		"CommandGetSqlInfo":        {fixed: infoSchema, send: sendInfo},
	}
}

// metadata answers a command that a ticket holds.
func (c *call) metadata(ctx context.Context, cmd []byte) error {
	name, in, err := unpack(cmd)
	if err != nil {
		return err
	}
	m := catalogs[name]
	if m == nil {
		return &grpc.Error{Code: grpc.Unimplemented, Message: "Command [" + name[:min(len(name), maxNamed)] + "] is not supported"}
	}
	c.who.access.Pass() // what is listed was asked for as the caller
	if m.send != nil {
		return m.send(c, in)
	}
	rows, err := m.rows(ctx, c, in)
	if err != nil {
		return err
	}
	columns := m.all(in)
	out := newSender(c.stream, columns, c.api.o.Clock)
	b := &vector.Batch{N: len(rows)}
	for i := range columns {
		builder := vector.NewBuilder(vectorType(columns[i].Type), len(rows))
		for _, row := range rows {
			builder.Append(row[i])
		}
		b.Cols = append(b.Cols, builder.Build())
	}
	if err := out.Batch(b); err != nil {
		return err
	}
	return out.Flush()
}

// vectorType is the type of vectors that hold the values of a column.
func vectorType(t *arrow.Type) vector.Type {
	switch t.Kind {
	case arrow.Int, arrow.Bool:
		return vector.Long
	case arrow.List:
		return vector.ListOf(vectorType(t.Children[0].Type))
	case arrow.Binary:
		return vector.ComplexOf("bytes")
	}
	return vector.String
}

// values runs a query for a command and returns its rows, which are few.
func (c *call) values(ctx context.Context, sql string, parameters ...query.Parameter) (out [][]any, err error) {
	req, err := c.request(ctx, &statement{User: c.who.name, SQL: sql, Parameters: parameters})
	if err != nil {
		return nil, err
	}
	ctx, q, err := c.api.running.Enter(ctx, query.Arrival{ID: req.ID, SQL: req.SQL, Identity: req.User, Context: req.Context})
	if err != nil {
		return nil, err
	}
	defer func() { q.End(ctx, err) }()
	rows, err := c.api.engine.Start(ctx, q, req)
	if err != nil {
		return nil, query.Cause(ctx, err)
	}
	defer rows.Close()
	for {
		b, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, query.Cause(ctx, err)
		}
		b = b.Compact()
		for i := range b.N {
			row := make([]any, len(b.Cols))
			for k, v := range b.Cols {
				if row[k] = v.ValueAt(i); row[k] != nil {
					if text, ok := row[k].(string); ok {
						row[k] = strings.Clone(text) // that of the batch goes with it
					}
				}
			}
			out = append(out, row)
		}
	}
}

// conditions gathers what rows of the catalog must fulfil.
type conditions struct {
	terms      []string
	parameters []query.Parameter
}

func (w *conditions) add(term string, texts ...string) {
	w.terms = append(w.terms, term)
	for _, text := range texts {
		value, _ := json.Marshal(text) // texts are JSON
		w.parameters = append(w.parameters, query.Parameter{Type: "VARCHAR", Value: value})
	}
}

func (w *conditions) equal(column string, text *string) {
	if text != nil {
		w.add(column+" = ?", *text)
	}
}

// like wants a column to match a pattern, whose escape is the backslash.
func (w *conditions) like(column string, pattern *string) {
	if pattern != nil && *pattern != "%" {
		w.add(column+` LIKE ? ESCAPE '\'`, *pattern)
	}
}

func (w *conditions) where() string {
	if len(w.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.terms, " AND ")
}

func catalogNames(ctx context.Context, c *call, _ fields) ([][]any, error) {
	return c.values(ctx, "SELECT DISTINCT CATALOG_NAME FROM INFORMATION_SCHEMA.SCHEMATA ORDER BY 1")
}

func schemaNames(ctx context.Context, c *call, in fields) ([][]any, error) {
	w := &conditions{}
	w.equal("CATALOG_NAME", in.optional(1))
	w.like("SCHEMA_NAME", in.optional(2))
	return c.values(ctx, "SELECT CATALOG_NAME, SCHEMA_NAME FROM INFORMATION_SCHEMA.SCHEMATA"+w.where()+" ORDER BY 1, 2", w.parameters...)
}

func tableTypes(ctx context.Context, c *call, _ fields) ([][]any, error) {
	return c.values(ctx, "SELECT DISTINCT TABLE_TYPE FROM INFORMATION_SCHEMA.TABLES ORDER BY 1")
}

func tableNames(ctx context.Context, c *call, in fields) ([][]any, error) {
	w := &conditions{}
	w.equal("TABLE_CATALOG", in.optional(1))
	w.like("TABLE_SCHEMA", in.optional(2))
	w.like("TABLE_NAME", in.optional(3))
	if types := in[4]; len(types) > 0 {
		var texts []string
		for _, t := range types {
			texts = append(texts, string(t.bytes))
		}
		w.add("TABLE_TYPE IN (?"+strings.Repeat(", ?", len(texts)-1)+")", texts...)
	}
	rows, err := c.values(ctx, "SELECT TABLE_CATALOG, TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM INFORMATION_SCHEMA.TABLES"+w.where()+
		" ORDER BY 1, 2, 3", w.parameters...)
	if err != nil || in.number(5) == 0 {
		return rows, err
	}
	for i, row := range rows {
		schema, err := c.tableSchema(ctx, row)
		if err != nil {
			return nil, err
		}
		rows[i] = append(row, string(encapsulated(schema)))
	}
	return rows, nil
}

// tableSchema returns the columns of a table; those of a table whose columns the caller may not see
// are none.
func (c *call) tableSchema(ctx context.Context, row []any) (*arrow.Schema, error) {
	quoted := func(v any) string {
		text, _ := v.(string)
		return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	d, err := c.describe(ctx, &statement{SQL: "SELECT * FROM " + quoted(row[1]) + "." + quoted(row[2])})
	if err != nil {
		if ctx.Err() == nil && fault.Find(err) != nil {
			return &arrow.Schema{}, nil
		}
		return nil, err
	}
	s := schemaOf(d.Columns)
	for i := range s.Fields {
		text := func(row any) string { v, _ := row.(string); return v }
		s.Fields[i].Metadata = [][2]string{
			{"ARROW:FLIGHT:SQL:CATALOG_NAME", text(row[0])}, {"ARROW:FLIGHT:SQL:SCHEMA_NAME", text(row[1])},
			{"ARROW:FLIGHT:SQL:TABLE_NAME", text(row[2])}, {"ARROW:FLIGHT:SQL:TYPE_NAME", d.Columns[i].Type.String()},
		}
	}
	return s, nil
}

var typeInfoColumns = []arrow.Column{
	must("type_name", arrow.Text), must("data_type", arrow.Int32), may("column_size", arrow.Int32), may("literal_prefix", arrow.Text),
	may("literal_suffix", arrow.Text), may("create_params", &arrow.Type{Kind: arrow.List, Children: []arrow.Field{
		{Name: "item", Type: arrow.Text}}}),
	must("nullable", arrow.Int32), must("case_sensitive", arrow.Boolean), must("searchable", arrow.Int32),
	may("unsigned_attribute", arrow.Boolean), must("fixed_prec_scale", arrow.Boolean), may("auto_increment", arrow.Boolean),
	may("local_type_name", arrow.Text), may("minimum_scale", arrow.Int32), may("maximum_scale", arrow.Int32),
	must("sql_data_type", arrow.Int32), may("datetime_subcode", arrow.Int32), may("num_prec_radix", arrow.Int32),
	may("interval_precision", arrow.Int32),
}

// types are those that columns have, with their numbers in java.sql.Types and ODBC.
var types = []struct {
	name         string
	number, size int64
	quote        string
	radix        any
}{
	{"BIGINT", -5, 19, "", int64(10)}, {"DECIMAL", 3, 19, "", int64(10)}, {"FLOAT", 6, 7, "", int64(10)}, {"DOUBLE", 8, 15, "", int64(10)},
	{"VARCHAR", 12, 0, "'", nil}, {"BOOLEAN", -7, 1, "", nil}, {"DATE", 91, 10, "'", nil}, {"TIMESTAMP", 93, 23, "'", nil},
}

func typeInfo(_ context.Context, _ *call, in fields) ([][]any, error) {
	var out [][]any
	for _, t := range types {
		if len(in[1]) > 0 && int32(in.number(1)) != int32(t.number) {
			continue
		}
		var prefix, suffix any
		if t.quote != "" {
			if prefix, suffix = t.quote, t.quote; t.name != "VARCHAR" {
				prefix = t.name + " '"
			}
		}
		sensitive := int64(0)
		if t.name == "VARCHAR" {
			sensitive = 1
		}
		out = append(out, []any{t.name, t.number, t.size, prefix, suffix, nil, int64(1), sensitive, int64(3), int64(0), int64(0), int64(0),
			t.name, nil, nil, t.number, nil, t.radix, nil})
	}
	return out, nil
}
