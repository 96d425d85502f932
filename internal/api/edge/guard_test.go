package edge

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestGuard(t *testing.T) {
	done := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	guarded := func(o GuardOptions) http.Handler {
		g, err := NewGuard(&Errors{}, o)
		if err != nil {
			t.Fatal(err)
		}
		return g.Wrap(done)
	}
	loopback := guarded(GuardOptions{Loopback: true, Hosts: []string{"Console.Example.com", ".corp"},
		Origins: []string{"https://trusted.example"},
		Policy:  "frame-ancestors 'none'"})
	open := guarded(GuardOptions{})
	for _, c := range []struct {
		name, method, host string
		header             map[string]string
		open               bool
		want               int
	}{
		{name: "a program", method: "POST"},
		{name: "curl -d ''", method: "POST", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded",
			"User-Agent": "curl/8"}},
		{name: "own page", method: "POST", header: map[string]string{"Origin": "http://localhost:8888", "Sec-Fetch-Site": "same-origin"}},
		{name: "own page of an old browser", method: "POST", header: map[string]string{"Origin": "http://localhost:8888"}},
		{name: "typed in", method: "POST", header: map[string]string{"Sec-Fetch-Site": "none"}},
		{name: "trusted page", method: "POST", header: map[string]string{"Origin": "https://trusted.example", "Sec-Fetch-Site": "cross-site"}},
		{name: "a link from elsewhere", method: "GET", header: map[string]string{"Sec-Fetch-Site": "cross-site", "Referer": "https://evil/"}},
		{name: "another page", method: "POST", header: map[string]string{"Origin": "https://evil", "Sec-Fetch-Site": "cross-site"}, want: 403},
		{name: "another page of the site", method: "POST", header: map[string]string{"Sec-Fetch-Site": "same-site"}, want: 403},
		{name: "another port", method: "DELETE", header: map[string]string{"Origin": "http://localhost:1"}, want: 403},
		{name: "a page in a sandbox", method: "POST", header: map[string]string{"Origin": "null"}, want: 403},
		{name: "another page, no loopback", method: "PUT", header: map[string]string{"Origin": "https://evil"}, open: true, want: 403},
		{name: "an old browser's form", method: "POST", want: 415,
			header: map[string]string{"Content-Type": "text/plain;charset=UTF-8", "Referer": "http://evil/"}},
		{name: "a very old browser's form", method: "POST", want: 415,
			header: map[string]string{"Content-Type": "multipart/form-data; boundary=x", "User-Agent": "Mozilla/4.0"}},
		{name: "an old browser's script", method: "POST", header: map[string]string{"Content-Type": "application/json",
			"User-Agent": "Mozilla/4.0"}},
		{name: "address", method: "GET", host: "127.0.0.1:8888"},
		{name: "other address of the loopback interface", method: "GET", host: "[::1]:8888"},
		{name: "name below localhost", method: "GET", host: "app.localhost"},
		{name: "absolute name", method: "GET", host: "LOCALHOST.:8888"},
		{name: "listed", method: "GET", host: "console.example.com"},
		{name: "below a listed domain", method: "GET", host: "a.b.corp:1"},
		{name: "rebound name", method: "GET", host: "evil.example:8888", want: 403},
		{name: "ends like a listed domain", method: "GET", host: "evilcorp", want: 403},
		{name: "the domain itself", method: "GET", host: "corp", want: 403},
		{name: "other address", method: "GET", host: "192.0.2.1", want: 403},
		{name: "anything, no loopback", method: "GET", host: "evil.example", open: true},
	} {
		r := httptest.NewRequest(c.method, "/x", nil)
		if r.Host = c.host; c.host == "" {
			r.Host = "localhost:8888"
		}
		for name, value := range c.header {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		if c.open {
			open.ServeHTTP(w, r)
		} else {
			loopback.ServeHTTP(w, r)
		}
		want := c.want
		if want == 0 {
			want = http.StatusAccepted
		}
		if w.Code != want || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %s, want %d", c.name, w.Code, w.Body, want)
		}
		if policy := w.Header().Get("Content-Security-Policy"); !c.open && (policy == "") != (c.method == "POST") {
			t.Errorf("%s: policy %q", c.name, policy)
		}
	}
	if _, err := NewGuard(&Errors{}, GuardOptions{Origins: []string{"trusted.example"}}); err == nil ||
		!strings.Contains(err.Error(), "service.server.http.allowedOrigins") {
		t.Errorf("a host as an origin: %v", err)
	}
}

func TestHeadersHoldPrintableTextOnly(t *testing.T) {
	for in, want := range map[string]string{
		"abc":            "abc",
		"a\r\nSet-X: y":  "a  Set-X: y",
		"naïve":          "",
		`{"n":"naïve😀"}`: `{"n":"na\u00efve\ud83d\ude00"}`,
	} {
		h := http.Header{}
		(Dialect{Name: "service"}).SetHeader(h, "Query-Id", in)
		if got := strings.Join(h["X-Service-Query-Id"], ""); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
