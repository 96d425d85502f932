package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/task"
)

// RemoteFiles reads the current files of tasks that run on workers.
type RemoteFiles struct {
	// Find returns the location of a task; false: it is not on a worker.
	Find   func(id string) (task.Location, bool)
	Client *http.Client
}

// Report returns the live report of a task; nil: it does not exist, or its worker does not respond.
func (f *RemoteFiles) Report(ctx context.Context, id string, alias bool) (io.ReadCloser, error) {
	return f.get(ctx, id, "/report?alias="+strconv.FormatBool(alias))
}

// Log returns the log of a task from an offset; nil: it does not exist, or its worker does not
// respond.
func (f *RemoteFiles) Log(ctx context.Context, id string, offset int64) (io.ReadCloser, error) {
	return f.get(ctx, id, fmt.Sprintf("/log?offset=%d", offset))
}

// DeadLetters returns the records that a task could not parse so far; nil: there are none, or its
// worker does not respond.
func (f *RemoteFiles) DeadLetters(ctx context.Context, id string) (io.ReadCloser, error) {
	return f.get(ctx, id, "/deadLetters")
}

func (f *RemoteFiles) get(ctx context.Context, id, what string) (io.ReadCloser, error) {
	at, ok := f.Find(id)
	if !ok {
		return nil, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.URL()+TasksPath+"/"+url.PathEscape(id)+what, nil)
	if err != nil {
		return nil, fmt.Errorf("asking the worker of task [%s]: %w", id, err)
	}
	resp, err := f.Client.Do(req)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, nil // it is gone, or goes
	case resp.StatusCode == http.StatusOK:
		return resp.Body, nil
	case resp.StatusCode == http.StatusNoContent:
		return nil, resp.Body.Close()
	}
	return nil, errors.Join(fault.Unavailable("The worker of task [%s] answers with status [%d]", id, resp.StatusCode), resp.Body.Close())
}
