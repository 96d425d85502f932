package role

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hengedb/henge/internal/api/edge"
	api "github.com/hengedb/henge/internal/api/push"
	"github.com/hengedb/henge/internal/audit"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
)

// openAudit makes the log that doors tell what was done, if the settings want one. It takes entries
// from then on; runAudit writes them.
func (n *Node) openAudit() {
	if !n.settings.Bool("service.audit.enabled") {
		return
	}
	w := &auditWriter{n: n}
	n.audit = audit.NewLog(audit.Options{
		Write: w.write, Required: n.settings.Bool("service.audit.required"), Server: n.addressOf(), Clock: n.o.Clock, Log: n.o.Log,
	})
	n.auditor = w
	n.metrics.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "henge_audit_dropped_total", Help: obs.Help("henge_audit_dropped_total"),
	}, func() float64 { return float64(n.audit.Dropped()) }))
}

// addressOf names the process: the address of its first role.
func (n *Node) addressOf() string {
	if roles := n.ownRoles(); len(roles) > 0 {
		return n.member(roles[0]).Address()
	}
	return ""
}

// runAudit writes the entries until the process stops, and then those that are left.
func (s *services) runAudit(background context.Context) {
	if s.n.audit == nil {
		return
	}
	errors := &edge.Errors{Host: s.n.addressOf(), Log: s.n.o.Log}
	mux := edge.NewMux(errors)
	s.sentRoutes(mux)
	s.n.auditor.door = mux.Handler(s.n.settings.Aliases(), s.n.o.Clock, nil)
	ctx, cancel := context.WithCancel(background)
	done := make(chan struct{})
	s.n.roles.Go(func() error {
		defer close(done)
		return s.n.audit.Run(ctx)
	})
	s.n.stopAudit = func() {
		cancel()
		<-done
	}
}

// auditWriter sends entries by the door that clients send rows by, as the internal identity.
type auditWriter struct {
	n     *Node
	door  http.Handler
	ready bool // the datasource has its schema
}

// write implements audit.Options. One goroutine calls it.
func (a *auditWriter) write(ctx context.Context, lines []byte) error {
	const at = api.Path + audit.DataSource
	if !a.ready {
		known := a.send(ctx, http.MethodGet, at+"/config", "", nil)
		if f := fault.Find(known); f != nil && f.Category == fault.CategoryNotFound {
			known = a.send(ctx, http.MethodPut, at+"/config", "application/json", auditSchema())
		}
		if known != nil {
			return known
		}
		a.ready = true
	}
	return a.send(ctx, http.MethodPost, at, "application/x-ndjson", lines)
}

func (a *auditWriter) send(ctx context.Context, method, path, media string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Host, r.RemoteAddr = a.n.addressOf(), "127.0.0.1:0"
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	if a.n.security != nil { // a worker elsewhere wants to know who sends them
		if err := a.n.security.Escalator().Escalate(r); err != nil {
			return err
		}
	}
	answer := httptest.NewRecorder()
	a.door.ServeHTTP(answer, r)
	switch text := strings.TrimSpace(answer.Body.String()); {
	case answer.Code == http.StatusNotFound:
		return fault.NotFound("Datasource [%s] has no settings yet", audit.DataSource)
	case answer.Code >= http.StatusMultipleChoices:
		return fault.Unavailable("Entries of the audit were not taken: status [%d], [%.500s]", answer.Code, text)
	}
	return nil
}

// auditSchema is how the columns of the audit are stored.
func auditSchema() []byte {
	var dimensions []any
	for _, name := range []string{
		"kind", "identity", "means", "address", "door", "method", "path", "statement", "query_id", "datasources", "policies",
		"outcome", "error", "server",
	} {
		dimensions = append(dimensions, name)
	}
	for _, name := range []string{"rows", "bytes", "duration_ms", "status"} {
		dimensions = append(dimensions, map[string]string{"type": "long", "name": name})
	}
	text, err := json.Marshal(map[string]any{
		"timestampSpec": map[string]string{"column": "__time", "format": "millis"}, "dimensionsSpec": map[string]any{"dimensions": dimensions},
		"granularitySpec": map[string]any{"segmentGranularity": "DAY", "queryGranularity": "NONE", "rollup": false},
	})
	if err != nil {
		panic("role: " + err.Error()) // it is made of texts
	}
	return text
}
