package edge

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/clock"
)

// TestRequestsThatNoEndpointReads: encodings, parameters and headers are refused with their names.
func TestRequestsThatNoEndpointReads(t *testing.T) {
	m := NewMux(&Errors{Host: "h:1"})
	m.Limits = &Limits{Headers: Size{Bytes: 8 << 10, Setting: "the.setting"}}
	m.On("POST /service/things", JSONOnly(func(w http.ResponseWriter, _ *http.Request) error {
		WriteText(w, http.StatusNotFound, "own words")
		return nil
	}))
	m.On("GET /service/own", func(_ http.ResponseWriter, r *http.Request) error { return OnlyParameters(r, "segment", "datasource") })
	m.On("GET /service/none", func(_ http.ResponseWriter, r *http.Request) error { return OnlyParameters(r) })
	h := m.Handler([]string{"druid"}, clock.System(), nil)
	for _, c := range []struct {
		method, path string
		header       [2]string
		status       int
		want         string // part of the body; "": there is none
	}{
		{"POST", "/service/things", [2]string{"Content-Encoding", "br"}, 415, "Content-Encoding [br] is not supported; use gzip"},
		{"POST", "/service/things", [2]string{"Content-Encoding", "gzip, compress"}, 415, "Content-Encoding [compress] is not supported"},
		{"POST", "/druid/things", [2]string{"Content-Encoding", "br"}, 415, "Content-Encoding [br] is not supported; use gzip"},
		{"GET", "/service/own?segment=x", [2]string{}, 200, ""},
		{"GET", "/service/own?segmnt=1", [2]string{}, 400, "Query parameter [segmnt] is unknown. Did you mean [segment]?"},
		{"GET", "/service/own?foo=1", [2]string{}, 400, "Query parameter [foo] is unknown; known are [segment, datasource]"},
		{"GET", "/service/none?foo=1", [2]string{}, 400, "Query parameter [foo] is unknown; this endpoint has no parameters"},
		{"GET", "/service/own", [2]string{"X-Long", strings.Repeat("x", 13<<10)}, 431,
			"at most [8192] are read. Send less, or raise the.setting"},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		if c.method == http.MethodPost {
			r = httptest.NewRequest(c.method, c.path, strings.NewReader("{}"))
		}
		if c.header[0] != "" {
			r.Header.Set(c.header[0], c.header[1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		body := w.Body.String()
		if w.Code != c.status || !strings.Contains(body, c.want) || c.want == "" && body != "" {
			t.Errorf("%s %s %v: %d %s, want %d with [%s]", c.method, c.path, c.header, w.Code, body, c.status, c.want)
		}
	}
}
