// Package otlp sends spans to a collector by OTLP/HTTP with JSON bodies.
//
// The central type is Exporter. Put takes ended spans and never blocks; Run sends them in batches
// until the process ends. The wire format follows the OpenTelemetry protocol specification 1.5 and
// the JSON mapping of opentelemetry-proto 1.5 (trace_service.proto, trace.proto). The SDK of
// OpenTelemetry would add 9.4 MB to the binary for the same function.
package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/obs"
)

// Options are how an Exporter works.
type Options struct {
	// Endpoint is the address of the collector, such as http://collector:4318.
	Endpoint string
	// Headers go with every request. They may be secrets.
	Headers map[string]string
	// Resource says what process the spans are of: names and values in turn.
	Resource []string
	// Version is that of the program.
	Version string
	// Queue is how many spans wait at most; what is beyond is dropped. 0: 2,048.
	Queue int
	// Timeout bounds one request. 0: 10 s.
	Timeout time.Duration
	// Farewell bounds what is sent at the end of the process. 0: 5 s.
	Farewell time.Duration

	Client *http.Client
	Clock  clock.Clock
	Log    *slog.Logger
}

const (
	defaultQueue    = 2048
	defaultTimeout  = 10 * time.Second
	defaultFarewell = 5 * time.Second
	// maxBatch is how many spans one request has at most: about 200 kB before compression.
	maxBatch = 512
	// period is how long a span waits for others to go with.
	period = time.Second
	// attempts is how often a batch is tried; firstPause doubles with each up to lastPause.
	attempts   = 5
	firstPause = 500 * time.Millisecond
	lastPause  = 30 * time.Second
	// tracesPath is where collectors take spans.
	tracesPath = "/v1/traces"
	// logAgain is how often a collector that is away is told of.
	logAgain = time.Minute
)

// Exporter sends spans. All methods are safe for use by many goroutines.
type Exporter struct {
	o   Options
	url string

	exported, failed prometheus.Counter
	dropped          *prometheus.CounterVec

	mu struct {
		sync.Mutex
		queue []obs.SpanData
		full  chan struct{} // closed when a batch is full
	}
	told time.Time // when a failure was logged
}

// The reasons why spans are dropped.
const (
	queueFull   = "queue_full"
	undelivered = "undelivered"
	rejected    = "rejected"
)

// New returns an exporter. Metrics, if not nil, show what it does.
func New(o Options, metrics prometheus.Registerer) (*Exporter, error) {
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("it must be an address such as http://collector.example.com:4318, without a user and parameters")
	}
	if !strings.HasSuffix(u.Path, tracesPath) {
		u.Path = strings.TrimRight(u.Path, "/") + tracesPath
	}
	for name, value := range o.Headers {
		if name == "" || strings.ContainsAny(name, " \t\r\n:") || strings.ContainsAny(value, "\r\n") {
			return nil, errors.New("a header has a name, and neither name nor value has a line break")
		}
	}
	if o.Queue <= 0 {
		o.Queue = defaultQueue
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Farewell <= 0 {
		o.Farewell = defaultFarewell
	}
	count := func(name string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Name: name, Help: obs.Help(name)}
	}
	e := &Exporter{
		o: o, url: u.String(), exported: prometheus.NewCounter(count("henge_trace_spans_exported_total")),
		failed:  prometheus.NewCounter(count("henge_trace_export_failures_total")),
		dropped: prometheus.NewCounterVec(count("henge_trace_spans_dropped_total"), []string{"reason"}),
	}
	for _, reason := range []string{queueFull, undelivered, rejected} {
		e.dropped.WithLabelValues(reason) // shown from the start
	}
	if metrics != nil {
		metrics.MustRegister(e.exported, e.failed, e.dropped)
	}
	e.mu.full = make(chan struct{})
	return e, nil
}

// Put takes an ended span.
func (e *Exporter) Put(s *obs.Span) {
	data := s.Data()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.mu.queue) >= e.o.Queue {
		e.dropped.WithLabelValues(queueFull).Inc()
		return
	}
	e.mu.queue = append(e.mu.queue, data)
	if len(e.mu.queue) == min(maxBatch, e.o.Queue) {
		close(e.mu.full)
		e.mu.full = make(chan struct{})
	}
}

