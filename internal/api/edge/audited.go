package edge

import (
	"context"
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/api/endpoints"
	"github.com/hengedb/henge/internal/audit"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// notLetIn tells the audit of credentials that were refused. A request without any is the first
// step of most clients.
func (g *Gate) notLetIn(r *http.Request, err error) {
	if g.Audit == nil || r.Header.Get("Authorization") == "" && r.Header.Get("Cookie") == "" {
		return
	}
	g.Audit.Add(&audit.Entry{
		Kind: audit.Login, Identity: ClaimedUser(r), Address: r.RemoteAddr, Door: "http", Method: r.Method, Path: r.URL.Path,
		Outcome: "refused", Status: Status(err), Error: fault.Classify(err).Message,
	})
}

// noted gives a request a note for the audit, if it is one of a client.
func (g *Gate) noted(ctx context.Context, r *http.Request, access *auth.Access) context.Context {
	if g.Audit == nil || access.Name() == g.Internal || strings.HasPrefix(r.URL.Path, "/service-internal/") {
		return ctx
	}
	return audit.With(ctx, &audit.Note{Address: r.RemoteAddr, Means: access.Identity().By})
}

// serve answers a request that was let in, and tells the audit what became of it: of changes, of
// what is sent by POST to be read, and of what is not permitted. Queries have entries of their own.
func (g *Gate) serve(w *wire, r *http.Request, next http.Handler, c clock.Clock) {
	note := audit.Of(r.Context())
	if note == nil {
		next.ServeHTTP(w, r)
		return
	}
	began, told := c.Now(), told(r)
	e := audit.Entry{
		Kind: audit.Change, Time: began.UnixMilli(), Identity: UserOf(r), Means: note.Means, Address: note.Address, Door: "http",
		Method: r.Method, Path: r.URL.Path,
	}
	if endpoints.OnlyReads(r) {
		e.Kind = audit.Read
	}
	if told {
		if err := g.Audit.Begin(r.Context(), e); err != nil {
			g.Errors.Write(w, r, err)
			return
		}
	}
	next.ServeHTTP(w, r)
	denied := w.status == http.StatusForbidden
	if note.Taken || !told && !denied {
		return
	}
	e.Statement, e.QueryID, e.DataSources, e.Policies = note.Statement, note.QueryID, note.DataSources, note.Policies
	if note.Door != "" {
		e.Door = note.Door
	}
	if note.Changed {
		e.Kind = audit.Change
	}
	e.Status, e.Bytes, e.Duration, e.Outcome = w.status, w.bytes, c.Now().Sub(began).Milliseconds(), "success"
	switch {
	case denied:
		e.Kind, e.Outcome = audit.Denial, "denied"
	case w.status >= http.StatusBadRequest || w.broken:
		e.Outcome = "failed"
	}
	g.Audit.Add(&e)
}

// told tells whether the audit has an entry of a request that may do what it does: of methods that
// change something, or could. Rows that are sent are data, and queries have entries of their own.
func told(r *http.Request) bool {
	if endpoints.ActionOf(r.Method) != auth.Write || r.Method == http.MethodOptions {
		return false
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	return r.Method != http.MethodPost || path != "/service/v2" && path != "/service/v2/sql" && !strings.HasPrefix(path, "/service/v2/ingest/")
}
