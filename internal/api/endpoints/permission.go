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
	config        = fixed(need{kind: auth.Config, name: string(auth.Config)})
	security      = fixed(need{kind: auth.Config, name: "security"})
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

// Of returns the permission of the endpoint that a request, with a canonical path, is for. It is
// only good for knowing before the request is routed that it needs no identity: the route that it
// reaches decides.
func Of(r *http.Request) Permission {
	_, pattern := routes.Handler(r)
	if path := strings.TrimRight(r.URL.Path, "/"); pattern == "/" && path != "" && path != r.URL.Path {
		u := *r.URL
		u.Path, u.RawPath = path, ""
		_, pattern = routes.Handler(&http.Request{Method: r.Method, URL: &u, Host: r.Host})
	}
	return byPattern[pattern]
}
