package edge

import (
	"mime"
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// IsJSON reports whether the Content-Type of a request is JSON.
func IsJSON(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// CheckMedia rejects a Content-Type that is not a media type.
func CheckMedia(r *http.Request) error {
	header := r.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(header); header != "" && (err != nil || !strings.Contains(media, "/")) {
		return fault.InvalidInput("Invalid Content-Type header: %s", header)
	}
	return nil
}

// JSONOnly wraps a handler that requires JSON: a request with another or without a Content-Type
// gets 415 without a body.
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

// AdmitsJSON reports whether the Accept header of a request permits JSON, or an Arrow stream, which
// a request selects as its result format. Other requests get the status 406.
func AdmitsJSON(r *http.Request) bool {
	accept := r.Header.Values("Accept")
	if len(accept) == 0 {
		return true
	}
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			media, _, _ := strings.Cut(strings.TrimSpace(part), ";")
			switch strings.TrimSpace(media) {
			case "*/*", "application/json", "application/*", "application/vnd.apache.arrow.stream", "":
				return true
			}
		}
	}
	return false
}
