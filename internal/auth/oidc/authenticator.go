package oidc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret/seal"
)

// Authenticator authenticates requests by tokens of a provider, and browsers by their sessions. It
// is safe for concurrent use.
type Authenticator struct {
	o        Options
	client   *http.Client
	provider atomic.Pointer[provider]
	found    chan struct{} // closed when the provider was discovered
	sessions *sessions
	sealer   *seal.Sealer
}

// provider is what was discovered.
type provider struct {
	endpoint oauth2.Endpoint
	logout   string // where browsers log out; "": nowhere
	keys     *keySet
}

// New returns an authenticator. Open must be called first. Run then discovers the provider.
func New(o Options) *Authenticator {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &Authenticator{
		o: o, client: &http.Client{Transport: transport, Timeout: fetchTime}, found: make(chan struct{}), sessions: &sessions{o: o},
	}
}

// Open sets the store of sessions and the key that seals pending logins. All processes that
// browsers may use must have the same store and key.
func (a *Authenticator) Open(store Store, by *seal.Sealer) { a.sessions.store, a.sealer = store, by }

// Name returns the name of the authenticator.
func (a *Authenticator) Name() string { return a.o.Name }

// Found returns a channel that is closed when the provider was discovered and its keys were
// requested.
func (a *Authenticator) Found() <-chan struct{} { return a.found }

// Run discovers the provider and keeps its keys up to date until ctx is done.
func (a *Authenticator) Run(ctx context.Context) error {
	defer a.client.CloseIdleConnections()
	pause := discoverPause
	for {
		err := a.discover(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil
		}
		a.o.Log.WarnContext(ctx, "failed to discover the OpenID Connect provider; its tokens get 503 until a retry succeeds",
			"authenticator", a.o.Name, "issuer", a.o.Issuer, "after", pause, "error", err)
		if a.o.Clock.Sleep(ctx, pause) != nil {
			return nil
		}
		pause = min(2*pause, maxDiscoverPause)
	}
	keys := a.provider.Load().keys
	keys.fetch(ctx)
	close(a.found)
	keys.run(ctx)
	return nil
}

func (a *Authenticator) discover(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	p, err := oidc.NewProvider(oidc.ClientContext(ctx, a.client), a.o.Issuer)
	if err != nil {
		return err
	}
	var more struct {
		Keys   string `json:"jwks_uri"`
		Logout string `json:"end_session_endpoint"`
	}
	if err := p.Claims(&more); err != nil {
		return err
	}
	for _, address := range []string{more.Keys, p.Endpoint().AuthURL, p.Endpoint().TokenURL} {
		if problem := secure(withoutQuery(address)); problem != "" {
			return fault.InvalidInput("Address [%s] of the provider %s", address, problem)
		}
	}
	if problem := secure(withoutQuery(more.Logout)); more.Logout != "" && problem != "" {
		return fault.InvalidInput("Address [%s] of the provider %s", more.Logout, problem)
	}
	keys := newKeySet(more.Keys, a.client, a.o.Clock)
	a.provider.Store(&provider{endpoint: p.Endpoint(), logout: more.Logout, keys: keys})
	return nil
}

// verification is what the verifier is told, for all tokens. Audiences and times are checked here:
// there may be several, and a leeway. No token is taken without a signature, whatever the provider
// says.
var verification = func() *oidc.Config {
	c := &oidc.Config{SkipClientIDCheck: true, SkipExpiryCheck: true}
	for _, algorithm := range algorithms {
		c.SupportedSigningAlgs = append(c.SupportedSigningAlgs, string(algorithm))
	}
	return c
}()

// noted are the keys as the verifier asks them, with the error of which it keeps but the text.
type noted struct {
	*keySet
	err error
}

// VerifySignature implements the key set interface of go-oidc.
func (n *noted) VerifySignature(ctx context.Context, token string) (payload []byte, err error) {
	payload, n.err = n.keySet.VerifySignature(ctx, token)
	return payload, n.err
}

func withoutQuery(address string) string {
	before, _, _ := strings.Cut(address, "?")
	return before
}

