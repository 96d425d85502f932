package kerberos

import (
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/testkit/kdc"
)

func TestMain(m *testing.M) {
	// The library keeps what it has seen of tickets for as long as the process runs.
	goleak.VerifyTestMain(m, // the name depends on whether the function around it is inlined
		goleak.IgnoreAnyFunction("github.com/jcmturner/gokrb5/v8/service.GetReplayCache.func1.1"),
		goleak.IgnoreAnyFunction("github.com/jcmturner/gokrb5/v8/service.VerifyAPREQ.GetReplayCache.func1.1"))
}

func TestShortNames(t *testing.T) {
	for _, c := range []struct {
		rules, principal, want, why string
	}{
		{"", "alice@R", "alice", ""},
		{"DEFAULT", "alice@R", "alice", ""},
		{"DEFAULT", "hdfs/host@R", "hdfs", ""},
		{"DEFAULT", "alice@OTHER", "", "no rule is about it"},
		{"RULE:[1:$1@$0](.*@OTHER)s/@.*//\nDEFAULT", "alice@OTHER", "alice", ""},
		{"RULE:[1:$1@$0](.*@OTHER)s/@.*// DEFAULT", "alice@R", "alice", ""},
		{"RULE:[2:$1/$2@$0](app/.*@R)s/.*/application/", "app/host@R", "application", ""},
		{"RULE:[2:$1;$2](^.*;admin$)s/;admin$//", "carol/admin@R", "carol", ""},
		{"RULE:[1:$1](A.*)s/A/b/", "AxA@R", "bxA", ""},
		{"RULE:[1:$1](A.*)s/A/b/g", "AxA@R", "bxb", ""},
		{"RULE:[1:$1]s/(.)(.*)/$2$1/", "xyz@R", "yzx", ""},
		{"RULE:[1:$1]/L", "ALICE@R", "alice", ""},
		{"RULE:[1:$1@$0]", "alice@R", "", "which is not a short name"},
		{"RULE:[2:$1]", "alice@R", "", "no rule is about it"},
		{"RULE:[1:$1](b.*)", "alice@R", "", "no rule is about it"},
		{"RULE:[1:$1]s/alice//", "alice@R", "", "which is not a short name"},
	} {
		r, err := parseRules(c.rules, "R", "p")
		if err != nil {
			t.Errorf("%s: %v", c.rules, err)
			continue
		}
		name, realm, _ := strings.Cut(c.principal, "@")
		got, err := r.short(strings.Split(name, "/"), realm)
		if got != c.want || (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s of %s: %s, %v", c.rules, c.principal, got, err)
		}
	}
	for text, why := range map[string]string{
		"default": "has neither the form", "RULE:[x:$1]": "has neither the form", "RULE:[0:$1]": "from 1 to 9", "RULE:[1:$2]": "does not have",
		"RULE:[1:$1](()": "not a regular expression", "RULE:[1:$1]([)": "not a regular expression",
		"RULE:[1:$1]s/[/x/": "not a regular expression",
	} {
		if _, err := parseRules(text, "R", "p"); err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(),
			"setting [p]") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestCookies(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	s, other := &signer{[]byte("secret"), "krb"}, &signer{[]byte("another"), "krb"}
	good := s.sign("alice", "alice@R", now.Add(time.Hour))
	if user := s.read(good, now); user != "alice" {
		t.Errorf("user [%s] of %s", user, good)
	}
	if !strings.HasPrefix(good, "u=alice&p=alice%40R&t=kerberos&e=1700003600000&s=") {
		t.Errorf("cookie %s", good)
	}
	for name, value := range map[string]string{
		"empty": "", "not signed": "u=alice&p=alice@R&t=kerberos&e=1800000000000", "changed": strings.Replace(good, "u=alice", "u=admin", 1),
		"of another secret": other.sign("alice", "alice@R", now.Add(time.Hour)), "out of date": s.sign("alice", "alice@R", now),
		"of another authenticator": (&signer{[]byte("secret"), "other"}).sign("alice", "alice@R", now.Add(time.Hour)),
		"cut off":                  good[:len(good)-1], "longer": good + "x", "with more": good + "&u=admin",
	} {
		if user := s.read(value, now); user != "" {
			t.Errorf("%s: user [%s]", name, user)
		}
	}
}

// protected answers who asks, as a port with the authenticator does.
func protected(a *Authenticator) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := a.Authenticate(r.Context(), auth.RequestOf(r, w.Header()))
		switch {
		case err != nil && fault.Find(err).Category == fault.CategoryForbidden:
			w.WriteHeader(http.StatusForbidden)
		case err != nil || id == nil:
			w.Header().Add("WWW-Authenticate", a.Challenge())
			w.WriteHeader(http.StatusUnauthorized)
		default:
			_, _ = w.Write([]byte(id.Name + " by " + id.By + " for " + id.Authorizer)) // the client sees whether it came
		}
	})
}

