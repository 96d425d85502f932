package role

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/secret/seal"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// Headers of proxies are believed from named networks only. (spec/security.md, section 12, row 24)
func TestForwardedRequestsAreOfTheClient(t *testing.T) {
	trusted, err := networks("x", []string{"10.0.0.0/8", "::1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ peer, header, want string }{
		{"10.0.0.1:1234", "", "10.0.0.1:1234"},
		{"10.0.0.1:1234", "192.0.2.7", "192.0.2.7"},
		{"10.0.0.1:1234", " 192.0.2.7 , 10.0.0.8", "192.0.2.7"},
		{"10.0.0.1:1234", "198.51.100.1, 192.0.2.7, 10.0.0.8", "192.0.2.7"}, // the first is the client's own word
		{"10.0.0.1:1234", "[2001:db8::7]:99, 10.0.0.8", "2001:db8::7"},
		{"10.0.0.1:1234", "10.0.0.9, 10.0.0.8", "10.0.0.9"},
		{"10.0.0.1:1234", "x", "10.0.0.1:1234"},
		{"10.0.0.1:1234", "192.0.2.7, x, 10.0.0.8", "10.0.0.8"},
		{"[::1]:1234", "192.0.2.7", "192.0.2.7"},
		{"192.0.2.1:1234", "10.0.0.7", "192.0.2.1:1234"}, // nobody believes that one
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.peer
		r.Header.Set("X-Forwarded-For", c.header)
		got := ""
		h := forwarded(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr }), trusted)
		h.ServeHTTP(httptest.NewRecorder(), r)
		if got != c.want {
			t.Errorf("%s [%s]: %s, want %s", c.peer, c.header, got, c.want)
		}
	}
	for _, wrong := range []string{"10.0.0.0/99", "ten", ""} {
		if _, err := networks("x", []string{wrong}); err == nil {
			t.Errorf("[%s] is a network", wrong)
		}
	}
}

// Processes of a cluster believe each other whom a request comes from, and nobody else.
func TestRequestsThatArePassedOnAreOfTheClient(t *testing.T) {
	c := fakeclock.New(time.Unix(1_700_000_000, 0))
	node := func(key byte) *Node {
		s, err := seal.New(bytes.Repeat([]byte{key}, seal.KeyBytes), c)
		if err != nil {
			t.Fatal(err)
		}
		return &Node{sealer: s}
	}
	n := node(1)
	passed := func(by *Node, from string) string {
		in, out := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRequest(http.MethodGet, "/", nil)
		in.RemoteAddr = from
		out.Header.Set(clientHeader, "what the client has sent")
		by.passClient(in, out)
		return out.Header.Get(clientHeader)
	}
	old := passed(n, "192.0.2.9:5")
	c.Advance(clientLife)
	other, err := n.sealer.SealText("another kind", "192.0.2.9:5", clientLife)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		at           *Node
		header, want string
	}{
		"none":               {n, "", "10.0.0.1:1234"},
		"of the cluster":     {n, passed(n, "192.0.2.7:99"), "192.0.2.7:99"},
		"without a port":     {n, passed(n, "2001:db8::7"), "2001:db8::7"},
		"no address":         {n, passed(n, "@"), "10.0.0.1:1234"},
		"of another cluster": {n, passed(node(2), "192.0.2.7:99"), "10.0.0.1:1234"},
		"forged":             {n, "192.0.2.7", "10.0.0.1:1234"},
		"too old":            {n, old, "10.0.0.1:1234"},
		"of another kind":    {n, other, "10.0.0.1:1234"},
		"to one alone":       {&Node{}, passed(n, "192.0.2.7:99"), "10.0.0.1:1234"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = "10.0.0.1:1234"
		r.Header.Set(clientHeader, test.header)
		got := ""
		test.at.ofClient(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if got = r.RemoteAddr; test.header != "" && r.Header.Get(clientHeader) != "" {
				t.Errorf("%s: the header goes on", name)
			}
		})).ServeHTTP(httptest.NewRecorder(), r)
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	for from, want := range map[string]string{
		"192.0.2.7:99": "192.0.2.7", "192.0.2.7": "192.0.2.7", "[2001:db8::7]:99": "2001:db8::7", "2001:db8::7": "2001:db8::7", "@": "",
	} {
		in, out := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRequest(http.MethodGet, "/", nil)
		in.RemoteAddr = from
		if n.passClient(in, out); out.Header.Get("X-Forwarded-For") != want {
			t.Errorf("of %s: X-Forwarded-For %q", from, out.Header.Get("X-Forwarded-For"))
		}
	}
	if got := passed(&Node{}, "192.0.2.7:99"); got != "" {
		t.Errorf("one alone passes on [%s]", got)
	}
}
