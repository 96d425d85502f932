// Package obs carries who is asking through the program and out to logs, traces and metrics.
//
// The edge puts the id of a query or task, and the W3C trace context of the request, into the
// context once (WithQueryID, WithTaskID, Extract). Every record that is logged with that context
// shows them, and Inject hands the trace on to the next role. NewLogger and NewRegistry are called
// once, by main, and their results handed down: there is no global logger or registry.
//
// A Monitor takes what roles measure in the words of the interface (segment/count,
// compact/task/count, ...), answers scrapes with it and sends it as events through an Emitter: to
// the log or to a receiver over HTTP.
//
// What is measured is declared beside the component that measures it; what is logged are slog
// attributes at the call.
package obs
