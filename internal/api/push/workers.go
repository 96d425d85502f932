package push

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
	log "github.com/hengedb/henge/internal/stream/push"
	"github.com/hengedb/henge/internal/worker/pushlog"
)

// maxSnapshot bounds what is remembered of the senders of a log.
const maxSnapshot = 1 << 30

// WorkerRoutes adds the routes for logs between workers. serves reports whether this process is not
// stopping.
func WorkerRoutes(mux *edge.Mux, keeper *pushlog.Keeper, serves func() bool) {
	k := workers{keeper, serves}
	const path = pushlog.Path + "/{datasource}/{log}"
	mux.On("GET "+path, k.bounds)
	mux.On("GET "+path+"/entries", k.entries)
	mux.On("POST "+path+"/read", k.read)
	mux.On("PUT "+path+"/copy", k.begin)
	mux.On("POST "+path+"/copy", k.accept)
}

type workers struct {
	keeper *pushlog.Keeper
	serves func() bool
}

// number returns a parameter that is a number.
func number(r *http.Request, name string) (int64, error) {
	text := r.URL.Query().Get(name)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fault.InvalidInput("Parameter [%s] is a number, not [%s]", name, text)
	}
	return n, nil
}

// bounds answers what a log has.
func (k workers) bounds(w http.ResponseWriter, r *http.Request) error {
	b, err := k.keeper.Bounds(r.PathValue("datasource"), r.PathValue("log"))
	if err != nil {
		return err
	}
	edge.WriteJSON(w, http.StatusOK, b)
	return nil
}

// entries answers with the entries from a position on, those that are there and those that come,
// for as long as this process leads the log.
func (k workers) entries(w http.ResponseWriter, r *http.Request) error {
	from, err := number(r, "from")
	if err != nil {
		return err
	}
	id := r.PathValue("log")
	l, err := k.keeper.Leading(r.Context(), r.PathValue("datasource"), id)
	if err != nil {
		return err
	}
	if reader := r.URL.Query().Get("reader"); reader != "" {
		defer l.Forget(reader)
	}
	out := http.NewResponseController(w)
	var buffer []byte
	begun, beats := false, 0
	err = l.Stream(r.Context(), stream.Partition(id), from, func(entries []*log.Entry) error {
		if len(entries) == 0 && !k.serves() {
			if beats++; beats > 1 { // who waits for what was sent has been answered
				return errStops
			}
		}
		begun = true
		buffer = log.AppendEntries(buffer[:0], entries)
		if _, err := w.Write(buffer); err != nil {
			return err
		}
		return out.Flush()
	})
	if gone, ok := errors.AsType[*stream.OffsetError](err); ok {
		earliest, _ := strconv.ParseInt(string(gone.Earliest), 10, 64) // positions of logs are numbers
		latest, _ := strconv.ParseInt(string(gone.Latest), 10, 64)
		edge.WriteJSON(w, http.StatusRequestedRangeNotSatisfiable, pushlog.Bounds{Earliest: earliest, Latest: latest})
		return nil
	}
	if begun || r.Context().Err() != nil {
		return nil // the reader asks again
	}
	return err
}

var errStops = errors.New("the process stops")

// read takes note of what is in live segments.
func (k workers) read(w http.ResponseWriter, r *http.Request) error {
	at, err := number(r, "at")
	if err != nil {
		return err
	}
	l, err := k.keeper.Leading(r.Context(), r.PathValue("datasource"), r.PathValue("log"))
	if err != nil {
		return err
	}
	l.Read(r.URL.Query().Get("reader"), at)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// begin makes a copy.
func (k workers) begin(w http.ResponseWriter, r *http.Request) error {
	epoch, err := number(r, "epoch")
	if err != nil {
		return err
	}
	first, err := number(r, "first")
	if err != nil {
		return err
	}
	snapshot, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSnapshot))
	if err != nil {
		return fault.Malformed("The body could not be read").WithCause(err)
	}
	if err := k.keeper.BeginCopy(r.Context(), r.PathValue("datasource"), r.PathValue("log"), epoch, first, snapshot); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// accept writes entries to a copy.
func (k workers) accept(w http.ResponseWriter, r *http.Request) error {
	epoch, err := number(r, "epoch")
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(r.Body, 1<<16)
	var entries []*log.Entry
	for {
		some, err := log.ReadEntries(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fault.Malformed("The body does not contain entries of a log").WithCause(err)
		}
		entries = append(entries, some...)
	}
	if err := k.keeper.AcceptCopy(r.Context(), r.PathValue("datasource"), r.PathValue("log"), epoch, entries); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
