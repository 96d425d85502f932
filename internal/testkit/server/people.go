package server

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

// People are the users of a test, with what they may do: "READ DATASOURCE wiki", where * stands for
// any part. A JSON rule on rows and columns may follow; its role is the user. The password of all
// is Password. They are an authenticator and an authorizer of type "people".
type People map[string][]string

// Password is that of all People, and System the user of processes.
const (
	Password = "open sesame: ü"
	System   = "service_system"
)

// Settings are those of a process that knows the people, and nobody else.
func (p People) Settings() []string {
	return []string{
		`service.auth.authenticatorChain=["in"]`, "service.auth.authenticator.in.type=people",
		`service.auth.authorizers=["by"]`, "service.auth.authorizer.by.type=people",
		"service.escalator.type=basic", "service.escalator.internalClientUsername=" + System,
		"service.escalator.internalClientPassword=" + Password, "service.escalator.authorizerName=by",
	}
}

// Builders make the types of the people.
func (p People) Builders() auth.Builders {
	in := func(auth.Part) (auth.Authenticator, error) { return p, nil }
	by := func(auth.Part) (auth.Authorizer, error) { return p, nil }
	return auth.Builders{
		Authenticators: map[string]func(auth.Part) (auth.Authenticator, error){"people": in},
		Authorizers:    map[string]func(auth.Part) (auth.Authorizer, error){"people": by},
	}
}

// Authenticate implements auth.Authenticator.
func (p People) Authenticate(_ context.Context, r *auth.Request) (*auth.Identity, error) {
	user, password, ok := (&http.Request{Header: r.Header}).BasicAuth()
	if !ok {
		return nil, nil
	}
	if _, known := p[user]; !known && user != System || password != Password {
		return nil, fault.Unauthorized("User authentication failed.")
	}
	return &auth.Identity{Name: user, Authorizer: "by", By: "in"}, nil
}

// Challenge implements auth.Authenticator.
func (People) Challenge() string { return "Basic" }

// Decide implements auth.Authorizer.
func (p People) Decide(_ context.Context, id *auth.Identity, need auth.Need) (auth.Grant, error) {
	grants := p[id.Name]
	if id.Name == System {
		grants = []string{"* * *"}
	}
	var out auth.Grant
	for _, g := range grants {
		part := strings.SplitN(g, " ", 4)
		fits := func(i int, of string) bool { return part[i] == "*" || part[i] == of }
		if !fits(0, string(need.Action)) || !fits(1, string(need.Resource.Kind)) || !fits(2, need.Resource.Name) {
			continue
		}
		if len(part) < 4 {
			return auth.Grant{Allowed: true}, nil
		}
		rule := auth.Rule{Role: id.Name}
		if err := json.Unmarshal([]byte(part[3]), &rule); err != nil {
			return auth.Grant{}, fault.Defensive("A rule of the test can't be read").WithCause(err)
		}
		out.Allowed, out.Rules = true, append(out.Rules, &rule)
	}
	return out, nil
}

// As returns a client that sends the credentials of one of People.
func (c *Client) As(user string) *Client {
	return &Client{Addresses: c.Addresses, User: user, HTTP: c.HTTP}
}
