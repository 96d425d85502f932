package ldap

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goldap "github.com/go-ldap/ldap/v3"
	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/keystore"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/testkit/certs"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/testkit/slapd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// options are right for a directory.
func options(urls ...string) Options {
	return Options{
		Prefix: "v.", URLs: urls, BindUser: slapd.Admin, BindPassword: secret.NewText(slapd.AdminPassword),
		BaseDN: slapd.Base, UserSearch: "(uid=%s)",
		UserAttribute: "mail", Connect: 5 * time.Second, Read: 5 * time.Second, Iterations: 1000, CacheSize: 100,
		MaxAge: time.Hour, VerifyAge: 10 * time.Minute, Clock: fakeclock.New(time.UnixMilli(1_700_000_000_000)),
		Log: slog.New(slog.DiscardHandler),
	}
}

func directory(t *testing.T, o Options) *Directory {
	t.Helper()
	if o.TLS == nil {
		var err error
		if o.TLS, err = keystore.NewClient(keystore.ClientOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestUsersOfADirectory(t *testing.T) {
	s := slapd.Start(t)
	with := func(edit func(*Options)) Options {
		o := options(s.URL)
		edit(&o)
		return o
	}
	const right = "\x00" // stands for the user's password
	for _, c := range []struct {
		name, user, password string
		o                    Options
		want                 Verdict
	}{
		{"right", "alice", right, options(s.URL), Right},
		{"in any case", "ALICE", "alice" + slapd.PasswordEnd, options(s.URL), Right},
		{"wrong password", "alice", "alice", options(s.URL), Wrong},
		{"no such user", "dora", right, options(s.URL), Unknown},
		{"empty password", "alice", "", options(s.URL), Unknown},
		{"empty name", "", "x", options(s.URL), Unknown},
		{"all names", "*", "alice" + slapd.PasswordEnd, options(s.URL), Unknown},
		{"part of a name", "ali*", "alice" + slapd.PasswordEnd, options(s.URL), Unknown},
		{"filter in a name", "a)(uid=*", "alice" + slapd.PasswordEnd, options(s.URL), Unknown},
		{"filter that ends", "alice)(|(uid=*)", "alice" + slapd.PasswordEnd, options(s.URL), Unknown},
		{"NUL in a name", "alice\x00", "alice" + slapd.PasswordEnd, options(s.URL), Unknown},
		{"escapes in a name", `\61lice`, "alice" + slapd.PasswordEnd, options(s.URL), Unknown},
		{"odd characters", "odd(*)/name", right, options(s.URL), Right},
		{"two entries", "bob@example.com", "bob" + slapd.PasswordEnd, with(func(o *Options) { o.UserSearch = "(mail=%s)" }), Unknown},
		{"every entry", "x", "bob" + slapd.PasswordEnd, with(func(o *Options) { o.UserSearch = "(|(uid=*)(uid=%s))" }), Unknown},
		{"another branch", "bob@example.com", "bob" + slapd.PasswordEnd,
			with(func(o *Options) { o.UserSearch, o.BaseDN = "(mail=%s)", "ou=people,"+slapd.Base }), Right},
		{"referral", "alice", right, with(func(o *Options) { o.BaseDN = "ou=away," + slapd.Base }), Unknown},
		{"no such base", "alice", right, with(func(o *Options) { o.BaseDN = "ou=nowhere," + slapd.Base }), Unknown},
		{"wrong search user", "alice", right, with(func(o *Options) { o.BindPassword = secret.NewText("x") }), Unknown},
		{"no search user", "alice", right, with(func(o *Options) { o.BindUser, o.BindPassword = "", secret.Text{} }), Right},
		{"the first address is dead", "alice", right, options("ldap://127.0.0.1:1", s.URL), Right},
		{"all addresses are dead", "alice", right, options("ldap://127.0.0.1:1", "ldaps://127.0.0.1:1"), Away},
	} {
		password := c.password
		if password == right {
			password = c.user + slapd.PasswordEnd
		}
		verdict, entry := directory(t, c.o).Verify(t.Context(), c.user, password)
		if verdict != c.want || (verdict == Right) != (entry.DN != "") {
			t.Errorf("%s: %d, entry %+v", c.name, verdict, entry)
		}
	}
	_, entry := directory(t, options(s.URL)).Verify(t.Context(), "alice", "alice"+slapd.PasswordEnd)
	slices.Sort(entry.Groups)
	if entry.DN != slapd.DN("alice") || !slices.Equal(entry.Groups, []string{slapd.Group("admins"), slapd.Group("analysts")}) ||
		!slices.Equal(entry.Attributes["mail"], []string{"alice@example.com"}) {
		t.Errorf("entry %+v", entry)
	}
	_, entry = directory(t, with(func(o *Options) { o.Attributes = []string{"CN", "description", "sn"} })).Verify(t.Context(), "alice",
		"alice"+slapd.PasswordEnd)
	want := map[string][]string{"mail": {"alice@example.com"}, "CN": {"alice"}, "sn": {"alice"}}
	if !maps.EqualFunc(entry.Attributes, want, slices.Equal[[]string]) {
		t.Errorf("attributes %v", entry.Attributes)
	}
	if _, entry = directory(t, options(s.URL)).Verify(t.Context(), "bob", "bob"+slapd.PasswordEnd); len(entry.Groups) != 0 {
		t.Errorf("groups of nobody: %+v", entry)
	}
}

func TestSecureDirectories(t *testing.T) {
	s := slapd.Start(t)
	stranger := certs.Authority(t, "stranger")
	_, port, _ := strings.Cut(strings.TrimPrefix(s.SecureURL, "ldaps://"), ":")
	for _, c := range []struct {
		name, url string
		start     bool
		trust     *certs.Pair
		anyHost   bool
		want      Verdict
	}{
		{"ldaps", s.SecureURL, false, s.Root, false, Right},
		{"ldaps, stranger", s.SecureURL, false, stranger, false, Away},
		{"ldaps, other host", "ldaps://127.0.0.1:" + port, false, s.Root, false, Away},
		{"ldaps, any host", "ldaps://127.0.0.1:" + port, false, s.Root, true, Right},
		{"ldaps, any host, stranger", "ldaps://127.0.0.1:" + port, false, stranger, true, Away},
		{"StartTLS", s.URL, true, s.Root, false, Right},
		{"StartTLS, stranger", s.URL, true, stranger, false, Away},
		{"TLS to a plain port", strings.Replace(s.URL, "ldap:", "ldaps:", 1), false, s.Root, false, Away},
		{"plain to a port of TLS", strings.Replace(s.SecureURL, "ldaps:", "ldap:", 1), false, s.Root, false, Away},
	} {
		o := options(c.url)
		var err error
		o.TLS, err = keystore.NewClient(keystore.ClientOptions{Trust: keystore.Store{Chain: c.trust.ChainPEM()}, AnyHost: c.anyHost})
		if err != nil {
			t.Fatal(err)
		}
		o.StartTLS, o.Read = c.start, time.Second
		if verdict, _ := directory(t, o).Verify(t.Context(), "alice", "alice"+slapd.PasswordEnd); verdict != c.want {
			t.Errorf("%s: %d", c.name, verdict)
		}
	}
}

// silent accepts connections and says nothing on them.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				_, _ = io.Copy(io.Discard, conn) // until the client gives up
				_ = conn.Close()                 // likewise
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close() // the test is over
		open.Wait()
	})
	return l.Addr().String()
}

