// Package console serves the web console. Its sources are in the folder console of the checkout.
// The output of `npm run build` is in dist, compressed, and embedded in the binary. The console
// loads everything from its own server.
package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/fault"
)

//go:embed dist
var dist embed.FS

// policy lets the page load and ask what comes from where it came from itself, and nothing else.
// The editor makes style sheets of its own.
const policy = "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// types are the media types of the files, whatever tables the machine has.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

// forever is the lifetime of files whose names say their content.
const forever = "public, max-age=31536000, immutable"

// Routes adds the page and its files. They show no data: whoever is not logged in may see them.
func Routes(mux *edge.Mux) {
	mux.On("GET /{$}", func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("X-Frame-Options", "DENY")
		return serve(w, r, "index.html", "no-cache")
	})
	mux.On("GET /favicon.svg", func(w http.ResponseWriter, r *http.Request) error {
		return serve(w, r, "favicon.svg", "no-cache")
	})
	mux.On("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) error {
		return serve(w, r, "assets/"+r.PathValue("name"), forever)
	})
}

// serve writes a file as it is stored, or unpacked for clients that take no gzip.
func serve(w http.ResponseWriter, r *http.Request, name, lifetime string) error {
	packed, err := dist.ReadFile("dist/" + name + ".gz")
	if err != nil { // also a name that leads out of the folder
		return fault.NotFound("The console has no file [%s]", name)
	}
	h := w.Header()
	h.Set("Content-Type", types[path.Ext(name)])
	h.Set("Cache-Control", lifetime)
	h.Set("Vary", "Accept-Encoding")
	if takesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(packed)))
		_, _ = w.Write(packed) // the client has gone
		return nil
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("unpacking [%s]: %w", name, err)
	}
	_, _ = io.Copy(w, plain) // the client has gone
	return nil
}

// takesGzip reports whether a client unpacks gzip (RFC 9110, section 12.5.3).
func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		coding, weight, _ := strings.Cut(part, ";")
		if coding = strings.TrimSpace(coding); coding != "gzip" && coding != "*" {
			continue
		}
		q, weighted := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
		if n, err := strconv.ParseFloat(q, 64); !weighted || err != nil || n > 0 {
			return true
		}
	}
	return false
}

// Files returns the names of all files of the console.
func Files() []string {
	var names []string
	for _, dir := range []string{"dist", "dist/assets"} {
		entries, _ := dist.ReadDir(dir) // a folder that is embedded can be read
		for _, e := range entries {
			if !e.IsDir() {
				names = append(names, strings.TrimPrefix(strings.TrimSuffix(dir+"/"+e.Name(), ".gz"), "dist/"))
			}
		}
	}
	return names
}
