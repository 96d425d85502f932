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

// Catalog says what tables there are. Prepare asks it from one goroutine; answers for one statement
// must be consistent with each other. The tables of INFORMATION_SCHEMA and sys are known to this
// package and never asked for.
type Catalog interface {
	// Table returns the table name of schema (SchemaData or SchemaLookup), nil if there is none.
	Table(ctx context.Context, schema Schema, name string) (*Table, error)
	// Names lists the tables of schema, for messages that propose one.
	Names(ctx context.Context, schema Schema) []string
}

// Table is a datasource or a lookup.
type Table struct {
	// Columns are all columns in the order SELECT * shows them. __time, if there is one, is TIMESTAMP
	// NOT NULL.
	Columns []plan.Column
}
