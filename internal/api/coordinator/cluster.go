package coordinator

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/obs"
)

// Node is a process in one of its roles.
type Node struct {
	// Role is as in the interface: coordinator, overlord, broker, historical, indexer, router.
	Role string
	// Service is the name of its service, under the product name.
	Service string
	Host    string
	// Port is the port of plain HTTP, TLSPort the port of HTTPS; 0: not open.
	Port, TLSPort int
	// Started is in milliseconds.
	Started int64
	// Version and Revision are those of the program, Labels is a JSON object; may be empty.
	Version, Revision, Labels string
	// Bound is true if it listens only at its host.
	Bound bool
	// LookupTier is the tier of its lookups; empty: it has none.
	LookupTier string
	// Data describes a data server, Worker a worker; nil for other roles.
	Data   *DataService
	Worker *WorkerService
}

// DataService is what a data server announces.
type DataService struct {
	Type     string `json:"type"`
	Tier     string `json:"tier"`
	MaxSize  int64  `json:"maxSize"`
	Server   string `json:"serverType"`
	Priority int    `json:"priority"`
}

// WorkerService is what a worker announces.
type WorkerService struct {
	Type     string `json:"type"`
	IP       string `json:"ip"`
	Capacity int    `json:"capacity"`
	Version  string `json:"version"`
	Category string `json:"category"`
}

// alwaysListed are the roles that the answer has even without processes.
var alwaysListed = []string{"coordinator", "overlord", "broker", "historical"}

func (a *API) clusterRoutes(mux routes) {
	mux.On("GET "+coordinatorBase+"/cluster", func(w http.ResponseWriter, r *http.Request) error {
		out := object{}
		listed := map[string]bool{}
		add := func(role string, always bool) {
			if nodes := a.nodes(r, role); !listed[role] && (always || len(nodes) > 0) {
				listed[role] = true
				out = append(out, member{role, nodes})
			}
		}
		for _, role := range alwaysListed {
			add(role, true)
		}
		for _, n := range a.o.Nodes() {
			add(n.Role, false)
		}
		return write(w, out)
	})
	mux.On("GET "+coordinatorBase+"/cluster/{role}", func(w http.ResponseWriter, r *http.Request) error {
		return write(w, a.nodes(r, r.PathValue("role")))
	})
}

// shownPort returns a port as the interface shows it, where -1 is none.
func shownPort(port int) int {
	if port <= 0 {
		return -1
	}
	return port
}

// nodes gives the processes of a role, in full if the request asks for it. Here full is a boolean,
// not a flag.
func (a *API) nodes(r *http.Request, role string) []any {
	full := r.URL.Query().Get("full") == "true"
	out := []any{}
	for _, n := range a.o.Nodes() {
		if n.Role != role {
			continue
		}
		name := edge.DialectOf(r.Context()).Name
		service := n.Service
		if rest, ours := strings.CutPrefix(service, obs.Product+"/"); ours {
			service = name + "/" + rest
		}
		if !full {
			short := object{{"host", n.Host}, {"service", service}}
			if n.Port > 0 {
				short = append(short, member{"plaintextPort", n.Port})
			}
			if n.TLSPort > 0 {
				short = append(short, member{"tlsPort", n.TLSPort})
			}
			out = append(out, short)
			continue
		}
		services := object{}
		if n.Data != nil {
			services = append(services, member{"dataNodeService", n.Data})
		}
		if n.Worker != nil {
			services = append(services, member{"workerNodeService", n.Worker})
		}
		if n.LookupTier != "" {
			services = append(services, member{"lookupNodeService", object{{"type", "lookupNodeService"}, {"lookupTier", n.LookupTier}}})
		}
		var labels any
		if n.Labels != "" {
			labels = json.RawMessage(n.Labels)
		}
		out = append(out, object{
			{name + "Node", object{
				{"service", service}, {"host", n.Host}, {"bindOnHost", n.Bound}, {"plaintextPort", shownPort(n.Port)}, {"port", -1},
				{"tlsPort", shownPort(n.TLSPort)}, {"enablePlaintextPort", n.Port > 0}, {"enableTlsPort", n.TLSPort > 0},
				{"labels", labels}, {"version", n.Version}, {"buildRevision", n.Revision},
			}},
			{"nodeType", n.Role}, {"services", services}, {"startTime", chrono.FormatMillis(n.Started, chrono.UTC)},
		})
	}
	return out
}
