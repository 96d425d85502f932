package edge

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// hasWords reports whether an unknown path or method is answered with an error object: a status
// alone does not say what was wrong. Under an alias and between processes there is none, as the
// interface has it.
func hasWords(r *http.Request, status int) bool {
	return (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) && r.Method != http.MethodHead &&
		!DialectOf(r.Context()).IsAlias() && !strings.HasPrefix(r.URL.Path, "/service-internal/")
}

// words are the error of an unknown path or method.
func (m *Mux) words(r *http.Request, status int, allowed string) *fault.Error {
	const most = 200
	path := cmp.Or(strings.TrimRight(r.URL.Path, "/"), "/")
	if len(path) > most {
		path = path[:most] + "..."
	}
	if status == http.StatusMethodNotAllowed {
		if allowed != "" {
			allowed = ". Allowed are [" + allowed + "]"
		}
		return fault.InvalidInput("Method [%s] is not allowed at [%s]%s%s", r.Method, path, allowed, m.likely(path)).
			WithLegacy(fault.LegacyUnsupported)
	}
	if rest, ok := strings.CutPrefix(path, "/druid"); ok && (rest == "" || rest[0] == '/' || rest[0] == '-') {
		return fault.NotFound("There is nothing at [%s]: paths begin with /service here. "+
			`The setting service.api.aliases=["druid"] makes those of Druid work`, path)
	}
	return fault.NotFound("There is nothing at [%s]%s", path, m.likely(path))
}

// likely asks whether the path of a route was meant that a path is almost like.
func (m *Mux) likely(path string) string {
	var known []string
	for _, pattern := range m.patterns {
		if _, after, ok := strings.Cut(pattern, " "); ok {
			pattern = after
		}
		if pattern = strings.TrimSuffix(pattern, "/{$}"); !strings.Contains(pattern, "{") && len(pattern) > 1 {
			known = append(known, pattern)
		}
	}
	if near := fault.Nearest(path, known); near != "" && len(near) > len(path)/2 && !slices.Contains(known, path) {
		return ". Did you mean [" + near + "]?"
	}
	return ""
}
