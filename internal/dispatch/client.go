package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/hengedb/henge/internal/fault"
)

// counted is the body of an answer, whose bytes are counted as they are read.
type counted struct {
	io.ReadCloser
	bytes int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.bytes += int64(n)
	return n, err
}

// ask sends a request and returns the stream of the answer. The caller closes the body.
func (d *Dispatcher) ask(ctx context.Context, server *Server, r *Request) (*StreamReader, *counted, error) {
	r.Version = spoken(d.o.Protocol, server.Protocol)
	body, err := r.Append(nil)
	if err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+Path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("asking server [%s]: %w", server.Name, err)
	}
	req.Header.Set("Content-Type", ContentType)
	resp, err := d.o.Client.Do(req)
	if err != nil {
		if errors.Is(err, io.EOF) { // of the connection: to who reads rows it is no end of them
			err = fault.Unavailable("Server [%s] has closed the connection before it answered", server.Name)
		}
		return nil, nil, &broken{fmt.Errorf("asking server [%s]: %w", server.Name, err)}
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 512)) // only makes the message better
		_ = resp.Body.Close()                                 // it was only read
		return nil, nil, &broken{fault.Unavailable("Server [%s] has refused a part of the query with status [%d]", server.Name, resp.StatusCode).
			WithCause(fmt.Errorf("%s", text))}
	}
	stream := &counted{ReadCloser: resp.Body}
	reader := NewStreamReader(stream, r.Version)
	if r.BySegment {
		reader.BySegment(len(r.Segments))
	}
	return reader, stream, nil
}
