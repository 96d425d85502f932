package kerberos

import (
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/spnego"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// EscalatorOptions define the identity of a process in its own requests.
type EscalatorOptions struct {
	// Prefix is the prefix of the settings.
	Prefix            string
	Principal, Keytab string
	// Host replaces _HOST in the principal.
	Host       string
	Authorizer string
	Clock      clock.Clock
}

// Escalator adds tickets to requests, or the cookies that other processes issued for a ticket.
type Escalator struct {
	id     auth.Identity
	clock  clock.Clock
	client *client.Client

	mu struct {
		sync.Mutex // also held while a ticket is made: two of one microsecond look like a replay
		cookies    map[string]kept
	}
}

// kept is the cookie of another process.
type kept struct {
	value string
	until time.Time
}

// NewEscalator reads the keytab and the realm configuration, which KRB5_CONFIG names. The caller
// closes the escalator.
func NewEscalator(o EscalatorOptions) (*Escalator, error) {
	keys, err := readKeytab(o.Keytab, o.Prefix+"internalClientKeytab")
	if err != nil {
		return nil, err
	}
	path := os.Getenv("KRB5_CONFIG")
	if path == "" {
		path = "/etc/krb5.conf"
	}
	realms, err := config.Load(path)
	if err != nil {
		return nil, fault.InvalidInput("File [%s] with the settings of Kerberos can't be read; KRB5_CONFIG names another", path).WithCause(err)
	}
	name, realm, ok := strings.Cut(strings.ReplaceAll(o.Principal, "_HOST", o.Host), "@")
	if !ok {
		realm = realms.LibDefaults.DefaultRealm
	}
	if name == "" || realm == "" {
		return nil, fault.InvalidInput("Value [%s] of setting [%sinternalClientPrincipal] has not the form [name@REALM]", o.Principal, o.Prefix)
	}
	short, _, _ := strings.Cut(name, "/")
	e := &Escalator{
		id: auth.Identity{Name: short, Authorizer: o.Authorizer, By: "escalator"}, clock: o.Clock,
		client: client.NewWithKeytab(name, realm, keys, realms, client.DisablePAFXFAST(true)),
	}
	e.mu.cookies = map[string]kept{}
	return e, nil
}

// Close stops the renewal of tickets.
func (e *Escalator) Close() { e.client.Destroy() }

// Identity implements auth.Escalator.
func (e *Escalator) Identity() *auth.Identity { return &e.id }

// Escalate implements auth.Escalator.
func (e *Escalator) Escalate(r *http.Request) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c, ok := e.mu.cookies[r.URL.Host]; ok && e.clock.Now().Before(c.until) {
		r.AddCookie(&http.Cookie{Name: CookieName, Value: c.value})
		return nil
	}
	if err := spnego.SetSPNEGOHeader(e.client, r, "HTTP/"+r.URL.Hostname()); err != nil {
		return fault.Unavailable("No ticket of Kerberos for [HTTP/%s] could be got", r.URL.Hostname()).WithCause(err)
	}
	return nil
}

// Answered stores the cookie of a response, and discards a rejected cookie.
func (e *Escalator) Answered(r *http.Request, resp *http.Response) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		delete(e.mu.cookies, r.URL.Host)
		return
	}
	for _, c := range resp.Cookies() {
		if c.Name == CookieName && c.Value != "" {
			e.mu.cookies[r.URL.Host] = kept{c.Value, e.clock.Now().Add(cookieAge / 2)}
		}
	}
}
