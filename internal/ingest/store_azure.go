package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/secret"
)

// azureObjects is an objectStore. A client is made for the account that an object names.
type azureObjects struct {
	key, sas secret.Text
	app      *azureApp // nil: there is none
	account  string    // of URIs that name none
	endpoint string    // "": the public one of the account
	options  azblob.ClientOptions
}

func connectAzure(_ context.Context, w *objectsWire, access *Access) (objectStore, error) {
	var p struct {
		Account string    `json:"account"`
		Key     *password `json:"key"`
		SAS     *password `json:"sharedAccessStorageToken"`
		App     string    `json:"appRegistrationClientId"`
		Secret  *password `json:"appRegistrationClientSecret"`
		Tenant  string    `json:"tenantId"`
		// Authority is the host that issues tokens for app registrations; "": the public one.
		Authority string `json:"authorityHost"`
	}
	if wire.Given(w.Properties) && json.Unmarshal(w.Properties, &p) != nil {
		return nil, wire.Invalid("inputSource", "'properties' can't be read") // what is in it may be secret
	}
	s := &azureObjects{account: p.Account}
	var err error
	if p.Key != nil {
		if s.key, err = p.Key.resolve(access); err != nil {
			return nil, err
		}
	}
	if p.SAS != nil {
		if s.sas, err = p.SAS.resolve(access); err != nil {
			return nil, err
		}
	}
	if w.Endpoint != nil {
		s.endpoint = w.Endpoint.URL
	}
	client := httpClient(access.web(), httpProtocols(access))
	s.options.Transport = client
	s.options.Retry = policy.RetryOptions{MaxRetries: httpAttempts - 1}
	if p.App == "" && p.Secret == nil && p.Tenant == "" {
		return s, nil
	}
	if p.App == "" || p.Secret == nil || p.Tenant == "" || !s.key.IsZero() || !s.sas.IsZero() {
		return nil, wire.Invalid("inputSource", "an app registration needs 'appRegistrationClientId', 'appRegistrationClientSecret' and 'tenantId', and no other credentials")
	}
	if p.Authority == "" {
		p.Authority = azureAuthority
	}
	s.app = &azureApp{authority: p.Authority, tenant: p.Tenant, id: p.App, http: client, clock: access.clock()}
	if s.app.secret, err = p.Secret.resolve(access); err != nil {
		return nil, err
	}
	s.options.PerCallPolicies = append(s.options.PerCallPolicies, s.app)
	return s, nil
}

func (s *azureObjects) client(account string) (*azblob.Client, error) {
	if account == "" {
		account = s.account
	}
	endpoint := s.endpoint
	if endpoint == "" {
		if account == "" {
			return nil, wire.Invalid("inputSource", "the URI names no storage account; use azureStorage://account/container/path")
		}
		endpoint = "https://" + account + ".blob.core.windows.net"
	}
	endpoint = strings.TrimSuffix(endpoint, "/") + "/"
	if !s.key.IsZero() {
		credential, err := azblob.NewSharedKeyCredential(account, s.key.Reveal())
		if err != nil {
			return nil, wire.Invalid("inputSource", "the key of the storage account is not base64")
		}
		return azblob.NewClientWithSharedKeyCredential(endpoint, credential, &s.options)
	}
	if !s.sas.IsZero() {
		endpoint += "?" + strings.TrimPrefix(s.sas.Reveal(), "?")
	}
	return azblob.NewClientWithNoCredential(endpoint, &s.options)
}

func (s *azureObjects) list(ctx context.Context, prefix objectName, f func(string, int64, string) bool) error {
	c, err := s.client(prefix.account)
	if err != nil {
		return err
	}
	pages := c.NewListBlobsFlatPager(prefix.bucket, &container.ListBlobsFlatOptions{Prefix: &prefix.key})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return azureProblem(ctx, prefix, err)
		}
		for _, b := range page.Segment.BlobItems {
			if b.Name == nil || b.Properties == nil {
				continue
			}
			size, etag := int64(0), ""
			if b.Properties.ContentLength != nil {
				size = *b.Properties.ContentLength
			}
			if b.Properties.ETag != nil {
				etag = string(*b.Properties.ETag)
			}
			if !f(*b.Name, size, etag) {
				return nil
			}
		}
	}
	return nil
}

func (s *azureObjects) stat(ctx context.Context, name objectName) (int64, string, error) {
	c, err := s.client(name.account)
	if err != nil {
		return 0, "", err
	}
	p, err := c.ServiceClient().NewContainerClient(name.bucket).NewBlobClient(name.key).GetProperties(ctx, nil)
	if err != nil {
		return 0, "", azureProblem(ctx, name, err)
	}
	size, etag := int64(0), ""
	if p.ContentLength != nil {
		size = *p.ContentLength
	}
	if p.ETag != nil {
		etag = string(*p.ETag)
	}
	return size, etag, nil
}

func (s *azureObjects) get(ctx context.Context, name objectName, etag string, offset, n int64) (io.ReadCloser, error) {
	c, err := s.client(name.account)
	if err != nil {
		return nil, err
	}
	o := &azblob.DownloadStreamOptions{Range: azblob.HTTPRange{Offset: offset, Count: max(n, 0)}}
	if etag != "" {
		tag := azcore.ETag(etag)
		if !strings.HasPrefix(etag, `"`) { // lists give it without quotes
			tag = azcore.ETag(`"` + etag + `"`)
		}
		o.AccessConditions = &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &tag}}
	}
	r, err := c.DownloadStream(ctx, name.bucket, name.key, o)
	if err != nil {
		return nil, azureProblem(ctx, name, err)
	}
	return r.Body, nil
}

// azureProblem names the object and not the URL, which may hold a token.
func azureProblem(ctx context.Context, name objectName, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f := fault.Find(err); f != nil {
		return f
	}
	where := name.bucket + "/" + name.key
	var resp *azcore.ResponseError
	if !errors.As(err, &resp) {
		return fault.Unavailable("Object [%s] could not be read: its store can't be reached", where)
	}
	switch resp.StatusCode {
	case http.StatusNotFound:
		return fault.InvalidInput("Object [%s] does not exist", where)
	case http.StatusPreconditionFailed:
		return fault.Runtime("Object [%s] changed while it was read; run the ingestion again", where)
	}
	return fault.InvalidInput("Object [%s] could not be read: its store answered [%d %s]", where, resp.StatusCode, resp.ErrorCode)
}
