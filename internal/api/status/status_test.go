package status

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/config"
)

func serve(t *testing.T, ready bool) http.Handler {
	t.Helper()
	settings, err := config.Load(config.Sources{Flags: []string{
		`service.api.aliases=["druid"]`, `druid.extensions.loadList=["mine"]`, "service.host=h",
		"service.metadata.storage.connector.password=secret1",
		"service.metadata.storage.connector.connectURI=postgres://u:secret2@db/x", `service.server.hiddenProperties=["labels"]`,
		`service.labels={"a":"secret3"}`,
	}})
	if err != nil {
		t.Fatal(err)
	}
	mux := edge.NewMux(&edge.Errors{})
	p := &Process{Version: "1.2.3", Settings: settings, MemoryLimit: 1000, Unready: func() []string {
		if ready {
			return nil
		}
		return []string{"the process is starting", "nobody sees it"}
	},
		Metrics: http.NotFoundHandler()}
	p.Routes(mux)
	return mux.Handler(settings.Aliases(), clock.System(), nil)
}

func get(h http.Handler, path string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestStatus(t *testing.T) {
	code, body := get(serve(t, true), "/status")
	var got struct {
		Version string
		Modules []struct{ Name, Version string }
		Memory  map[string]int64
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	if got.Version != "1.2.3" || len(got.Modules) != 1 || got.Memory["maxMemory"] != 1000 || got.Memory["directMemory"] != -1 {
		t.Errorf("got %s", body)
	}
	if m := got.Memory; m["usedMemory"] <= 0 || m["usedMemory"]+m["freeMemory"] != m["totalMemory"] {
		t.Errorf("memory %v", m)
	}
}

// Clients of Druid ask for its releases.
func TestStatusShowsAnotherVersion(t *testing.T) {
	p := &Process{Version: "1.2.3", Shown: "33.0.0", Unready: func() []string { return nil }}
	mux := edge.NewMux(&edge.Errors{})
	p.Routes(mux)
	if _, body := get(mux, "/status"); !strings.HasPrefix(body, `{"version":"33.0.0","modules":[{"name":"henge","version":"1.2.3"}]`) {
		t.Errorf("got %s", body)
	}
}

func TestHealthAndReadiness(t *testing.T) {
	for _, tc := range []struct {
		path         string
		status       int
		body         string
		unreadyState int
		unreadyBody  string
	}{
		{"/status/health", 200, "true", 200, "true"},
		{"/status/ready", 200, "true", 503, "false"},
		{"/status/selfDiscovered/status", 200, `{"selfDiscovered":true}`, 200, `{"selfDiscovered":false}`},
		{"/status/selfDiscovered", 200, "", 503, ""},
	} {
		if status, body := get(serve(t, true), tc.path); status != tc.status || body != tc.body {
			t.Errorf("%s: %d %q", tc.path, status, body)
		}
		if status, body := get(serve(t, false), tc.path); status != tc.unreadyState || body != tc.unreadyBody {
			t.Errorf("%s before it is ready: %d %q", tc.path, status, body)
		}
	}
}

func TestPropertiesShowNoSecrets(t *testing.T) {
	_, body := get(serve(t, true), "/status/properties")
	var got map[string]string
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"service.api.aliases": `["druid"]`, "service.host": "h", "service.metadata.storage.connector.connectURI": "postgres://********@db/x",
		"service.server.hiddenProperties": `["labels"]`, "druid.router.managementProxy.enabled": "true", "druid.extensions.loadList": `["mine"]`,
		"service.extensions.loadList": `["mine"]`,
	}
	for _, key := range []string{"api.aliases", "host", "metadata.storage.connector.connectURI", "server.hiddenProperties"} {
		want["druid."+key] = want["service."+key]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(body, "secret") {
		t.Errorf("secrets: %s", body)
	}
}

func TestProbes(t *testing.T) {
	for _, c := range []struct {
		ready  bool
		path   string
		status int
		text   string
	}{
		{true, "/healthz", 200, "ok\n"}, {false, "/healthz", 200, "ok\n"},
		{true, "/readyz", 200, "ok\n"}, {false, "/readyz", 503, "the process is starting\nnobody sees it\n"},
	} {
		if status, text := get(serve(t, c.ready), c.path); status != c.status || text != c.text {
			t.Errorf("%s of a process that is ready=[%v]: %d %q", c.path, c.ready, status, text)
		}
	}
}
