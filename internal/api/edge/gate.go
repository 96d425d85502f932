package edge

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/api/endpoints"
	"github.com/hengedb/henge/internal/audit"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

// Gate authenticates the requests of a port, and each route then checks its permission (admit);
// docs/security.md describes the rules. A Mux without a Gate permits everything, unless the
// requests come through a port that has a Gate.
type Gate struct {
	Security *auth.Security
	Errors   *Errors
	// Methods are permitted in addition to the usual ones.
	Methods []string
	// Audit, if not nil, records changes and rejected requests. Internal is the user of requests
	// between processes, which are not recorded.
	Audit    *audit.Log
	Internal string
}

// usual are the methods that are taken anyway.
var usual = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete}

// openKey marks requests of paths that need no identity.
type openKey struct{}

// enter answers a request that may not come in, and else returns it with its access.
func (g *Gate) enter(w http.ResponseWriter, r *http.Request) (entered *http.Request, ok bool) {
	if err := pathProblem(r); err != nil {
		g.Errors.Write(w, r, err)
		return nil, false
	}
	if slices.ContainsFunc(g.Security.Unsecured, func(p string) bool { return covers(p, r.URL.Path) }) {
		return r.WithContext(auth.With(r.Context(), auth.Unlimited(auth.AllowAll))), true
	}
	listed := slices.Contains(g.Methods, r.Method)
	if r.Method == http.MethodOptions && listed && g.Security.OpenOptions {
		options(w, r)
		return nil, false
	}
	rule := endpoints.Of(r).Rule
	if rule == endpoints.Open || rule == endpoints.Connection {
		return r.WithContext(context.WithValue(r.Context(), openKey{}, true)), true
	}
	access, err := g.Security.Authenticate(r.Context(), auth.RequestOf(r, w.Header()))
	switch {
	case err != nil:
		g.notLetIn(r, err)
		if g.Errors.Unknown != nil {
			g.Errors.Unknown()
		}
		g.refuse(w, r, err)
	case !slices.Contains(usual, r.Method) && !listed:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case access == nil:
		g.notLetIn(r, fault.Unauthorized("Nobody knows the credentials"))
		g.refuse(w, r, fault.Unauthorized("Unauthorized request"))
	case r.Method == http.MethodOptions:
		options(w, r)
	default:
		if err := g.Security.Pacer.Take(access); err != nil {
			g.Errors.Write(w, r, err)
			return nil, false
		}
		return r.WithContext(g.noted(auth.With(r.Context(), access), r, access)), true
	}
	return nil, false
}

// refuse answers that a request is not let in.
func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if Status(err) == http.StatusUnauthorized {
		for _, scheme := range g.Security.Challenges() {
			if !slices.Contains(w.Header().Values("WWW-Authenticate"), scheme) {
				w.Header().Add("WWW-Authenticate", scheme)
			}
		}
	}
	g.Errors.Write(w, r, err)
}

