package edge

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Guard rejects cross-site requests of browsers, with and without security. Requests of programs
// pass, because they do not name an origin.
type Guard struct {
	errors *Errors
	hosts  []string // nil: any
	cross  *http.CrossOriginProtection
	policy string
}

// GuardOptions are the settings of a Guard.
type GuardOptions struct {
	// Hosts are the accepted names in the header Host, with a leading dot for all subdomains; nil:
	// any. Loopback also accepts names of the loopback interface, and only these if Hosts is empty.
	Hosts    []string
	Loopback bool
	// Origins are the origins, in addition to the origin of the host, whose pages may make changes.
	Origins []string
	// Policy is the Content-Security-Policy of responses to requests other than POST.
	Policy string
}

// NewGuard returns a Guard that writes errors with errors.
func NewGuard(errors *Errors, o GuardOptions) (*Guard, error) {
	g := &Guard{errors: errors, cross: http.NewCrossOriginProtection(), policy: o.Policy}
	for _, origin := range o.Origins {
		if err := g.cross.AddTrustedOrigin(origin); err != nil {
			return nil, fault.InvalidInput("Value [%s] of setting [service.server.http.allowedOrigins] is not an origin such as "+
				"[https://console.example.com]",
				origin)
		}
	}
	if o.Loopback || len(o.Hosts) > 0 {
		g.hosts = append([]string{"localhost", ".localhost"}, o.Hosts...)
	}
	return g, nil
}

// Wrap wraps a handler with the guard.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.Method != http.MethodPost && g.policy != "" {
			w.Header().Set("Content-Security-Policy", g.policy)
		}
		if err := g.check(r); err != nil {
			g.errors.Write(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *Guard) check(r *http.Request) error {
	if r.TLS == nil && !g.answers(r.Host) { // of a page at a name of its own a certificate says so
		return fault.Forbidden("Host [%.200s] is not a name of this process. A page that reaches it under a name of its own could "+
			"read its answers; service.server.http.allowedHosts adds names", r.Host)
	}
	if g.cross.Check(r) != nil {
		return fault.Forbidden("The request changes something, and a page of another origin has sent it; service.server.http.allowedOrigins " +
			"adds origins")
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return nil
	}
	if isForm(r) && fromBrowser(r) {
		return UnsupportedMedia("Content-Type [%s] is what a form of any page can send. Send application/json", r.Header.Get("Content-Type"))
	}
	return nil
}

// answers reports whether a host is answered. Addresses of the loopback interface always are: no
// name server can give them to a page.
func (g *Guard) answers(host string) bool {
	if g.hosts == nil || host == "" {
		return true
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if ip, err := netip.ParseAddr(name); err == nil && ip.Unmap().IsLoopback() {
		return true
	}
	return HostIn(g.hosts, name)
}

// HostIn reports whether a name is in a list of names and, with a dot in front, of domains.
func HostIn(list []string, name string) bool {
	return slices.ContainsFunc(list, func(allowed string) bool {
		allowed = strings.ToLower(allowed)
		return name == allowed || strings.HasPrefix(allowed, ".") && strings.HasSuffix(name, allowed)
	})
}

// isForm reports whether a request has a media type that forms send.
func isForm(r *http.Request) bool {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // what can't be read is no form's
	return media == "application/x-www-form-urlencoded" || media == "multipart/form-data" || media == "text/plain"
}

// fromBrowser reports whether a browser sends a request that does not say from which page: one that
// knows neither Origin nor Sec-Fetch-Site. Those that do are checked by them.
func fromBrowser(r *http.Request) bool {
	h := r.Header
	if h.Get("Sec-Fetch-Site") != "" || h.Get("Origin") != "" {
		return false
	}
	return h.Get("Referer") != "" || h.Get("Cookie") != "" || strings.HasPrefix(h.Get("User-Agent"), "Mozilla/")
}
