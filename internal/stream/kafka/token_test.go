package kafka

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/fault"
)

func TestTokensOfAnEndpoint(t *testing.T) {
	status, body := http.StatusOK, `{"access_token":"t1","expires_in":60}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "me" || password != "pw%26" || r.PostFormValue("grant_type") != "client_credentials" || r.PostFormValue("scope") != "kafka" {
			t.Errorf("%s %s %v", user, password, r.PostForm)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	l := &login{mechanism: "OAUTHBEARER", tokenURL: server.URL}
	if problem := l.readJAAS(`a.OAuthBearerLoginModule required clientId=me clientSecret="pw&" scope=kafka;`); problem != "" {
		t.Fatal(problem)
	}
	ask := l.askToken(server.Client())
	if token, err := ask(context.Background()); err != nil || token != "t1" {
		t.Fatal(token, err)
	}
	for _, c := range []struct {
		status    int
		body, why string
	}{
		{http.StatusUnauthorized, "", "answered [401]"},
		{http.StatusOK, "{}", "without an [access_token]"},
		{http.StatusOK, "no", "without an [access_token]"},
	} {
		status, body = c.status, c.body
		if _, err := ask(context.Background()); fault.Find(err) == nil || !strings.Contains(err.Error(), c.why) ||
			strings.Contains(err.Error(), "pw") {
			t.Errorf("%d %s: %v", c.status, c.body, err)
		}
	}
	server.Close()
	if _, err := ask(context.Background()); fault.Find(err) == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Error(err)
	}
}

func TestUnsecuredTokens(t *testing.T) {
	l := &login{}
	if problem := l.readJAAS(`a.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=alice unsecuredLoginNumberClaim_n="1.5"
		unsecuredLoginListClaim_scope=",a,b" unsecuredLoginLifetimeSeconds="60";`); problem != "" {
		t.Fatal(problem)
	}
	token, err := l.unsecured(time.UnixMilli(1_700_000_000_500))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 || parts[2] != "" {
		t.Fatal(token)
	}
	head, _ := base64.RawURLEncoding.DecodeString(parts[0])
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || string(head) != `{"alg":"none"}` {
		t.Fatal(string(head), err)
	}
	var claims map[string]any
	if err := json.Unmarshal(text, &claims); err != nil {
		t.Fatal(err)
	}
	scope, _ := claims["scope"].([]any)
	if claims["sub"] != "alice" || claims["n"] != 1.5 || len(scope) != 2 || scope[1] != "b" ||
		claims["iat"] != 1_700_000_000.5 || claims["exp"] != 1_700_000_060.5 {
		t.Fatal(string(text))
	}
}
