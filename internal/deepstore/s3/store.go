package s3

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/fault"
)

// Store stores objects in a bucket, under a prefix. It is a deepstore.Store.
type Store struct {
	c              *Client
	bucket, prefix string
	temp           string
}

const (
	// putMemory is how much of an object is kept in memory until its size is known, rather than in a
	// temporary file.
	putMemory = 8 << 20
	// maxObject is the largest object that one request stores.
	maxObject = 5 << 30
)

// NewStore returns a store in a bucket. prefix is the common prefix of its keys and may be empty.
// temp is a directory for uploads in progress.
func NewStore(c *Client, bucket, prefix, temp string) (*Store, error) {
	if bucket == "" {
		return nil, fault.InvalidInput("Deep storage [s3] needs a bucket: set service.storage.bucket")
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		if err := deepstore.CheckKey(prefix); err != nil {
			return nil, err
		}
		prefix += "/"
	}
	return &Store{c: c, bucket: bucket, prefix: prefix, temp: temp}, nil
}

// Put implements deepstore.Store.
func (s *Store) Put(ctx context.Context, key string, r io.Reader) error {
	if err := deepstore.CheckKey(key); err != nil {
		return err
	}
	var small bytes.Buffer
	n, err := io.CopyN(&small, r, putMemory)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if errors.Is(err, io.EOF) {
		return s.put(ctx, key, bytes.NewReader(small.Bytes()), n)
	}
	f, err := os.CreateTemp(s.temp, "henge-put-*")
	if err != nil {
		return fault.Runtime("Deep storage needs a temporary file, which could not be made").WithCause(err)
	}
	defer func() {
		_ = f.Close() // its content is in the store or of no use
		_ = os.Remove(f.Name())
	}()
	size, err := io.Copy(f, io.MultiReader(&small, io.LimitReader(r, maxObject-n+1)))
	if err != nil {
		return err
	}
	if size > maxObject {
		return fault.InvalidInput("Object [%s] is larger than [%d] bytes", key, int64(maxObject))
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return s.put(ctx, key, f, size)
}

func (s *Store) put(ctx context.Context, key string, body io.ReadSeeker, size int64) error {
	err := s.c.Put(ctx, s.bucket, s.prefix+key, body, size, true)
	if errors.Is(err, ErrChanged) {
		return fault.Conflict("Deep storage has an object [%s] already; objects are never overwritten", key).WithCause(fs.ErrExist)
	}
	return err
}

// Open implements deepstore.Store.
func (s *Store) Open(ctx context.Context, key string) (deepstore.Object, error) {
	if err := deepstore.CheckKey(key); err != nil {
		return nil, err
	}
	f, err := s.c.Open(ctx, s.bucket, s.prefix+key)
	if err != nil {
		return nil, missing(key, err)
	}
	return f, nil
}

func missing(key string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.NotFound("Deep storage has no object [%s]", key).WithCause(fs.ErrNotExist)
	}
	return err
}

// Stat implements deepstore.Store.
func (s *Store) Stat(ctx context.Context, key string) (deepstore.Info, error) {
	if err := deepstore.CheckKey(key); err != nil {
		return deepstore.Info{}, err
	}
	o, err := s.c.Stat(ctx, s.bucket, s.prefix+key)
	return deepstore.Info{Key: key, Size: o.Size, Modified: o.Modified}, missing(key, err)
}

// List implements deepstore.Store.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]deepstore.Info, error) {
	if limit <= 0 {
		return nil, nil
	}
	if after != "" {
		after = s.prefix + after
	}
	var out []deepstore.Info
	err := s.c.List(ctx, s.bucket, s.prefix+prefix, after, func(o Object) bool {
		out = append(out, deepstore.Info{Key: strings.TrimPrefix(o.Key, s.prefix), Size: o.Size, Modified: o.Modified})
		return len(out) < limit
	})
	return out, err
}

// Delete implements deepstore.Store.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := deepstore.CheckKey(key); err != nil {
			return err
		}
		if err := s.c.Delete(ctx, s.bucket, s.prefix+key); err != nil {
			return err
		}
	}
	return nil
}

// Close implements deepstore.Store.
func (s *Store) Close() error { return nil }

type loadSpec struct {
	Type   string `json:"type"`
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
	Schema string `json:"S3Schema"`
}

// LoadSpec implements deepstore.Store. It returns the load spec of Druid.
func (s *Store) LoadSpec(key string) json.RawMessage {
	text, err := json.Marshal(loadSpec{"s3_zip", s.bucket, s.prefix + key, "s3n"})
	if err != nil {
		return nil // four strings always marshal
	}
	return text
}

// Key implements deepstore.Store.
func (s *Store) Key(spec json.RawMessage) (string, error) {
	var l loadSpec
	if err := json.Unmarshal(spec, &l); err != nil || l.Type != "s3_zip" {
		return "", fault.InvalidInput("Load spec [%.200s] is not one of S3", spec)
	}
	key, ok := strings.CutPrefix(l.Key, s.prefix)
	if l.Bucket != s.bucket || !ok {
		return "", fault.InvalidInput("Load spec [%.200s] is of another bucket or prefix", spec)
	}
	return key, deepstore.CheckKey(key)
}

var _ deepstore.Store = (*Store)(nil)
