package edge

import (
	"net/http"
	"slices"
	"strings"
)

// encodings are the codings of bodies that every endpoint unpacks.
var encodings = []string{"gzip", "identity"}

// checkEncoding refuses bodies in a coding that the endpoints do not read: a packed body that is
// taken as it is looks broken. Endpoints whose kind of bodies is unpacked by themselves check it.
func checkEncoding(w http.ResponseWriter, r *http.Request) error {
	var unknown []string
	for _, line := range r.Header.Values("Content-Encoding") {
		for coding := range strings.SplitSeq(line, ",") {
			if coding = strings.TrimSpace(coding); coding != "" && !slices.Contains(encodings, strings.ToLower(coding)) {
				unknown = append(unknown, coding)
			}
		}
	}
	if unknown == nil {
		return nil
	}
	w.Header().Set("Accept-Encoding", "gzip")
	return UnsupportedMedia("Content-Encoding [%.100s] is not supported; use gzip, or send the body as it is", strings.Join(unknown, ", "))
}

// encoded returns h for requests whose body it can read.
func encoded(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := checkEncoding(w, r); err != nil {
			return err
		}
		return h(w, r)
	}
}
