package obs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Event is a metric or an alert in the form in which it is emitted.
type Event struct {
	Time                   time.Time
	Service, Host, Version string
	Metric                 string
	Value                  float64
	// Dims are alternating names and values.
	Dims []string
	// Alert is the sentence of an alert, and Data its details. An alert has no metric.
	Alert string
	Data  map[string]any
}

const timeFormat = "2006-01-02T15:04:05.000Z"

// MarshalJSON returns the event with its dimensions as members.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.Alert != "" {
		return json.Marshal(struct {
			Feed        string         `json:"feed"`
			Time        string         `json:"timestamp"`
			Service     string         `json:"service"`
			Host        string         `json:"host"`
			Version     string         `json:"version"`
			Severity    string         `json:"severity"`
			Description string         `json:"description"`
			Data        map[string]any `json:"data"`
		}{"alerts", e.Time.UTC().Format(timeFormat), e.Service, e.Host, e.Version, "anomaly", e.Alert, e.Data})
	}
	fields := []string{
		"feed", "metrics", "timestamp", e.Time.UTC().Format(timeFormat), "service", e.Service, "host", e.Host, "version", e.Version,
		"metric", e.Metric,
	}
	var b bytes.Buffer
	b.WriteByte('{')
	pair := func(name, value string) error {
		for i, text := range []string{name, value} {
			quoted, err := json.Marshal(text)
			if err != nil {
				return err
			}
			b.Write(quoted)
			b.WriteByte(":,"[i])
		}
		return nil
	}
	for _, list := range [][]string{fields, e.Dims} {
		for i := 0; i+1 < len(list); i += 2 {
			if err := pair(list[i], list[i+1]); err != nil {
				return nil, err
			}
		}
	}
	b.WriteString(`"value":`)
	if math.Trunc(e.Value) == e.Value && math.Abs(e.Value) < 1<<53 {
		b.WriteString(strconv.FormatInt(int64(e.Value), 10))
	} else {
		value, err := json.Marshal(e.Value)
		if err != nil {
			return nil, err
		}
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Emitter emits events. Emit is called by one goroutine at a time and does not retain the slice.
type Emitter interface {
	Emit(ctx context.Context, events []Event) error
}

// LogEmitter writes each event as a log line.
type LogEmitter struct {
	Log   *slog.Logger
	Level slog.Level
}

// Emit implements Emitter.
func (l LogEmitter) Emit(ctx context.Context, events []Event) error {
	if !l.Log.Enabled(ctx, l.Level) {
		return nil
	}
	for _, e := range events {
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		l.Log.Log(ctx, l.Level, "event", "event", json.RawMessage(text))
	}
	return nil
}

// HTTPEmitter posts events as a JSON array.
type HTTPEmitter struct {
	URL string
	// Timeout is the timeout of one request.
	Timeout time.Duration
	Client  *http.Client
}

// maxBatch is how many events one request carries.
const maxBatch = 500

// Emit implements Emitter.
func (h HTTPEmitter) Emit(ctx context.Context, events []Event) error {
	for len(events) > 0 {
		n := min(len(events), maxBatch)
		if err := h.post(ctx, events[:n]); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

func (h HTTPEmitter) post(ctx context.Context, events []Event) error {
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	body, err := json.Marshal(events)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := h.Client.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16))
	err = errors.Join(err, answer.Body.Close())
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver of events answered [%s]", answer.Status)
	}
	return err
}

// Emitters emits to all of its emitters.
type Emitters []Emitter

// Emit implements Emitter.
func (l Emitters) Emit(ctx context.Context, events []Event) error {
	var errs []error
	for _, e := range l {
		errs = append(errs, e.Emit(ctx, events))
	}
	return errors.Join(errs...)
}
