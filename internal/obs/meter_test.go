package obs

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// taken keeps the events of rounds.
type taken struct{ rounds chan []string }

func (k taken) Emit(_ context.Context, events []Event) error {
	var out []string
	for _, e := range events {
		text, err := e.MarshalJSON()
		if err != nil {
			return err
		}
		_, rest, _ := strings.Cut(string(text), `"metric":`)
		out = append(out, rest)
	}
	k.rounds <- out
	return nil
}

func TestMeter(t *testing.T) {
	c := fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	meter := NewMeter(c, true)
	k := taken{make(chan []string)}
	m := NewMonitor(MonitorOptions{Period: time.Minute, Product: "service", Clock: c, Log: slog.New(slog.DiscardHandler), Meter: meter, Emitter: k})
	query := func(source string, ms int) {
		meter.Time(Occurrence{Service: "broker", Metric: "query/time", Dims: []string{"dataSource", source}, More: []string{"id", "q"}}, time.Duration(ms)*time.Millisecond)
		meter.Count(Occurrence{Service: "broker", Metric: "query/count"}, 1)
	}
	query("a", 50)
	query("a", 300)
	query("b", 400_000)
	meter.Size(Occurrence{Service: "broker", Metric: "query/bytes"}, 17)

	registry := NewRegistry()
	registry.MustRegister(m)
	w := httptest.NewRecorder()
	MetricsHandler(registry).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`service_query_time_bucket{dataSource="a",service="service/broker",le="0.025"} 0`,
		`service_query_time_bucket{dataSource="a",service="service/broker",le="0.05"} 1`,
		`service_query_time_bucket{dataSource="a",service="service/broker",le="0.1"} 1`, `service_query_time_bucket{dataSource="a",service="service/broker",le="0.5"} 2`,
		`service_query_time_bucket{dataSource="b",service="service/broker",le="300"} 0`, `service_query_time_bucket{dataSource="b",service="service/broker",le="+Inf"} 1`,
		`service_query_time_sum{dataSource="a",service="service/broker"} 0.35`, `service_query_count_total{service="service/broker"} 3`,
		`service_query_bytes_total{service="service/broker"} 17`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in\n%s", want, w.Body.String())
		}
	}

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	round := func() []string {
		if err := c.BlockUntil(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Minute)
		return <-k.rounds
	}
	want := []string{
		`"query/time","dataSource":"a","id":"q","value":50}`, `"query/time","dataSource":"a","id":"q","value":300}`, `"query/time","dataSource":"b","id":"q","value":400000}`,
		`"query/bytes","value":17}`, `"query/count","value":3}`,
	}
	if diff := cmp.Diff(want, round()); diff != "" {
		t.Error(diff)
	}
	query("a", 1)
	if diff := cmp.Diff([]string{`"query/time","dataSource":"a","id":"q","value":1}`, `"query/count","value":1}`}, round()); diff != "" {
		t.Error(diff)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAMeterIsBounded(t *testing.T) {
	meter := NewMeter(clock.System(), true)
	for i := range maxSeries + 10 {
		meter.Time(Occurrence{Service: "broker", Metric: "query/time", Dims: []string{"dataSource", strings.Repeat("x", i%7) + string(rune('a'+i%26)) + time.Duration(i).String()}}, 0)
	}
	if n := len(meter.mu.series); n > maxSeries+1 {
		t.Errorf("[%d] series", n)
	}
	events, counts := meter.take()
	if len(events) != maxEvents || len(counts) != 1 || counts[0].Metric != "events/dropped" || counts[0].Value != 10 {
		t.Errorf("[%d] events, counts %+v", len(events), counts)
	}
	var none *Meter
	none.Count(Occurrence{}, 1)
	none.Time(Occurrence{}, 1)
	none.Size(Occurrence{}, 1)
}