func TestSlowDirectories(t *testing.T) {
	s := slapd.Start(t)
	at := silent(t)
	o := options("ldap://" + at)
	o.Connect, o.Read = 50*time.Millisecond, 50*time.Millisecond
	if verdict, _ := directory(t, o).Verify(t.Context(), "alice", "alice"+slapd.PasswordEnd); verdict != Away {
		t.Errorf("a silent server: %d", verdict)
	}
	o.URLs = []string{"ldaps://" + at}
	if verdict, _ := directory(t, o).Verify(t.Context(), "alice", "alice"+slapd.PasswordEnd); verdict != Away {
		t.Errorf("a silent server of ldaps: %d", verdict)
	}
	o = options("ldap://"+at, s.URL)
	o.Read = time.Second
	if verdict, _ := directory(t, o).Verify(t.Context(), "alice", "alice"+slapd.PasswordEnd); verdict != Right {
		t.Errorf("the next server: %d", verdict)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o = options("ldap://" + at)
	o.Connect, o.Read = time.Hour, time.Hour
	ended := make(chan Verdict)
	go func() {
		verdict, _ := directory(t, o).Verify(ctx, "alice", "x")
		ended <- verdict
	}()
	cancel()
	if verdict := <-ended; verdict != Away {
		t.Errorf("a request that is gone: %d", verdict)
	}
}

func TestPasswordsAreRemembered(t *testing.T) {
	s := slapd.Start(t)
	clock := fakeclock.New(time.UnixMilli(1_700_000_000_000))
	o := options(s.URL)
	o.Clock, o.CacheSize = clock, 2
	d := directory(t, o)
	verify := func(what, user, password string, want Verdict) {
		t.Helper()
		if verdict, _ := d.Verify(t.Context(), user, password); verdict != want {
			t.Errorf("%s: %d", what, verdict)
		}
	}
	old := "alice" + slapd.PasswordEnd
	verify("first", "alice", old, Right)
	s.SetPassword(t, "alice", "a new one")
	verify("remembered", "alice", old, Right)
	verify("another password", "alice", "a new one", Right) // and it takes the place of the old one
	verify("replaced", "alice", old, Wrong)
	s.SetPassword(t, "alice", old)
	clock.Advance(9 * time.Minute)
	verify("still good", "alice", "a new one", Right)
	clock.Advance(9 * time.Minute)
	verify("refreshed by use", "alice", "a new one", Right)
	clock.Advance(11 * time.Minute)
	verify("unused for too long", "alice", "a new one", Wrong)

	verify("again", "alice", old, Right)
	s.SetPassword(t, "alice", "third")
	for range 6 {
		clock.Advance(9*time.Minute + 59*time.Second)
		verify("in use", "alice", old, Right)
	}
	clock.Advance(time.Minute)
	verify("in use for too long", "alice", old, Wrong)
	verify("third", "alice", "third", Right)

	clock.Advance(time.Second)
	verify("second user", "bob", "bob"+slapd.PasswordEnd, Right)
	clock.Advance(time.Second)
	verify("third user, for whom the first one is forgotten", "carol", "carol"+slapd.PasswordEnd, Right)
	s.Do(t, func(c *goldap.Conn) error { return c.Del(goldap.NewDelRequest(slapd.DN("bob"), nil)) })
	s.Stop()
	verify("without a directory", "bob", "bob"+slapd.PasswordEnd, Right)
	verify("wrong password without a directory", "bob", "x", Away)
	verify("forgotten", "alice", "third", Away)
}

func TestSettingsThatAreRefused(t *testing.T) {
	for why, edit := range map[string]func(*Options){
		"[v.url] is missing":                           func(o *Options) { o.URLs = nil },
		"[v.url] can't be used":                        func(o *Options) { o.URLs = []string{"http://h"} },
		"blanks between several":                       func(o *Options) { o.URLs = []string{"ldap://"} },
		"[v.startTls]":                                 func(o *Options) { o.URLs, o.StartTLS = []string{"ldaps://h"}, true },
		"[v.baseDn] is missing":                        func(o *Options) { o.BaseDN = "" },
		"[v.baseDn] can't be used":                     func(o *Options) { o.BaseDN = "no name" },
		"[v.attributes] can't be used: [userPassword]": func(o *Options) { o.Attributes = []string{"sn", "userPassword"} },
		"[v.attributes] can't be used: [*]":            func(o *Options) { o.Attributes = []string{"*"} },
		"[v.userSearch] can't be used: a filter":       func(o *Options) { o.UserSearch = "(uid=x)" },
		"[(uid=%s] is not a filter":                    func(o *Options) { o.UserSearch = "(uid=%s" },
		"[v.bindPassword] can't be used":               func(o *Options) { o.BindPassword = secret.Text{} },
		"[v.credentialIterations]":                     func(o *Options) { o.Iterations = 0 },
		"[v.connectTimeout] and [v.readTimeout] must":  func(o *Options) { o.Read = 0 },
	} {
		o := options("ldap://h")
		edit(&o)
		_, err := New(o)
		if f := fault.Find(err); f == nil || !strings.Contains(f.Message, why) || strings.Contains(f.Message, slapd.AdminPassword) {
			t.Errorf("%v; want %s", err, why)
		}
	}
}