// ready returns the provider, or the fault that it was not discovered yet.
func (a *Authenticator) ready() (*provider, error) {
	if p := a.provider.Load(); p != nil {
		return p, nil
	}
	return nil, fault.Unavailable("The provider of OpenID Connect was not reached yet; try again in a moment")
}

// Authenticate implements auth.Authenticator. Tokens of other issuers, and cookies of expired
// sessions, are passed on to the next authenticator.
func (a *Authenticator) Authenticate(ctx context.Context, r *auth.Request) (*auth.Identity, error) {
	scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " ")
	if found {
		token = strings.TrimSpace(token)
		if !strings.EqualFold(scheme, "Bearer") || issuerOf(token) != a.o.Issuer {
			return nil, nil //nolint:nilnil // the next authenticator is asked
		}
		_, id, err := a.verify(ctx, token)
		return id, err
	}
	if cookie := a.cookieOf(r.Header); cookie != "" {
		return a.bySession(ctx, cookie)
	}
	return nil, nil //nolint:nilnil // likewise
}

// Challenge implements auth.Authenticator.
func (*Authenticator) Challenge() string { return "Bearer" }

// issuerOf returns who a token says has issued it, which nothing proves; "": it is no token.
func issuerOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(token) > maxToken {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Issuer string `json:"iss"`
	}
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return ""
	}
	return claims.Issuer
}

// proved are the claims of a token that was verified, as far as they are looked at here.
type proved struct {
	Subject   string   `json:"sub"`
	Nonce     string   `json:"nonce"`
	Expires   *float64 `json:"exp"`
	NotBefore *float64 `json:"nbf"`
	Issued    *float64 `json:"iat"`
}

func (p *proved) expires() time.Time { return instant(*p.Expires) }

func instant(seconds float64) time.Time { return time.UnixMilli(int64(seconds * 1000)) }

// invalid is the fault of a token that is not taken. The client is told no more; the log is.
func invalid(cause error) error {
	return fault.Unauthorized("The token is not valid.").WithCause(cause)
}

// verify returns whom a token is about.
func (a *Authenticator) verify(ctx context.Context, token string) (*proved, *auth.Identity, error) {
	p, err := a.ready()
	if err != nil {
		return nil, nil, err
	}
	keys := &noted{keySet: p.keys}
	verified, err := oidc.NewVerifier(a.o.Issuer, keys, verification).Verify(ctx, token)
	if err != nil {
		if f := unavailable(keys.err); f != nil {
			return nil, nil, f
		}
		return nil, nil, invalid(err)
	}
	var claims proved
	if err := verified.Claims(&claims); err != nil {
		return nil, nil, invalid(err)
	}
	if err := a.timely(&claims); err != nil {
		return nil, nil, invalid(err)
	}
	if !slices.ContainsFunc(verified.Audience, func(of string) bool { return slices.Contains(a.o.Audiences, of) }) {
		return nil, nil, invalid(errors.New("the token is for others"))
	}
	var payload json.RawMessage
	if err := verified.Claims(&payload); err != nil {
		return nil, nil, invalid(err)
	}
	id, err := a.o.identity(payload)
	if err != nil {
		return nil, nil, invalid(err)
	}
	return &claims, id, nil
}

// unavailable returns the fault within an error if it says that nothing can be told; nil: it says
// something else.
func unavailable(err error) error {
	if f := fault.Find(err); f != nil && f.Category == fault.CategoryServiceUnavailable {
		return f
	}
	return nil
}

// timely checks that a token is good now.
func (a *Authenticator) timely(c *proved) error {
	now := a.o.Clock.Now()
	switch {
	case c.Expires == nil:
		return errors.New("the token has no end")
	case !now.Before(c.expires().Add(leeway)):
		return errors.New("the token has expired")
	case c.NotBefore != nil && now.Add(leeway).Before(instant(*c.NotBefore)):
		return errors.New("the token is not good yet")
	case c.Issued != nil && now.Add(leeway).Before(instant(*c.Issued)):
		return errors.New("the token was issued in the future")
	}
	return nil
}
