package query

import (
	"context"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/vector"
)

// Engine is the interface of the endpoints to a Broker.
type Engine interface {
	// Start parses, plans and starts a statement for q. It returns faults of the statement; Rows.Next
	// returns faults of its execution. The rows end when ctx is done.
	Start(ctx context.Context, q *Query, req *Request) (Rows, error)
}

// Rows are the rows of a running statement.
//
// Next is called from one goroutine; a batch is valid until the next call. It returns io.EOF at the
// end. Close ends the query and frees its resources; it may be called once at any time after the
// last Next has returned.
type Rows interface {
	Columns() []result.Column
	// Zone is the time zone of timestamps in the result.
	Zone() *chrono.Zone
	// StringifyArrays is true if arrays are written as text.
	StringifyArrays() bool
	// ResponseContext is the response context as JSON, which describes the data that the rows do not
	// cover.
	ResponseContext() string
	Next(ctx context.Context) (*vector.Batch, error)
	Close()
}

// Description lists the columns and the parameters of a statement.
type Description struct {
	Columns []result.Column
	// Parameters are the types of its parameters; an unknown type is NULL.
	Parameters []expr.Type
}
