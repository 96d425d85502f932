package endpoints

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/auth"
)

func TestDocumentationIsGenerated(t *testing.T) {
	const path = "../../../docs/security.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if Document(string(page)) != string(page) {
		t.Errorf("%s is out of date: run go generate ./internal/api/endpoints", path)
	}
	if got := Document("# Page\n"); !strings.HasPrefix(got, "# Page\n\n## Permissions") || Document(got) != got {
		t.Errorf("got %.200q", got)
	}
}

func TestPermissions(t *testing.T) {
	for _, e := range Table {
		method, _, found := strings.Cut(e.Pattern, " ")
		if !found {
			method = ""
		}
		if e.Permission.Rule == Refused || e.Permission.Text(method) == "" {
			t.Errorf("route [%s] has no permission", e.Pattern)
		}
	}
	r := &http.Request{Method: http.MethodDelete}
	r.SetPathValue("dataSource", "wiki")
	got := PermissionOf("DELETE /service/indexer/v1/pendingSegments/{dataSource}").Needs(r)
	if len(got) != 2 || got[0] != auth.Reads(auth.Datasource, "wiki") || got[1] != auth.Writes(auth.Datasource, "wiki") {
		t.Errorf("got %v", got)
	}
	for path, want := range map[string]Rule{
		"/status/health": Open, "/status/health/": Open, "/status": Fixed, "/service/v2/sql/avatica/": Connection, "/anything": Passed,
		"/service/coordinator/v1/isLeader": Open, "/proxy/enabled": Authenticated, "/service/indexer/v1/tasks": Handler,
	} {
		method := http.MethodGet
		if want == Connection {
			method = http.MethodPost
		}
		if got := Of(&http.Request{Method: method, URL: &url.URL{Path: path}}).Rule; got != want {
			t.Errorf("%s: got rule %d, want %d", path, got, want)
		}
	}
}
