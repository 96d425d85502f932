package export

import (
	"context"
	"io"
	"strings"

	"github.com/hengedb/henge/internal/deepstore/s3"
)

// objects is a prefix in a bucket.
type objects struct {
	client         *s3.Client
	scheme         string
	bucket, prefix string // the prefix is empty or ends in a slash
}

// URI implements Destination.
func (o *objects) URI(name string) string { return o.scheme + "://" + o.bucket + "/" + o.prefix + name }

// Names implements Destination.
func (o *objects) Names(ctx context.Context, limit int) ([]string, error) {
	var out []string
	err := o.client.List(ctx, o.bucket, o.prefix, "", func(x s3.Object) bool {
		if name := strings.TrimPrefix(x.Key, o.prefix); name != "" { // that is how some tools make an empty folder
			out = append(out, name)
		}
		return len(out) < limit
	})
	return out, err
}

// Put implements Destination.
func (o *objects) Put(ctx context.Context, name string, r io.ReadSeeker, size int64) error {
	return o.client.Put(ctx, o.bucket, o.prefix+name, r, size, true)
}

// Delete implements Destination.
func (o *objects) Delete(ctx context.Context, names ...string) error {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = o.prefix + name
	}
	return o.client.Delete(ctx, o.bucket, keys...)
}

// Close implements Destination.
func (o *objects) Close() error { return nil }
