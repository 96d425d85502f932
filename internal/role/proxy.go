package role

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/audit"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/auth/kerberos"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/keystore"
	"github.com/hengedb/henge/internal/obs"
)

const (
	// findLeader is how long a request waits for a leader to be known, and to answer: as long as it
	// takes another to take over.
	findLeader = 6 * time.Second
	// lookAgain is how long after one could not be reached it is looked for again.
	lookAgain = 100 * time.Millisecond
)

// forward sends requests to other processes: to the one that targets names first, and if nobody
// listens there to the next. With none left it asks for them again, for as long as patience.
type forward struct {
	n        *Node
	targets  func() []string
	patience time.Duration
	// none is the fault when there is no target.
	none func(r *http.Request) error
}

// ServeHTTP passes a request on and its answer back. An answer that breaks off there breaks off
// here.
func (f *forward) ServeHTTP(w http.ResponseWriter, r *http.Request) error {
	var failed error
	if note := audit.Of(r.Context()); note != nil {
		note.Taken = true // by the process that answers
	}
	proxy := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host = "http", "cluster"
			p.Out.URL.Path, p.Out.URL.RawPath = spoken(p.In, p.Out.URL.Path), spoken(p.In, p.Out.URL.RawPath)
			p.Out.Host = p.In.Host
			if p.Out.Header.Get("Accept-Encoding") == "" {
				p.Out.Header.Set("Accept-Encoding", "identity")
			}
			p.SetXForwarded()
			f.n.passClient(p.In, p.Out)
			passCookie(p.Out, w.Header())
			passIdentity(p.In, p.Out)
			if p.Out.Header.Get("Origin") != "" { // this process has checked it against its own name
				p.Out.Header.Del("Origin")
				p.Out.Header.Set("Sec-Fetch-Site", "same-origin")
			}
		},
		Transport:     f,
		FlushInterval: -1,
		ErrorHandler:  func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	ctx, cancel := context.WithTimeout(r.Context(), f.n.settings.Duration("service.router.http.readTimeout"))
	defer cancel()
	defer edge.Tie(ctx)()
	ctx, span := obs.BeginSpan(ctx, "proxy", obs.ClientSpan)
	defer func() {
		span.Fail(failed)
		span.End()
	}()
	ctx = f.n.watchUpstream(ctx)
	proxy.ServeHTTP(w, r.WithContext(ctx))
	switch {
	case failed == nil:
		return nil
	case r.Context().Err() != nil:
		return failed
	case errors.Is(failed, context.DeadlineExceeded):
		return fault.Timeout("No answer came in time from the process that the request was passed on to")
	case fault.Find(failed) != nil:
		return failed
	}
	return fault.Unavailable("The process that the request was passed on to did not answer").WithCause(failed)
}

// passCookie has a request that came with a ticket of Kerberos go on with the cookie that was given
// for it: the ticket is for this process only.
func passCookie(out *http.Request, answer http.Header) {
	scheme, _, _ := strings.Cut(out.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Negotiate") {
		return
	}
	for _, c := range (&http.Response{Header: answer}).Cookies() {
		if c.Name == kerberos.CookieName && c.Value != "" {
			out.Header.Del("Authorization")
			out.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
		}
	}
}

// passIdentity has a request that is passed on say who sends it, where only this process knows: of
// a session the token takes the place of the cookie.
func passIdentity(in, out *http.Request) {
	if a := auth.Find(in.Context()); a != nil && a.Identity() != nil && !a.Identity().Token.IsZero() {
		out.Header.Set("Authorization", "Bearer "+a.Identity().Token.Reveal())
	}
}

// spoken returns a path under the name that the client used for the product.
func spoken(r *http.Request, path string) string {
	if d := edge.DialectOf(r.Context()); d.IsAlias() {
		if rest, ok := strings.CutPrefix(path, "/"+obs.Product); ok {
			return "/" + d.Name + rest
		}
	}
	return path
}

// RoundTrip sends a request to the first target that listens and is not silent. A body that is not
// kept is not read before a connection is there. What changes something is sent once: if the target
// is silent then, the client is told.
func (f *forward) RoundTrip(r *http.Request) (*http.Response, error) {
	began := f.n.o.Clock.Now()
	body, err := f.repeatable(r)
	if err != nil {
		return nil, err
	}
	for {
		var last error
		for _, target := range f.awake() {
			to, err := url.Parse(target)
			if err != nil {
				return nil, err
			}
			out := r.Clone(r.Context())
			obs.SpanOf(r.Context()).Text("server.address", to.Host)
			out.URL.Scheme, out.URL.Host = to.Scheme, to.Host
			if to.Scheme == "https" {
				out.Host = to.Host // which the certificate there is for; X-Forwarded-Host has the client's
			}
			out.Body = body.next()
			resp, err := f.send(out, target)
			if err == nil || !unreached(err) && (!body.again || !errors.Is(err, errSilent)) {
				return resp, err
			}
			last = err
		}
		if f.n.o.Clock.Now().Sub(began) >= f.patience {
			if last != nil {
				return nil, last
			}
			return nil, f.none(r)
		}
		if err := f.n.o.Clock.Sleep(r.Context(), lookAgain); err != nil {
			return nil, err
		}
	}
}

// unreached reports whether a request failed before anything of it was sent.
func unreached(err error) bool {
	if _, failed := errors.AsType[*keystore.HandshakeError](err); failed {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// toLeader passes requests on to the leader of a role.
func (n *Node) toLeader(role string) *forward {
	return &forward{n: n, patience: findLeader, none: func(r *http.Request) error {
		return fault.Unavailable("Unable to determine destination[%s]; is your coordinator/overlord running?", r.URL.RequestURI())
	}, targets: func() []string {
		if url := n.peers.leaders[role].Leader(); url != "" {
			return []string{url}
		}
		return nil
	}}
}

// led serves the paths of a role that has leaders: here if this process leads, fenced, else by
// where it points to. A process that never leads has no here.
func (n *Node) led(role string, here http.Handler, elsewhere edge.Handler) edge.Handler {
	l := n.peers.leaders[role]
	return func(w http.ResponseWriter, r *http.Request) error {
		if l.Leads() {
			here.ServeHTTP(w, r.WithContext(l.Fence(r.Context())))
			return nil
		}
		return elsewhere(w, r)
	}
}

// redirect sends clients to the leader of a role.
func (n *Node) redirect(role string) edge.Handler {
	l := n.peers.leaders[role]
	return func(w http.ResponseWriter, r *http.Request) error {
		leader := l.Leader()
		if leader == "" {
			return fault.Unavailable("No leader for role [%s] is known; it is being chosen", role)
		}
		w.Header().Set("Location", leader+spoken(r, r.URL.RequestURI()))
		w.WriteHeader(http.StatusTemporaryRedirect)
		return nil
	}
}
