package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// pushTime is how long the answer to a request may take: the server of a connection that was lost
// without a word never answers.
const pushTime = 60 * time.Second

// pusher sends rows to the endpoint of a datasource.
type pusher struct {
	client  *client
	clock   clock.Clock
	path    string
	channel string
	query   url.Values // all but the offset
}

func newPusher(c *client, clk clock.Clock, datasource, channel string) *pusher {
	return &pusher{client: c, clock: clk, path: "/service/v2/ingest/" + url.PathEscape(datasource), channel: channel,
		query: url.Values{"channel": {channel}}}
}

// pushAnswer says what became of a request.
type pushAnswer struct {
	Rows            int64      `json:"rows"`
	Skipped         int64      `json:"skipped"`
	Duplicate       bool       `json:"duplicate"`
	Committed       pushOffset `json:"committedOffset"`
	Acknowledgement string     `json:"acknowledgement"`
	Guarantee       string     `json:"guarantee"`
}

// pushOffset is an offset of a channel, a text or a number.
type pushOffset string

// UnmarshalJSON takes both.
func (o *pushOffset) UnmarshalJSON(text []byte) error {
	*o = pushOffset(strings.Trim(string(text), `"`))
	return nil
}

// rows is the offset as a number of rows; false: it is not one.
func (o pushOffset) rows() (int64, bool) {
	n, err := strconv.ParseInt(string(o), 10, 64)
	return n, err == nil
}

// pushRefusal is an answer that is an error.
type pushRefusal struct {
	status int
	after  time.Duration // of Retry-After; 0: it says nothing
	cause  error
}

func (e *pushRefusal) Error() string { return messageOf(e.cause) }
func (e *pushRefusal) Unwrap() error { return e.cause }

// again reports whether the same request may succeed later.
func (e *pushRefusal) again() bool {
	return e.status == http.StatusTooManyRequests || e.status == http.StatusRequestTimeout ||
		e.status >= 500 && e.status != http.StatusNotImplemented
}

// send sends rows; offset is the number of the last one.
func (p *pusher) send(ctx context.Context, form rowForm, body []byte, offset int64) (*pushAnswer, error) {
	p.query.Set("offset", strconv.FormatInt(offset, 10))
	var answer pushAnswer
	if err := p.request(ctx, http.MethodPost, p.path+"?"+p.query.Encode(), form.contentType, body, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// committed returns how many rows of the channel the server has.
func (p *pusher) committed(ctx context.Context) (int64, error) {
	var answer pushAnswer
	err := p.request(ctx, http.MethodGet, p.path+"/channels/"+url.PathEscape(p.channel), "", nil, &answer)
	if refusal, ok := errors.AsType[*pushRefusal](err); ok && refusal.status == http.StatusNotFound {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, ok := answer.Committed.rows()
	if !ok {
		return 0, fault.InvalidInput("Channel [%s] is at offset [%s], which is not a number of rows: "+
			"another program uses this channel. Choose another name", p.channel, string(answer.Committed))
	}
	return n, nil
}

func (p *pusher) request(ctx context.Context, method, path, contentType string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, pushTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, p.client.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := p.client.http.Do(req)
	if err != nil {
		return &noServerError{p.client.base, err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		if err != nil || json.Unmarshal(text, out) != nil {
			return &noServerError{p.client.base, fmt.Errorf("the response was truncated: %w", io.ErrUnexpectedEOF)}
		}
		return nil
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	after := retryAfter(resp.Header.Get("Retry-After"), p.clock.Now())
	cause := p.client.refusal(resp, method, path)
	if cause == nil {
		cause = readFault(resp)
	}
	return &pushRefusal{status: resp.StatusCode, after: after, cause: cause}
}

// retryAfter reads the header, a number of seconds or a date; 0: there is none.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && seconds >= 0 && seconds < 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
