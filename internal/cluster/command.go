package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/hengedb/henge/internal/fault"
)

// CommandPath is the path at which a Historical accepts commands of the Coordinator.
const CommandPath = "/service-internal/v1/commands"

// Command lists the segments that a Historical must load and drop.
type Command struct {
	// Epoch is the epoch of the leadership of the Coordinator. A Historical that has executed a
	// command with a higher epoch rejects it.
	Epoch int64      `json:"epoch"`
	Load  []LoadItem `json:"load,omitempty"`
	Drop  []string   `json:"drop,omitempty"`
	// Turbo: load with as many threads as at startup, instead of leaving cores to queries.
	Turbo bool `json:"turbo,omitempty"`
}

// LoadItem is a segment to load.
type LoadItem struct {
	ID       string          `json:"id"`
	LoadSpec json.RawMessage `json:"loadSpec"`
	Size     int64           `json:"size"`
}

// QueueState contains the pending and the failed loads of a Historical.
type QueueState struct {
	// Pending are the ids of the segments that wait to be loaded.
	Pending []string `json:"pending"`
	// Loading are the ids of the segments that are being loaded.
	Loading []string `json:"loading,omitempty"`
	// LoadedBytes is the number of bytes loaded since the previous response, and LoadingMicros the
	// time spent on loading.
	LoadedBytes   int64 `json:"loadedBytes,omitempty"`
	LoadingMicros int64 `json:"loadingMicros,omitempty"`
	// Failed are the failed loads since the previous response, with the reasons.
	Failed map[string]string `json:"failed,omitempty"`
}

// Commander sends commands to Historicals of other processes.
type Commander struct{ Client *http.Client }

// Send sends a command to a Historical, which starts to execute it immediately.
func (c *Commander) Send(ctx context.Context, to Member, command Command) (QueueState, error) {
	var state QueueState
	return state, Call(ctx, c.Client, http.MethodPost, to.URL()+CommandPath, command, &state)
}

// maxAnswer bounds what a process believes of another's answer.
const maxAnswer = 256 << 20

// Call sends a JSON body, if it is not nil, to another process and decodes the response into out,
// if it is not nil. An error status becomes a fault with the message of the other process.
func Call(ctx context.Context, client *http.Client, method, url string, body, out any) error {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encoding a request to [%s]: %w", url, err)
		}
		in = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return fmt.Errorf("asking [%s]: %w", url, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return Do(client, req, out)
}

// Do is Call with an existing request.
func Do(client *http.Client, req *http.Request, out any) error {
	resp, err := client.Do(req)
	if err != nil {
		return fault.Unavailable("Another process of the cluster does not answer").WithCause(err)
	}
	defer resp.Body.Close() // it was only read
	if resp.StatusCode >= http.StatusBadRequest {
		return refusal(resp)
	}
	if out == nil || resp.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(out); err != nil {
		return fault.Unavailable("What another process of the cluster answers can't be read").WithCause(fmt.Errorf("[%s]: %w", req.URL, err))
	}
	return nil
}

// refusal is the fault that another process has answered.
func refusal(resp *http.Response) error {
	var body struct {
		Persona  fault.Persona  `json:"persona"`
		Category fault.Category `json:"category"`
		Code     string         `json:"errorCode"`
		Message  string         `json:"errorMessage"`
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // only makes the message better
	if json.Unmarshal(text, &body) != nil || body.Message == "" {
		return fault.Unavailable("Another process of the cluster has answered with status [%d]", resp.StatusCode).WithCause(fmt.Errorf("%s", text))
	}
	return &fault.Error{Persona: body.Persona, Category: body.Category, Code: body.Code, Message: body.Message}
}
