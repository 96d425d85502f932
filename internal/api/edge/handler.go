package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/hengedb/henge/internal/fault"
)

// Handler answers a request or returns an error before it wrote anything; it never writes an error itself.
type Handler func(w http.ResponseWriter, r *http.Request) error

type errorsKey struct{}

// ErrorsOf returns what writes the error bodies of the port that a request came in on, for handlers that place an error object inside
// another answer.
func ErrorsOf(ctx context.Context) *Errors {
	if e, ok := ctx.Value(errorsKey{}).(*Errors); ok {
		return e
	}
	return &Errors{}
}

// Handle makes an http.Handler of h.
func (e *Errors) Handle(h Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(context.WithValue(r.Context(), errorsKey{}, e))
		if err := protect(h, w, r); err != nil {
			e.Write(w, r, err)
		}
	})
}

// protect turns a panic of a handler into a fault with the stack for the log. Breaking off an answer on purpose stays what it is; so does
// a panic after the first byte, which then breaks the connection.
func protect(h Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			err = fault.Defensive("The server met an unexpected condition; its log says more").WithCause(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	return h(w, r)
}

// Mux collects routes. Patterns are those of http.ServeMux with canonical paths ("POST /service/v2/sql").
type Mux struct {
	*http.ServeMux
	Errors *Errors
}

// NewMux returns an empty Mux.
func NewMux(errors *Errors) *Mux { return &Mux{ServeMux: http.NewServeMux(), Errors: errors} }

// On adds a route.
func (m *Mux) On(pattern string, h Handler) { m.ServeMux.Handle(pattern, m.Errors.Handle(h)) }

// WriteJSON answers with v as compact JSON and without a trailing newline; text is not escaped for HTML.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	body, err := MarshalJSON(v)
	if err != nil { // our own types: a mistake in the code, and nothing was written yet
		http.Error(w, "the answer can't be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// MarshalJSON encodes v compactly, without escaping <, > and &.
func MarshalJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// WriteText answers with a plain text.
func WriteText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the client may be gone
}
