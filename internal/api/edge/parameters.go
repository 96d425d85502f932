package edge

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// OnlyParameters rejects unknown query parameters of endpoints that only Henge has, because a
// misspelt parameter would silently have no effect. Endpoints of the interface ignore unknown
// parameters.
func OnlyParameters(r *http.Request, known ...string) error {
	for name := range r.URL.Query() {
		if slices.Contains(known, name) {
			continue
		}
		if near := fault.Nearest(name, known); near != "" {
			return fault.InvalidInput("Query parameter [%.100s] is unknown. Did you mean [%s]?", name, near)
		}
		if len(known) == 0 {
			return fault.InvalidInput("Query parameter [%.100s] is unknown; this endpoint has no parameters", name)
		}
		return fault.InvalidInput("Query parameter [%.100s] is unknown; known are [%s]", name, strings.Join(known, ", "))
	}
	return nil
}
