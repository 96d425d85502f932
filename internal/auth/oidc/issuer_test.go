package oidc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret/seal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// issuer is a small provider that also makes tokens that no provider should.
type issuer struct {
	*httptest.Server
	t       testing.TB
	fetches atomic.Int64 // of the keys
	// exchanges counts what was asked of the token endpoint.
	exchanges atomic.Int64
	// keysAway and away have requests for the keys, or all, answered with 503.
	keysAway, away atomic.Bool

	mu   sync.Mutex
	keys map[string]*rsa.PrivateKey
	kid  string
	// granted are the claims of the next token by code, and what was sent for it.
	granted  map[string]any
	sent     url.Values
	refuse   bool
	noReturn bool // of the ID token
}

var (
	rsaOnce sync.Once
	rsaKeys []*rsa.PrivateKey
)

// rsaKey returns the n-th key of the tests, which take long to make.
func rsaKey(t testing.TB, n int) *rsa.PrivateKey {
	rsaOnce.Do(func() {
		for range 3 {
			k, err := rsa.GenerateKey(rand.Reader, 2048)
			if err != nil {
				t.Fatal(err)
			}
			rsaKeys = append(rsaKeys, k)
		}
	})
	return rsaKeys[n]
}

func newIssuer(t testing.TB) *issuer {
	i := &issuer{t: t, keys: map[string]*rsa.PrivateKey{"one": rsaKey(t, 0)}, kid: "one"}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"end_session_endpoint":                  i.URL + "/end?x=1",
			"id_token_signing_alg_values_supported": []string{"RS256", "none", "HS256"},
		})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.fetches.Add(1)
		if i.keysAway.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		set := map[string][]any{"keys": {map[string]string{"kty": "strange", "kid": "x"}}}
		for kid, key := range i.keys {
			set["keys"] = append(set["keys"], jose.JSONWebKey{Key: key.Public(), KeyID: kid, Use: "sig", Algorithm: "RS256"})
		}
		_ = json.NewEncoder(w).Encode(set)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		i.exchanges.Add(1)
		i.mu.Lock()
		i.sent = r.Form
		claims, refuse, without := i.granted, i.refuse, i.noReturn
		i.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if refuse {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
			return
		}
		answer := map[string]any{"access_token": "opaque", "token_type": "Bearer", "expires_in": 300, "refresh_token": "again"}
		if !without {
			answer["id_token"] = i.token(claims)
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) grant(claims map[string]any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.granted = claims
}

// claims are those of a good token, with some changed; nil removes one.
func (i *issuer) claims(now time.Time, change map[string]any) map[string]any {
	out := map[string]any{"iss": i.URL, "aud": "henge", "sub": "ann", "exp": now.Add(time.Hour).Unix(), "iat": now.Unix()}
	maps.Copy(out, change)
	maps.DeleteFunc(out, func(_ string, v any) bool { return v == nil })
	return out
}

func (i *issuer) token(claims map[string]any) string {
	i.mu.Lock()
	key, kid := i.keys[i.kid], i.kid
	i.mu.Unlock()
	return sign(i.t, jose.RS256, key, kid, claims)
}

