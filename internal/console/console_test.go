package console

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/clock"
)

func handler() http.Handler {
	mux := edge.NewMux(&edge.Errors{})
	Routes(mux)
	return mux.Handler(nil, clock.System(), nil)
}

func TestFilesAreServed(t *testing.T) {
	h := handler()
	if len(Files()) < 5 {
		t.Fatalf("the console has only the files %q", Files())
	}
	for _, name := range Files() {
		path := "/" + name
		if name == "index.html" {
			path = "/"
		}
		bodies := map[string]string{}
		for _, accepted := range []string{"gzip, br", ""} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.Header.Set("Accept-Encoding", accepted)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") == "" {
				t.Errorf("%s: status %d, type %q", path, w.Code, w.Header().Get("Content-Type"))
			}
			if long := strings.HasPrefix(name, "assets/"); long != strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
				t.Errorf("%s is kept by %q", path, w.Header().Get("Cache-Control"))
			}
			var body io.Reader = w.Body
			if packed := w.Header().Get("Content-Encoding") == "gzip"; packed != (accepted != "") {
				t.Errorf("%s for %q: packed is %t", path, accepted, packed)
			} else if packed {
				unpacked, err := gzip.NewReader(w.Body)
				if err != nil {
					t.Fatal(err)
				}
				body = unpacked
			}
			text, err := io.ReadAll(body)
			if err != nil {
				t.Fatal(err)
			}
			bodies[accepted] = string(text)
		}
		if bodies[""] == "" || bodies[""] != bodies["gzip, br"] {
			t.Errorf("%s is empty, or differs by what the client accepts", path)
		}
	}
}

func TestThePageLoadsNothingFromElsewhere(t *testing.T) {
	w := httptest.NewRecorder()
	handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	policy := w.Header().Get("Content-Security-Policy")
	if !strings.Contains(policy, "script-src 'self';") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("policy %q", policy)
	}
	if page := w.Body.String(); strings.Contains(page, "http:") || strings.Contains(page, "https:") || strings.Contains(page, "<script>") {
		t.Errorf("the page is %s", page)
	}
}

func TestOtherFilesAreNotThere(t *testing.T) {
	for _, path := range []string{"/assets/none.js", "/assets/..%2findex.html", "/assets/%2e%2e", "/assets/a%00.js"} {
		w := httptest.NewRecorder()
		handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
}

func TestAcceptEncoding(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "gzip": true, "br, gzip;q=0.5": true, "gzip;q=0": false, "gzip; q=0.0": false, "*": true, "identity": false, "xgzip": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", header)
		if got := takesGzip(r); got != want {
			t.Errorf("%q: %t", header, got)
		}
	}
}