// Run sends spans until ctx is done, and then what is left.
func (e *Exporter) Run(ctx context.Context) error {
	ticker := e.o.Clock.NewTicker(period)
	defer ticker.Stop()
	for ctx.Err() == nil {
		e.mu.Lock()
		full := e.mu.full
		e.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-full:
		case <-ticker.C():
		}
		if ctx.Err() == nil {
			e.sendAll(ctx)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.o.Farewell)
	defer cancel()
	e.sendAll(last)
	return nil
}

func (e *Exporter) take() []obs.SpanData {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(e.mu.queue), maxBatch)
	batch := e.mu.queue[:n:n]
	e.mu.queue = e.mu.queue[n:]
	return batch
}

func (e *Exporter) sendAll(ctx context.Context) {
	for batch := e.take(); len(batch) > 0; batch = e.take() {
		e.send(ctx, batch)
	}
}

// send sends a batch, as often as it takes.
func (e *Exporter) send(ctx context.Context, batch []obs.SpanData) {
	body, err := pack(e.o.Resource, e.o.Version, batch)
	pause := firstPause
	for attempt := 1; err == nil; attempt++ {
		var again bool
		var wait time.Duration
		var refused int64
		if refused, again, wait, err = e.post(ctx, body); err == nil {
			e.exported.Add(float64(int64(len(batch)) - refused))
			e.dropped.WithLabelValues(rejected).Add(float64(refused))
			return
		}
		e.failed.Inc()
		if !again || attempt == attempts || ctx.Err() != nil {
			break
		}
		if wait == 0 {
			wait = pause/2 + time.Duration(rand.Int64N(int64(pause)))
			pause = min(2*pause, lastPause)
		}
		err = e.o.Clock.Sleep(ctx, min(wait, lastPause))
	}
	e.dropped.WithLabelValues(undelivered).Add(float64(len(batch)))
	if now := e.o.Clock.Now(); e.told.IsZero() || now.Sub(e.told) >= logAgain {
		e.told = now
		e.o.Log.WarnContext(ctx, "failed to send spans to the collector; they are dropped", "endpoint", e.url, "spans", len(batch),
			"error", err)
	}
}

// post sends one request. It returns how many spans the collector did not want; or a failure, with
// whether and when another attempt makes sense.
func (e *Exporter) post(ctx context.Context, body []byte) (refused int64, again bool, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return 0, false, 0, err
	}
	for name, value := range e.o.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	r.Header.Set("User-Agent", "OTel-OTLP-Exporter-Henge/"+e.o.Version)
	resp, err := e.o.Client.Do(r)
	if err != nil {
		return 0, true, 0, err
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	err = errors.Join(err, resp.Body.Close())
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 0, true, retryAfter(resp.Header.Get("Retry-After"), e.o.Clock.Now()), fmt.Errorf("the collector answered [%s]", resp.Status)
	}
	if resp.StatusCode/100 != 2 {
		return 0, false, 0, fmt.Errorf("the collector answered [%s]", resp.Status)
	}
	if err != nil {
		return 0, false, 0, nil //nolint:nilerr // it has taken them, whatever else it says
	}
	return refusedSpans(text), false, 0, nil
}

// refusedSpans reads how many spans a collector did not take of a request that it took.
func refusedSpans(answer []byte) int64 {
	var a struct {
		PartialSuccess struct {
			RejectedSpans json.Number `json:"rejectedSpans"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &a) != nil { // it may be empty
		return 0
	}
	n, err := a.PartialSuccess.RejectedSpans.Int64()
	if err != nil {
		return 0
	}
	return max(0, n)
}

// retryAfter reads the header Retry-After: seconds or a date; 0: it says nothing.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// pack returns a request's body, compressed.
func pack(resource []string, version string, batch []obs.SpanData) ([]byte, error) {
	text, err := json.Marshal(request(resource, version, batch))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
