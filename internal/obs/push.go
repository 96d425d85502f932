package obs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hengedb/henge/internal/clock"
)

// Pusher pushes the metrics that scrapers would see to a Prometheus push gateway periodically, for
// processes that can't be scraped.
type Pusher struct {
	// URL is the URL of the gateway.
	URL string
	// Job is the label "job" of all metrics. Instance is the value of the label whose name is the job.
	// Together they identify the process.
	Job, Instance string
	// Period is the time between two pushes.
	Period time.Duration
	// Forget deletes the metrics from the gateway when the process stops.
	Forget bool
	From   prometheus.Gatherer
	Client *http.Client
	Clock  clock.Clock
	Log    *slog.Logger
}

// pushTimeout bounds one request.
const pushTimeout = 30 * time.Second

// Validate rejects an invalid address.
func (p *Pusher) Validate() error {
	u, err := url.Parse(p.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("[%s] is not the address of a push gateway, such as http://gateway.example.com:9091", p.URL)
	}
	return nil
}

// target is where the metrics of the process are at the gateway.
func (p *Pusher) target() string {
	instance := strings.Trim(noLabel.ReplaceAllString(p.Instance, "_"), "_")
	return strings.TrimRight(p.URL, "/") + "/metrics/job/" + url.PathEscape(p.Job) + "/" + prometheusLabel(p.Job) + "/" + instance
}

// Run pushes until ctx is done, and then once more.
func (p *Pusher) Run(ctx context.Context) error {
	for {
		if err := p.Push(ctx); err != nil && ctx.Err() == nil {
			p.Log.WarnContext(ctx, "failed to push metrics; retrying", "gateway", p.URL, "error", err)
		}
		if p.Clock.Sleep(ctx, p.Period) != nil {
			break
		}
	}
	ctx = context.WithoutCancel(ctx)
	last := p.Push
	if p.Forget {
		last = func(ctx context.Context) error { return p.send(ctx, http.MethodDelete, nil) }
	}
	if err := last(ctx); err != nil {
		p.Log.WarnContext(ctx, "failed to push the last metrics", "gateway", p.URL, "error", err)
	}
	return nil
}

// Push replaces the metrics of the process in the gateway.
func (p *Pusher) Push(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return err
	}
	page := &page{header: http.Header{}, status: http.StatusOK}
	MetricsHandler(p.From).ServeHTTP(page, r)
	if page.status != http.StatusOK {
		return fmt.Errorf("metrics can't be gathered: %s", page.Bytes())
	}
	return p.send(ctx, http.MethodPut, page)
}

func (p *Pusher) send(ctx context.Context, method string, body *page) error {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	var text io.Reader
	if body != nil {
		text = &body.Buffer
	}
	r, err := http.NewRequestWithContext(ctx, method, p.target(), text)
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", body.header.Get("Content-Type"))
	}
	answer, err := p.Client.Do(r)
	if err != nil {
		return err
	}
	said, err := io.ReadAll(io.LimitReader(answer.Body, 512))
	err = errors.Join(err, answer.Body.Close())
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the push gateway answered [%s]: %s", answer.Status, bytes.TrimSpace(said))
	}
	return err
}

// page takes what a handler writes.
type page struct {
	bytes.Buffer
	header http.Header
	status int
}

func (p *page) Header() http.Header    { return p.header }
func (p *page) WriteHeader(status int) { p.status = status }