func options(keytab string) Options {
	return Options{
		Name: "krb", Prefix: "a.", Principal: "HTTP/_HOST@" + kdc.Realm, Host: "localhost", Keytab: keytab, Rules: "DEFAULT",
		Secret:     secret.NewText("dolmen"),
		Authorizer: "az", Clock: clock.System(), Log: slog.New(slog.DiscardHandler),
	}
}

// serve starts a server on localhost, which is the name that tickets are for.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
}

func TestTickets(t *testing.T) {
	k := kdc.Start(t)
	service, users := k.Keytab(t, "HTTP/localhost", "HTTP/elsewhere"), k.Keytab(t, "alice", "henge/admin")
	curl := func(args ...string) string {
		t.Helper()
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skip("no curl: " + err.Error())
		}
		return k.Run(t, "curl", append([]string{"-s", "-i", "--negotiate", "-u", ":"}, args...)...)
	}
	a, err := New(options(service))
	if err != nil {
		t.Fatal(err)
	}
	at, jar := serve(t, protected(a)), filepath.Join(t.TempDir(), "jar")

	if out := curl(at); !strings.Contains(out, "401 Unauthorized") || !strings.Contains(out, "Www-Authenticate: Negotiate") {
		t.Errorf("without a ticket:\n%s", out)
	}
	k.Login(t, users, "alice")
	out := curl("-c", jar, at)
	if !strings.HasSuffix(out, "alice by krb for az") || !strings.Contains(out, "Set-Cookie: hadoop.auth=") || !strings.Contains(out,
		"HttpOnly") ||
		strings.Contains(out, "; Secure") {
		t.Errorf("with a ticket:\n%s", out)
	}
	if out = k.Run(t, "curl", "-s", "-b", jar, at); out != "alice by krb for az" {
		t.Errorf("with a cookie:\n%s", out)
	}
	k.Login(t, users, "henge/admin")
	if out = curl(at); !strings.HasSuffix(out, "henge by krb for az") {
		t.Errorf("a principal of two parts:\n%s", out)
	}

	o := options(service)
	o.Rules = "RULE:[1:$1](nobody)"
	strict, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if out = curl(serve(t, protected(strict))); !strings.Contains(out, "403 Forbidden") {
		t.Errorf("no rule:\n%s", out)
	}
	o = options(service)
	o.Host = "elsewhere"
	other, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if out = curl(serve(t, protected(other))); !strings.Contains(out, "403 Forbidden") {
		t.Errorf("a ticket for another service:\n%s", out)
	}
	o.Principal = "*"
	anyService, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if out = curl(serve(t, protected(anyService))); !strings.HasSuffix(out, "henge by krb for az") {
		t.Errorf("any service of the keytab:\n%s", out)
	}
	k.Run(t, "kdestroy")
	stale := k.Keytab(t, "HTTP/stale")
	k.Login(t, k.Keytab(t, "bob"), "bob")
	k.Run(t, "kadmin.local", "-r", kdc.Realm, "-q", "cpw -randkey -keepold HTTP/localhost")
	k.Run(t, "kadmin.local", "-r", kdc.Realm, "-q", "purgekeys HTTP/localhost")
	if out = curl(at); !strings.Contains(out, "403 Forbidden") {
		t.Errorf("a ticket that the keytab does not open:\n%s", out)
	}
	checkRefused(t, service, stale)
	checkEscalator(t, k)
}

