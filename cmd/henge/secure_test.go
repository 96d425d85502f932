package main

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/role"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/testkit/certs"
	"github.com/hengedb/henge/internal/testkit/server"
)

// runSecure starts a server as --secure does, and returns what it made and where its Router is.
func runSecure(t *testing.T, dir string) (made *protection, url string, stop func()) {
	t.Helper()
	where := settingFlags{data: dir, set: server.FreePorts()}
	settings, err := where.load()
	if err != nil {
		t.Fatal(err)
	}
	roles, err := role.ParseRoles(nil)
	if err != nil {
		t.Fatal(err)
	}
	if made, settings, err = where.secure(settings, roles); err != nil {
		t.Fatal(err)
	}
	n, err := role.Start(t.Context(), role.Options{
		Settings: settings, Version: "test", Clock: clock.System(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return made, n.Addresses()[0].URL(), func() {
		if err := n.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// askAs asks for the leader with the flags of a command.
func askAs(url string, edit func(*login)) (string, error) {
	l := login{server: url}
	edit(&l)
	c := newClient(url)
	var warned bytes.Buffer
	if err := l.trust.apply(c, &warned); err != nil {
		return warned.String(), err
	}
	user, password, err := l.credentials(c, &warned)
	if err != nil {
		return warned.String(), err
	}
	c.logIn(user, password)
	answer, err := c.do(context.Background(), "GET", "/service/coordinator/v1/leader", nil)
	if err == nil {
		_ = answer.Close() // that there is one is enough
	}
	c.http.CloseIdleConnections()
	return warned.String(), err
}

func TestSecureServer(t *testing.T) {
	dir := t.TempDir()
	made, url, stop := runSecure(t, dir)
	if made.password.IsZero() || !strings.HasPrefix(url, "https://localhost:") {
		t.Fatalf("made %+v at %s", made, url)
	}
	said := made.tell(url)
	for _, part := range []string{made.password.Reveal(), "--cacert " + made.certificate, "--user admin", adminFile, url} {
		if !strings.Contains(said, part) {
			t.Errorf("[%s] is not in what is printed: %s", part, said)
		}
	}
	for name, mode := range map[string]fs.FileMode{serverFile: 0o600, adminFile: 0o600, internalFile: 0o600, certificateFile: 0o644,
		"": 0o700 | fs.ModeDir} {
		info, err := os.Stat(filepath.Join(made.folder, name))
		if err != nil || info.Mode() != mode {
			t.Errorf("file [%s]: %v, %v", name, info, err)
		}
	}
	stranger := certs.Write(t, t.TempDir(), "ca.pem", certs.Authority(t, "stranger").ChainPEM())
	right := func(l *login) { l.user, l.password, l.trust.authority = "admin", made.password, made.certificate }
	for _, c := range []struct {
		name string
		edit func(*login)
		why  string
	}{
		{"right", right, ""},
		{"insecure", func(l *login) { right(l); l.trust.authority, l.trust.insecure = "", true }, ""},
		{"nobody", func(l *login) { l.trust.authority = made.certificate }, "requires a user and a password"},
		{"wrong password", func(l *login) { right(l); l.password = secret.NewText("x") }, "does not accept the password"},
		{"authorities of the machine", func(l *login) { right(l); l.trust.authority = "" }, "set the authority of the server with --cacert FILE"},
		{"stranger", func(l *login) { right(l); l.trust.authority = stranger }, "not signed by a trusted authority"},
		{"no file", func(l *login) { l.trust.authority = "/nowhere" }, "[--cacert] can't be used: file [/nowhere]"},
		{"no certificate", func(l *login) { l.trust.certificate = "/nowhere" }, "[--cert] can't be used"},
		{"key alone", func(l *login) { l.trust.key = "x" }, "--key needs --cert"},
		{"both", func(l *login) { right(l); l.trust.insecure = true }, "not both"},
	} {
		warned, err := askAs(url, c.edit)
		if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s: %v; want [%s]", c.name, err, c.why)
		}
		if strings.Contains(warned, "--insecure") != (c.name == "insecure") {
			t.Errorf("%s: warned of [%s]", c.name, warned)
		}
	}
	if _, err := askAs(strings.Replace(url, "https:", "http:", 1), right); err == nil || !strings.Contains(err.Error(), "HTTPS only") {
		t.Errorf("plain HTTP: %v", err)
	}
	stop()

	again, url, stop := runSecure(t, dir)
	defer stop()
	if !again.password.IsZero() || again.renewed || strings.Contains(again.tell(url), made.password.Reveal()) {
		t.Errorf("the second start made %+v", again)
	}
	if _, err := askAs(url, right); err != nil {
		t.Errorf("after the second start: %v", err)
	}
}

func TestSecureKeepsWhatTheUserSays(t *testing.T) {
	dir := t.TempDir()
	load := func(set ...string) *config.Settings {
		t.Helper()
		s, err := config.Load(config.Sources{Flags: append([]string{"service.data.dir=" + dir}, set...)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	now := time.Now()
	own, err := makeSecurity(load("service.server.https.keyStorePath=/x", `service.auth.authenticatorChain=["mine"]`,
		"service.enablePlaintextPort=true"), now)
	if err != nil || strings.Join(own.settings, " ") != "service.enableTlsPort=true" {
		t.Errorf("%+v, %v", own, err)
	}
	if _, err := makeSecurity(load(), now); err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Time{now.AddDate(2, 3, 0), now.AddDate(4, 6, 0)} { // each ends before the next
		if s, err := makeSecurity(load(), at); err != nil || !s.renewed {
			t.Errorf("a certificate that ends soon, at %v: %+v, %v", at, s, err)
		}
	}
	if s, err := makeSecurity(load("service.host=h1.example.com"), now); err != nil || !s.renewed {
		t.Errorf("another host: %+v, %v", s, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "security", adminFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := makeSecurity(load(), now); err == nil || !strings.Contains(err.Error(), "has no password") {
		t.Error(err)
	}
	where := settingFlags{}
	if _, _, err := where.secure(load(), []string{"broker"}); err == nil || !strings.Contains(err.Error(), "all roles") {
		t.Error(err)
	}
}
