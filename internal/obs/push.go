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

// Pusher gives what scrapers would see to a push gateway of Prometheus, again and again, for
// processes that can't be scraped.
type Pusher struct {
	// URL is that of the gateway.
	URL string
	// Job is the label "job" of all metrics, and Instance the value of a label that is named like it:
	// together they name the process.
	Job, Instance string
	// Period is the time between two pushes.
	Period time.Duration
	// Forget has the gateway forget the metrics when the process stops.
	Forget bool
	From   prometheus.Gatherer
	Client *http.Client
	Clock  clock.Clock
	Log    *slog.Logger
}

// pushTimeout bounds one request.
const pushTimeout = 30 * time.Second

// Validate refuses an address that can't be one.
func (p *Pusher) Validate() error {
	u, err := url.Parse(p.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("[%s] is no address of a push gateway, such as http://gateway.example.com:9091", p.URL)
	}
	return nil
}

// target is where the metrics of the process are at the gateway.
func (p *Pusher) target() string {
	instance := strings.Trim(noLabel.ReplaceAllString(p.Instance, "_"), "_")
	return strings.TrimRight(p.URL, "/") + "/metrics/job/" + url.PathEscape(p.Job) + "/" + prometheusLabel(p.Job) + "/" + instance
}

// Run pushes until ctx is done, and a last time then.
func (p *Pusher) Run(ctx context.Context) error {
	for {
		if err := p.Push(ctx); err != nil && ctx.Err() == nil {
			p.Log.WarnContext(ctx, "metrics could not be pushed; it is tried again", "gateway", p.URL, "error", err)
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
		p.Log.WarnContext(ctx, "the last metrics could not be pushed", "gateway", p.URL, "error", err)
	}
	return nil
}

// Push replaces the metrics of the process at the gateway.
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
