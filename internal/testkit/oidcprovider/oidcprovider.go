// Package oidcprovider runs a real OpenID Connect provider for a test, if Node and its package
// manager are installed, and logs users in as a browser would. It is reachable over loopback only
// and does not outlive the test.
package oidcprovider

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// version is that of the provider.
const version = "9.13.3"

//go:embed server.mjs
var program []byte

// Fetch returns the folder of the provider. It fetches it if it is not there; processes that want
// it at the same time wait for each other.
func Fetch() (string, error) {
	if _, err := exec.LookPath("node"); err != nil {
		return "", fmt.Errorf("no Node: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	root := filepath.Join(cache, "henge", "oidc-provider-"+version)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(root, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	folder := filepath.Join(root, "server")
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "oidc-provider", "package.json")); err == nil {
		return folder, nil
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "", fmt.Errorf("no npm, which fetches oidc-provider: %w", err)
	}
	part := filepath.Join(root, "part")
	if err := errors.Join(os.RemoveAll(part), os.RemoveAll(folder), os.MkdirAll(part, 0o755)); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", part,
		"oidc-provider@"+version).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("oidc-provider could not be fetched: %w: %s", err, bytes.TrimSpace(out))
	}
	return folder, os.Rename(part, folder)
}

// The clients that the provider knows: one with a secret for the code flow, and a public one for
// the device flow.
const (
	Client, Secret = "henge", "hush-hush-hush-hush-hush-hush-hu"
	DeviceClient   = "henge-cli"
)

// Start starts a provider that sends browsers back to an address, and returns its issuer. The test
// is skipped where it can't run.
func Start(t testing.TB, redirect string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no provider of OpenID Connect")
	}
	folder, err := Fetch()
	if err != nil {
		t.Skip(err.Error())
	}
	// Node finds the packages beside the program.
	file := filepath.Join(folder, "henge-"+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(FreePort(t))+".mjs")
	if err := os.WriteFile(file, program, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(file) }) // it is only in the way
	port := strconv.Itoa(FreePort(t))
	var out bytes.Buffer
	cmd := exec.Command("node", file, port, redirect)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // what it printed says more
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it keeps nothing
		<-ended
	})
	for range 600 {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			_ = conn.Close() // it was only looked for
			return "http://127.0.0.1:" + port
		}
		select {
		case <-ended:
			t.Fatalf("oidc-provider ended: %s", out.String())
		default:
		}
		if err := clock.System().Sleep(t.Context(), 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("oidc-provider does not answer within a minute")
	return ""
}

// FreePort returns a port that nobody listens on.
func FreePort(t testing.TB) int {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = free.Close() }() // it was only asked for its number
	return free.Addr().(*net.TCPAddr).Port
}

// Browser follows redirects, keeps cookies, and fills in the forms of the provider as one user.
type Browser struct {
	*http.Client
	user string
}

// NewBrowser returns a browser without cookies.
func NewBrowser(t testing.TB, user string) *Browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Browser{&http.Client{Jar: jar, Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}, user}
}

var (
	form   = regexp.MustCompile(`(?s)<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>`)
	hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)
)

// Visit opens an address, and fills in forms of the provider until a page has none. It returns that
// page.
func (b *Browser) Visit(ctx context.Context, address string) (*http.Response, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, "", err
	}
	for range 10 {
		resp, err := b.Do(r)
		if err != nil {
			return nil, "", err
		}
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close() // it was only read
		found := form.FindSubmatch(text)
		if err != nil || found == nil {
			return resp, string(text), err
		}
		fields := url.Values{}
		for _, f := range hidden.FindAllSubmatch(found[2], -1) {
			fields.Set(html.UnescapeString(string(f[1])), html.UnescapeString(string(f[2])))
		}
		if bytes.Contains(found[2], []byte(`name="login"`)) {
			fields.Set("login", b.user)
			fields.Set("password", "any")
		}
		if user := resp.Request.URL.Query().Get("user_code"); user != "" {
			fields.Set("user_code", user)
		}
		to, err := resp.Request.URL.Parse(html.UnescapeString(string(found[1])))
		if err != nil {
			return nil, "", err
		}
		r, err = http.NewRequestWithContext(ctx, http.MethodPost, to.String(), strings.NewReader(fields.Encode()))
		if err != nil {
			return nil, "", err
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return nil, "", errors.New("the provider shows one form after the other")
}
