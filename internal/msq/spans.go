package msq

import (
	"context"

	"github.com/hengedb/henge/internal/obs"
)

// The span of a task has one for each stage of its job, and that one for each attempt of a worker.
// A worker in another process continues the trace there. Where nothing is recorded, spans are nil.

func beginStage(ctx context.Context, s *stage) (context.Context, *obs.Span) {
	ctx, span := obs.BeginPart(ctx, "stage", obs.InternalSpan)
	span.Number("henge.stage.number", int64(s.number))
	span.Text("henge.stage.processor", s.processor)
	return ctx, span
}

// endSpan ends the span of what has failed, or with nil succeeded.
func endSpan(span *obs.Span, err error) {
	span.Fail(err)
	span.End()
}

// traced does what a worker does in one attempt, in a span.
func (c *Controller) traced(ctx context.Context, order *workOrder, work func(ctx context.Context) error) error {
	ctx, span := obs.BeginPart(ctx, "worker", obs.InternalSpan)
	if span == nil {
		return work(ctx)
	}
	span.Text("henge.worker.id", c.ledger.workerID(order.worker))
	err := work(ctx)
	endSpan(span, err)
	return err
}
