package audit

import (
	"context"
	"strings"

	"github.com/hengedb/henge/internal/secret"
)

// DataSource is where entries are kept.
const DataSource = "__audit"

// The kinds of entries.
const (
	Query  = "query"  // that ran, or was to run
	Login  = "login"  // that was refused
	Denial = "denial" // a permission was missing
	Change = "change" // a request that changes something
	Read   = "read"   // a request that changes nothing, of a method that could, as of the sampler
)

// Entry is one thing that somebody did. Its members are the columns of the datasource.
type Entry struct {
	Time     int64  `json:"__time"`
	Kind     string `json:"kind"`
	Identity string `json:"identity,omitempty"`
	// Means is the authenticator that knows the identity, Address where the request came from, and
	// Door how: sql, native, jdbc, postgresql, preview, statement, agent or http.
	Means   string `json:"means,omitempty"`
	Address string `json:"address,omitempty"`
	Door    string `json:"door,omitempty"`
	Method  string `json:"method,omitempty"`
	Path    string `json:"path,omitempty"`
	// Statement is the text of the query, and QueryID its id.
	Statement   string   `json:"statement,omitempty"`
	QueryID     string   `json:"query_id,omitempty"`
	DataSources []string `json:"datasources,omitempty"`
	// Policies are the rules on rows and columns that applied: "role [clerk] on [orders]".
	Policies []string `json:"policies,omitempty"`
	Rows     int64    `json:"rows"`
	Bytes    int64    `json:"bytes"`
	Duration int64    `json:"duration_ms"`
	// Outcome is success, denied, refused, invalid, failed, timeout, canceled, or begun for what is
	// noted before it runs.
	Outcome string `json:"outcome"`
	Status  int    `json:"status,omitempty"`
	Error   string `json:"error,omitempty"`
	Server  string `json:"server,omitempty"`
}

// maxStatement and maxText bound what an entry keeps of a text.
const (
	maxStatement = 16 << 10
	maxText      = 1 << 10
)

// Statement returns a text of a query as an entry keeps it: secrets are masked before it is cut, so
// that none loses its end.
func Statement(text string) string { return cut(secret.MaskSQL(text), maxStatement) }

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " ..."
}

// bound cuts what callers decide about.
func (e *Entry) bound() {
	for _, text := range []*string{&e.Identity, &e.Means, &e.Address, &e.Method, &e.Path, &e.QueryID, &e.Error} {
		*text = cut(*text, maxText)
	}
	e.Statement = cut(e.Statement, maxStatement+maxText)
}

// Note is what a request of HTTP carries along for its entry. It is used by one goroutine.
type Note struct {
	Address, Means string
	// Taken says that an entry of its own tells of the request, or that another process does.
	Taken bool
	// Changed says that the request changes something although its endpoint only reads by itself.
	Changed bool
	// Statement, Door, QueryID, DataSources and Policies are set by handlers that know more than the
	// request tells.
	Statement, Door, QueryID string
	DataSources, Policies    []string
}

type noteKey struct{}

// With returns a context of a request with its note.
func With(ctx context.Context, n *Note) context.Context { return context.WithValue(ctx, noteKey{}, n) }

// Of returns the note of the request that ctx belongs to; nil: nobody keeps an audit of it.
func Of(ctx context.Context) *Note {
	n, _ := ctx.Value(noteKey{}).(*Note)
	return n
}
