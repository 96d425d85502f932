package sql

import (
	"context"

	known "github.com/hengedb/henge/internal/testkit/tables"
)

// testCatalog has the tables that tests know.
type testCatalog struct{}

var tables testCatalog

func (testCatalog) Table(_ context.Context, schema Schema, name string) (*Table, error) {
	columns := known.Columns(name)
	if columns == nil || schema != SchemaData {
		return nil, nil
	}
	return &Table{Columns: columns}, nil
}

func (testCatalog) Names(_ context.Context, schema Schema) []string {
	if schema != SchemaData {
		return nil
	}
	return known.Names()
}

// prepare prepares text over the test tables at a fixed time.
func prepare(text string, change ...func(*Request)) (*Statement, error) {
	r := Request{Text: text, Catalog: tables, Now: known.Now, Dialect: "druid"}
	for _, f := range change {
		f(&r)
	}
	return Prepare(context.Background(), r)
}
