package role

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/obs/otlp"
)

// The settings of traces.
const (
	tracingEndpoint = "service.tracing.otlp.endpoint"
	tracingHeaders  = "service.tracing.otlp.headers"
	tracingRatio    = "service.tracing.sampleRatio"
)

// tracingOptions reads how spans are sent, and which share of the traces; a nil result: they are
// not.
func tracingOptions(set *config.Settings) (*otlp.Options, float64, error) {
	ratio, err := strconv.ParseFloat(set.Text(tracingRatio), 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		return nil, 0, fault.InvalidInput("Value [%s] of setting [%s] must be a number from 0 to 1", set.Text(tracingRatio), tracingRatio)
	}
	if set.Text(tracingEndpoint) == "" {
		return nil, 0, nil
	}
	headers, err := secretOf(set, tracingHeaders)
	if err != nil {
		return nil, 0, err
	}
	o := &otlp.Options{
		Endpoint: set.Text(tracingEndpoint), Headers: map[string]string{}, Queue: int(min(set.Int("service.tracing.otlp.queueSize"), 1<<20)),
		Timeout: set.Duration("service.tracing.otlp.timeout"),
	}
	for pair := range strings.SplitSeq(headers.Reveal(), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil {
			return nil, 0, fault.InvalidInput("Setting [%s] must be name=value pairs with commas between them, values percent-encoded",
				tracingHeaders)
		}
		o.Headers[strings.TrimSpace(name)] = value
	}
	return o, ratio, nil
}

// openTracing begins to record spans, if the settings say where they go.
func (n *Node) openTracing(ctx context.Context) error {
	o, ratio, err := tracingOptions(n.settings)
	if o == nil || err != nil {
		return err
	}
	host, _ := os.Hostname() // a span without is one, too
	o.Resource = []string{
		"service.name", n.settings.Text("service.tracing.serviceName"), "service.version", n.o.Version, "service.instance.id", n.addressOf(),
		"host.name", host, "henge.roles", strings.Join(slices.Sorted(slices.Values(n.o.Roles)), ","),
	}
	o.Version, o.Clock, o.Log = n.o.Version, n.o.Clock, n.o.Log
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if n.outside != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: n.outside, MinVersion: tls.VersionTLS12}
	}
	o.Client = &http.Client{Transport: transport}
	n.onClose(func() error { transport.CloseIdleConnections(); return nil })
	exporter, err := otlp.New(*o, n.metrics)
	if err != nil {
		return fault.InvalidInput("Setting [%s] or [%s] can't be used: %v", tracingEndpoint, tracingHeaders, err)
	}
	n.tracer = &obs.Tracer{
		Ratio: ratio, Statements: n.settings.Bool("service.tracing.includeStatements"), Clock: n.o.Clock, Ended: exporter.Put,
	}
	// The last spans end with the roles: what they did goes out after them.
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = exporter.Run(sending) // it has no failures
	}()
	n.onClose(func() error { stop(); <-done; return nil })
	return nil
}

// traced hands the trace of a request's context on to the process that is asked.
type traced struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (t traced) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, ok := obs.TraceOf(r.Context()); ok {
		r = r.Clone(r.Context()) // the caller's request must stay as it is
		obs.Inject(r.Context(), r.Header)
	}
	return t.Transport.RoundTrip(r)
}
