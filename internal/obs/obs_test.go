package obs

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hengedb/henge/internal/fault"
)

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestLoggerShowsTheContext(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLogger(&out, LogOptions{Format: "json", Level: "WARN"})
	if err != nil {
		t.Fatal(err)
	}
	trace, _ := ParseTraceparent(traceparent)
	ctx := WithTrace(WithTaskID(WithQueryID(t.Context(), "q1"), "t1"), trace)
	log.InfoContext(ctx, "not shown")
	log.With("role", "broker").WarnContext(ctx, "slow query", slog.Int("rows", 3))
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v in %s", err, out.Bytes())
	}
	delete(got, "time")
	want := map[string]any{"level": "WARN", "msg": "slow query", "role": "broker", "rows": 3.0, "queryId": "q1", "taskId": "t1",
		"traceId": "4bf92f3577b34da6a3ce929d0e0e4736"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLoggerText(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLogger(&out, LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	log.Debug("not shown")
	log.InfoContext(context.Background(), "ready")
	if s := out.String(); !strings.Contains(s, "msg=ready") || strings.Contains(s, "queryId") || strings.Count(s, "\n") != 1 {
		t.Errorf("got %q", s)
	}
}

func TestLogOptionsRefuse(t *testing.T) {
	for _, o := range []LogOptions{{Format: "xml"}, {Level: "loud"}} {
		_, err := NewLogger(&bytes.Buffer{}, o)
		if f := fault.Find(err); f == nil || f.Category != fault.CategoryInvalidInput {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestParseTraceparent(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{traceparent, true},
		{"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes", true},
		{"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what", false},
		{traceparent + "-more", false},
		{"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false},
		{"00-4BF92F3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false},
		{"00-00000000000000000000000000000000-00f067aa0ba902b7-01", false},
		{"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false},
		{"00-4bf92f3577b34da6a3ce929d0e0e473x-00f067aa0ba902b7-01", false},
		{"", false},
	} {
		got, ok := ParseTraceparent(c.text)
		if ok != c.ok {
			t.Errorf("%q: %v", c.text, ok)
		}
		if ok && got.String()[3:] != c.text[3:traceparentLength] {
			t.Errorf("%q comes back as %q", c.text, got)
		}
	}
}

func TestTraceIsHandedOn(t *testing.T) {
	in, out := http.Header{}, http.Header{}
	in.Set("traceparent", traceparent)
	in.Set("tracestate", "vendor=1")
	Inject(Extract(t.Context(), in), out)
	child, ok := ParseTraceparent(out.Get("traceparent"))
	if !ok || child.TraceID() != "4bf92f3577b34da6a3ce929d0e0e4736" || !child.Sampled() ||
		out.Get("traceparent") == traceparent || out.Get("tracestate") != "vendor=1" {
		t.Errorf("handed on: %v", out)
	}

	in.Add("traceparent", traceparent)
	if _, ok := TraceOf(Extract(t.Context(), in)); ok {
		t.Error("two traceparent headers were taken")
	}
	out = http.Header{}
	if Inject(t.Context(), out); len(out) != 0 {
		t.Errorf("without a trace: %v", out)
	}
}

func TestMetrics(t *testing.T) {
	r := NewRegistry()
	queries := prometheus.NewCounter(prometheus.CounterOpts{Name: "henge_queries_total", Help: "Queries."})
	r.MustRegister(queries)
	queries.Add(3)
	w := httptest.NewRecorder()
	MetricsHandler(r).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{"henge_queries_total 3", "go_goroutines", "process_resident_memory_bytes"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func FuzzParseTraceparent(f *testing.F) {
	f.Add(traceparent)
	f.Add("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more")
	f.Fuzz(func(t *testing.T, s string) {
		trace, ok := ParseTraceparent(s)
		if !ok {
			return
		}
		if again, ok := ParseTraceparent(trace.String()); !ok || again.String() != trace.String() {
			t.Fatalf("%q prints as %q, which parses as %q, %v", s, trace, again, ok)
		}
	})
}