func sign(t testing.TB, algorithm jose.SignatureAlgorithm, key any, kid string, claims map[string]any) string {
	t.Helper()
	options := &jose.SignerOptions{}
	if kid != "" {
		options = options.WithHeader("kid", kid)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := s.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// settings are those of a test.
type settings map[string]string

func (v settings) Text(key string) string { return v[key] }
func (v settings) Bool(key string) bool   { return v[key] == "true" }
func (v settings) Int(key string) int64 {
	if v[key] == "" {
		return 0
	}
	var n int64
	_ = json.Unmarshal([]byte(v[key]), &n)
	return n
}
func (v settings) IsSet(key string) bool { _, ok := v[key]; return ok }
func (v settings) List(key string) []string {
	if v[key] == "" {
		return nil
	}
	return strings.Split(v[key], ",")
}

func part(issuer string, change map[string]string) auth.Part {
	s := settings{
		"o.type": "oidc", "o.authorizerName": "az", "o.issuer": issuer, "o.clientId": "henge", "o.userClaim": "sub",
		"o.rolesClaim":      "realm_access.roles",
		"o.sessionIdleTime": "PT30M", "o.sessionMaxTime": "PT12H", "o.maxSessions": "3",
		"o.redirectUri": "http://localhost:8888/service-ext/access/callback", "o.clientSecret": "hush",
	}
	maps.Copy(s, change)
	return auth.Part{Name: "o", Prefix: "o.", Settings: s}
}

// open returns an authenticator of the issuer, which runs while the test does.
func open(t testing.TB, p auth.Part, c clock.Clock) *Authenticator {
	return openOn(t, p, c, &memory{clock: c, kept: map[string]kept{}})
}

// openOn is open with a store that others may share.
func openOn(t testing.TB, p auth.Part, c clock.Clock, store Store) *Authenticator {
	t.Helper()
	o, err := OptionsOf(p)
	if err != nil {
		t.Fatal(err)
	}
	o.Clock, o.Log = c, slog.New(slog.DiscardHandler)
	a := New(o)
	sealer, err := seal.New(make([]byte, seal.KeyBytes), c)
	if err != nil {
		t.Fatal(err)
	}
	a.Open(store, sealer)
	done := make(chan error)
	go func() { done <- a.Run(t.Context()) }()
	t.Cleanup(func() { <-done; http.DefaultClient.CloseIdleConnections() })
	return a
}

// as is who a request is: a name with its roles, "" for nobody, or the error.
func as(t testing.TB, a *Authenticator, header, value string) string {
	id, err := a.Authenticate(t.Context(), &auth.Request{Header: http.Header{header: {value}}, Answer: http.Header{}})
	switch {
	case err != nil:
		return "! " + fault.Classify(err).Message
	case id == nil:
		return ""
	}
	return id.Name + " " + strings.Join(id.Roles, ",")
}

func TestBadTokens(t *testing.T) {
	i, now := newIssuer(t), time.Now()
	a := open(t, part(i.URL, nil), clock.System())
	<-a.Found()
	other := newIssuer(t)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(rsaKey(t, 0).Public())
	if err != nil {
		t.Fatal(err)
	}
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	good := i.token(i.claims(now, map[string]any{"realm_access": map[string]any{"roles": []string{"reader", "writer"}}}))
	seconds := func(d time.Duration) int64 { return now.Add(d).Unix() }
	with := func(name string, value any) string { return i.token(i.claims(now, map[string]any{name: value})) }
	const invalid = "! The token is not valid."
	for name, test := range map[string]struct{ token, want string }{
		"good":                  {good, "ann reader,writer"},
		"no roles":              {with("x", 1), "ann "},
		"none":                  {text(map[string]string{"alg": "none"}) + "." + text(i.claims(now, nil)) + ".", invalid},
		"NONE":                  {text(map[string]string{"alg": "NONE", "kid": "one"}) + "." + text(i.claims(now, nil)) + ".AAAA", invalid},
		"HS256, public key":     {sign(t, jose.HS256, asPEM, "one", i.claims(now, nil)), invalid},
		"HS256, DER":            {sign(t, jose.HS256, public, "", i.claims(now, nil)), invalid},
		"other algorithm":       {sign(t, jose.RS384, rsaKey(t, 0), "one", i.claims(now, nil)), invalid},
		"elliptic":              {sign(t, jose.ES256, ec, "one", i.claims(now, nil)), invalid},
		"wrong key":             {sign(t, jose.RS256, rsaKey(t, 1), "one", i.claims(now, nil)), invalid},
		"unknown kid":           {sign(t, jose.RS256, rsaKey(t, 1), "two", i.claims(now, nil)), invalid},
		"no kid":                {sign(t, jose.RS256, rsaKey(t, 0), "", i.claims(now, nil)), "ann "},
		"no kid, wrong key":     {sign(t, jose.RS256, rsaKey(t, 1), "", i.claims(now, nil)), invalid},
		"changed":               {changed(good), invalid},
		"signature cut off":     {good[:strings.LastIndexByte(good, '.')+1], invalid},
		"wrong aud":             {with("aud", "others"), invalid},
		"no aud":                {with("aud", nil), invalid},
		"several aud":           {with("aud", []string{"others", "henge"}), "ann "},
		"expired":               {with("exp", seconds(-2*time.Minute)), invalid},
		"expired within leeway": {with("exp", seconds(-30*time.Second)), "ann "},
		"no exp":                {with("exp", nil), invalid},
		"exp as text":           {with("exp", "soon"), invalid},
		"nbf in the future":     {with("nbf", seconds(2*time.Minute)), invalid},
		"nbf within leeway":     {with("nbf", seconds(30*time.Second)), "ann "},
		"iat in the future":     {with("iat", seconds(2*time.Minute)), invalid},
		"other issuer":          {other.token(other.claims(now, nil)), ""},
		"claims to be it":       {other.token(i.claims(now, nil)), "ann "}, // it has the same key here
		"no user":               {with("sub", nil), invalid},
		"empty user":            {with("sub", ""), invalid},
		"user of two":           {with("sub", []string{"a", "b"}), invalid},
		"user with lines":       {with("sub", "a\nb"), invalid},
		"long user":             {with("sub", strings.Repeat("x", 256)), invalid},
		"deep claims":           {with("x", nested(7)), invalid},
		"API key":               {"hg_0123456789abcdef_" + strings.Repeat("a", 52), ""},
		"three parts":           {"a.b.c", ""},
		"nothing":               {"", ""},
	} {
		got := as(t, a, "Authorization", "Bearer "+test.token)
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	if got := as(t, a, "Authorization", "Basic YTpi"); got != "" {
		t.Errorf("a password: %q", got)
	}
	if a.Challenge() != "Bearer" {
		t.Error(a.Challenge())
	}
}

// changed returns a token with another character in the middle of its signature.
func changed(token string) string {
	at := (strings.LastIndexByte(token, '.') + len(token)) / 2
	other := "A"
	if token[at] == 'A' {
		other = "B"
	}
	return token[:at] + other + token[at+1:]
}

func nested(depth int) any {
	var v any = "x"
	for range depth {
		v = map[string]any{"x": v}
	}
	return v
}

func TestKeysRotateUnderLoad(t *testing.T) {
	i, now := newIssuer(t), time.Now()
	a := open(t, part(i.URL, nil), clock.System())
	<-a.Found()
	old := i.token(i.claims(now, nil))
	if got := as(t, a, "Authorization", "Bearer "+old); got != "ann " {
		t.Fatal(got)
	}
	i.mu.Lock()
	i.keys, i.kid = map[string]*rsa.PrivateKey{"two": rsaKey(t, 1)}, "two"
	i.mu.Unlock()
	before := i.fetches.Load()
	fresh := i.token(i.claims(now, nil))
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if got := as(t, a, "Authorization", "Bearer "+fresh); got != "ann " {
				t.Errorf("by the new key: %q", got)
			}
		})
	}
	all.Wait()
	if n := i.fetches.Load() - before; n < 1 || n > 3 {
		t.Errorf("%d fetches of the keys for 200 tokens", n)
	}
	if got := as(t, a, "Authorization", "Bearer "+old); got != "! The token is not valid." {
		t.Errorf("by a key that was withdrawn: %q", got)
	}
	i.keysAway.Store(true)
	if got := as(t, a, "Authorization", "Bearer "+fresh); got != "ann " {
		t.Errorf("by a known key while the keys are away: %q", got)
	}
	if got := as(t, a, "Authorization", "Bearer "+old); !strings.Contains(got, "can't be reached") {
		t.Errorf("by an unknown key while the keys are away: %q", got)
	}
}

