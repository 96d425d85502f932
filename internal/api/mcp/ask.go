package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/fault"
)

// passed are the headers of a call by which the requests that are sent for it say who sends them.
var passed = []string{"Authorization", "Cookie", "User-Agent", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host"}

// errFull ends an answer that is longer than what is read of it.
var errFull = errors.New("the answer is longer than what is read of it")

// reply is the answer of a route.
type reply struct {
	status int
	header http.Header
	body   []byte
	// cut says that the body has more than was read; broken that it ended too early.
	cut, broken bool

	limit  int64
	cancel context.CancelCauseFunc
}

// Header implements http.ResponseWriter.
func (p *reply) Header() http.Header { return p.header }

// WriteHeader implements http.ResponseWriter.
func (p *reply) WriteHeader(status int) {
	if p.status == 0 && status >= http.StatusOK {
		p.status = status
	}
}

// Flush implements http.Flusher. It does nothing, because the response is read when it is complete.
func (p *reply) Flush() {}

// Write appends to the body. If the body exceeds the limit, the request ends.
func (p *reply) Write(b []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	if room := p.limit - int64(len(p.body)); int64(len(b)) > room {
		p.body = append(p.body, b[:max(room, 0)]...)
		p.cut = true
		p.cancel(errFull)
		return 0, errFull
	}
	p.body = append(p.body, b...)
	return len(b), nil
}

// ask sends a request to a route of the port in the name of the caller, and reads at most so many
// bytes of its answer.
func (a *API) ask(ctx context.Context, c *call, method, path string, body any, limit int64) (*reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if body == nil {
		text = nil
	}
	r, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.RequestURI, r.RemoteAddr, r.Host, r.TLS = path, c.r.RemoteAddr, c.r.Host, c.r.TLS
	for _, name := range passed {
		if values := c.r.Header.Values(name); len(values) > 0 {
			r.Header[name] = values
		}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if c.key != "" {
		r.Header.Set("Idempotency-Key", c.key)
	}
	edge.DialectOf(ctx).SetHeader(r.Header, "Comment", "sent by an agent")
	p := &reply{header: http.Header{}, limit: limit, cancel: cancel}
	p.broken = a.serve(p, r) && !p.cut
	if cause := context.Cause(ctx); cause != nil && !p.cut {
		return nil, cause
	}
	return p, nil
}

// serve has the routes answer, and reports whether the answer was broken off.
func (a *API) serve(w http.ResponseWriter, r *http.Request) (broken bool) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			broken = true
		default:
			panic(p)
		}
	}()
	a.o.Routes.ServeHTTP(w, r)
	return false
}

// whole returns the body of an answer that succeeded and is complete.
func (p *reply) whole() ([]byte, error) {
	switch {
	case p.status >= http.StatusMultipleChoices:
		return nil, p.failure()
	case p.cut:
		return nil, fault.InvalidInput("The answer has more than [%d] bytes; ask for less", p.limit)
	case p.broken:
		return nil, fault.Runtime("The response was aborted")
	}
	return p.body, nil
}

// failure is why a route refused.
func (p *reply) failure() error {
	var body struct {
		Message string `json:"errorMessage"`
		Error   any    `json:"error"`
		Access  string `json:"Access-Check-Result"`
	}
	_ = json.Unmarshal(p.body, &body) // some refusals are sentences, others have no body
	text, sentence := body.Message, ""
	switch e := body.Error.(type) {
	case string:
		sentence = e
	case map[string]any: // of a task that could not be started
		sentence, _ = e["errorMessage"].(string)
	}
	switch {
	case text != "":
	case sentence != "":
		text = sentence
	case body.Access != "" || p.status == http.StatusForbidden:
		text = "Unauthorized"
	case len(p.body) > 0 && len(p.body) < 1000 && !strings.HasPrefix(string(p.body), "{"):
		text = string(p.body)
	default:
		text = "The server answered with status [" + http.StatusText(p.status) + "]"
	}
	return fault.InvalidInput("%s", text)
}
