package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
)

// Base is the path of the tasks of a worker; the id of a task follows.
const Base = "/service/worker/v1/chat/"

// CheckpointPath is the path of checkpoint requests at the leading Overlord.
const CheckpointPath = "/service-internal/v1/streams/checkpoint"

// CheckpointRequest is the body of such a request.
type CheckpointRequest struct {
	Supervisor string           `json:"supervisor"`
	Group      int              `json:"group"`
	Starts     stream.Positions `json:"starts"`
}

const (
	// maxAnswer bounds an answer of another process.
	maxAnswer = 64 << 20
	// maxMessage bounds a text that is taken as the reason of a refusal.
	maxMessage = 4096
	// pauseAgain is how long after an answer that a pause is under way it is asked for again.
	pauseAgain = 20 * time.Millisecond
)

// Remote finds tasks of other processes and of this one. It implements Tasks.
type Remote struct {
	// Local are the tasks of this process; nil: it has none.
	Local Tasks
	// Where returns the URL of the worker that runs a task; false: the task is not running.
	Where  func(id string) (url string, ok bool)
	Client *http.Client
	Clock  clock.Clock
}

// Find implements Tasks.
func (r *Remote) Find(id string) Task {
	if r.Local != nil {
		if t := r.Local.Find(id); t != nil {
			return t
		}
	}
	if r.Where == nil {
		return nil
	}
	at, ok := r.Where(id)
	if !ok {
		return nil
	}
	return &remoteTask{r, at + Base + url.PathEscape(id)}
}

// remoteTask is a task of another process.
type remoteTask struct {
	r   *Remote
	url string
}

// Status implements Task.
func (t *remoteTask) Status(ctx context.Context) (s Status, err error) {
	_, err = call(ctx, t.r.Client, http.MethodGet, t.url+"/status?full=true", nil, &s)
	return s, err
}

// Pause implements Task.
func (t *remoteTask) Pause(ctx context.Context) (stream.Positions, error) {
	for {
		var at stream.Positions
		status, err := call(ctx, t.r.Client, http.MethodPost, t.url+"/pause", nil, &at)
		if err != nil || status == http.StatusOK {
			return at, err
		}
		if err := t.r.Clock.Sleep(ctx, pauseAgain); err != nil {
			return nil, err
		}
	}
}

// Resume implements Task.
func (t *remoteTask) Resume(ctx context.Context) error {
	_, err := call(ctx, t.r.Client, http.MethodPost, t.url+"/resume", nil, nil)
	return err
}

// SetEnds implements Task.
func (t *remoteTask) SetEnds(ctx context.Context, ends stream.Positions, finish bool) error {
	_, err := call(ctx, t.r.Client, http.MethodPost, t.url+"/offsets/end?finish="+strconv.FormatBool(finish), ends, nil)
	return err
}

// Stop implements Task.
func (t *remoteTask) Stop(ctx context.Context, publish bool) error {
	_, err := call(ctx, t.r.Client, http.MethodPost, t.url+"/stop?publish="+strconv.FormatBool(publish), nil, nil)
	return err
}

// Stats implements Task.
func (t *remoteTask) Stats(ctx context.Context) (s Stats, err error) {
	_, err = call(ctx, t.r.Client, http.MethodGet, t.url+"/rowStats?full=true", nil, &s)
	return s, err
}

// ParseErrors implements Task.
func (t *remoteTask) ParseErrors(ctx context.Context) (list []ParseError, err error) {
	_, err = call(ctx, t.r.Client, http.MethodGet, t.url+"/unparseableEvents?full=true", nil, &list)
	return list, err
}

// RemoteOverlord sends requests to the leading Overlord. It implements Overlord.
type RemoteOverlord struct {
	// Leader returns its URL; "": it is not known.
	Leader func() string
	Client *http.Client
}

// Checkpoint implements Overlord.
func (o *RemoteOverlord) Checkpoint(ctx context.Context, supervisor string, group int, starts stream.Positions) error {
	leader := o.Leader()
	if leader == "" {
		return fault.Unavailable("No leader of the Overlords is known; no checkpoint can be requested from supervisor [%s]", supervisor)
	}
	_, err := call(ctx, o.Client, http.MethodPost, leader+CheckpointPath, CheckpointRequest{supervisor, group, starts}, nil)
	return err
}

// call asks another process. The answer is written to into, if that is not nil and there is one.
func call(ctx context.Context, client *http.Client, method, address string, body, into any) (status int, err error) {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, in)
	if err != nil {
		return 0, fmt.Errorf("asking [%s]: %w", address, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return 0, fault.Unavailable("[%s] does not answer", address).WithCause(err)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return 0, fault.Unavailable("[%s] broke off its answer", address).WithCause(err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return resp.StatusCode, refusal(address, resp.StatusCode, text)
	}
	if into != nil && resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal(text, into); err != nil {
			return 0, fault.Unavailable("The answer of [%s] is not readable", address).WithCause(err)
		}
	}
	return resp.StatusCode, nil
}

// refusal is what another process answers instead, as a fault.
func refusal(address string, status int, body []byte) error {
	var said struct {
		Message string `json:"errorMessage"`
		Error   string `json:"error"`
	}
	message := fmt.Sprintf("[%s] answers with status [%d]", address, status)
	switch err := json.Unmarshal(body, &said); {
	case err != nil && len(body) > 0 && len(body) < maxMessage: // a text
		message = string(body)
	case said.Message != "":
		message = said.Message
	case said.Error != "":
		message = said.Error
	}
	switch status {
	case http.StatusBadRequest:
		return fault.InvalidInput("%s", message)
	case http.StatusConflict:
		return fault.Conflict("%s", message)
	case http.StatusNotFound:
		return fault.NotFound("%s", message)
	}
	return fault.Unavailable("%s", message)
}
