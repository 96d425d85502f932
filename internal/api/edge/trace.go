package edge

import (
	"context"
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/api/endpoints"
	"github.com/hengedb/henge/internal/obs"
)

// trace begins the span of a request: of every one whose caller records it, and else of queries and
// of what changes something. Probes, scrapes and what processes ask each other all the time begin
// no traces.
func (m *Mux) trace(ctx context.Context, r *http.Request) (context.Context, *obs.Span) {
	if m.Tracer == nil {
		return ctx, nil
	}
	fresh := strings.HasPrefix(r.URL.Path, "/service/v2") ||
		r.Method != http.MethodGet && r.Method != http.MethodHead && strings.HasPrefix(r.URL.Path, "/service/")
	ctx, span := m.Tracer.Begin(ctx, r.Method, obs.ServerSpan, fresh)
	return obs.WithTracer(ctx, m.Tracer), span
}

// answered ends the span of a request. Its name is the route: paths have ids in them.
func answered(span *obs.Span, r *http.Request, out *wire) {
	if span == nil {
		return
	}
	if pattern := endpoints.PatternOf(r); pattern != "" && pattern != "/" { // the port may pass on what it has no route for
		span.Rename(pattern)
		_, route, _ := strings.Cut(pattern, " ")
		span.Text("http.route", route)
	}
	span.Text("http.request.method", r.Method)
	status := out.status
	span.Number("http.response.status_code", int64(status))
	span.Number("http.response.body.size", out.bytes)
	switch {
	case out.broken:
		span.Failed("broken", "")
	case status >= http.StatusInternalServerError:
		span.Failed(http.StatusText(status), "")
	}
	span.End()
}
