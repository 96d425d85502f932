package edge

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Endpoints that take JSON refuse other media types, and what is no media type, before they look at
// the body.
func TestJSONOnly(t *testing.T) {
	h := (&Errors{}).Handle(JSONOnly(func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(http.StatusAccepted)
		return nil
	}))
	for media, want := range map[string]int{
		"application/json": 202, "Application/JSON; charset=utf-8": 202, "text/plain": 415, "application/xml": 415, "": 415, "json": 400, "a/b/c": 400,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("{}"))
		if media != "" {
			r.Header.Set("Content-Type", media)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: %d %s, want %d", media, w.Code, w.Body, want)
		}
	}
}
