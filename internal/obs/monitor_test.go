package obs

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// Samples are served to scrapers and sent as events: gauges as they are, counters as what came to
// them.
func TestMonitor(t *testing.T) {
	bodies := make(chan string, 10)
	status := http.StatusOK
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		bodies <- string(text)
	}))
	defer receiver.Close()
	c := fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	count := 3.0
	m := NewMonitor(MonitorOptions{
		Period: time.Minute, Product: "service", Host: "h:8081", Version: "1", Clock: c, Log: slog.New(slog.DiscardHandler), Labels: map[string]string{"rack": "a"},
		Emitter: Emitters{HTTPEmitter{URL: receiver.URL, Timeout: 10 * time.Second, Client: receiver.Client()}, LogEmitter{Log: slog.New(slog.DiscardHandler)}},
	}, func(_ context.Context, emit func(Sample)) error {
		emit(Sample{Service: "coordinator", Metric: "segment/count", Value: 2.5, Dims: []string{"dataSource", "a\"b"}})
		emit(Sample{Service: "coordinator", Metric: "kill/task/count", Value: count, Total: true})
		emit(Sample{Service: "coordinator", Alert: "No rule", Data: map[string]any{"dataSource": "x"}})
		return nil
	}, func(context.Context, func(Sample)) error { return errors.New("away") })
	registry := NewRegistry()
	registry.MustRegister(m)
	scrape := func() string {
		w := httptest.NewRecorder()
		MetricsHandler(registry).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return w.Body.String()
	}
	for _, want := range []string{
		`service_segment_count{dataSource="a\"b",rack="a",service="service/coordinator"} 2.5`,
		"# TYPE service_kill_task_count_total counter", `service_kill_task_count_total{rack="a",service="service/coordinator"} 3`,
	} {
		if got := scrape(); !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	tick := func() string {
		t.Helper()
		if err := c.BlockUntil(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Minute)
		return <-bodies
	}
	const head = `","timestamp":"2026-03-10T12:01:00.000Z","service":"service/coordinator","host":"h:8081","version":"1",`
	want := `[{"feed":"metrics` + head + `"metric":"segment/count","dataSource":"a\"b","value":2.5},{"feed":"metrics` + head + `"metric":"kill/task/count","value":3},` +
		`{"feed":"alerts` + head + `"severity":"anomaly","description":"No rule","data":{"dataSource":"x"}}]`
	if diff := cmp.Diff(want, tick()); diff != "" {
		t.Error(diff)
	}
	count, status = 4, http.StatusInternalServerError
	if got := tick(); !strings.Contains(got, `"kill/task/count","value":1},`) {
		t.Error(got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
