package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/glob"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/jsontext"
)

// Objects is objects of an object store: type "s3", "google" or "azureStorage" (and its older
// spelling "azure").
type Objects struct {
	// SystemFields are the columns that describe the object, not its content.
	SystemFields []string

	kind     *storeKind
	wire     objectsWire
	named    []objectName // objects asked for one by one
	prefixes []objectName
	glob     func(string) bool // nil: all
}

// objectName is a place in a store: a bucket (or container) and a key or prefix.
type objectName struct {
	account, bucket, key string
}

type objectsWire struct {
	Type       string          `json:"type"`
	URIs       wire.StringList `json:"uris,omitempty"`
	Prefixes   wire.StringList `json:"prefixes,omitempty"`
	Objects    []objectWire    `json:"objects,omitempty"`
	Glob       string          `json:"objectGlob,omitempty"`
	Filter     string          `json:"filter,omitempty"` // older name of the glob
	System     []string        `json:"systemFields,omitempty"`
	Properties json.RawMessage `json:"properties,omitempty"`
	Endpoint   *endpointWire   `json:"endpointConfig,omitempty"`
	Client     json.RawMessage `json:"clientConfig,omitempty"`
	Proxy      json.RawMessage `json:"proxyConfig,omitempty"`
}

type objectWire struct {
	Bucket string `json:"bucket"`
	Path   string `json:"path"`
}

type endpointWire struct {
	URL    string `json:"url,omitempty"`
	Region string `json:"signingRegion,omitempty"`
}

// storeKind is what differs between the stores.
type storeKind struct {
	scheme string
	// account says that a URI begins with an account before the container.
	account bool
	connect func(ctx context.Context, w *objectsWire, access *Access) (objectStore, error)
}

// objectStore reads one kind of store.
type objectStore interface {
	rangeReader
	// list calls f for the objects whose keys begin with a prefix, ascending, until it returns false.
	list(ctx context.Context, prefix objectName, f func(key string, size int64, etag string) bool) error
	stat(ctx context.Context, name objectName) (size int64, etag string, err error)
}

// rangeReader reads objects.
type rangeReader interface {
	// get returns the bytes from offset on, n of them or with n negative all, of the version etag.
	get(ctx context.Context, name objectName, etag string, offset, n int64) (io.ReadCloser, error)
}

var storeKinds = map[string]*storeKind{
	"s3":           {scheme: "s3", connect: connectS3},
	"google":       {scheme: "gs", connect: connectGoogle},
	"azureStorage": {scheme: "azureStorage", account: true, connect: connectAzure},
	"azure":        {scheme: "azure", connect: connectAzure},
}

func parseObjects(kind string, text json.RawMessage) (Source, error) {
	s := &Objects{kind: storeKinds[kind]}
	w := &s.wire
	if err := wire.Decode("inputSource", text, w); err != nil {
		return nil, err
	}
	s.SystemFields = w.System
	given := 0
	for _, n := range []int{len(w.URIs), len(w.Prefixes), len(w.Objects)} {
		if n > 0 {
			given++
		}
	}
	if given != 1 {
		return nil, wire.Invalid("inputSource", "exactly one of 'uris', 'prefixes' and 'objects' must be given")
	}
	pattern := w.Glob
	if pattern == "" {
		pattern = w.Filter
	}
	if pattern != "" {
		var err error
		if s.glob, err = glob.Compile(pattern); err != nil {
			return nil, err
		}
	}
	for _, o := range w.Objects {
		if o.Bucket == "" || o.Path == "" {
			return nil, wire.Invalid("inputSource", "an object needs 'bucket' and 'path'")
		}
		name := objectName{bucket: o.Bucket, key: strings.TrimPrefix(o.Path, "/")}
		if s.kind.account {
			name.account = o.Bucket
			name.bucket, name.key, _ = strings.Cut(name.key, "/")
		}
		s.named = append(s.named, name)
	}
	for _, list := range []struct {
		uris []string
		to   *[]objectName
	}{{w.URIs, &s.named}, {w.Prefixes, &s.prefixes}} {
		for _, uri := range list.uris {
			name, err := s.kind.parse(uri)
			if err != nil {
				return nil, err
			}
			*list.to = append(*list.to, name)
		}
	}
	return s, nil
}

// parse reads s3://bucket/key or azureStorage://account/container/key.
func (k *storeKind) parse(uri string) (objectName, error) {
	rest, ok := cutScheme(uri, k.scheme)
	bucket, key, _ := strings.Cut(rest, "/")
	name := objectName{bucket: bucket, key: key}
	if k.account {
		name.account = bucket
		name.bucket, name.key, _ = strings.Cut(key, "/")
	}
	if !ok || name.bucket == "" {
		return name, wire.Invalid("inputSource", "'%s' is not a URI such as %s://bucket/path", uri, k.scheme)
	}
	if decoded, err := url.PathUnescape(name.key); err == nil && strings.Contains(name.key, "%") {
		name.key = decoded
	}
	return name, nil
}

func cutScheme(uri, scheme string) (string, bool) {
	head, rest, ok := strings.Cut(uri, "://")
	return rest, ok && (strings.EqualFold(head, scheme) || scheme == "s3" && (head == "s3a" || head == "s3n"))
}

