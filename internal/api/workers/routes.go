package workers

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/worker"
)

// maxOrder bounds the body of a request.
const maxOrder = 1 << 20

// Left is what tasks of this process have left behind so far. A nil reader means that there is
// nothing.
type Left interface {
	LiveReport(id string, alias bool) []byte
	LiveLog(id string, offset int64) (io.ReadCloser, error)
	LiveDeadLetters(id string) (io.ReadCloser, error)
}

// Routes adds what a worker answers to Overlords. left reads what its tasks have left behind.
func Routes(mux *edge.Mux, w *worker.Worker, left Left) {
	mux.On("POST "+worker.TasksPath, func(rw http.ResponseWriter, r *http.Request) error {
		o, err := readOrder(rw, r)
		if err != nil {
			return err
		}
		if err := w.Begin(r.Context(), o.ID, o.Run); err != nil {
			return err
		}
		edge.WriteJSON(rw, http.StatusOK, w.State(r.Context(), 0))
		return nil
	})
	mux.On("POST "+worker.TasksPath+"/end", func(rw http.ResponseWriter, r *http.Request) error {
		o, err := readOrder(rw, r)
		if err != nil {
			return err
		}
		if err := w.End(r.Context(), o.ID, o.Run, o.Reason); err != nil {
			return err
		}
		edge.WriteJSON(rw, http.StatusOK, w.State(r.Context(), 0))
		return nil
	})
	mux.On("GET "+worker.TasksPath, func(rw http.ResponseWriter, r *http.Request) error {
		after, err := number(r, "after")
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(r.Context(), worker.LookLong)
		defer cancel()
		edge.WriteJSON(rw, http.StatusOK, w.State(ctx, after))
		return nil
	})
	mux.On("GET "+worker.TasksPath+"/{id}/report", func(rw http.ResponseWriter, r *http.Request) error {
		report := left.LiveReport(r.PathValue("id"), r.URL.Query().Get("alias") == "true")
		if report == nil {
			rw.WriteHeader(http.StatusNoContent)
			return nil
		}
		rw.Header().Set("Content-Type", "application/json")
		_, err := rw.Write(report)
		return err
	})
	mux.On("GET "+worker.TasksPath+"/{id}/log", func(rw http.ResponseWriter, r *http.Request) error {
		offset, err := number(r, "offset")
		if err != nil {
			return err
		}
		log, err := left.LiveLog(r.PathValue("id"), offset)
		if err != nil {
			return err
		}
		return writeLeft(rw, log)
	})
	mux.On("GET "+worker.TasksPath+"/{id}/deadLetters", func(rw http.ResponseWriter, r *http.Request) error {
		letters, err := left.LiveDeadLetters(r.PathValue("id"))
		if err != nil {
			return err
		}
		return writeLeft(rw, letters)
	})
}

// writeLeft answers with a file of a running task; nil: there is none.
func writeLeft(rw http.ResponseWriter, file io.ReadCloser) error {
	if file == nil {
		rw.WriteHeader(http.StatusNoContent)
		return nil
	}
	defer file.Close() // it was only read
	if _, err := io.Copy(rw, file); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

func number(r *http.Request, name string) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fault.InvalidInput("Parameter [%s] is not a whole number", name)
	}
	return n, nil
}

func readOrder(w http.ResponseWriter, r *http.Request) (worker.Order, error) {
	var o worker.Order
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder)).Decode(&o); err != nil || o.ID == "" || o.Run <= 0 {
		return o, fault.Malformed("The body names no run of a task").WithCause(err)
	}
	return o, nil
}
