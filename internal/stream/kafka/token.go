package kafka

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/hengedb/henge/internal/secret"
)

// tokenBytes bounds the answer of an endpoint of tokens.
const tokenBytes = 1 << 20

func urlProblem(text string) string {
	if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "it is not an HTTP address"
	}
	return ""
}

// askToken returns how a token is asked for with the credentials of a client.
func (l *login) askToken(client *http.Client) func(context.Context) (string, error) {
	options := l.jaas.options
	return func(ctx context.Context) (string, error) {
		form := url.Values{"grant_type": {"client_credentials"}}
		if scope := l.scope; scope != "" {
			form.Set("scope", scope)
		} else if scope := options["scope"]; scope != "" {
			form.Set("scope", scope)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.tokenURL, strings.NewReader(form.Encode()))
		if err != nil {
			return "", err
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Accept", "application/json")
		req.SetBasicAuth(url.QueryEscape(options["clientId"]), url.QueryEscape(options["clientSecret"]))
		resp, err := client.Do(req)
		if err != nil {
			return "", tokenProblem("[%s] does not answer", secret.URL(req.URL)).WithCause(err)
		}
		defer resp.Body.Close()
		var answer struct {
			Token secret.Text `json:"access_token"`
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, tokenBytes))
		switch {
		case err != nil:
			return "", tokenProblem("[%s] broke off its answer", secret.URL(req.URL))
		case resp.StatusCode != http.StatusOK:
			return "", tokenProblem("[%s] answered [%d]", secret.URL(req.URL), resp.StatusCode)
		case json.Unmarshal(body, &answer) != nil || answer.Token.IsZero():
			return "", tokenProblem("[%s] answered without an [access_token]", secret.URL(req.URL))
		}
		return answer.Token.Reveal(), nil
	}
}
