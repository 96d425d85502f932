package s3

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/fault"
)

// File is one version of an object, opened for random access by several goroutines.
type File struct {
	c           *Client
	ctx         context.Context // of Open: reads belong to what opened the object
	bucket, key string
	o           Object
}

// Open opens the latest version of an object. ctx also applies to the reads.
func (c *Client) Open(ctx context.Context, bucket, key string) (*File, error) {
	o, err := c.Stat(ctx, bucket, key)
	if err != nil {
		return nil, err
	}
	return &File{c, ctx, bucket, key, o}, nil
}

// Within implements deepstore.Within.
func (f *File) Within(ctx context.Context) deepstore.Object {
	return &File{f.c, ctx, f.bucket, f.key, f.o}
}

// Size returns the size of the object in bytes.
func (f *File) Size() int64 { return f.o.Size }

// ReadAt reads a range with one request. A missing version is a fault.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if off >= f.o.Size || len(p) == 0 {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	want := min(int64(len(p)), f.o.Size-off)
	body, _, err := f.c.Get(f.ctx, f.bucket, f.key, f.o.ETag, off, want)
	if err != nil {
		return 0, Changed(f.bucket, f.key, err)
	}
	n, err := io.ReadFull(body, p[:want])
	err = errors.Join(err, body.Close())
	if err != nil {
		return n, problem(f.ctx, f.bucket, f.key, err)
	}
	if want < int64(len(p)) {
		return n, io.EOF
	}
	return n, nil
}

// Close does nothing, because no connection is kept.
func (f *File) Close() error { return nil }

// Changed returns the fault of a changed object if err says that the object changed while it was
// read, and otherwise err.
func Changed(bucket, key string, err error) error {
	if errors.Is(err, ErrChanged) {
		return fault.Runtime("Object [s3://%s/%s] changed while it was read; run the ingestion again", bucket, key).WithCause(err)
	}
	return err
}
