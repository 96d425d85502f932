package ingest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/secret"
)

const (
	// azureAuthority gives tokens to app registrations, azureScope is what they are for.
	azureAuthority = "https://login.microsoftonline.com"
	azureScope     = "https://storage.azure.com/.default"
	// tokenMargin is how long before its end a token is no longer used.
	tokenMargin = 2 * time.Minute
)

// azureApp is an app registration of Azure: it gets tokens by its secret (OAuth 2.0, client
// credentials) and puts them on requests, as a policy.Policy. It is safe for use by many
// goroutines.
type azureApp struct {
	authority, tenant, id string
	secret                secret.Text
	http                  *http.Client
	clock                 clock.Clock

	mu    sync.Mutex // held while a token is asked for: the others wait for it
	token secret.Text
	until time.Time
}

// Do implements policy.Policy.
func (a *azureApp) Do(req *policy.Request) (*http.Response, error) {
	token, err := a.get(req.Raw().Context())
	if err != nil {
		return nil, err
	}
	req.Raw().Header.Set("Authorization", "Bearer "+token.Reveal())
	return req.Next()
}

// get returns a token that is good for a while.
func (a *azureApp) get(ctx context.Context) (secret.Text, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.token.IsZero() && a.clock.Now().Before(a.until) {
		return a.token, nil
	}
	began := a.clock.Now()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {a.id}, "client_secret": {a.secret.Reveal()}, "scope": {azureScope}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(a.authority, "/")+"/"+url.PathEscape(a.tenant)+"/oauth2/v2.0/token",
		strings.NewReader(form.Encode()))
	if err != nil {
		return secret.Text{}, wire.Invalid("inputSource", "'authorityHost' is not a URL")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := a.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return secret.Text{}, ctx.Err()
		}
		if refused := fault.Find(err); refused != nil {
			return secret.Text{}, refused
		}
		return secret.Text{}, fault.Unavailable("App registration [%s] of tenant [%s] got no token: %s", a.id, a.tenant, transportProblem(err)).WithCause(err)
	}
	defer resp.Body.Close()
	var w struct {
		Token   secret.Text `json:"access_token"`
		Seconds int64       `json:"expires_in"`
		Error   string      `json:"error"`
	}
	// What can't be read has no token.
	err = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&w)
	if resp.StatusCode != http.StatusOK || err != nil || w.Token.IsZero() {
		return secret.Text{}, fault.InvalidInput("App registration [%s] of tenant [%s] got no token: [%s] answered [%d %.100s]", a.id, a.tenant, req.URL.Host, resp.StatusCode, w.Error)
	}
	a.token, a.until = w.Token, began.Add(time.Duration(w.Seconds)*time.Second-tokenMargin)
	return a.token, nil
}
