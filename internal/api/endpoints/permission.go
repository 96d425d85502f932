package endpoints

import (
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/auth"
)

// Rule says where the permission of an endpoint is checked.
type Rule uint8

// The rules. The zero Rule lets nobody in.
const (
	// Refused endpoints are closed.
	Refused Rule = iota
	// Open endpoints need nothing, not even an identity.
	Open
	// Connection is for protocols that carry user and password within: their handlers ask the chain
	// of authenticators themselves.
	Connection
	// Authenticated endpoints need an identity.
	Authenticated
	// Fixed endpoints need what Needs says before the handler runs.
	Fixed
	// Handler endpoints decide by the body, or by each row; an answer without a decision is refused.
	Handler
	// Passed endpoints pass requests on to where they are checked. They need an identity.
	Passed
)

// Permission is what a request of an endpoint needs.
type Permission struct {
	Rule Rule
	// Note says what a handler asks for, in words.
	Note string

	needs []need
}

// need is one that depends on the request.
type need struct {
	kind auth.Kind
	// name is that of the resource; parameter, if not empty, is the part of the path that has it.
	name, parameter string
	// action is "" where it goes by the method.
	action auth.Action
}

var (
	open          = Permission{Rule: Open}
	connection    = Permission{Rule: Connection, Note: "user and password of the connection"}
	authenticated = Permission{Rule: Authenticated}
	passed        = Permission{Rule: Passed}
	state         = fixed(need{kind: auth.State, name: string(auth.State)})
	writer        = fixed(need{kind: auth.State, name: string(auth.State), action: auth.Write})
	config        = fixed(need{kind: auth.Config, name: string(auth.Config)})
	security      = fixed(need{kind: auth.Config, name: "security"})
	previewed     = fixed(need{kind: auth.Config, name: "security", action: auth.Read})
	dataSource    = fixed(need{kind: auth.Datasource, parameter: "dataSource"})
	datasource    = fixed(need{kind: auth.Datasource, parameter: "datasource"})
	readAndWrite  = fixed(need{kind: auth.Datasource, parameter: "dataSource", action: auth.Read},
		need{kind: auth.Datasource, parameter: "dataSource", action: auth.Write})
)

const external = "EXTERNAL READ with input source security"

var (
	sampled    = byHandler("STATE WRITE, DATASOURCE READ of the datasources that are read; " + external)
	submitted  = byHandler("DATASOURCE WRITE of the task, DATASOURCE READ of the datasources that it reads; " + external)
	supervised = byHandler("DATASOURCE WRITE of all datasources of the supervisor; " + external)
)

func fixed(needs ...need) Permission { return Permission{Rule: Fixed, needs: needs} }

func byHandler(note string) Permission { return Permission{Rule: Handler, Note: note} }

// ActionOf returns the action of a request: reading by GET and HEAD, else writing.
func ActionOf(method string) auth.Action {
	if method == http.MethodGet || method == http.MethodHead {
		return auth.Read
	}
	return auth.Write
}

// Needs returns what a request that matched the pattern of the permission needs before the handler
// runs.
func (p Permission) Needs(r *http.Request) []auth.Need {
	out := make([]auth.Need, len(p.needs))
	for i, n := range p.needs {
		out[i] = auth.Need{Resource: auth.Resource{Name: n.name, Kind: n.kind}, Action: n.action}
		if n.parameter != "" {
			out[i].Resource.Name = r.PathValue(n.parameter)
		}
		if n.action == "" {
			out[i].Action = ActionOf(r.Method)
		}
	}
	return out
}

// Text returns the permission in the words of the documentation, for requests with a method; "":
// any.
func (p Permission) Text(method string) string {
	switch p.Rule {
	case Open:
		return "none, open to all"
	case Authenticated:
		return "any identity"
	case Passed:
		return "that of the endpoint that is passed on to"
	case Fixed:
	default:
		return p.Note
	}
	parts := make([]string, len(p.needs))
	for i, n := range p.needs {
		action := string(n.action)
		if action == "" && method == "" {
			action = "READ or WRITE by the method"
		} else if action == "" {
			action = string(ActionOf(method))
		}
		name := n.name
		if n.parameter != "" {
			name = "{" + n.parameter + "}"
		}
		parts[i] = string(n.kind) + " `" + name + "` " + action
		if n.name == string(n.kind) {
			parts[i] = string(n.kind) + " " + action
		}
	}
	return strings.Join(parts, " and ")
}

var byPattern = func() map[string]Permission {
	out := make(map[string]Permission, len(Table))
	for _, e := range Table {
		out[e.Pattern] = e.Permission
	}
	return out
}()

// PermissionOf returns the permission of a pattern. A pattern without a row is closed.
func PermissionOf(pattern string) Permission { return byPattern[pattern] }

// routes matches requests to rows of Table.
var routes = func() *http.ServeMux {
	mux := http.NewServeMux()
	for _, e := range Table {
		mux.Handle(e.Pattern, http.NotFoundHandler())
	}
	return mux
}()

// reading are the patterns of the requests that change nothing although their method could: what
// they ask for takes a body.
var reading = func() map[string]bool {
	out := make(map[string]bool)
	for _, pattern := range []string{
		"POST /service/v2/candidates", "POST /service/indexer/v1/sampler", "POST /service/indexer/v1/survey",
		"POST /service/indexer/v1/activeLocks",
		"POST /service/indexer/v1/lockedIntervals", "POST /service/indexer/v1/lockedIntervals/v2", "POST /service/indexer/v1/taskStatus",
		"POST /service/coordinator/v1/compaction/simulate", "POST /service/indexer/v1/compaction/simulate",
		"POST /service/coordinator/v1/metadata/bootstrapSegments",
		"POST /service/coordinator/v1/metadata/datasources/{dataSource}/segments", "POST /service-ext/access/preview", "POST /mcp",
	} {
		out[pattern] = true
	}
	return out
}()

// OnlyReads tells of a request, with a canonical path, whether it is of an endpoint that changes
// nothing whatever the method, directly or through the paths by which a Router reaches leaders.
func OnlyReads(r *http.Request) bool {
	if ActionOf(r.Method) == auth.Read {
		return true
	}
	u := *r.URL
	for _, leader := range []string{"/proxy/coordinator", "/proxy/overlord"} {
		if rest, found := strings.CutPrefix(u.Path, leader+"/"); found {
			u.Path = "/" + rest
		}
	}
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), ""
	_, pattern := routes.Handler(&http.Request{Method: r.Method, URL: &u, Host: r.Host})
	return reading[pattern]
}

// Of returns the permission of the endpoint that a request, with a canonical path, is for. It is
// only good for knowing before the request is routed that it needs no identity: the route that it
// reaches decides.
func Of(r *http.Request) Permission {
	return byPattern[PatternOf(r)]
}

// PatternOf returns the pattern of that endpoint; "/": it is none of those that have a row.
func PatternOf(r *http.Request) string {
	_, pattern := routes.Handler(r)
	if path := strings.TrimRight(r.URL.Path, "/"); pattern == "/" && path != "" && path != r.URL.Path {
		u := *r.URL
		u.Path, u.RawPath = path, ""
		_, pattern = routes.Handler(&http.Request{Method: r.Method, URL: &u, Host: r.Host})
	}
	return pattern
}
