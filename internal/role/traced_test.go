package role

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/obs"
)

// A request to another process is of the trace that came in, under a parent of its own.
func TestTracesGoOnToOtherProcesses(t *testing.T) {
	seen := make(chan http.Header, 2)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header }))
	defer s.Close()
	client := newClient(nil, nil, time.Second)
	defer client.CloseIdleConnections()
	const came = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := obs.Extract(t.Context(), http.Header{"Traceparent": {came}, "Tracestate": {"a=b"}})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close() // it is empty
	h := <-seen
	got, ok := obs.ParseTraceparent(h.Get("Traceparent"))
	if !ok || got.TraceID() != "0af7651916cd43dd8448eb211c80319c" || h.Get("Traceparent") == came || h.Get("Tracestate") != "a=b" {
		t.Errorf("the other process saw traceparent [%s] and tracestate [%s]", h.Get("Traceparent"), h.Get("Tracestate"))
	}
	if len(r.Header) != 0 {
		t.Errorf("the request of the caller has now the headers %v", r.Header)
	}
	if r, err = http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil); err != nil {
		t.Fatal(err)
	}
	if resp, err = client.Do(r); err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close() // likewise
	if h := <-seen; h.Get("Traceparent") != "" {
		t.Errorf("a request without a trace was sent with [%s]", h.Get("Traceparent"))
	}
}

func TestTracingSettings(t *testing.T) {
	const at = "service.tracing.otlp.endpoint=http://c:4318"
	for _, c := range []struct {
		flags []string
		off   bool
		wrong string
	}{
		{nil, true, ""},
		{[]string{"service.tracing.sampleRatio=0.5"}, true, ""},
		{[]string{at, "service.tracing.otlp.headers=a=b%20c, d=e"}, false, ""},
		{[]string{"service.tracing.sampleRatio=1.5"}, false, "[service.tracing.sampleRatio]"},
		{[]string{at, "service.tracing.sampleRatio=NaN"}, false, "[service.tracing.sampleRatio]"},
		{[]string{at, "service.tracing.sampleRatio=much"}, false, "[service.tracing.sampleRatio]"},
		{[]string{at, "service.tracing.otlp.headers=hush"}, false, "[service.tracing.otlp.headers]"},
		{[]string{at, "service.tracing.otlp.headers=a=%zz"}, false, "[service.tracing.otlp.headers]"},
	} {
		set, err := config.Load(config.Sources{Flags: c.flags})
		if err != nil {
			t.Fatal(err)
		}
		o, _, err := tracingOptions(set)
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%v: %v", c.flags, err)
			}
		case err != nil || (o == nil) != c.off:
			t.Errorf("%v: %+v %v", c.flags, o, err)
		case !c.off && (o.Headers["a"] != "b c" || o.Headers["d"] != "e"):
			t.Errorf("headers %v", o.Headers)
		}
	}
}
