package query

import "github.com/hengedb/henge/internal/result"

// Pin is a state of the data that queries read, created by a Broker: requests with the same Pin see
// the same rows. Pins are comparable.
type Pin any

// Table is the description of a datasource, a lookup or a system table in a catalog.
type Table struct {
	// Schema is "" for datasources.
	Schema, Name string
	Columns      []result.Column
	// Rows is the approximate number of rows.
	Rows float64
	// System is true if its rows do not come from segments.
	System bool
}
