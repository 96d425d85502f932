package edge

import (
	"net/http"
	"strings"
)

// AdmitsJSON reports whether a request's Accept header lets the answer be JSON. What is asked with another gets the status 406.
func AdmitsJSON(r *http.Request) bool {
	accept := r.Header.Values("Accept")
	if len(accept) == 0 {
		return true
	}
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			media, _, _ := strings.Cut(strings.TrimSpace(part), ";")
			switch strings.TrimSpace(media) {
			case "*/*", "application/json", "application/*", "":
				return true
			}
		}
	}
	return false
}
