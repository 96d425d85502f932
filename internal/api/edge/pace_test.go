package edge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// The goroutine of a request sees late that its work has ended, as after a long body was decoded:
// the client is told all the same.
func TestAnAnswerThatBeginsLate(t *testing.T) {
	mux := NewMux(&Errors{Host: host})
	mux.On("GET /late", func(_ http.ResponseWriter, r *http.Request) error {
		ctx, cancel := context.WithCancelCause(r.Context())
		defer Tie(ctx)()
		cancel(fault.Timeout("The query is too late"))
		if err := clock.System().Sleep(r.Context(), lastWords+200*time.Millisecond); err != nil {
			return err
		}
		return context.Cause(ctx)
	})
	s := httptest.NewServer(mux.Handler(nil, clock.System(), nil))
	t.Cleanup(s.Close)
	resp, body := get(t, http.MethodGet, s.URL+"/late")
	if resp.StatusCode != http.StatusGatewayTimeout || !strings.Contains(string(body), "The query is too late") {
		t.Errorf("status [%d]: %s", resp.StatusCode, body)
	}
}

// Work that ends as its handler returns breaks nothing off any more: net/http has taken the answer
// back, and over HTTP/2 a deadline for it is a panic of the process.
func TestWorkThatEndsAfterItsAnswer(t *testing.T) {
	mux := NewMux(&Errors{Host: host})
	ends := make(chan func(), 1)
	mux.On("GET /done", func(w http.ResponseWriter, r *http.Request) error {
		p := paceOf(r.Context())
		ends <- func() { p.end(lastWords); p.end(0); p.step() }
		_, err := w.Write([]byte("all"))
		return err
	})
	s := httptest.NewUnstartedServer(mux.Handler(nil, clock.System(), nil))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	for range 20 {
		resp, err := s.Client().Get(s.URL + "/done")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil || resp.ProtoMajor != 2 || string(body) != "all" {
			t.Fatalf("%s %q: %v", resp.Proto, body, err)
		}
		s.Client().CloseIdleConnections()
		(<-ends)()
	}
}
