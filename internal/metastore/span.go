package metastore

import (
	"context"
	"runtime"
	"strings"

	"github.com/hengedb/henge/internal/obs"
)

// beginSpan begins the span of a transaction or a read that is part of something recorded; nil:
// nothing is. It is named after the method of Store that is called.
func (s *Store) beginSpan(ctx context.Context) (context.Context, *obs.Span) {
	if obs.SpanOf(ctx) == nil {
		return ctx, nil
	}
	operation := calledMethod()
	ctx, span := obs.BeginPart(ctx, "metastore "+operation, obs.ClientSpan)
	span.Text("db.system.name", strings.ToLower(s.dialect.name))
	span.Text("db.operation.name", operation)
	return ctx, span
}

// endSpan ends the span of what has failed, or with nil succeeded.
func endSpan(span *obs.Span, err error) {
	span.Fail(err)
	span.End()
}

// maxCallers is how far from a span the method of Store may be: write, each, list and closures are
// between.
const maxCallers = 12

// calledMethod returns the method of Store that others have called, of those that are on the stack.
func calledMethod() string {
	var at [maxCallers]uintptr
	frames := runtime.CallersFrames(at[:runtime.Callers(3, at[:])])
	for {
		frame, more := frames.Next()
		if _, method, ok := strings.Cut(frame.Function, "/metastore.(*Store)."); ok {
			// Closures of a method are called Method.func1.
			if method, _, _ = strings.Cut(method, "."); method[0] >= 'A' && method[0] <= 'Z' {
				return method
			}
		}
		if !more {
			return "transaction"
		}
	}
}