// Type returns the type id.
func (s *Objects) Type() string { return s.wire.Type }

// MarshalJSON returns the JSON form with secrets replaced.
func (s *Objects) MarshalJSON() ([]byte, error) {
	w := s.wire
	if wire.Given(w.Properties) {
		var members map[string]json.RawMessage
		hidden := map[string]any{}
		if json.Unmarshal(w.Properties, &members) == nil {
			for name, value := range members {
				var p password
				if err := json.Unmarshal(value, &p); err == nil {
					hidden[name] = p
				} else {
					hidden[name] = "********"
				}
			}
		}
		var err error
		if w.Properties, err = jsontext.Marshal(hidden); err != nil {
			return nil, err
		}
	}
	w.Proxy = nil // holds a password, and is not used
	return jsontext.Marshal(w)
}

func (*Objects) source() {}

func (s *Objects) systemFields() []string { return s.SystemFields }

// List asks the store for the objects under the prefixes and for the sizes of the named objects,
// and returns them in the order of their keys.
func (s *Objects) List(ctx context.Context, access *Access) ([]Entity, error) {
	store, err := s.kind.connect(ctx, &s.wire, access)
	if err != nil {
		return nil, err
	}
	var out []Entity
	add := func(name objectName, size int64, etag string) {
		if size > 0 && (s.glob == nil || s.glob(name.key) || s.glob(name.bucket+"/"+name.key)) {
			out = append(out, &object{s.kind, store, name, size, etag})
		}
	}
	for _, name := range s.named {
		size, etag, err := store.stat(ctx, name)
		if err != nil {
			return nil, err
		}
		add(name, size, etag)
	}
	for _, prefix := range s.prefixes {
		err := store.list(ctx, prefix, func(key string, size int64, etag string) bool {
			add(objectName{prefix.account, prefix.bucket, key}, size, etag)
			return len(out) <= maxSourceObjects
		})
		if err != nil {
			return nil, err
		}
		if len(out) > maxSourceObjects {
			return nil, fault.InvalidInput("Input source [%s] has more than [%d] objects; narrow its prefixes", s.Type(), maxSourceObjects)
		}
	}
	slices.SortStableFunc(out, func(a, b Entity) int { return strings.Compare(a.Name(), b.Name()) })
	return slices.CompactFunc(out, func(a, b Entity) bool { return a.Name() == b.Name() }), nil
}

// object is one version of an object: all reads of it are of the version that was listed.
type object struct {
	kind  *storeKind
	store rangeReader
	name  objectName
	size  int64
	etag  string
}

func (o *object) Name() string {
	path := o.name.bucket + "/" + o.name.key
	if o.kind.account {
		path = o.name.account + "/" + path
	}
	return o.kind.scheme + "://" + path
}

func (o *object) Size() int64    { return o.size }
func (o *object) Seekable() bool { return true }

func (o *object) SystemField(name string) (string, bool) {
	switch name {
	case "__file_uri":
		return o.Name(), true
	case "__file_bucket":
		return o.name.bucket, true
	case "__file_path":
		return o.name.key, true
	}
	return "", false
}

// Open starts a read that resumes with range requests when the connection breaks.
func (o *object) Open(ctx context.Context, offset int64) (io.ReadCloser, error) {
	b := &objectBody{o: o, ctx: ctx, offset: offset}
	if offset >= o.size {
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	if err := b.connect(); err != nil {
		return nil, err
	}
	return b, nil
}

type objectBody struct {
	o      *object
	ctx    context.Context // of Open
	offset int64
	body   io.ReadCloser
	tries  int
}

func (b *objectBody) connect() (err error) {
	b.body, err = b.o.store.get(b.ctx, b.o.name, b.o.etag, b.offset, -1)
	return err
}

func (b *objectBody) Read(p []byte) (int, error) {
	for {
		n, err := b.body.Read(p)
		if b.offset += int64(n); n > 0 {
			return n, nil
		}
		switch {
		case err == nil:
			continue
		case err == io.EOF && b.offset >= b.o.size:
			return 0, io.EOF
		case b.ctx.Err() != nil:
			return 0, b.ctx.Err()
		case b.tries >= httpAttempts-1:
			return 0, fault.Unavailable("Input [%s] broke off after [%d] bytes", b.o.Name(), b.offset).WithCause(err)
		}
		b.tries++
		_ = b.body.Close() // it failed already
		if err := b.connect(); err != nil {
			b.body = io.NopCloser(bytes.NewReader(nil))
			return 0, err
		}
	}
}

func (b *objectBody) Close() error { return b.body.Close() }

func (o *object) openRandom(ctx context.Context) (randomFile, error) { return &objectFile{o, ctx}, nil }

// objectFile reads ranges of an object. Ctx is that of its opening.
type objectFile struct {
	o   *object
	ctx context.Context
}

func (f *objectFile) Size() int64  { return f.o.size }
func (f *objectFile) Close() error { return nil }

func (f *objectFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= f.o.size {
		return 0, io.EOF
	}
	want := min(int64(len(p)), f.o.size-off)
	body, err := f.o.store.get(f.ctx, f.o.name, f.o.etag, off, want)
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(body, p[:want])
	if err = errors.Join(err, body.Close()); err == nil && want < int64(len(p)) {
		err = io.EOF
	}
	return n, err
}
