package oidc

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// browser is what a browser would do: it keeps cookies.
type browser struct {
	t       *testing.T
	a       *Authenticator
	store   *memory
	i       *issuer
	clock   *fakeclock.Clock
	cookies map[string]string
}

func newBrowser(t *testing.T, change map[string]string) *browser {
	i := newIssuer(t)
	c := fakeclock.New(time.Now().Truncate(time.Second))
	store := &memory{clock: c, kept: map[string]kept{}}
	a := openOn(t, part(i.URL, change), c, store)
	<-a.Found()
	return &browser{t: t, a: a, store: store, i: i, clock: c, cookies: map[string]string{}}
}

func (b *browser) keep(cookies ...*http.Cookie) {
	b.t.Helper()
	for _, c := range cookies {
		if !c.HttpOnly || c.Path != "/" || c.Secure != b.a.https() {
			b.t.Errorf("cookie %v", c)
		}
		want := http.SameSiteStrictMode
		if strings.HasPrefix(c.Name, "henge_login_") {
			want = http.SameSiteLaxMode
		}
		if c.SameSite != want {
			b.t.Errorf("cookie %v", c)
		}
		if b.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
}

func (b *browser) header() string {
	var out []string
	for name, value := range b.cookies {
		out = append(out, name+"="+value)
	}
	return strings.Join(out, "; ")
}

// begin begins a log in and returns what the provider is asked.
func (b *browser) begin(back string) url.Values {
	b.t.Helper()
	to, cookie, err := b.a.Login(back)
	if err != nil {
		b.t.Fatal(err)
	}
	b.keep(cookie)
	u, err := url.Parse(to)
	if err != nil {
		b.t.Fatal(err)
	}
	return u.Query()
}

// end comes back from the provider.
func (b *browser) end(query string) (string, error) {
	b.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/service-ext/access/callback?"+query, nil)
	r.Header.Set("Cookie", b.header())
	to, cookies, err := b.a.Callback(b.t.Context(), r)
	b.keep(cookies...)
	return to, err
}

func (b *browser) login(change map[string]any) {
	b.t.Helper()
	asked := b.begin("/console?x=1")
	claims := b.i.claims(b.clock.Now(), map[string]any{"nonce": asked.Get("nonce")})
	maps.Copy(claims, change)
	b.i.grant(claims)
	if to, err := b.end("code=c&state=" + asked.Get("state")); err != nil || to != "/console?x=1" {
		b.t.Fatal(to, err)
	}
}

func (b *browser) who() string { return as(b.t, b.a, "Cookie", b.header()) }

func TestBrowserLogsInAndOut(t *testing.T) {
	b := newBrowser(t, nil)
	if b.who() != "" {
		t.Error("let in without a session")
	}
	asked := b.begin("")
	for name, want := range map[string]string{
		"client_id": "henge", "response_type": "code", "code_challenge_method": "S256", "scope": "openid",
		"redirect_uri": "http://localhost:8888/service-ext/access/callback",
	} {
		if asked.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, asked.Get(name), want)
		}
	}
	b.i.grant(b.i.claims(b.clock.Now(), map[string]any{"nonce": asked.Get("nonce"), "realm_access": map[string]any{"roles": []string{"r"}}}))
	if to, err := b.end("code=c&state=" + asked.Get("state") + "&iss=" + url.QueryEscape(b.i.URL)); err != nil || to != "/" {
		t.Fatal(to, err)
	}
	if got := b.who(); got != "ann r" {
		t.Errorf("after the log in: %q", got)
	}
	if verifier := b.i.sent.Get("code_verifier"); len(verifier) < 43 {
		t.Errorf("verifier %q", verifier)
	}
	old := b.header()
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("Cookie", old)
	removed, to, err := b.a.Logout(r)
	if err != nil {
		t.Fatal(err)
	}
	b.keep(removed)
	if at, err := url.Parse(to); err != nil || !strings.HasPrefix(to, b.i.URL+"/end?") || at.Query().Get("x") != "1" ||
		at.Query().Get("client_id") != "henge" ||
		strings.Count(at.Query().Get("id_token_hint"), ".") != 2 || at.Query().Has("post_logout_redirect_uri") {
		t.Errorf("at the provider: %q", to)
	}
	if _, to, err := b.a.Logout(r); to != "" || err != nil {
		t.Errorf("a session that is gone logs out at %q", to)
	}
	if len(b.cookies) != 0 || as(t, b.a, "Cookie", old) != "" {
		t.Errorf("after the log out: %q, cookies %v", as(t, b.a, "Cookie", old), b.cookies)
	}
	if got := newBrowser(t, map[string]string{"o.redirectUri": "https://h.example.com/cb"}).a.cookieName(); got != "__Host-henge_session" {
		t.Error(got)
	}
}

