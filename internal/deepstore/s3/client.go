package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// Options define how to access a store. The zero value is the public service with the credentials
// of the machine.
type Options struct {
	// Endpoint is the URL of another store, "" the public one. Region is its region, "" the region of
	// the machine or us-east-1.
	Endpoint, Region string
	// AccessKey, SecretKey and SessionToken are credentials; if they are absent, the credentials of
	// the machine are used.
	AccessKey, SecretKey, SessionToken secret.Text
	// AssumeRole is the ARN of a role to assume, with its external id if it has one.
	AssumeRole string
	ExternalID secret.Text
	// HTTP sends the requests; nil: the client of the SDK.
	HTTP *http.Client
	// Roots are the certificate authorities for the store if HTTP is nil; nil: the system's.
	Roots *x509.CertPool
}

// Client reads and writes objects. It is safe for use by many goroutines.
type Client struct{ api *s3.Client }

// Object describes an object.
type Object struct {
	Key  string
	Size int64
	ETag string
	// Modified is in milliseconds since 1970.
	Modified int64
}

// Connect returns a client. It sends no requests.
func Connect(ctx context.Context, o Options) (*Client, error) {
	var load []func(*config.LoadOptions) error
	if o.Region != "" {
		load = append(load, config.WithRegion(o.Region))
	}
	if !o.AccessKey.IsZero() {
		load = append(load, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(
			o.AccessKey.Reveal(), o.SecretKey.Reveal(), o.SessionToken.Reveal())))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fault.InvalidInput("The credentials or settings for S3 can't be read").WithCause(err)
	}
	if o.HTTP != nil {
		cfg.HTTPClient = o.HTTP
	} else if o.Roots != nil {
		cfg.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(tr *http.Transport) {
			tr.TLSClientConfig = &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12}
		})
	}
	if cfg.Region == "" {
		cfg.Region = "us-east-1"
	}
	if o.AssumeRole != "" {
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), o.AssumeRole, func(r *stscreds.AssumeRoleOptions) {
			if !o.ExternalID.IsZero() {
				r.ExternalID = aws.String(o.ExternalID.Reveal())
			}
		}))
	}
	// What is refused here, such as an address, is refused again; the rest is tried anew as the SDK
	// does.
	cfg.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) {
			refused := retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
				if fault.Find(err) != nil {
					return aws.FalseTernary
				}
				return aws.UnknownTernary
			})
			o.Retryables = append([]retry.IsErrorRetryable{refused}, o.Retryables...)
		})
	}
	// Checksums that only some stores know are used where they are demanded.
	cfg.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	cfg.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	return &Client{s3.NewFromConfig(cfg, func(so *s3.Options) {
		if o.Endpoint != "" {
			so.BaseEndpoint = &o.Endpoint
			so.UsePathStyle = true
		}
	})}, nil
}

// Stat describes an object.
func (c *Client) Stat(ctx context.Context, bucket, key string) (Object, error) {
	out, err := c.api.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return Object{}, problem(ctx, bucket, key, err)
	}
	o := Object{Key: key, Size: aws.ToInt64(out.ContentLength), ETag: aws.ToString(out.ETag)}
	if out.LastModified != nil {
		o.Modified = out.LastModified.UnixMilli()
	}
	return o, nil
}

// List calls f for the objects whose keys begin with prefix and are greater than after, in
// ascending byte order, until f returns false.
func (c *Client) List(ctx context.Context, bucket, prefix, after string, f func(Object) bool) error {
	in := &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix}
	if after != "" {
		in.StartAfter = &after
	}
	pages := s3.NewListObjectsV2Paginator(c.api, in, func(o *s3.ListObjectsV2PaginatorOptions) { o.StopOnDuplicateToken = true })
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return problem(ctx, bucket, prefix, err)
		}
		for _, x := range page.Contents {
			o := Object{Key: aws.ToString(x.Key), Size: aws.ToInt64(x.Size), ETag: aws.ToString(x.ETag)}
			if x.LastModified != nil {
				o.Modified = x.LastModified.UnixMilli()
			}
			if !f(o) {
				return nil
			}
		}
	}
	return nil
}

// Get returns n bytes of an object from offset on, or all remaining bytes if n is negative. With an
// etag, the object must still have that version. It also returns the version that it reads.
func (c *Client) Get(ctx context.Context, bucket, key, etag string, offset, n int64) (io.ReadCloser, string, error) {
	in := &s3.GetObjectInput{Bucket: &bucket, Key: &key}
	if etag != "" {
		in.IfMatch = &etag
	}
	if n >= 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-%d", offset, offset+n-1))
	} else if offset > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", offset))
	}
	out, err := c.api.GetObject(ctx, in)
	if err != nil {
		return nil, "", problem(ctx, bucket, key, err)
	}
	return out.Body, aws.ToString(out.ETag), nil
}

// Put stores an object of the given size. With fresh, it fails if the key exists.
func (c *Client) Put(ctx context.Context, bucket, key string, body io.ReadSeeker, size int64, fresh bool) error {
	in := &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: body, ContentLength: &size}
	if fresh {
		in.IfNoneMatch = aws.String("*")
	}
	if _, err := c.api.PutObject(ctx, in); err != nil {
		return problem(ctx, bucket, key, err)
	}
	return nil
}

// Delete deletes objects, and ignores missing ones.
func (c *Client) Delete(ctx context.Context, bucket string, keys ...string) error {
	for _, key := range keys {
		if _, err := c.api.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: &key}); err != nil {
			if err = problem(ctx, bucket, key, err); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// ErrChanged marks reads of an object that no longer has the requested version.
var ErrChanged = errors.New("the object changed")

// problem is the fault of a request about an object. What the store says may hold a secret only if
// its URL does, and that is left out.
func problem(ctx context.Context, bucket, key string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f := fault.Find(err); f != nil {
		return f
	}
	name := "s3://" + bucket + "/" + key
	code := ""
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code = api.ErrorCode()
	}
	status := 0
	if resp, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status = resp.HTTPStatusCode()
	}
	switch {
	case status == http.StatusPreconditionFailed || status == http.StatusConflict:
		return fault.Conflict("Object [%s] does not match the condition", name).WithCause(errors.Join(ErrChanged, fs.ErrExist, err))
	case code == "NoSuchBucket":
		return fault.InvalidInput("Bucket [%s] does not exist", bucket).WithCause(errors.Join(fs.ErrNotExist, err))
	case status == http.StatusNotFound:
		return fault.InvalidInput("Object [%s] does not exist", name).WithCause(errors.Join(fs.ErrNotExist, err))
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		return fault.InvalidInput("Object [%s] may not be read with these credentials: the store answered [%s]", name, strings.TrimSpace(code)).WithCause(err)
	case status == http.StatusRequestedRangeNotSatisfiable:
		return fault.Runtime("Object [%s] is shorter than it was", name).WithCause(errors.Join(io.ErrUnexpectedEOF, err))
	case status >= 400 && status < 500:
		return fault.InvalidInput("Object [%s] could not be used: the store answered [%d %s]", name, status, code).WithCause(err)
	}
	return fault.Unavailable("Object [%s] could not be used: the store can't be reached or failed", name).WithCause(err)
}
