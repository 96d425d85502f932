package edge

import (
	"mime"
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// IsJSON reports whether a request says that its body is JSON.
func IsJSON(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// CheckMedia refuses a Content-Type that is no media type.
func CheckMedia(r *http.Request) error {
	header := r.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(header); header != "" && (err != nil || !strings.Contains(media, "/")) {
		return fault.InvalidInput("Invalid Content-Type header: %s", header)
	}
	return nil
}

// JSONOnly makes a handler of one that takes JSON: what is sent as something else, or as nothing
// that it says, is answered with 415 and no body.
func JSONOnly(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := CheckMedia(r); err != nil {
			return err
		}
		if !IsJSON(r) {
			w.WriteHeader(http.StatusUnsupportedMediaType)
			return nil
		}
		return h(w, r)
	}
}

// AdmitsJSON reports whether a request's Accept header lets the answer be JSON. What is asked with
// another gets the status 406.
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
