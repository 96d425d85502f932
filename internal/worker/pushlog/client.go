package pushlog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream/push"
)

// Path is where a worker gives and takes the entries of logs.
const Path = "/service-internal/v1/push"

// Bounds is what a worker says of a log.
type Bounds struct {
	Earliest int64 `json:"earliest"`
	Latest   int64 `json:"latest"`
}

func pathOf(dataSource, id string) string {
	return Path + "/" + url.PathEscape(dataSource) + "/" + url.PathEscape(id)
}

// peer is a log on another worker.
type peer struct {
	client         *http.Client
	member         cluster.Member
	dataSource, id string
}

func (p *peer) url(rest string) string { return p.member.URL() + pathOf(p.dataSource, p.id) + rest }

// bounds asks where a log begins and ends.
func (p *peer) bounds(ctx context.Context) (b Bounds, err error) {
	return b, cluster.Call(ctx, p.client, http.MethodGet, p.url(""), nil, &b)
}

// begin has a worker make a copy, which begins at a position.
func (p *peer) begin(ctx context.Context, epoch, first int64, snapshot []byte) error {
	return p.send(ctx, http.MethodPut, fmt.Sprintf("/copy?epoch=%d&first=%d", epoch, first), snapshot)
}

// accept brings entries to a copy.
func (p *peer) accept(ctx context.Context, epoch int64, entries []*push.Entry) error {
	return p.send(ctx, http.MethodPost, fmt.Sprintf("/copy?epoch=%d", epoch), push.AppendEntries(nil, entries))
}

// read tells who leads a log up to where its entries are in live segments.
func (p *peer) read(ctx context.Context, reader string, at int64) error {
	return p.send(ctx, http.MethodPost, fmt.Sprintf("/read?reader=%s&at=%d", url.QueryEscape(reader), at), nil)
}

func (p *peer) send(ctx context.Context, method, rest string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, method, p.url(rest), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking worker [%s]: %w", p.member.Address(), err)
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := p.client.Do(req)
	if err != nil {
		return fault.Unavailable("The worker with the push log does not respond").WithCause(err)
	}
	defer resp.Body.Close() // it was only read
	return answered(resp)
}

// answered returns what a worker refuses.
func answered(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode < http.StatusBadRequest {
		return err
	}
	var body struct {
		Message string `json:"errorMessage"`
	}
	if err := json.Unmarshal(text, &body); err != nil || body.Message == "" {
		body.Message = fmt.Sprintf("The worker with the push log responds with status [%d]", resp.StatusCode)
	}
	if resp.StatusCode == http.StatusConflict || resp.StatusCode == http.StatusNotFound {
		return fault.Conflict("%s", body.Message)
	}
	return fault.Unavailable("%s", body.Message)
}
