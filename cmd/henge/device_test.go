package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/role"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/testkit/oidcprovider"
	"github.com/hengedb/henge/internal/testkit/server"
)

// secured starts a server that lets in whom a provider knows, and returns its address.
func secured(t *testing.T, issuer string) string {
	t.Helper()
	const in = "service.auth.authenticator.sso."
	set, err := config.Load(config.Sources{Flags: append(server.FreePorts(), "service.data.dir="+t.TempDir(),
		"service.auth.authenticatorChain=sso", "service.auth.authorizers=all", "service.auth.authorizer.all.type=readOnly", in+"type=oidc",
		in+"authorizerName=all", in+"issuer="+issuer, in+"clientId="+oidcprovider.Client, in+"deviceClientId="+oidcprovider.DeviceClient)})
	if err != nil {
		t.Fatal(err)
	}
	n, err := role.Start(t.Context(), role.Options{Settings: set, Version: "test", Clock: clock.System(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, a := range n.Addresses() {
		if a.Role == "router" {
			return "http://" + a.HostPort
		}
	}
	t.Fatal("no Router")
	return ""
}

// visitor is the standard error of a program that asks its user to open an address: it opens it.
type visitor struct {
	bytes.Buffer
	open func(address string)
}

var orOpen = regexp.MustCompile(`or open (\S+)\n`)

func (v *visitor) Write(p []byte) (int, error) {
	n, err := v.Buffer.Write(p)
	if found := orOpen.FindSubmatch(p); found != nil {
		v.open(string(found[1]))
	}
	return n, err
}

func TestLogInByDevice(t *testing.T) {
	issuer := oidcprovider.Start(t, "http://localhost/unused")
	url := secured(t, issuer)
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("HOME", home)
	ask := func() error {
		return newClient(url).call(t.Context(), http.MethodGet, "/service/coordinator/v1/servers", nil, nil)
	}
	if err := ask(); err == nil {
		t.Fatal("let in without a log in")
	}
	out := &visitor{open: func(address string) {
		resp, page, err := oidcprovider.NewBrowser(t, "ann").Visit(t.Context(), address)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("at the provider: %v %s", err, page)
		}
	}}
	if err := newClient(url).logInByDevice(t.Context(), out); err != nil {
		t.Fatalf("%v; it printed %s", err, out)
	}
	if err := ask(); err != nil {
		t.Errorf("after the log in: %v", err)
	}
	file, err := loginFile(url)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 || !strings.HasPrefix(file, home) {
		t.Error(info, err)
	}
	if dir, err := os.Stat(filepath.Dir(file)); err != nil || dir.Mode().Perm() != 0o700 {
		t.Error(dir, err)
	}
	change := func(f func(*savedLogin)) *savedLogin {
		t.Helper()
		l, err := loadLogin(url)
		if err != nil {
			t.Fatal(err)
		}
		f(l)
		if err := l.save(); err != nil {
			t.Fatal(err)
		}
		return l
	}
	change(func(l *savedLogin) { l.IDToken, l.Expires = secret.NewText("old"), time.Now() })
	if err := ask(); err != nil {
		t.Errorf("with a token that has ended: %v", err)
	}
	if l, err := loadLogin(url); err != nil || l.IDToken.Reveal() == "old" || !l.Expires.After(time.Now().Add(time.Minute)) {
		t.Errorf("the token was not replaced: %v", err)
	}
	change(func(l *savedLogin) { l.Expires, l.Refresh = time.Now(), secret.NewText("wrong") })
	if err := ask(); err == nil || !strings.Contains(err.Error(), "log in again") {
		t.Errorf("when the provider refuses: %v", err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err == nil || !strings.Contains(err.Error(), "readable by other users") {
		t.Errorf("with a file that others read: %v", err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err == nil || !strings.Contains(err.Error(), "can't be read") {
		t.Errorf("with a broken file: %v", err)
	}
	err = newClient("http://127.0.0.1:1").logInByDevice(t.Context(), io.Discard)
	if err == nil || !strings.Contains(fmt.Sprint(err), "no server") {
		t.Errorf("without a server: %v", err)
	}
}