// checkRefused tests settings that are wrong.
func checkRefused(t *testing.T, service, stale string) {
	t.Helper()
	noise := filepath.Join(t.TempDir(), "noise")
	if err := os.WriteFile(noise, []byte("noise"), 0o600); err != nil {
		t.Fatal(err)
	}
	for why, edit := range map[string]func(*Options){
		"[a.cookieSignatureSecret] is missing":         func(o *Options) { o.Secret = secret.Text{} },
		"[a.serverKeytab] is missing":                  func(o *Options) { o.Keytab = "" },
		"Keytab [/nowhere] of setting":                 func(o *Options) { o.Keytab = "/nowhere" },
		"is not a keytab":                              func(o *Options) { o.Keytab = noise },
		"[a.serverPrincipal] has not the form":         func(o *Options) { o.Principal = "alice" },
		"has no key of [HTTP/localhost@HENGE.TEST]":    func(o *Options) { o.Keytab = stale },
		"has no key of [HTTP/localhost@OTHER]":         func(o *Options) { o.Principal = "HTTP/_HOST@OTHER" },
		"Rule [RULE:x] of setting [a.authToLocal] can": func(o *Options) { o.Rules = "RULE:x" },
	} {
		o := options(service)
		edit(&o)
		_, err := New(o)
		if f := fault.Find(err); f == nil || !strings.Contains(f.Message, why) || strings.Contains(f.Message, "dolmen") {
			t.Errorf("%v; want %s", err, why)
		}
	}
	a, err := New(options(service))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(header, cookie string) (*auth.Identity, http.Header, error) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if header != "" {
			r.Header.Set("Authorization", header)
		}
		if cookie != "" {
			r.AddCookie(&http.Cookie{Name: CookieName, Value: cookie})
		}
		answer := http.Header{}
		id, err := a.Authenticate(t.Context(), auth.RequestOf(r, answer))
		return id, answer, err
	}
	for _, header := range []string{"", "Basic YTpi", "Negotiate", "Negotiated abc"} {
		if id, _, err := ask(header, ""); id != nil || err != nil {
			t.Errorf("[%s] is not passed on: %v, %v", header, id, err)
		}
	}
	for _, header := range []string{"Negotiate !", "Negotiate AAAA", "negotiate " +
		base64.StdEncoding.EncodeToString([]byte("NTLMSSP\x00\x01"))} {
		_, _, err := ask(header, "")
		if f := fault.Find(err); f == nil || f.Category != fault.CategoryForbidden {
			t.Errorf("[%s]: %v", header, err)
		}
	}
	// NTLM first, and Kerberos as well: there may be a ticket.
	mixed := "YEgGBisGAQUFAqA+MDygGzAZBgorBgEEAYI3AgIKBgsGCSqGSIb3EgECAqIdBBtOVExNU1NQAAEAAAAAAAAAAAAAAAAAAAAAAAA="
	if _, answer, err := ask("Negotiate "+mixed, ""); err == nil {
		t.Error("NTLM was let in")
	} else if f := fault.Find(err); f.Category == fault.CategoryUnauthorized &&
		!strings.HasPrefix(answer.Get("Www-Authenticate"), "Negotiate ") {
		t.Errorf("no challenge: %v", answer)
	}
	if id, answer, err := ask("", "u=alice&s=x"); id != nil || err != nil || !strings.Contains(answer.Get("Set-Cookie"),
		"hadoop.auth=; Path=/; Max-Age=0") {
		t.Errorf("a bad cookie: %v, %v, %v", id, answer, err)
	}
	if id, _, err := ask("", a.signer.sign("alice", "alice@R", time.Now().Add(time.Hour))); err != nil || id == nil || id.Name != "alice" {
		t.Errorf("a good cookie: %v, %v", id, err)
	}
}

// checkEscalator has a process be let in by its keytab, and by the cookie that it got.
func checkEscalator(t *testing.T, k *kdc.Server) {
	t.Helper()
	t.Setenv("KRB5_CONFIG", k.Config)
	clk := fakeclock.New(time.Now())
	e, err := NewEscalator(EscalatorOptions{
		Prefix: "e.", Principal: "service_system/_HOST@" + kdc.Realm, Host: "localhost", Keytab: k.Keytab(t, "service_system/localhost"),
		Authorizer: "az", Clock: clk,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.Identity().Name != "service_system" || e.Identity().Authorizer != "az" {
		t.Errorf("identity %+v", e.Identity())
	}
	a, err := New(options(k.Keytab(t, "HTTP/localhost")))
	if err != nil {
		t.Fatal(err)
	}
	var tickets int
	inner := protected(a)
	at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			tickets++
		}
		inner.ServeHTTP(w, r)
	}))
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: auth.Escalated{RoundTripper: transport, By: e}}
	for range 3 {
		resp, err := client.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close() // only its status counts
		if resp.StatusCode != http.StatusOK {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	if tickets != 1 {
		t.Errorf("%d tickets were sent", tickets)
	}
	nowhere := httptest.NewRequest(http.MethodGet, "http://nowhere.example.com/", nil)
	if err := e.Escalate(nowhere); err == nil || fault.Find(err).Category != fault.CategoryServiceUnavailable {
		t.Errorf("a service that does not exist: %v", err)
	}
	for why, edit := range map[string]func(*EscalatorOptions){
		"[e.internalClientKeytab] is missing":          func(o *EscalatorOptions) { o.Keytab = "" },
		"[e.internalClientPrincipal] has not the form": func(o *EscalatorOptions) { o.Principal = "@R" },
	} {
		o := EscalatorOptions{Prefix: "e.", Principal: "x@R", Keytab: a.o.Keytab, Clock: clk}
		edit(&o)
		if _, err := NewEscalator(o); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v; want %s", err, why)
		}
	}
	t.Setenv("KRB5_CONFIG", "/nowhere")
	if _, err := NewEscalator(EscalatorOptions{Principal: "x@R", Keytab: a.o.Keytab, Clock: clk}); err == nil ||
		!strings.Contains(err.Error(), "[/nowhere]") {
		t.Error(err)
	}
}
