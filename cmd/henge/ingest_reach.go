package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
)

// reach finds a way for the server to read the files, and returns the input source and a function
// that releases it:
//
//	the server runs on this machine and may read them ─► local: it reads them itself
//	it accepts uploads                                ─► upload: it keeps copies until the load ends
//	it can connect to this machine                    ─► http: this command serves them meanwhile
//	they are small and text                           ─► inline: they are part of the statement
func (o *ingestOptions) reach(ctx context.Context, files *inputFiles) (json.RawMessage, func(), error) {
	nothing := func() {}
	local := false
	for _, f := range files.list {
		local = local || f.path != ""
	}
	if !local {
		return files.source(), nothing, nil
	}
	var why error
	if o.client.isHere() {
		if why = o.client.canRead(ctx, files.source()); why == nil {
			return files.source(), nothing, nil
		}
		if !unreadable(why) {
			return nil, nothing, why
		}
	}
	sent, done, refused := o.send(ctx, files)
	if refused == nil {
		return sent, done, nil
	}
	if !unreadable(refused) {
		return nil, nothing, refused
	}
	served, err := serveFiles(ctx, o.client, files)
	if err == nil {
		if err = o.client.canRead(ctx, served.files.source()); err == nil {
			fmt.Fprintf(o.err, "The server cannot read the files itself; this command sends them and must run until the load ends.\n")
			return served.files.source(), served.close, nil
		}
		served.close()
		if !unreadable(err) {
			return nil, nothing, err
		}
	}
	if source := files.inline(); source != nil {
		return source, nothing, nil
	}
	return nil, nothing, fault.InvalidInput("The server at %s cannot read the files: %s. It does not accept uploads: %s. It cannot fetch "+
		"them from this machine "+
		"either: %s. Copy them to a folder that it may read (service.ingestion.local.allowedPaths), or to a web server or bucket", o.client.base,
		orElse(why, "it runs on another machine"), orElse(refused, "unknown"), orElse(err, "unknown"))
}

func orElse(err error, text string) string {
	if err == nil {
		return text
	}
	return strings.TrimRight(messageOf(err), ".")
}

// unreadable reports whether an error is the server's word that it can't read something.
func unreadable(err error) bool {
	f := fault.Find(err)
	return f != nil && !errors.Is(err, errNoServer)
}

// canRead asks the server whether it can read the files of a source.
func (c *client) canRead(ctx context.Context, source json.RawMessage) error {
	request := map[string]any{"type": "index_parallel", "samplerConfig": map[string]any{"numRows": 1, "timeoutMs": 15_000}, "spec": map[string]any{
		"ioConfig": map[string]any{"type": "index_parallel", "inputSource": source, "inputFormat": map[string]any{"type": "lines"}},
		"dataSchema": map[string]any{"dataSource": "sample", "timestampSpec": map[string]any{"column": "-", "missingValue": "2000-01-01T00:00:00Z"},
			"dimensionsSpec": map[string]any{"dimensions": []string{}}},
	}}
	return c.call(ctx, http.MethodPost, "/service/indexer/v1/sampler", request, nil)
}

// isHere reports whether the server is at an address of this machine.
func (c *client) isHere() bool {
	u, err := url.Parse(c.base)
	if err != nil {
		return false
	}
	if u.Hostname() == "localhost" {
		return true
	}
	ips, err := net.LookupIP(u.Hostname())
	if err != nil {
		return false
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, ip := range ips {
		if ip.IsLoopback() {
			return true
		}
		for _, a := range own {
			if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
				return true
			}
		}
	}
	return false
}

// servedFiles hands files to the server by HTTP.
type servedFiles struct {
	files   *inputFiles
	server  *http.Server
	running sync.WaitGroup
}

// serveFiles listens at the address by which this machine reaches the server. Only who knows the
// path of a file, which can't be guessed, gets it.
func serveFiles(ctx context.Context, c *client, files *inputFiles) (*servedFiles, error) {
	u, err := url.Parse(c.base)
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443"}[u.Scheme]
	}
	if port == "" {
		port = "80"
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	if err = errors.Join(err, conn.Close()); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	s := &servedFiles{files: &inputFiles{}}
	mux, secret := http.NewServeMux(), rand.Text()
	for i, f := range files.list {
		if f.path == "" {
			s.files.list = append(s.files.list, f)
			continue
		}
		at := "/" + secret + "/" + strconv.Itoa(i) + "/" + url.PathEscape(filepath.Base(f.path))
		path := f.path
		mux.HandleFunc("GET /"+secret+"/"+strconv.Itoa(i)+"/", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, path) })
		s.files.list = append(s.files.list, inputFile{name: f.name, uri: "http://" + listener.Addr().String() + at, size: f.size})
	}
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 30 * time.Second}
	s.running.Go(func() { _ = s.server.Serve(listener) }) // it ends when the server is closed
	return s, nil
}

func (s *servedFiles) close() {
	_ = s.server.Close() // nothing is written
	s.running.Wait()
}

// maxInline is how many bytes of files become part of a statement.
const maxInline = 4 << 20

// inline is a source with the files in it, nil if they are too large or no text.
func (f *inputFiles) inline() json.RawMessage {
	if f.bytes() > maxInline {
		return nil
	}
	var sources []any
	for _, file := range f.list {
		if file.path == "" {
			return nil
		}
		text, err := os.ReadFile(file.path)
		if err != nil || !utf8.Valid(text) || !ingest.IsPlainText(text) {
			return nil
		}
		sources = append(sources, map[string]any{"type": "inline", "data": string(text)})
	}
	if len(sources) == 1 {
		return marshalSource(sources[0])
	}
	return marshalSource(map[string]any{"type": "combining", "delegates": sources})
}
