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

// CommandPath is where a Historical takes commands of the Coordinator.
const CommandPath = "/service-internal/v1/commands"

// Command tells a Historical what to load and what to drop.
type Command struct {
	// Epoch is that of the Coordinator's leadership. A Historical that has obeyed a higher one
	// refuses.
	Epoch int64      `json:"epoch"`
	Load  []LoadItem `json:"load,omitempty"`
	Drop  []string   `json:"drop,omitempty"`
	// Turbo says to load with as many threads as at a start, rather than with those that leave the
	// rest to queries.
	Turbo bool `json:"turbo,omitempty"`
}

// LoadItem is a segment to load.
type LoadItem struct {
	ID       string          `json:"id"`
	LoadSpec json.RawMessage `json:"loadSpec"`
	Size     int64           `json:"size"`
}

// QueueState is what a Historical still has to do, and what it could not.
type QueueState struct {
	// Pending are the ids of the segments that wait to be loaded.
	Pending []string `json:"pending"`
	// Loading are those of them that are being loaded.
	Loading []string `json:"loading,omitempty"`
	// LoadedBytes is what was loaded since the answer before, and LoadingMicros how long something was
	// being loaded in that time.
	LoadedBytes   int64 `json:"loadedBytes,omitempty"`
	LoadingMicros int64 `json:"loadingMicros,omitempty"`
	// Failed are those that could not be, with the reason, since the answer before.
	Failed map[string]string `json:"failed,omitempty"`
}

// Commander tells Historicals of other processes what to do.
type Commander struct{ Client *http.Client }

// Send gives a command to a Historical, which begins with it at once.
func (c *Commander) Send(ctx context.Context, to Member, command Command) (QueueState, error) {
	var state QueueState
	return state, Call(ctx, c.Client, http.MethodPost, to.URL()+CommandPath, command, &state)
}

// maxAnswer bounds what a process believes of another's answer.
const maxAnswer = 256 << 20

// Call sends a JSON body, if it is not nil, to another process and decodes its answer into out, if
// that is not nil. A status of failure is a fault with what the other process says.
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
		return fault.Unavailable("What another process of the cluster answers can't be read").WithCause(fmt.Errorf("[%s]: %w", url, err))
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
