package s3

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/fault"
)

// File is one version of an object, read at any place and by several goroutines.
type File struct {
	c           *Client
	ctx         context.Context // of Open: reads belong to what opened the object
	bucket, key string
	o           Object
}

// Open finds the newest version of an object. Ctx governs the reads too.
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

// Size returns the bytes of the object.
func (f *File) Size() int64 { return f.o.Size }

// ReadAt reads a range with one request; a version that is gone is a fault.
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

// Close does nothing: no connection is kept.
func (f *File) Close() error { return nil }

// Changed says so when err is that of an object which changed while it was read.
func Changed(bucket, key string, err error) error {
	if errors.Is(err, ErrChanged) {
		return fault.Runtime("Object [s3://%s/%s] changed while it was read; run the ingestion again", bucket, key).WithCause(err)
	}
	return err
}
