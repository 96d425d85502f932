package uploads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
)

// Path is the path at which the leading Overlord serves its uploads to other processes. The path
// ID/content returns the bytes of an upload.
const Path = "/service-internal/v1/uploads"

// Remote reads the uploads of the leading Overlord from another process.
type Remote struct {
	// Leader returns the URL of the leader; "": it is not known.
	Leader func() string
	Client *http.Client
}

// Described is the description of an upload for other processes.
type Described struct {
	Name  string `json:"name"`
	Owner string `json:"owner"`
	Size  int64  `json:"size"`
}

// Find implements ingest.Uploads.
func (r *Remote) Find(ctx context.Context, id string) (*ingest.Uploaded, error) {
	leader := r.Leader()
	if leader == "" {
		return nil, fault.Unavailable("Upload [%s] can't be read while no Overlord leads", id)
	}
	var d Described
	if err := cluster.Call(ctx, r.Client, http.MethodGet, leader+Path+"/"+id, nil, &d); err != nil {
		return nil, err
	}
	return &ingest.Uploaded{ID: id, Name: d.Name, Owner: d.Owner, Size: d.Size,
		Open: func(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
			return r.open(ctx, leader+Path+"/"+id+"/content", d.Name, offset, length)
		}}, nil
}

// open asks for a part of a file.
func (r *Remote) open(ctx context.Context, url, name string, offset, length int64) (io.ReadCloser, error) {
	if length <= 0 {
		return http.NoBody, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("asking for an upload: %w", err)
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := r.Client.Do(req)
	if err != nil {
		return nil, brokenOff(name, err)
	}
	if resp.StatusCode == http.StatusPartialContent {
		return &part{resp.Body, name, length}, nil
	}
	defer resp.Body.Close() // it says what is wrong
	var told struct {
		Category fault.Category `json:"category"`
		Message  string         `json:"errorMessage"`
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // only makes the message better
	if json.Unmarshal(text, &told) == nil && told.Category == fault.CategoryNotFound {
		return nil, fault.NotFound("%s", told.Message)
	}
	return nil, brokenOff(name, fmt.Errorf("status %d", resp.StatusCode))
}

func brokenOff(name string, err error) error {
	return fault.Unavailable("Upload [%s] can't be read from the Overlord that has it", name).WithCause(err)
}

// part is a part of a file on its way, which must be whole.
type part struct {
	io.ReadCloser
	name string
	left int64
}

// Read implements io.Reader.
func (p *part) Read(to []byte) (int, error) {
	n, err := p.ReadCloser.Read(to)
	p.left -= int64(n)
	switch {
	case errors.Is(err, io.EOF) && p.left > 0:
		err = brokenOff(p.name, io.ErrUnexpectedEOF)
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled):
		err = brokenOff(p.name, err)
	}
	return n, err
}
