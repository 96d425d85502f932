package obs

import (
	"context"
	"log/slog"
)

type contextKey uint8

const (
	keyQueryID contextKey = iota
	keyTaskID
	keyTrace
	keySpan
	keyTracer
)

// WithQueryID returns a context of the query with this id.
func WithQueryID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, keyQueryID, id)
}

// QueryID returns the id of the query that ctx belongs to, or "".
func QueryID(ctx context.Context) string {
	id, _ := ctx.Value(keyQueryID).(string)
	return id
}

// WithTaskID returns a context of the task with this id.
func WithTaskID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, keyTaskID, id)
}

// TaskID returns the id of the task that ctx belongs to, or "".
func TaskID(ctx context.Context) string {
	id, _ := ctx.Value(keyTaskID).(string)
	return id
}

// attrs are what a record of ctx shows beside its own attributes.
func attrs(ctx context.Context) []slog.Attr {
	var list []slog.Attr
	if id := QueryID(ctx); id != "" {
		list = append(list, slog.String("queryId", id))
	}
	if id := TaskID(ctx); id != "" {
		list = append(list, slog.String("taskId", id))
	}
	if t, ok := TraceOf(ctx); ok {
		list = append(list, slog.String("traceId", t.TraceID()))
	}
	return list
}