func TestLogInsThatWereNotBegunHere(t *testing.T) {
	b := newBrowser(t, nil)
	asked := b.begin("/")
	state, nonce := asked.Get("state"), asked.Get("nonce")
	good := "code=c&state=" + state
	kept := b.header()
	refused := func(name, query, want string) {
		t.Helper()
		if _, err := b.end(query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", name, err, want)
		}
		if b.who() != "" {
			t.Errorf("%s: let in", name)
		}
	}
	b.i.grant(b.i.claims(b.clock.Now(), map[string]any{"nonce": nonce}))
	refused("no state", "code=c", "not begun")
	refused("other state", "code=c&state="+state[:len(state)-1]+"!", "not begun")
	refused("unknown state", "code=c&state="+random(), "not begun")
	refused("of another provider", good+"&iss=https://evil.example.com", "not valid")
	refused("refused there", good+"&error=access_denied", "has not let you in")
	b.i.grant(b.i.claims(b.clock.Now(), map[string]any{"nonce": "other"}))
	refused("other nonce", good, "not valid")
	b.i.grant(b.i.claims(b.clock.Now(), nil))
	refused("no nonce", good, "not valid")
	b.i.grant(b.i.claims(b.clock.Now(), map[string]any{"nonce": nonce, "aud": "x"}))
	refused("other audience", good, "not valid")
	b.i.mu.Lock()
	b.i.noReturn = true
	b.i.mu.Unlock()
	refused("no token", good, "not valid")
	b.i.mu.Lock()
	b.i.noReturn, b.i.refuse = false, true
	b.i.mu.Unlock()
	refused("wrong code", good, "does not take the code")
	b.i.away.Store(true)
	refused("provider away", good, "can't be reached")
	for name, value := range b.cookies {
		b.cookies[name] = value[:20] + "AAAA" + value[24:]
	}
	refused("changed cookie", good, "not begun")
	b.cookies = map[string]string{}
	refused("no cookie", good, "not begun")
	name, value, _ := strings.Cut(kept, "=")
	b.cookies[name] = value
	b.clock.Advance(loginTime)
	refused("too late", good, "not begun")
}

func TestNoOpenRedirect(t *testing.T) {
	b := newBrowser(t, nil)
	for _, back := range []string{
		"//evil.example.com", "https://evil.example.com", `/\evil.example.com`, `\\evil.example.com`, "javascript:alert(1)", "evil",
		"/%5cevil.example.com",
		"/%2fevil.example.com", "/a/..//evil.example.com", "/..", "/\tx", "/a b", "///evil", "http:/x", "//", "?x",
		"/x\r\nSet-Cookie: a=b", "/%0d%0ax",
		"/" + strings.Repeat("x", maxReturn), "/%zz",
	} {
		if to, _, err := b.a.Login(back); fault.Find(err) == nil {
			t.Errorf("%q: sent to %s", back, to)
		}
	}
	for _, back := range []string{"", "/", "/console/#query", "/a?b=//c&d=https://x"} {
		if _, _, err := b.a.Login(back); err != nil {
			t.Errorf("%q: %v", back, err)
		}
	}
	none := newBrowser(t, map[string]string{"o.redirectUri": ""})
	if _, _, err := none.a.Login("/"); err == nil || !strings.Contains(err.Error(), "[redirectUri]") {
		t.Error(err)
	}
}

func TestSessionsEnd(t *testing.T) {
	day := map[string]any{"exp": time.Now().Add(48 * time.Hour).Unix()}
	b := newBrowser(t, nil)
	b.login(day)
	b.clock.Advance(29 * time.Minute)
	if b.who() != "ann " {
		t.Error("ended too early")
	}
	b.clock.Advance(30 * time.Minute)
	if b.who() != "" {
		t.Error("an idle session goes on")
	}
	b.login(map[string]any{"exp": b.clock.Now().Add(48 * time.Hour).Unix()})
	for range 35 {
		b.clock.Advance(20 * time.Minute)
		if b.who() != "ann " {
			t.Fatal("a session in use ended")
		}
	}
	b.clock.Advance(20 * time.Minute)
	if b.who() != "" {
		t.Error("a session goes on for longer than it may")
	}
	// Of too many the one goes that was not used for longest.
	var others []*browser
	for range 3 {
		other := *b
		other.cookies = map[string]string{}
		b.clock.Advance(touchTime)
		other.login(map[string]any{"exp": b.clock.Now().Add(48 * time.Hour).Unix()})
		others = append(others, &other)
	}
	b.clock.Advance(touchTime)
	if others[0].who() == "" {
		t.Error("ended without need")
	}
	b.clock.Advance(touchTime)
	b.login(map[string]any{"exp": b.clock.Now().Add(48 * time.Hour).Unix()})
	if others[1].who() != "" || others[0].who() == "" || others[2].who() == "" || b.who() == "" || len(b.store.kept) != 3 {
		t.Error("the wrong session ended")
	}
	b.login(day) // ends the one before
	if len(b.store.kept) != 3 || others[0].who() == "" {
		t.Error("a new log in has left the old session")
	}
	// What nobody ends goes when somebody logs in.
	b.clock.Advance(30*time.Minute + clockSlack + time.Second)
	b.login(map[string]any{"exp": b.clock.Now().Add(48 * time.Hour).Unix()})
	if len(b.store.kept) != 1 {
		t.Errorf("%d sessions are kept", len(b.store.kept))
	}
}

