package edge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/secret"
)

// Handler responds to a request, or returns an error before it has written anything; it never
// writes an error itself.
type Handler func(w http.ResponseWriter, r *http.Request) error

type errorsKey struct{}

// ErrorsOf returns the writer of error bodies of the port of a request, for handlers that include
// an error object in another response.
func ErrorsOf(ctx context.Context) *Errors {
	if e, ok := ctx.Value(errorsKey{}).(*Errors); ok {
		return e
	}
	return &Errors{}
}

// Handle converts h into an http.Handler.
func (e *Errors) Handle(h Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(secret.WithHeld(context.WithValue(r.Context(), errorsKey{}, e.under(DialectOf(r.Context())))))
		out := &begun{ResponseWriter: w, ctx: r.Context()}
		err := secret.MaskError(r.Context(), protect(h, out, r))
		switch {
		case err == nil:
		case out.yes: // an error object behind half an answer would look like the whole
			e.log(r, Status(err), err)
			_ = http.NewResponseController(out).Flush() // what there is may help; the client may be gone
			panic(http.ErrAbortHandler)
		case errors.Is(err, http.ErrAbortHandler):
			panic(http.ErrAbortHandler)
		default:
			e.Write(w, r, err)
		}
	})
}

// begun knows whether an answer has begun, and masks refusals: what they quote of a request may be
// a secret.
type begun struct {
	http.ResponseWriter
	ctx     context.Context
	yes     bool
	refuses bool
}

// WriteHeader begins the answer.
func (b *begun) WriteHeader(status int) {
	if !b.yes && status >= http.StatusBadRequest {
		b.refuses = b.Header().Get("Content-Length") == "" // else it is another process's, who has masked it
	}
	b.yes = b.yes || status >= http.StatusOK
	b.ResponseWriter.WriteHeader(status)
}

// Write begins the answer.
func (b *begun) Write(p []byte) (int, error) {
	b.yes = true
	if b.refuses {
		if _, err := io.WriteString(b.ResponseWriter, secret.Mask(b.ctx, string(p))); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return b.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (b *begun) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// protect turns a panic of a handler into a fault with the stack for the log. Breaking off an
// answer on purpose is an error too.
func protect(h Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			err = fault.Canceled("The answer was broken off").WithCause(http.ErrAbortHandler)
		default:
			err = fault.Defensive("The server met an unexpected condition; its log says more").WithPanic(p)
		}
	}()
	return h(w, r)
}

// WithoutMark removes the byte order mark that some editors and shells add to a JSON body (RFC
// 8259, section 8.1, permits a reader to ignore it).
func WithoutMark(body []byte) []byte { return bytes.TrimPrefix(body, []byte("\uFEFF")) }

// Mux collects routes. Patterns are those of http.ServeMux with canonical paths ("POST
// /service/v2/sql").
type Mux struct {
	*http.ServeMux
	Errors *Errors
	// Limits are the limits of the port; nil: no limits, or those of the Mux that forwards requests to
	// this one.
	Limits *Limits
	// Gate authenticates the requests of the port; nil: everything is permitted, or the Mux that
	// forwards requests to this one has a Gate.
	Gate *Gate
	// Tracer traces the requests of the port; nil: no tracing, or the Mux that forwards requests to
	// this one has a Tracer.
	Tracer *obs.Tracer

	patterns []string
}

// Patterns returns the patterns of all routes in the order in which they were added.
func (m *Mux) Patterns() []string { return m.patterns }

// NewMux returns an empty Mux.
func NewMux(errors *Errors) *Mux { return &Mux{ServeMux: http.NewServeMux(), Errors: errors} }

// On adds a route.
func (m *Mux) On(pattern string, h Handler) {
	if kind, ok := kindOf(pattern); ok {
		h = kind.metered(spelt(h))
		if !kind.unpacks {
			h = encoded(h)
		}
	}
	m.Handle(pattern, m.Errors.Handle(h))
}

// Handle adds a route whose handler writes errors itself.
func (m *Mux) Handle(pattern string, h http.Handler) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.Handle(pattern, m.admit(pattern, h))
}

// HandleFunc is Handle for a function.
func (m *Mux) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(h))
}

// WriteJSON writes v as compact JSON without a trailing newline; it does not escape strings for
// HTML.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	body, err := jsontext.Marshal(v)
	if err != nil { // our own types: a mistake in the code, and nothing was written yet
		http.Error(w, "failed to encode the response", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

// WriteMasked writes v like WriteJSON with masked secrets, for values from users such as
// specifications.
func WriteMasked(ctx context.Context, w http.ResponseWriter, status int, v any) error {
	body, err := jsontext.Marshal(v)
	if err == nil {
		body, err = secret.MaskJSON(body)
	}
	if err != nil {
		return fault.Defensive("The answer can't be encoded").WithCause(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, secret.HeldBy(ctx).MaskJSONValues(string(body))) // the client may be gone
	return nil
}

// WriteText writes plain text.
func WriteText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the client may be gone
}
