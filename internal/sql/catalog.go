package sql

import (
	"context"

	"github.com/hengedb/henge/internal/plan"
)

// Schema is a namespace of tables.
type Schema string

// The schemas. That of datasources is written service or the name of an API alias; nothing written
// means it as well.
const (
	SchemaData        Schema = "data"
	SchemaInformation Schema = "INFORMATION_SCHEMA"
	SchemaSystem      Schema = "sys"
	SchemaLookup      Schema = "lookup"
)

// Catalog lists the tables. Prepare calls it from one goroutine; its results for one statement must
// be consistent with each other. Prepare does not look up the tables of INFORMATION_SCHEMA and sys,
// which this package defines.
type Catalog interface {
	// Table returns the table name of schema (SchemaData or SchemaLookup), or nil.
	Table(ctx context.Context, schema Schema, name string) (*Table, error)
	// Names lists the tables of schema, for suggestions in messages.
	Names(ctx context.Context, schema Schema) []string
}

// Files is a Catalog that supports files in place of tables: FROM 'rows.csv'.
type Files interface {
	// File returns the table for a path, or an error.
	File(ctx context.Context, path string) (*Table, error)
}

// Table is a datasource or a lookup.
type Table struct {
	// Columns are all columns in the order of SELECT *. __time, if it exists, is TIMESTAMP NOT NULL.
	Columns []plan.Column
	// Query is the query that returns the rows of a table that is not a datasource; "": the table is a
	// datasource.
	Query string
}