// beside is the browser at another process of the cluster.
func (b *browser) beside() *browser {
	b.t.Helper()
	other := *b
	other.a = openOn(b.t, part(b.i.URL, nil), b.clock, b.store)
	<-other.a.Found()
	return &other
}

func TestSessionsAreThoseOfAllProcesses(t *testing.T) {
	b := newBrowser(t, nil)
	other := b.beside()
	b.login(map[string]any{"exp": b.clock.Now().Add(48 * time.Hour).Unix()})
	if b.who() != "ann " || other.who() != "ann " {
		t.Errorf("here %q, there %q", b.who(), other.who())
	}
	// Use at one of them counts for both.
	for range 4 {
		b.clock.Advance(20 * time.Minute)
		if other.who() != "ann " {
			t.Fatal("a session in use ended")
		}
	}
	if b.who() != "ann " {
		t.Error("idle here, in use there")
	}
	// A log in that has begun at one ends at the other.
	old := b.header()
	asked := b.begin("/")
	b.i.grant(b.i.claims(b.clock.Now(), map[string]any{"nonce": asked.Get("nonce")}))
	if to, err := other.end("code=c&state=" + asked.Get("state")); err != nil || to != "/" {
		t.Fatal(to, err)
	}
	if as(t, b.a, "Cookie", old) != "" || b.who() != "ann " {
		t.Errorf("the session before: %q, the one after: %q", as(t, b.a, "Cookie", old), b.who())
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("Cookie", b.header())
	b.store.away = true
	if _, _, err := other.a.Logout(r); unavailable(err) == nil {
		t.Errorf("log out without the store: %v", err)
	}
	if got := b.who(); got != "! The store is away" {
		t.Errorf("without the store: %q", got)
	}
	b.store.away = false
	if _, to, err := other.a.Logout(r); err != nil || !strings.HasPrefix(to, b.i.URL+"/end?") {
		t.Error(to, err)
	}
	if b.who() != "" || other.who() != "" || len(b.store.kept) != 0 {
		t.Errorf("after the log out: here %q, there %q, %d kept", b.who(), other.who(), len(b.store.kept))
	}
}

// Neither tokens nor what lets in stand in the store, and what is changed there opens nothing.
func TestTheStoreLetsNobodyIn(t *testing.T) {
	b := newBrowser(t, nil)
	b.login(map[string]any{"exp": b.clock.Now().Add(48 * time.Hour).Unix()})
	_, cookie, _ := strings.Cut(b.header(), "=")
	var name string
	for n, k := range b.store.kept {
		name = n
		if text := n + string(k.text); strings.Contains(text, cookie) || strings.Contains(text, "again") || strings.Contains(text, "ey") &&
			strings.Count(text, ".") > 1 {
			t.Errorf("in clear: %s", text)
		}
	}
	good := b.store.kept[name]
	of := &sessions{o: b.a.o, store: b.store}
	stranger := random()
	theirs, _ := of.place(stranger)
	b.store.kept[theirs] = good // under the name of another cookie
	if got := as(t, b.a, "Cookie", "henge_session="+stranger); got != "" {
		t.Errorf("the session of another cookie: %q", got)
	}
	for _, text := range []string{`null`, `""`, `"AAAA"`, `{}`, `"` + strings.Repeat("A", 400) + `"`} {
		b.store.kept[name] = kept{[]byte(text), good.updated}
		if got := b.who(); got != "" {
			t.Errorf("%s: %q", text, got)
		}
	}
	b.store.kept[name] = good
	if got := b.who(); got != "ann " {
		t.Errorf("as it was: %q", got)
	}
}

// A refresh token is good once: of many requests at several processes one replaces the token.
func TestOneProcessRenewsASession(t *testing.T) {
	b := newBrowser(t, nil)
	other := b.beside()
	b.login(map[string]any{"exp": b.clock.Now().Add(5 * time.Minute).Unix()})
	b.i.grant(b.i.claims(b.clock.Now(), map[string]any{
		"exp": b.clock.Now().Add(time.Hour).Unix(), "realm_access": map[string]any{"roles": []string{"new"}},
	}))
	b.clock.Advance(5*time.Minute - 10*time.Second)
	before := b.i.exchanges.Load()
	var all sync.WaitGroup
	for n := range 40 {
		at := []*browser{b, other}[n%2]
		all.Go(func() {
			if got := at.who(); got != "ann " && got != "ann new" {
				t.Errorf("meanwhile: %q", got)
			}
		})
	}
	all.Wait()
	if n := b.i.exchanges.Load() - before; n != 1 {
		t.Errorf("%d exchanges", n)
	}
	if b.who() != "ann new" || other.who() != "ann new" {
		t.Errorf("here %q, there %q", b.who(), other.who())
	}
}

// Who renews a session and then ends leaves it to others after a while.
func TestARenewalThatNobodyEnds(t *testing.T) {
	b := newBrowser(t, nil)
	b.login(map[string]any{"exp": b.clock.Now().Add(5 * time.Minute).Unix()})
	b.i.grant(b.i.claims(b.clock.Now(), map[string]any{"exp": b.clock.Now().Add(time.Hour).Unix()}))
	b.clock.Advance(5*time.Minute - 10*time.Second)
	_, cookie, _ := strings.Cut(b.header(), "=")
	err := b.a.sessions.update(t.Context(), cookie, func(now *session) error {
		now.Renewing = b.clock.Now().Add(renewTime).UnixMilli()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	before := b.i.exchanges.Load()
	if got := b.who(); got != "ann " || b.i.exchanges.Load() != before {
		t.Errorf("while the token is good: %q", got)
	}
	b.clock.Advance(renewTime) // the token is over, too
	if got := b.who(); got != "ann " || b.i.exchanges.Load() != before+1 {
		t.Errorf("later: %q", got)
	}
}

func TestSessionsAreRenewed(t *testing.T) {
	b := newBrowser(t, nil)
	soon := func() map[string]any { return map[string]any{"exp": b.clock.Now().Add(5 * time.Minute).Unix()} }
	b.login(soon())
	next := func(change map[string]any) {
		claims := b.i.claims(b.clock.Now(), soon())
		maps.Copy(claims, change)
		b.i.grant(claims)
		b.clock.Advance(5*time.Minute - 10*time.Second)
	}
	next(map[string]any{"realm_access": map[string]any{"roles": []string{"new"}}, "exp": b.clock.Now().Add(10 * time.Minute).Unix()})
	if got := b.who(); got != "ann new" || b.i.sent.Get("grant_type") != "refresh_token" || b.i.sent.Get("refresh_token") != "again" {
		t.Errorf("renewed: %q, %v", got, b.i.sent)
	}
	b.clock.Advance(5 * time.Minute)
	b.i.away.Store(true)
	if got := b.who(); got != "ann new" {
		t.Errorf("while the provider is away, and the token good: %q", got)
	}
	b.clock.Advance(time.Minute)
	if got := b.who(); !strings.Contains(got, "can't be reached") {
		t.Errorf("while the provider is away, and the token over: %q", got)
	}
	b.i.away.Store(false)
	b.i.grant(b.i.claims(b.clock.Now(), nil))
	if got := b.who(); got != "ann " {
		t.Errorf("when it is back: %q", got)
	}
	for name, spoil := range map[string]func(){
		"refused":      func() { b.i.refuse = true },
		"no token":     func() { b.i.noReturn = true },
		"another user": func() { b.i.granted = b.i.claims(b.clock.Now().Add(time.Hour), map[string]any{"sub": "bob"}) },
	} {
		b.i.mu.Lock()
		b.i.refuse, b.i.noReturn = false, false
		b.i.mu.Unlock()
		b.login(soon())
		b.clock.Advance(5*time.Minute - 10*time.Second)
		b.i.mu.Lock()
		spoil()
		b.i.mu.Unlock()
		if got := b.who(); got != "" {
			t.Errorf("%s: %q", name, got)
		}
		b.i.mu.Lock()
		b.i.refuse, b.i.noReturn = false, false
		b.i.mu.Unlock()
		if got := b.who(); got != "" {
			t.Errorf("%s: the session has come back as %q", name, got)
		}
	}
}
