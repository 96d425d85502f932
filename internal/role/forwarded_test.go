package role

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestForwardedRequestsAreOfTheClient(t *testing.T) {
	for header, want := range map[string]string{"": "192.0.2.1:1234", "10.0.0.7": "10.0.0.7", " 10.0.0.7 , 10.0.0.8": "10.0.0.7", " , x": "192.0.2.1:1234"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("X-Forwarded-For", header)
		got := ""
		forwarded(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(httptest.NewRecorder(), r)
		if got != want {
			t.Errorf("[%s]: %s", header, got)
		}
	}
}
