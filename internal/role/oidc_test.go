package role_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hengedb/henge/internal/role"
	"github.com/hengedb/henge/internal/testkit/oidcprovider"
	"github.com/hengedb/henge/internal/testkit/server"
)

// securedByProvider are the settings of a process with users, roles and a provider.
func securedByProvider(issuer, redirect string) []string {
	const of = "service.auth.authenticator.sso."
	out := append([]string{}, securedByKeys...)
	out[0] = "service.auth.authenticatorChain=sso,users"
	return append(out, of+"type=oidc", of+"authorizerName=roles", of+"issuer="+issuer, of+"clientId="+oidcprovider.Client,
		of+`clientSecret={"type":"default","password":"`+oidcprovider.Secret+`"}`, of+"deviceClientId="+oidcprovider.DeviceClient,
		of+"rolesClaim=realm_access.roles", of+"redirectUri="+redirect)
}

func TestBrowsersLogInAtARealProvider(t *testing.T) {
	port := oidcprovider.FreePort(t)
	base := fmt.Sprintf("http://localhost:%d", port)
	redirect := base + "/service-ext/access/callback"
	issuer := oidcprovider.Start(t, redirect)
	n, c := started(t, role.Options{}, append(securedByProvider(issuer, redirect), fmt.Sprintf("service.router.plaintextPort=%d", port))...)
	defer stop(t, n, c)
	makeReader(userAt(t, c.Addresses["coordinator"], "admin", "sesame"))
	const servers = "/service/coordinator/v1/servers"
	for user, want := range map[string]int{"ann": http.StatusOK, "bob": http.StatusForbidden} {
		b := oidcprovider.NewBrowser(t, user)
		open := func(path string) int {
			t.Helper()
			resp, _, err := b.Visit(t.Context(), base+path)
			if err != nil {
				t.Fatal(err)
			}
			return resp.StatusCode
		}
		if status := open(servers); status != http.StatusUnauthorized {
			t.Errorf("before the log in: %d", status)
		}
		resp, page, err := b.Visit(t.Context(), base+"/service-ext/access/login?return="+url.QueryEscape("/status?a=b&c"))
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(page, `content="0;url=/status?a=b&amp;c"`) {
			t.Fatalf("log in of %s: %v %v %s", user, err, resp, page)
		}
		if resp.Header.Get("Cache-Control") != "no-store" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "'none'") {
			t.Errorf("headers of the page: %v", resp.Header)
		}
		if status := open(servers); status != want {
			t.Errorf("%s: %d, want %d", user, status, want)
		}
		_, self, err := b.Visit(t.Context(), base+"/service-ext/access/self")
		if err != nil || !strings.Contains(self, `"user":"`+user+`","authenticator":"sso"`) || !strings.Contains(self, `"logins":["sso"]`) {
			t.Errorf("%s is told: %v %s", user, err, self)
		}
		if status := open("/service-ext/access/callback?" + resp.Request.URL.RawQuery); status != http.StatusUnauthorized {
			t.Errorf("a code again: %d", status)
		}
		if status := open(servers); status != want {
			t.Errorf("%s after that: %d, want %d", user, status, want)
		}
		out, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/service-ext/access/logout", nil)
		if err != nil {
			t.Fatal(err)
		}
		done, err := b.Do(out)
		if err != nil || done.StatusCode != http.StatusOK {
			t.Fatal(done, err)
		}
		var at struct{ LogoutURL string }
		if err := json.NewDecoder(done.Body).Decode(&at); err != nil {
			t.Fatal(err)
		}
		_ = done.Body.Close() // it was only read
		resp, page, err = b.Visit(t.Context(), at.LogoutURL)
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(page, "Your sign-out with") {
			t.Errorf("at the provider: %v %v %s", err, resp, page)
		}
		if status := open(servers); status != http.StatusUnauthorized {
			t.Errorf("after the log out: %d", status)
		}
	}
	anybody := caller{t, base, ""}
	for path, want := range map[string]int{
		"/service-ext/access/login?return=//evil.example.com": http.StatusBadRequest,
		"/service-ext/access/login?authenticator=x":           http.StatusNotFound,
		"/service-ext/access/callback?code=x&state=y":         http.StatusUnauthorized,
		"/service-ext/access/device?authenticator=x":          http.StatusNotFound,
	} {
		if status, text := anybody.do("GET", path, ""); status != want {
			t.Errorf("%s: %d %s, want %d", path, status, text, want)
		}
	}
	status, text := anybody.do("GET", "/service-ext/access/device", "")
	if status != http.StatusOK || !strings.Contains(text, oidcprovider.DeviceClient) ||
		strings.Contains(text, oidcprovider.Secret) {
		t.Errorf("for the device flow: %d %s", status, text)
	}
}

func TestASessionCountsInTheWholeCluster(t *testing.T) {
	port := oidcprovider.FreePort(t)
	base := fmt.Sprintf("http://localhost:%d", port)
	redirect := base + "/service-ext/access/callback"
	issuer := oidcprovider.Start(t, redirect)
	c := server.StartCluster(t, server.ClusterOptions{
		Processes: [][]string{{"coordinator", "overlord"}, {"router"}, {"router"}, {"broker"}}, Settings: securedByProvider(issuer, redirect),
	})
	makeReader(userAt(t, c.Nodes[0].Addresses["coordinator"], "admin", "sesame"))
	// The provider sends the browser to a port that only stands for those of the Routers, as a
	// balancer does: each request goes to the other Router than the one before.
	var turn atomic.Int64
	front := &http.Server{Handler: &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		router := c.Nodes[1+turn.Add(1)%2].Addresses["router"]
		p.Out.URL.Scheme, p.Out.URL.Host = "http", strings.TrimPrefix(router, "http://")
	}, Transport: &http.Transport{DisableKeepAlives: true}}}
	in, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- front.Serve(in) }()
	defer func() {
		_ = front.Close() // it has nothing under way
		<-done
	}()
	b := oidcprovider.NewBrowser(t, "ann")
	if resp, page, err := b.Visit(t.Context(), base+"/service-ext/access/login"); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("log in: %v %s", err, page)
	}
	// One is answered by the Broker, the other by the Coordinator: neither knows the session. Each is
	// asked through both Routers.
	both := func(when string, want int) {
		t.Helper()
		for _, path := range []string{"/service/v2/sql/engines", "/service/coordinator/v1/servers"} {
			for range 2 {
				resp, page, err := b.Visit(t.Context(), base+path)
				if err != nil || resp.StatusCode != want {
					t.Errorf("%s: %s: %v %v %s", when, path, err, resp, page)
				}
			}
		}
	}
	both("after the log in", http.StatusOK)
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	kept := b.Jar.Cookies(at)
	out, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/service-ext/access/logout", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := b.Do(out)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close() // only its status counts
	b.Jar.SetCookies(at, kept)
	both("after the log out, with the cookie of before", http.StatusUnauthorized)
}
