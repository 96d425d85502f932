package edge

import (
	"context"
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