// options answers which methods a path takes.
func options(w http.ResponseWriter, r *http.Request) {
	allowed := []string{http.MethodOptions}
	for _, method := range usual {
		rule := endpoints.Of(&http.Request{Method: method, URL: r.URL, Host: r.Host}).Rule
		if rule != endpoints.Refused && rule != endpoints.Passed {
			allowed = append(allowed, method)
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	w.WriteHeader(http.StatusOK)
}

// pathProblem refuses paths that can be read in two ways, so that no pattern of an open path covers
// another one: dots and empty parts, encoded slashes, parameters of parts.
func pathProblem(r *http.Request) error {
	path := r.URL.Path
	raw := strings.ToLower(r.URL.EscapedPath())
	refused := fault.InvalidInput("Path of the request has a part that is empty, is made of dots, or has a slash, a backslash, a semicolon " +
		"or a control character in it, which is not allowed while security is configured")
	if !strings.HasPrefix(path, "/") || strings.Contains(raw, "%2f") || strings.Contains(raw, "%5c") || strings.ContainsAny(path, `\;`) ||
		strings.Contains(path, "//") || strings.ContainsFunc(path, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return refused
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "." || part == ".." {
			return refused
		}
	}
	return nil
}

// covers tells whether a servlet pattern covers a path: /a/b itself, /a/* all at and below /a.
func covers(pattern, path string) bool {
	if below, ok := strings.CutSuffix(pattern, "/*"); ok {
		rest, ok := strings.CutPrefix(path, below)
		return ok && (rest == "" || rest[0] == '/')
	}
	return pattern == path
}

// admit returns the handler of a pattern behind its permission.
func (m *Mux) admit(pattern string, h http.Handler) http.Handler {
	p := endpoints.PermissionOf(pattern)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := auth.Find(r.Context())
		isOpen, _ := r.Context().Value(openKey{}).(bool)
		if a == nil && !isOpen && m.Gate == nil { // no port with a gate is in front
			a = auth.Unlimited(auth.AllowAll)
			r = r.WithContext(auth.With(r.Context(), a))
		}
		if a != nil && !a.Limited() {
			h.ServeHTTP(w, r)
			return
		}
		var err error
		switch p.Rule {
		case endpoints.Open, endpoints.Connection:
		case endpoints.Passed:
			if a == nil && !isOpen {
				err = fault.Unauthorized("Unauthorized request")
			}
		case endpoints.Authenticated, endpoints.Fixed, endpoints.Handler:
			if a == nil {
				err = fault.Unauthorized("Unauthorized request")
			} else if p.Rule == endpoints.Fixed {
				err = a.Check(r.Context(), p.Needs(r)...)
			}
		default:
			err = auth.Refused("a row of the table of endpoints for [" + pattern + "]")
		}
		if err != nil {
			m.Errors.Write(w, r, err)
			return
		}
		if p.Rule != endpoints.Handler {
			h.ServeHTTP(w, r)
			return
		}
		a = a.Again()
		g := &guarded{ResponseWriter: w, access: a, alert: func() {
			m.Errors.alert(r.Context(), "withheld a response without an authorization decision", "method", r.Method, "pattern", pattern)
		}}
		h.ServeHTTP(g, r.WithContext(auth.With(r.Context(), a)))
		g.end()
	})
}

// guarded withholds an answer that would be given although nobody asked whether it may be: status
// 403 takes its place, before its first byte.
type guarded struct {
	http.ResponseWriter
	access   *auth.Access
	alert    func()
	begun    bool
	withheld bool
}

// WriteHeader begins the answer.
func (g *guarded) WriteHeader(status int) {
	if g.begun {
		if !g.withheld {
			g.ResponseWriter.WriteHeader(status)
		}
		return
	}
	if status < http.StatusOK { // more headers follow
		g.ResponseWriter.WriteHeader(status)
		return
	}
	g.begun = true
	if status < http.StatusMultipleChoices && !g.access.Decided() {
		g.withheld = true
		g.alert()
		clear(g.Header())
		g.ResponseWriter.WriteHeader(http.StatusForbidden)
		return
	}
	g.ResponseWriter.WriteHeader(status)
}

// Write is a part of the answer.
func (g *guarded) Write(p []byte) (int, error) {
	if !g.begun {
		g.WriteHeader(http.StatusOK)
	}
	if g.withheld {
		return len(p), nil
	}
	return g.ResponseWriter.Write(p)
}

// Flush sends what is buffered.
func (g *guarded) Flush() {
	if !g.begun {
		g.WriteHeader(http.StatusOK)
	}
	if !g.withheld {
		_ = http.NewResponseController(g.ResponseWriter).Flush() // the client may be gone
	}
}

// end is called when the handler has returned: an empty answer is one, too.
func (g *guarded) end() {
	if !g.begun {
		g.WriteHeader(http.StatusOK)
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (g *guarded) Unwrap() http.ResponseWriter { return g.ResponseWriter }
