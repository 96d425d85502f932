// Package status gives the endpoints that every process answers: its version, its health, its
// settings and its metrics (spec/cluster.md, section 2).
package status

import (
	"net/http"
	"runtime"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/obs"
)

// Process is what the endpoints need to know.
type Process struct {
	Version  string
	Settings *config.Settings
	// MemoryLimit is the process's memory number in bytes.
	MemoryLimit int64
	// Ready reports whether the process has announced itself and answers everything.
	Ready func() bool
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
	mux.On("GET /status/health", func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, true)
		return nil
	})
	mux.On("GET /status/ready", func(w http.ResponseWriter, _ *http.Request) error {
		status := http.StatusOK
		if !p.Ready() {
			status = http.StatusServiceUnavailable
		}
		edge.WriteJSON(w, status, p.Ready())
		return nil
	})
	mux.On("GET /status/properties", p.properties)
	mux.On("GET /status/selfDiscovered/status", func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, map[string]bool{"selfDiscovered": p.Ready()})
		return nil
	})
	mux.On("GET /status/selfDiscovered", func(w http.ResponseWriter, _ *http.Request) error {
		if !p.Ready() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return nil
	})
	if p.Metrics != nil {
		mux.Handle("GET /metrics", p.Metrics)
		mux.Handle("GET /status/metrics", p.Metrics)
	}
}

func (p *Process) status(w http.ResponseWriter, _ *http.Request) error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	edge.WriteJSON(w, http.StatusOK, struct {
		Version string   `json:"version"`
		Modules []module `json:"modules"`
		Memory  memory   `json:"memory"`
	}{
		Version: p.Version,
		Modules: []module{{Name: "henge", Version: p.Version}},
		Memory: memory{
			MaxMemory: p.MemoryLimit, TotalMemory: int64(m.Sys), FreeMemory: int64(m.Sys) - int64(m.HeapInuse),
			UsedMemory: int64(m.HeapInuse), DirectMemory: -1,
		},
	})
	return nil
}

// properties lists what was set, under the product name the request came by.
func (p *Process) properties(w http.ResponseWriter, r *http.Request) error {
	name := edge.DialectOf(r.Context()).Name
	out := map[string]string{}
	for k, v := range p.Settings.Visible() {
		out[name+"."+strings.TrimPrefix(k, obs.Product+".")] = v
	}
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}
