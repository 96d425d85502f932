package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/hengedb/henge/internal/fault"
)

// Options say how to reach a store. The zero value is the public service with the machine's
// credentials.
type Options struct {
	// Endpoint is the URL of another store, "" the public one; Region is its region, "" that of the
	// machine or us-east-1.
	Endpoint, Region string
	// AccessKey, SecretKey and SessionToken are credentials; without them the machine's are used.
	AccessKey, SecretKey, SessionToken string
	// AssumeRole is the ARN of a role to take, with its external id if it has one.
	AssumeRole, ExternalID string
	// HTTP sends the requests; nil: the SDK's own client.
	HTTP *http.Client
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

// Connect makes a client; nothing is asked of the store.
func Connect(ctx context.Context, o Options) (*Client, error) {
	var load []func(*config.LoadOptions) error
	if o.Region != "" {
		load = append(load, config.WithRegion(o.Region))
	}
	if o.AccessKey != "" {
		load = append(load, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(o.AccessKey, o.SecretKey, o.SessionToken)))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fault.InvalidInput("The credentials or settings for S3 can't be read").WithCause(err)
	}
	if o.HTTP != nil {
		cfg.HTTPClient = o.HTTP
	}
	if cfg.Region == "" {
		cfg.Region = "us-east-1"
	}
	if o.AssumeRole != "" {
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), o.AssumeRole, func(r *stscreds.AssumeRoleOptions) {
			if o.ExternalID != "" {
				r.ExternalID = &o.ExternalID
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

// List calls f for the objects whose keys begin with prefix and come after after, ascending by
// bytes, until it returns false.
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

// Get returns the bytes of an object from offset on, n of them or with n negative all. With an etag
// the object must still be that version. It also returns the version that it reads.
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

// Put stores an object of the given size; with fresh set only under a key that is free.
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

// Delete removes objects; those that are not there are no error.
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

// ErrChanged marks reads of an object that is no longer the version asked for.
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
		return fault.Conflict("Object [%s] is not what the condition asks for", name).WithCause(errors.Join(ErrChanged, fs.ErrExist, err))
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
