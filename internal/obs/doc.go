// Package obs propagates the ids of queries and tasks through the program, and writes logs, traces
// and metrics.
//
// The edge stores the id of a query or task, and the W3C trace context of the request, in the
// context once (WithQueryID, WithTaskID, Extract). Log records with that context contain them, and
// Inject adds the trace context to requests to other processes. Only main calls NewLogger and
// NewRegistry and passes their results down: there is no global logger or registry.
//
// A Monitor receives the metrics of roles under the names of the public interface (segment/count,
// compact/task/count, ...). It serves them to scrapers and sends them as events through an Emitter:
// to the log or to a receiver over HTTP.
//
// Metrics are declared beside the component that measures them; log messages have slog attributes.
package obs
