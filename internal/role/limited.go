package role

import (
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/fault"
)

// requestThreads is how many requests a port answers at once where the settings limit them.
func requestThreads(set *config.Settings) int {
	if threads := int(set.Int("service.server.http.numThreads")); threads > 0 {
		return threads
	}
	return max(10, budget.Cores()*17/16+2) + 30
}

// requestLimits are those of what requests cost, for all ports together.
func requestLimits(set *config.Settings, memory *budget.Budget) *edge.Limits {
	size := func(key string) edge.Size { return edge.Size{Bytes: set.Bytes(key, 0), Setting: key} }
	return &edge.Limits{
		Request: size("service.server.http.maxRequestBytes"), Lookup: size("service.server.http.maxLookupBytes"),
		Config: size("service.server.http.maxConfigBytes"), Headers: size("service.server.http.maxRequestHeaderSize"),
		Memory: memory.Child("request bodies", budget.Unlimited), Idle: set.Duration("service.server.http.maxIdleTime"),
		Expansion: set.Int("service.server.http.maxExpansion"),
		Decoders:  make(chan struct{}, max(1, budget.Cores()-1)),
	}
}

// limited answers so many requests at once and refuses more. What processes ask of each other, and
// whether this one is well, is not counted: most of it waits for something to change.
func limited(h http.Handler, most int, errors *edge.Errors) http.Handler {
	busy := make(chan struct{}, most)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/service-internal/") || strings.HasPrefix(r.URL.Path, "/status/health") ||
			r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			h.ServeHTTP(w, r)
			return
		}
		select {
		case busy <- struct{}{}:
			defer func() { <-busy }()
			h.ServeHTTP(w, r)
		default:
			errors.Write(w, r, fault.Capacity("Too many requests: [%d] are being processed, the limit of service.server.http.numThreads. Try "+
				"again later.", most))
		}
	})
}
