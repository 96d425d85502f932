package query

import (
	"context"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/vector"
)

// Engine is what the endpoints need of a Broker.
type Engine interface {
	// Start parses, plans and begins a statement for q. Faults of the statement come from here; faults
	// of running from Rows.Next. The rows end when ctx is done.
	Start(ctx context.Context, q *Query, req *Request) (Rows, error)
}

// Rows are the rows of a statement on their way.
//
// Next is called from one goroutine; a batch is valid until the next call. It returns io.EOF at the
// end. Close ends the query and frees all it holds; it may be called once at any time after the
// last Next returned.
type Rows interface {
	Columns() []result.Column
	// Zone is the zone times are shown in.
	Zone() *chrono.Zone
	// StringifyArrays says whether arrays are written as text.
	StringifyArrays() bool
	// Facts is the response context, which says beside the rows what they do not cover, as JSON.
	Facts() string
	Next(ctx context.Context) (*vector.Batch, error)
	Close()
}

// Description is what a statement gives and wants.
type Description struct {
	Columns []result.Column
	// Parameters are the types of its parameters; that of one of which nothing is known is NULL.
	Parameters []expr.Type
}
