package ingest

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/secret"
)

// connectS3 reaches the public service or, by endpointConfig, another store. Credentials are those
// given, else the machine's.
func connectS3(ctx context.Context, w *objectsWire, access *Access) (objectStore, error) {
	return connectS3At(ctx, w, access, "")
}

// connectGoogle reaches Google's storage by its S3 form, with HMAC keys.
func connectGoogle(ctx context.Context, w *objectsWire, access *Access) (objectStore, error) {
	return connectS3At(ctx, w, access, "https://storage.googleapis.com")
}

func connectS3At(ctx context.Context, w *objectsWire, access *Access, endpoint string) (objectStore, error) {
	var p struct {
		AccessKey    *password   `json:"accessKeyId"`
		SecretKey    *password   `json:"secretAccessKey"`
		SessionToken *password   `json:"sessionToken"`
		AssumeRole   string      `json:"assumeRoleArn"`
		ExternalID   secret.Text `json:"assumeRoleExternalId"`
	}
	if wire.Given(w.Properties) && json.Unmarshal(w.Properties, &p) != nil {
		return nil, wire.Invalid("inputSource", "'properties' can't be read") // what is in it may be secret
	}
	o := s3.Options{Endpoint: endpoint, AssumeRole: p.AssumeRole, ExternalID: p.ExternalID}
	if w.Endpoint != nil {
		if o.Region = w.Endpoint.Region; w.Endpoint.URL != "" {
			o.Endpoint = w.Endpoint.URL
			if !strings.Contains(o.Endpoint, "://") {
				o.Endpoint = "https://" + o.Endpoint
			}
		}
	}
	if access != nil && w.Endpoint == nil && endpoint == "" && !wire.Given(w.Properties) {
		o = access.S3
	}
	protocols := httpProtocols(access)
	if u, err := url.Parse(o.Endpoint); o.Endpoint != "" && (err != nil || !slices.Contains(protocols, strings.ToLower(u.Scheme))) {
		return nil, fault.InvalidInput("Endpoint [%s] is not a URL of protocols [%s]", o.Endpoint, strings.Join(protocols, ", "))
	}
	var err error
	for _, given := range []struct {
		from *password
		to   *secret.Text
	}{{p.AccessKey, &o.AccessKey}, {p.SecretKey, &o.SecretKey}, {p.SessionToken, &o.SessionToken}} {
		if given.from != nil {
			if *given.to, err = given.from.resolve(access); err != nil {
				return nil, err
			}
		}
	}
	if o.HTTP = httpClient(access, protocols); w.Endpoint != nil && w.Endpoint.URL != "" {
		o.HTTP = httpClient(access.web(), protocols)
	}
	c, err := s3.Connect(ctx, o)
	if err != nil {
		return nil, err
	}
	return s3Objects{c}, nil
}

// NewestS3 returns the URI and the version of the most recently modified object below a prefix
// (s3://bucket/key) whose name matches, or "" if there is none.
func NewestS3(ctx context.Context, prefix string, access *Access, match func(name string) bool) (uri, version string, err error) {
	below, err := storeKinds["s3"].parse(prefix)
	if err != nil {
		return "", "", err
	}
	store, err := connectS3(ctx, &objectsWire{}, access)
	if err != nil {
		return "", "", err
	}
	newest := int64(math.MinInt64)
	err = store.(s3Objects).c.List(ctx, below.bucket, below.key, "", func(o s3.Object) bool {
		if o.Size > 0 && o.Modified >= newest && match(o.Key[strings.LastIndexByte(o.Key, '/')+1:]) {
			newest, uri, version = o.Modified, (&url.URL{Scheme: "s3", Host: below.bucket, Path: "/" + o.Key}).String(), o.ETag
		}
		return true
	})
	return uri, version, err
}

// s3Objects is an objectStore.
type s3Objects struct{ c *s3.Client }

func (s s3Objects) list(ctx context.Context, prefix objectName, f func(string, int64, string) bool) error {
	return s.c.List(ctx, prefix.bucket, prefix.key, "", func(o s3.Object) bool { return f(o.Key, o.Size, o.ETag) })
}

func (s s3Objects) stat(ctx context.Context, name objectName) (int64, string, error) {
	o, err := s.c.Stat(ctx, name.bucket, name.key)
	return o.Size, o.ETag, err
}

func (s s3Objects) get(ctx context.Context, name objectName, etag string, offset, n int64) (io.ReadCloser, error) {
	body, found, err := s.c.Get(ctx, name.bucket, name.key, etag, offset, n)
	if err != nil {
		return nil, s3.Changed(name.bucket, name.key, err)
	}
	if etag != "" && found != "" && found != etag { // a store that does not know the condition
		_ = body.Close() // another object's
		return nil, s3.Changed(name.bucket, name.key, s3.ErrChanged)
	}
	return body, nil
}
