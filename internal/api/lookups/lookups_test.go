package lookups

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/lookup"
)

func TestLookupsOfAProcess(t *testing.T) {
	mux := edge.NewMux(&edge.Errors{})
	New(lookup.NewSet(lookup.Options{Clock: clock.System(), Log: slog.New(slog.DiscardHandler)}), 1<<20).Routes(mux)
	const listen, introspect = "/service/listen/v1/lookups", "/service/v1/lookups/introspect"
	const a = `{"version":"v1","lookupExtractorFactory":{"type":"map","map":{"x":"X","b":"B"}}}`
	for _, step := range []struct {
		request, body string
		status        int
		want          string
	}{
		{"GET " + listen, "", 200, `{"current":{},"toLoad":{},"toDrop":[]}`},
		{"POST " + listen + "/updates", `{"toLoad":{"a":` + a + `},"toDrop":["none"]}`, 202, `{"current":{"a":` + a + `},"toLoad":{},"toDrop":[]}`},
		{"GET " + listen + "/a", "", 200, a},
		{"GET " + listen + "/nope", "", 404, ``},
		{"POST " + listen + "/updates", `[`, 400, "could not be read"},
		{"POST " + listen + "/b", `{"version":"v1"}`, 400, "lookupExtractorFactory"},
		{"GET " + introspect, "", 200, `["a"]`},
		{"GET " + introspect + "/a", "", 200, `{"b":"B","x":"X"}`},
		{"GET " + introspect + "/a/keys", "", 200, `["b","x"]`},
		{"GET " + introspect + "/a/values", "", 200, `["B","X"]`},
		{"GET " + introspect + "/a/version", "", 200, `{"version":"v1"}`},
		{"GET " + introspect + "/a/other", "", 404, ""},
		{"GET " + introspect + "/nope", "", 405, ""},
		{"GET " + introspect + "/nope/keys", "", 404, ""},
		{"DELETE " + listen + "/a", "", 202, `{"current":{},"toLoad":{},"toDrop":[]}`},
		{"DELETE " + listen + "/a", "", 404, `{"error":"lookup [a] not found"}`},
	} {
		method, path, _ := strings.Cut(step.request, " ")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(step.body)))
		if w.Code != step.status || !strings.Contains(w.Body.String(), step.want) {
			t.Errorf("%s: %d %s, want %d %s", step.request, w.Code, w.Body, step.status, step.want)
		}
	}
}
