package query

import "github.com/hengedb/henge/internal/result"

// Pin is one state of what queries read, which its owner, the Broker, made: requests with the same
// Pin see the same rows. Pins are comparable.
type Pin any

// Table is what a catalog tells of a datasource, a lookup or a system table.
type Table struct {
	// Schema is "" for datasources.
	Schema, Name string
	Columns      []result.Column
	// Rows is about how many there are.
	Rows float64
	// System says that its rows come from no segments.
	System bool
}
