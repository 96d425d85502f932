package sql

import (
	"context"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/query"
)

// Runner runs statements for endpoints that return their rows.
type Runner struct {
	Engine  query.Engine
	Running *query.Running
	// DefaultTimeout and MaxTimeout, in milliseconds, apply to a query's `timeout`; 0: none.
	DefaultTimeout, MaxTimeout int64
	// Door is the protocol of the queries.
	Door string
}

// Run starts a query and calls write with its rows. The query ends when write returns. If the query
// ends earlier, a write that waits for the client returns soon afterwards.
func (u Runner) Run(
	ctx context.Context, arrived time.Time, req *query.Request, write func(ctx context.Context, q *query.Query, rows query.Rows) error,
) (err error) {
	ctx, done, err := query.Deadline(ctx, arrived, req.Context, u.DefaultTimeout, u.MaxTimeout)
	if err != nil {
		return err
	}
	defer done()
	ctx, q, err := u.Running.Enter(ctx, query.Arrival{
		ID: req.ID, SQL: req.SQL, Identity: req.User, Context: req.Context, Access: req.Access, Door: u.Door,
	})
	if err != nil {
		return err
	}
	defer func() { q.End(ctx, err) }()
	defer edge.Tie(ctx)()
	rows, err := u.Engine.Start(ctx, q, req)
	if err != nil {
		return query.Cause(ctx, err)
	}
	defer rows.Close()
	edge.Decoded(ctx)
	return write(ctx, q, rows)
}
