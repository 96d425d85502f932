package obs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

func TestMetricsArePushed(t *testing.T) {
	requests := make(chan string, 10)
	status := http.StatusInternalServerError
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		requests <- fmt.Sprintf("%s %s %t %t", r.Method, r.URL.Path, strings.Contains(string(text), "a_count 3\n"),
			strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain"))
	}))
	defer gateway.Close()
	registry := prometheus.NewRegistry()
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "a_count"})
	gauge.Set(3)
	registry.MustRegister(gauge)
	c := fakeclock.New(time.Unix(0, 0))
	p := &Pusher{
		URL: gateway.URL + "/", Job: "service", Instance: "h1.example.com:8081", Period: 15 * time.Second, Forget: true, From: registry,
		Client: gateway.Client(), Clock: c, Log: slog.New(slog.DiscardHandler),
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := p.Push(t.Context()); err == nil || !strings.Contains(err.Error(), "500") {
		t.Errorf("a gateway that fails: %v", err)
	}
	const put = "PUT /metrics/job/service/service/h1_example_com_8081 true true"
	if got := <-requests; got != put {
		t.Errorf("got %s", got)
	}
	status = http.StatusOK
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	got := []string{<-requests}
	if err := c.BlockUntil(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	c.Advance(15 * time.Second)
	got = append(got, <-requests)
	stop()
	got = append(got, <-requests)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{put, put, "DELETE /metrics/job/service/service/h1_example_com_8081 false false"}, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "gateway:9091", "ftp://gateway", "http://"} {
		if (&Pusher{URL: bad}).Validate() == nil {
			t.Errorf("[%s] is taken as an address", bad)
		}
	}
}

func TestDimensionMap(t *testing.T) {
	m, err := ParseDimensionMap([]byte(`{
		"query/time":{"dimensions":["dataSource"],"type":"timer","conversionFactor":100.0,"help":"How long."},
		"service/historical-segment/count":{"dimensions":["tier","dataSource"],"type":"gauge"},
		"query/bytes":{"dimensions":[],"type":"gauge"}, "segment/used":{"dimensions":[],"type":"timer"}}`))
	if err != nil {
		t.Fatal(err)
	}
	meter := NewMeter(fakeclock.New(time.Unix(0, 0)), false)
	for _, q := range []struct{ source, kind string }{{"wiki", "scan"}, {"wiki", "topN"}, {"ads", "scan"}} {
		dims := []string{"dataSource", q.source, "type", q.kind}
		meter.Time(Occurrence{Service: "broker", Metric: "query/time", Dims: dims}, 200*time.Millisecond)
		meter.Size(Occurrence{Service: "broker", Metric: "query/bytes", Dims: dims}, 10)
		meter.Count(Occurrence{Service: "broker", Metric: "query/count"}, 1)
	}
	monitor := NewMonitor(MonitorOptions{Product: "service", Meter: meter, Map: m, Clock: fakeclock.New(time.Unix(0, 0)), Log: slog.New(slog.DiscardHandler)},
		func(_ context.Context, emit func(Sample)) error {
			for _, service := range []string{"historical", "coordinator"} {
				emit(Sample{Service: service, Metric: "segment/count", Value: 4, Dims: []string{"dataSource", "wiki", "priority", "0"}})
			}
			emit(Sample{Service: "historical", Metric: "segment/used", Value: 4})
			return nil
		})
	registry := prometheus.NewRegistry()
	registry.MustRegister(monitor)
	w := httptest.NewRecorder()
	MetricsHandler(registry).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	var got []string
	for line := range strings.Lines(w.Body.String()) {
		if line = strings.TrimSpace(line); !strings.Contains(line, "_bucket") || strings.Contains(line, `le="2.5"`) {
			got = append(got, line)
		}
	}
	want := []string{
		"# HELP service_query_bytes Bytes of the answers of queries, before compression. A jump is an export or a query without a limit.",
		"# TYPE service_query_bytes gauge", `service_query_bytes{service="service/broker"} 30`,
		"# HELP service_query_time How long.", "# TYPE service_query_time histogram",
		`service_query_time_bucket{dataSource="ads",service="service/broker",le="2.5"} 1`, `service_query_time_sum{dataSource="ads",service="service/broker"} 2`,
		`service_query_time_count{dataSource="ads",service="service/broker"} 1`,
		`service_query_time_bucket{dataSource="wiki",service="service/broker",le="2.5"} 2`, `service_query_time_sum{dataSource="wiki",service="service/broker"} 4`,
		`service_query_time_count{dataSource="wiki",service="service/broker"} 2`,
		"# HELP service_segment_count Used segments of a datasource. Many small ones are slow: switch on automatic compaction.",
		"# TYPE service_segment_count gauge",
		`service_segment_count{dataSource="wiki",service="service/historical",tier=""} 4`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"[]", `{"a":{"type":"summary"}}`, `{"a":{"type":"timer","conversionFactor":-1}}`} {
		if _, err := ParseDimensionMap([]byte(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
