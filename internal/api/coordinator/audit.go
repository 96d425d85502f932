package coordinator

import (
	"encoding/json"
	"net"
	"net/http"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/metastore"
)

// Audit returns the audit entry for a change by a request. The store adds payload and time.
func Audit(r *http.Request, kind, key string) *metastore.AuditEntry {
	d := edge.DialectOf(r.Context())
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	request, err := jsontext.Marshal(object{
		{"service", d.Name + "/coordinator"}, {"method", r.Method}, {"uri", d.Path(r.URL.Path)}, {"queryParams", r.URL.RawQuery},
	})
	if err != nil { // texts always encode
		request = nil
	}
	return &metastore.AuditEntry{
		Type: kind, Key: key, Author: r.Header.Get(d.Header("Author")), Comment: r.Header.Get(d.Header("Comment")), IP: host, Request: request,
	}
}

type auditInfo struct {
	Author   string `json:"author"`
	Identity string `json:"identity,omitempty"`
	Comment  string `json:"comment"`
	IP       string `json:"ip"`
}

func infoOf(e metastore.AuditEntry) auditInfo {
	return auditInfo{Author: e.Author, Identity: e.Identity, Comment: e.Comment, IP: e.IP}
}

// history answers with entries of one kind; an empty key means all things of the kind.
func (a *API) history(w http.ResponseWriter, r *http.Request, kind, key string) error {
	entries, answered, err := a.entries(w, r, kind, key)
	if answered || err != nil {
		return err
	}
	out := make([]object, len(entries))
	for i, e := range entries {
		var request json.RawMessage
		if e.Request != nil {
			request = e.Request
		}
		out[i] = object{
			{"key", e.Key}, {"type", e.Type}, {"auditInfo", infoOf(e)}, {"request", request}, {"payload", e.Payload},
			{"auditTime", chrono.FormatMillis(e.At, chrono.UTC)},
		}
	}
	return write(w, out)
}

// entries reads the entries that a request's interval and count ask for: those of the interval or
// of the last days, the oldest first, or the newest in number, the newest first. An interval wins.
// If the request can't be met, it has been answered.
func (a *API) entries(w http.ResponseWriter, r *http.Request, kind, key string) (entries []metastore.AuditEntry, answered bool, err error) {
	filter := metastore.AuditFilter{Type: kind, Key: key}
	count, counted, ok := queryInt(r, "count")
	if !ok {
		return nil, true, empty(w, http.StatusNotFound)
	}
	if filter.Interval, err = queryInterval(r); err != nil {
		return nil, true, refuseInput(w, err)
	}
	switch {
	case filter.Interval != nil:
	case counted && count < 1:
		return nil, true, refuse(w, http.StatusBadRequest, "Limit must be greater than zero!")
	case counted:
		filter.Count = count
	default:
		now := a.now()
		filter.Interval = &chrono.Interval{Start: now - a.o.AuditWindow, End: now}
	}
	entries, err = a.store.AuditHistory(r.Context(), filter)
	return entries, false, err
}
