package role

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/api/edge"
)

func TestRequestsBeyondTheLimitAreRefused(t *testing.T) {
	arrived, leave := make(chan struct{}), make(chan struct{})
	h := limited(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			arrived <- struct{}{}
			<-leave
		}
	}), 2, &edge.Errors{})
	ask := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	left := make(chan struct{}, 2)
	for range 2 {
		go func() { ask("/slow"); left <- struct{}{} }()
		<-arrived
	}
	if w := ask("/service/v2/sql"); w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "Too many requests: [2] are "+
		"being processed") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/status/health", "/service-internal/v1/segments"} {
		if w := ask(path); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	close(leave)
	for range 2 {
		<-left
	}
	if w := ask("/service/v2/sql"); w.Code != http.StatusOK {
		t.Errorf("when all have left: %d %s", w.Code, w.Body)
	}
}
