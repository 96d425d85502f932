package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
)

// uploadsPath is where the server takes files that a load reads.
const uploadsPath = "/service/indexer/v1/uploads"

// send gives the server copies of the files of this machine, and returns the input source that
// reads them and what removes them. The server removes those of a load that succeeded, and of what
// is forgotten after an hour.
func (o *ingestOptions) send(ctx context.Context, files *inputFiles) (json.RawMessage, func(), error) {
	sent := &inputFiles{}
	var limits struct {
		MaxBytes int64 `json:"maxBytes"`
	}
	if err := o.client.call(ctx, http.MethodGet, uploadsPath, nil, &limits); err != nil {
		return nil, nil, err
	}
	for _, f := range files.list {
		if f.path != "" && f.size > limits.MaxBytes {
			return nil, nil, fault.InvalidInput("File [%s] has [%d] bytes, more than service.ingestion.uploads.maxBytes [%d] allows",
				record.Printable(f.name), f.size, limits.MaxBytes)
		}
	}
	bar := newReadBar(o.err, o.clock, "sending", files.bytes())
	defer bar.end()
	remove := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		for _, id := range sent.uploads {
			// What is gone or in use already is not this command's to remove.
			_ = o.client.call(ctx, http.MethodDelete, uploadsPath+"/"+url.PathEscape(id), nil, nil)
		}
	}
	before := int64(0)
	for _, f := range files.list {
		if f.path == "" {
			sent.list = append(sent.list, f)
			continue
		}
		id, err := o.client.upload(ctx, f.path, func(n int64) { bar.show(before + n) })
		if err != nil {
			remove()
			return nil, nil, err
		}
		sent.uploads = append(sent.uploads, id)
		before += f.size
	}
	return sent.source(), remove, nil
}

// upload sends a file to the server and returns the id of its copy. told is called with the bytes
// that were sent so far.
func (c *client) upload(ctx context.Context, path string, told func(int64)) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fault.InvalidInput("File [%s] can't be read: %v", record.Printable(path), reasonOf(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fault.InvalidInput("File [%s] can't be read: %v", record.Printable(path), reasonOf(err))
	}
	at := uploadsPath + "?name=" + url.QueryEscape(filepath.Base(path))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+at, &toldReader{f: f, told: told})
	if err != nil {
		return "", err
	}
	req.ContentLength = info.Size()
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", &noServerError{c.base, err}
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		if err := c.refusal(resp, http.MethodPost, uploadsPath); err != nil {
			return "", err
		}
		return "", readFault(resp)
	}
	var answer struct {
		ID string `json:"id"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.ID == "" {
		return "", fmt.Errorf("the response of POST %s cannot be read: %w", uploadsPath, err)
	}
	return answer.ID, nil
}

// toldReader tells how much of a file was read.
type toldReader struct {
	f    *os.File
	n    int64
	told func(int64)
}

// Read implements io.Reader.
func (r *toldReader) Read(p []byte) (int, error) {
	n, err := r.f.Read(p)
	r.n += int64(n)
	r.told(r.n)
	return n, err
}
