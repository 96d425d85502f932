package role

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

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