func TestProviderIsAwayAtTheStart(t *testing.T) {
	i, now := newIssuer(t), time.Now()
	i.away.Store(true)
	a := open(t, part(i.URL, nil), clock.System())
	token := i.token(i.claims(now, nil))
	if got := as(t, a, "Authorization", "Bearer "+token); !strings.Contains(got, "not reached yet") {
		t.Errorf("while it is away: %q", got)
	}
	if _, _, err := a.Login("/"); unavailable(err) == nil {
		t.Errorf("log in: %v", err)
	}
	i.away.Store(false)
	<-a.Found()
	if got := as(t, a, "Authorization", "Bearer "+token); got != "ann " {
		t.Errorf("when it is back: %q", got)
	}
}

func TestWrongSettings(t *testing.T) {
	for want, change := range map[string]map[string]string{
		"[o.authorizerName] is missing": {"o.authorizerName": ""}, "[o.issuer] is missing": {"o.issuer": ""},
		"[o.clientId] is missing": {"o.clientId": ""}, "must begin with https": {"o.issuer": "http://idp.example.com"},
		"is not an https URL": {"o.issuer": "idp.example.com"}, "no user, query or fragment": {"o.issuer": "https://a@idp.example.com"},
		"[o.redirectUri]": {"o.redirectUri": "ftp://x/"}, "[o.roleMapping]": {"o.roleMapping": `["x"]`},
		"[o.sessionIdleTime]": {"o.sessionIdleTime": "P1M"}, "[o.sessionMaxTime]": {"o.sessionMaxTime": "PT0S"},
		"[o.maxSessions]": {"o.maxSessions": "0"}, "[o.clientSecret]": {"o.clientSecret": `{"type":"environment","variable":"HENGE_NOT_SET"}`},
	} {
		if _, err := OptionsOf(part("https://idp.example.com", change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q in it", change, err, want)
		}
	}
}

func TestClaims(t *testing.T) {
	for _, test := range []struct{ claims, user, roles, mapping, want, attributes string }{
		{`{"sub":"a","roles":["x","y"]}`, "sub", "roles", "", "a [x y]", "roles=x+y sub=a"},
		{`{"sub":"a","roles":"x"}`, "sub", "roles", "", "a [x]", "roles=x sub=a"},
		{`{"sub":7,"r":{"a":{"b":["x",["no"],null,{"c":1}]}}}`, "sub", "r.a.b", "", "7 [x]", "r.a.b=x sub=7"},
		{`{"https://x.org/roles":["x"],"p":{"n.m":"u"}}`, "p.n.m", "https://x.org/roles", "", "u [x]", "https://x.org/roles=x p.n.m=u"},
		{`{"sub":"a","g":["staff","other","lead"]}`, "sub", "g", `{"staff":["r","s"],"lead":["s","t"]}`, "a [r s t]", "g=staff+other+lead sub=a"},
		{`{"sub":"a","email_verified":true}`, "sub", "g", "{}", "a []", "email_verified=true sub=a"},
	} {
		change := map[string]string{"o.userClaim": test.user, "o.rolesClaim": test.roles, "o.roleMapping": test.mapping}
		o, err := OptionsOf(part("https://x.org", change))
		if err != nil {
			t.Fatal(err)
		}
		id, err := o.identity([]byte(test.claims))
		if err != nil {
			t.Errorf("%s: %v", test.claims, err)
			continue
		}
		if got := id.Name + " [" + strings.Join(id.Roles, " ") + "]"; got != test.want {
			t.Errorf("%s: got %s, want %s", test.claims, got, test.want)
		}
		for pair := range strings.FieldsSeq(test.attributes) {
			name, value, _ := strings.Cut(pair, "=")
			if strings.Join(id.Attributes[name], "+") != value {
				t.Errorf("%s: attributes %v", test.claims, id.Attributes)
			}
		}
	}
	o, _ := OptionsOf(part("https://x.org", map[string]string{"o.userPrefix": "sso:"}))
	if id, err := o.identity([]byte(`{"sub":"admin"}`)); err != nil || id.Name != "sso:admin" || id.Authorizer != "az" || id.By != "o" {
		t.Error(id, err)
	}
}
