package otlp

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/testkit/collector"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// sends puts n spans and runs an exporter until it has nothing left.
func sends(t *testing.T, o Options, n int) *Exporter {
	t.Helper()
	o.Log, o.Resource, o.Version = slog.New(slog.DiscardHandler), []string{"service.name", "test"}, "1"
	o.Timeout, o.Farewell = time.Minute, time.Minute
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Client == nil {
		o.Client = &http.Client{}
		t.Cleanup(o.Client.CloseIdleConnections)
	}
	e, err := New(o, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	tracer := &obs.Tracer{Ratio: 1, Clock: clock.System(), Ended: e.Put}
	for range n {
		_, s := tracer.Begin(t.Context(), "work", obs.InternalSpan, true)
		s.Text("text", "a\xff\"b")
		s.Number("number", 1<<62)
		s.End()
	}
	ctx, stop := context.WithCancel(t.Context())
	stop() // what is left is sent at the end
	if err := e.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return e
}

func dropped(e *Exporter, reason string) float64 {
	return testutil.ToFloat64(e.dropped.WithLabelValues(reason))
}

func TestSpansReachTheCollector(t *testing.T) {
	c := collector.Start(t)
	e := sends(t, Options{Endpoint: c.URL + "/", Headers: map[string]string{"Authorization": "Bearer x"}}, 1100)
	spans := c.Spans()
	requests, headers := c.Requests()
	if len(spans) != 1100 || requests != 3 || headers.Get("Authorization") != "Bearer x" || testutil.ToFloat64(e.exported) != 1100 {
		t.Fatalf("[%d] spans in [%d] requests with %v", len(spans), requests, headers)
	}
	if a := spans[0].Attributes; a["text"] != "a\uFFFD\"b" || a["number"] != "4611686018427387904" ||
		spans[0].Resource["service.name"] != "test" {
		t.Errorf("span %+v", spans[0])
	}
}

func TestTheQueueIsBounded(t *testing.T) {
	c := collector.Start(t)
	e := sends(t, Options{Endpoint: c.URL + "/v1/traces", Queue: 10}, 25)
	if n := len(c.Spans()); n != 10 || dropped(e, queueFull) != 15 {
		t.Errorf("[%d] spans came, [%v] were dropped", n, dropped(e, queueFull))
	}
}

func TestFailuresOfTheCollector(t *testing.T) {
	for _, c := range []struct {
		name     string
		answer   func(w http.ResponseWriter, number int) bool
		requests int
		came     int
		dropped  string // the reason; "": none
	}{
		{"busy once, and says when", func(w http.ResponseWriter, n int) bool {
			if n > 1 {
				return false
			}
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}, 2, 3, ""},
		{"away for two", func(w http.ResponseWriter, n int) bool {
			if n > 2 {
				return false
			}
			w.WriteHeader([]int{http.StatusBadGateway, http.StatusServiceUnavailable}[n-1])
			return true
		}, 3, 3, ""},
		{"does not take them", func(w http.ResponseWriter, _ int) bool { w.WriteHeader(http.StatusBadRequest); return true }, 1, 0, undelivered},
		{"takes some", func(w http.ResponseWriter, _ int) bool {
			_, _ = w.Write([]byte(`{"partialSuccess":{"rejectedSpans":"3","errorMessage":"no"}}`))
			return true
		}, 1, 0, rejected},
	} {
		to := collector.Start(t)
		to.Answer = c.answer
		e := sends(t, Options{Endpoint: to.URL}, 3)
		requests, _ := to.Requests()
		if requests != c.requests || len(to.Spans()) != c.came {
			t.Errorf("%s: [%d] requests, [%d] spans", c.name, requests, len(to.Spans()))
		}
		for _, reason := range []string{queueFull, undelivered, rejected} {
			want := 0.0
			if reason == c.dropped {
				want = 3
			}
			if got := dropped(e, reason); got != want {
				t.Errorf("%s: [%v] spans dropped as %s", c.name, got, reason)
			}
		}
	}
}

// A batch is tried until it is given up, with longer pauses each time.
func TestRetriesEnd(t *testing.T) {
	to := collector.Start(t)
	to.Answer = func(w http.ResponseWriter, _ int) bool { w.WriteHeader(http.StatusGatewayTimeout); return true }
	c := fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	done := make(chan *Exporter, 1)
	go func() { done <- sends(t, Options{Endpoint: to.URL, Clock: c}, 1) }()
	var e *Exporter
	for e == nil {
		select {
		case e = <-done:
		default:
			wait, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			if c.BlockUntil(wait, 2) == nil { // the ticker, and the pause
				c.Advance(lastPause)
			}
			cancel()
		}
	}
	if n, _ := to.Requests(); n != attempts || dropped(e, undelivered) != 1 || testutil.ToFloat64(e.failed) != attempts {
		t.Errorf("[%d] requests, [%v] dropped", n, dropped(e, undelivered))
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "Tue, 10 Mar 2026 12:00:30 GMT": 30 * time.Second, "Tue, 10 Mar 2026 11:00:30 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("[%s] is [%v]", value, got)
		}
	}
}

func TestWrongOptions(t *testing.T) {
	for _, o := range []Options{
		{Endpoint: "collector:4318"}, {Endpoint: "ftp://c"}, {Endpoint: "http://"}, {Endpoint: "http://u:p@c"}, {Endpoint: "http://c?x=1"},
		{Endpoint: "http://c", Headers: map[string]string{"a b": "c"}}, {Endpoint: "http://c", Headers: map[string]string{"a": "b\nc: d"}},
		{Endpoint: "http://c", Headers: map[string]string{"": "b"}},
	} {
		if _, err := New(o, nil); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
