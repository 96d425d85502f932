// Package status serves the endpoints that every process has: its version, health, settings and
// metrics.
package status

import (
	"cmp"
	"maps"
	"net/http"
	"runtime"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/endpoints"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/obs"
)

// Process is what the endpoints need to know.
type Process struct {
	Version string
	// Shown is the version that clients see; empty: Version.
	Shown    string
	Settings *config.Settings
	// MemoryLimit is the process's memory number in bytes.
	MemoryLimit int64
	// Unready returns why the process does not answer everything yet, such as that it has not
	// announced itself; none: it does.
	Unready func() []string
	// Metrics answers /metrics.
	Metrics http.Handler
}

type memory struct {
	MaxMemory    int64 `json:"maxMemory"`
	TotalMemory  int64 `json:"totalMemory"`
	FreeMemory   int64 `json:"freeMemory"`
	UsedMemory   int64 `json:"usedMemory"`
	DirectMemory int64 `json:"directMemory"`
}

type module struct {
	Name     string `json:"name"`
	Artifact string `json:"artifact,omitempty"`
	Version  string `json:"version,omitempty"`
}

// Routes adds the endpoints to mux.
func (p *Process) Routes(mux *edge.Mux) {
	mux.On("GET /status", p.status)
	for _, path := range []string{"/openapi.json", "/service/openapi.json"} { // the second may have an alias in it
		mux.On("GET "+path, p.openAPI)
	}
	mux.On("GET /status/health", func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, true)
		return nil
	})
	mux.On("GET /status/ready", func(w http.ResponseWriter, _ *http.Request) error {
		status := http.StatusOK
		if !p.ready() {
			status = http.StatusServiceUnavailable
		}
		edge.WriteJSON(w, status, p.ready())
		return nil
	})
	p.Probes(mux.HandleFunc)
	mux.On("GET /status/properties", p.properties)
	mux.On("GET /status/selfDiscovered/status", func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, map[string]bool{"selfDiscovered": p.ready()})
		return nil
	})
	mux.On("GET /status/selfDiscovered", func(w http.ResponseWriter, _ *http.Request) error {
		if !p.ready() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return nil
	})
	if p.Metrics != nil {
		mux.Handle("GET /metrics", p.Metrics)
		mux.Handle("GET /status/metrics", p.Metrics)
	}
}

func (p *Process) ready() bool { return len(p.Unready()) == 0 }

// Probes adds what orchestrators ask: they read the status, people the text.
func (p *Process) Probes(on func(pattern string, h func(http.ResponseWriter, *http.Request))) {
	on("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { edge.WriteText(w, http.StatusOK, "ok\n") })
	on("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		status, text := http.StatusOK, "ok"
		if reasons := p.Unready(); len(reasons) > 0 {
			status, text = http.StatusServiceUnavailable, strings.Join(reasons, "\n")
		}
		edge.WriteText(w, status, text+"\n")
	})
}

func (p *Process) status(w http.ResponseWriter, _ *http.Request) error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	edge.WriteJSON(w, http.StatusOK, struct {
		Version string   `json:"version"`
		Modules []module `json:"modules"`
		Memory  memory   `json:"memory"`
	}{
		Version: cmp.Or(p.Shown, p.Version),
		Modules: []module{{Name: "henge", Version: p.Version}},
		Memory: memory{
			MaxMemory: p.MemoryLimit, TotalMemory: int64(m.Sys), FreeMemory: int64(m.Sys) - int64(m.HeapInuse),
			UsedMemory: int64(m.HeapInuse), DirectMemory: -1,
		},
	})
	return nil
}

// openAPI returns the API document, with paths under the product name that the request came by.
func (p *Process) openAPI(w http.ResponseWriter, r *http.Request) error {
	text, err := endpoints.OpenAPI(edge.DialectOf(r.Context()).Name, p.Version)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(text) // the client may be gone
	return nil
}

// askedFor are properties that tools of Druid read here, without which they warn or fail, with
// their values where nothing sets them: a Router passes requests for the Coordinator and the
// Overlord on, and all that extensions add is part of the program.
var askedFor = map[string]string{
	"router.managementProxy.enabled": "true",
	"extensions.loadList":            "[]",
}

// properties lists what was set, under every product name: the path has none in it.
func (p *Process) properties(w http.ResponseWriter, _ *http.Request) error {
	out := p.Settings.Visible()
	canonical := maps.Clone(out)
	for _, alias := range p.Settings.Aliases() {
		for k, v := range askedFor {
			out[alias+"."+k] = v
		}
		for k, v := range canonical {
			out[alias+"."+strings.TrimPrefix(k, obs.Product+".")] = v
		}
	}
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}
