package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// Client sends requests to the roles of a server. It may be used by several goroutines.
type Client struct {
	// Addresses maps roles ("router", "broker", ...) to base URLs.
	Addresses map[string]string
	// User, if not empty, is one of People, whose credentials requests have.
	User string
	// HTTP sends the requests; nil: a client for plain HTTP that all share.
	HTTP *http.Client
}

// http returns what sends requests.
func (c *Client) http() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return connections
}

// connections is shared by all clients: tests that send thousands of requests must not open as many
// sockets.
var connections = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}}

// CloseIdle closes connections that wait for a next request, so that a server can stop at once.
func (c *Client) CloseIdle() { c.http().CloseIdleConnections() }

// Refusal is an answer that is no success.
type Refusal struct {
	Status int
	// Body is the answer as it came.
	Body []byte
}

// Error shows status and body.
func (e *Refusal) Error() string { return fmt.Sprintf("status %d: %.600s", e.Status, e.Body) }

// Send sends a request with the given JSON text ("": no body) and returns status and body of
// whatever comes back.
func (c *Client) Send(ctx context.Context, role, method, path, body string) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.Addresses[role]+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	} else {
		req.Body = http.NoBody
	}
	if c.User != "" {
		req.SetBasicAuth(c.User, Password)
	}
	resp, err := c.http().Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		return resp.StatusCode, answer, fmt.Errorf("the body broke off after %d bytes: %w", len(answer), err)
	}
	return resp.StatusCode, answer, nil
}

// Call sends a request to the Router and decodes a 2xx answer into out (nil: it is thrown away).
// Other answers are a *Refusal.
func (c *Client) Call(ctx context.Context, method, path string, body, out any) error {
	text := ""
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		text = string(b)
	}
	status, answer, err := c.Send(ctx, "router", method, path, text)
	if err != nil {
		return err
	}
	if status < 200 || status > 299 {
		return &Refusal{Status: status, Body: answer}
	}
	if out == nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(answer))
	dec.UseNumber()
	if err := dec.Decode(out); err != nil {
		return fmt.Errorf("%s %s: %w: %.200s", method, path, err, answer)
	}
	return nil
}

// Query returns the rows of a SELECT. Numbers are json.Number.
func (c *Client) Query(ctx context.Context, sql string) ([][]any, error) {
	var rows [][]any
	err := c.Call(ctx, http.MethodPost, "/service/v2/sql", map[string]any{"query": sql, "resultFormat": "array"}, &rows)
	return rows, err
}

// Task is the state of a task.
type Task struct {
	ID         string `json:"id"`
	StatusCode string `json:"statusCode"`
	ErrorMsg   string `json:"errorMsg"`
	// Duration is in milliseconds, -1 while it runs.
	Duration json.Number `json:"duration"`
}

// Submit hands a statement to the task endpoint and returns the task's id.
func (c *Client) Submit(ctx context.Context, sql string, context map[string]any) (string, error) {
	var submitted struct {
		TaskID string `json:"taskId"`
	}
	request := map[string]any{"query": sql}
	if context != nil {
		request["context"] = context
	}
	err := c.Call(ctx, http.MethodPost, "/service/v2/sql/task", request, &submitted)
	return submitted.TaskID, err
}

// Await waits for the end of a task, however it ends.
func (c *Client) Await(ctx context.Context, id string) (Task, error) {
	var answer struct {
		Status Task `json:"status"`
	}
	pause := 2 * time.Millisecond
	for {
		if err := c.Call(ctx, http.MethodGet, "/service/indexer/v1/task/"+url.PathEscape(id)+"/status", nil, &answer); err != nil {
			return answer.Status, err
		}
		if answer.Status.StatusCode != "RUNNING" {
			return answer.Status, nil
		}
		if err := clock.System().Sleep(ctx, pause); err != nil {
			return answer.Status, fmt.Errorf("task [%s] still runs: %w", id, err)
		}
		pause = min(2*pause, 50*time.Millisecond)
	}
}

// Ingest runs an INSERT or REPLACE to its end. A task that does not succeed is an error.
func (c *Client) Ingest(ctx context.Context, sql string, context map[string]any) error {
	id, err := c.Submit(ctx, sql, context)
	if err != nil {
		return err
	}
	task, err := c.Await(ctx, id)
	if err != nil {
		return err
	}
	if task.StatusCode != "SUCCESS" {
		return fmt.Errorf("task [%s] ended as %s: %s", id, task.StatusCode, task.ErrorMsg)
	}
	return nil
}
