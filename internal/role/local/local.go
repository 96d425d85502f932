// Package local runs SQL over files inside the calling process, without a server, a data directory
// or a port.
//
// The central type is Engine: a Broker without datasources, whose tables are files (interface
// broker.LocalTables), behind the endpoints of a server. Its Transport delivers requests to the
// endpoints within the process, so clients work as with a server.
//
//	client ─► Transport ─► api/sql ─► Broker ─► EXTERN over the files ─► rows ─► client
//
// Elsewhere: the files and their columns (the command that opens an Engine).
package local

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/sql"
	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/timeline"
)

// Options are what an Engine needs.
type Options struct {
	// Tables are the files.
	Tables broker.LocalTables
	// Access says what queries may read.
	Access *ingest.Access
	// Memory is the limit in bytes of what queries hold.
	Memory int64
	// Rows, if not nil, counts the rows that queries read.
	Rows    *atomic.Int64
	Clock   clock.Clock
	Version string
}

const (
	// maxSpill bounds the files of queries that need more memory than there is.
	maxSpill = 100 << 30
	// maxRequest bounds a statement.
	maxRequest = 64 << 20
)

// Engine answers queries. Close removes its temporary files.
type Engine struct {
	handler http.Handler
	dir     string
	spill   *budget.SpillDir
	work    sync.WaitGroup
}

// Open returns an Engine. Its temporary folder is empty until a query needs more memory than there
// is.
func Open(o Options) (*Engine, error) {
	limit := o.Memory
	memory, disk := budget.Root(limit), budget.DiskRoot(maxSpill)
	budget.ApplyGoLimit(limit)
	e := &Engine{}
	var err error
	if e.dir, err = os.MkdirTemp("", "henge-sql-*"); err != nil {
		return nil, fault.InvalidInput("No folder for temporary files can be made: %v; $TMPDIR names another place", err)
	}
	if e.spill, err = budget.OpenSpillDir(e.dir, disk); err != nil {
		return nil, errors.Join(err, os.RemoveAll(e.dir))
	}
	log := slog.New(slog.DiscardHandler)
	running := query.NewRunning(o.Clock, query.RunningOptions{})
	cores := budget.Cores()
	system := (&broker.System{Queries: func(context.Context) []query.Info { return running.Recent() }}).Tables()
	b := broker.New(timeline.NewPublished(), nil, map[string]broker.SystemTable{"queries": system["queries"]},
		&broker.Externals{Access: o.Access, Memory: memory, TempDir: e.spill.Path(), Disk: disk, Decoders: cores, Rows: o.Rows},
		broker.Options{Threads: cores, Memory: memory, Spill: e.spill, Zone: chrono.UTC, Local: o.Tables, Clock: o.Clock, Log: log})
	mux := edge.NewMux(&edge.Errors{Modern: true, Log: log})
	sql.New(b, running, sql.Options{MaxRequestBytes: maxRequest, Clock: o.Clock}, log).Routes(mux)
	mux.On("GET /status", func(w http.ResponseWriter, _ *http.Request) error {
		edge.WriteJSON(w, http.StatusOK, map[string]any{
			"version": o.Version, "memory": map[string]int64{"usedMemory": memory.Used(), "maxMemory": limit},
		})
		return nil
	})
	mux.On("POST /service/v2/sql/task", func(http.ResponseWriter, *http.Request) error {
		return fault.Unsupported("INSERT and REPLACE take a server; this run reads files by itself. To write an answer to a file: " +
			`\copy (SELECT ..) TO 'file.parquet'`)
	})
	mux.On("/", func(_ http.ResponseWriter, r *http.Request) error {
		return fault.Unsupported("This takes a server (%s %s); this run reads files by itself, without one", r.Method, r.URL.Path)
	})
	e.handler = mux
	return e, nil
}

// Close waits for the requests and removes the temporary files.
func (e *Engine) Close() error {
	e.work.Wait()
	return errors.Join(e.spill.Close(), os.RemoveAll(e.dir))
}

// RoundTrip implements http.RoundTripper: the request is answered within the process.
func (e *Engine) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	reader, writer := io.Pipe()
	a := &answer{header: http.Header{}, pipe: writer, begun: make(chan struct{})}
	stop := context.AfterFunc(r.Context(), func() { _ = writer.CloseWithError(context.Cause(r.Context())) })
	in := r.Clone(ctx)
	if in.Body == nil {
		in.Body = http.NoBody
	}
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "local"
	e.work.Go(func() {
		defer cancel()
		defer stop()
		defer in.Body.Close() //nolint:errcheck // it is in memory
		err := a.serve(e.handler, in)
		if r.Context().Err() != nil { // what the handler made of it does not matter
			err = context.Cause(r.Context())
		}
		a.begin(http.StatusOK)
		_ = writer.CloseWithError(err) // never fails
	})
	select {
	case <-a.begun:
	case <-ctx.Done():
		<-a.begun // the handler hears of it, too
	}
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.sent, Body: &body{reader, cancel}, ContentLength: -1, Request: r,
	}, nil
}

// body is the body of an answer; closing it ends the request.
type body struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

// answer is an http.ResponseWriter whose body goes through a pipe.
type answer struct {
	header http.Header
	pipe   *io.PipeWriter
	once   sync.Once
	// status and sent may be read once begun is closed.
	begun  chan struct{}
	status int
	sent   http.Header
}

// serve runs the handler. An answer that it breaks off ends with an error.
func (a *answer) serve(h http.Handler, r *http.Request) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			err = io.ErrUnexpectedEOF
		default:
			err = fault.Defensive("The query met an unexpected condition").WithPanic(p)
		}
	}()
	h.ServeHTTP(a, r)
	return nil
}

func (a *answer) begin(status int) {
	a.once.Do(func() {
		a.status, a.sent = status, a.header.Clone()
		close(a.begun)
	})
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.begin(status) }

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	a.begin(http.StatusOK)
	return a.pipe.Write(p)
}

// Flush implements http.Flusher: nothing is held back.
func (a *answer) Flush() {}
