package auth

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

// values are settings of a test.
type values map[string]string

func (v values) Text(key string) string { return v[key] }
func (v values) Bool(key string) bool   { return v[key] == "true" }
func (v values) Int(string) int64       { return 0 }
func (v values) IsSet(key string) bool  { _, ok := v[key]; return ok }
func (v values) List(key string) []string {
	if v[key] == "" {
		return nil
	}
	return strings.Split(v[key], ",")
}

// settings returns those of a process that has nothing configured, with some changed.
func settings(change ...string) values {
	v := values{settingChain: AllowAll, settingAuthorizers: AllowAll, prefixOfEscalator + "type": "noop"}
	for _, c := range change {
		key, value, _ := strings.Cut(c, "=")
		v[key] = value
	}
	return v
}

const (
	in = "service.auth.authenticator."
	by = "service.auth.authorizer."
)

func TestWrongSettingsAreRefusedByName(t *testing.T) {
	for name, test := range map[string]struct {
		set  []string
		want string
	}{
		"no chain":       {[]string{"service.auth.authenticatorChain="}, "[service.auth.authenticatorChain] names nothing"},
		"no authorizers": {[]string{"service.auth.authorizers="}, "[service.auth.authorizers] names nothing"},
		"chain twice": {
			[]string{"service.auth.authenticatorChain=allowAll,allowAll"},
			"Name [allowAll] is in setting [service.auth.authenticatorChain] twice",
		},
		"authorizers twice":  {[]string{"service.auth.authorizers=allowAll,allowAll"}, "[service.auth.authorizers] twice"},
		"no type":            {[]string{"service.auth.authenticatorChain=a"}, "[service.auth.authenticator.a.type] is missing"},
		"no authorizer type": {[]string{"service.auth.authorizers=z"}, "[service.auth.authorizer.z.type] is missing"},
		"unknown type": {
			[]string{"service.auth.authenticatorChain=a", in + "a.type=pac4j"},
			"[allowAll, anonymous, trustedDomain]",
		},
		"unknown authorizer": {
			[]string{"service.auth.authorizers=z", by + "z.type=ranger"},
			"Value [ranger] of setting [service.auth.authorizer.z.type]",
		},
		"unknown escalator": {[]string{"service.escalator.type=x"}, "Value [x] of setting [service.escalator.type]"},
		"slash":             {[]string{"service.auth.authenticatorChain=a/b"}, "Name [a/b] in setting"},
		"dot":               {[]string{"service.auth.authorizers=.a"}, "begin with a dot"},
		"reserved": {
			[]string{"service.auth.authenticatorChain=a", in + "a.type=allowAll", in + "a.name=b"},
			"[service.auth.authenticator.a.name] is reserved",
		},
		"anonymous": {
			[]string{"service.auth.authenticatorChain=a", in + "a.type=anonymous"},
			"[service.auth.authenticator.a.authorizerName] is missing",
		},
		"no domain": {
			[]string{"service.auth.authenticatorChain=a", in + "a.type=trustedDomain"},
			"[service.auth.authenticator.a.domain] is missing",
		},
		"bad network": {
			[]string{"service.auth.authenticatorChain=a", in + "a.type=trustedDomain", in + "a.domain=10/8", in + "a.authorizerName=z"},
			"CIDR",
		},
		"escalator user": {[]string{"service.escalator.type=basic"}, "[service.escalator.internalClientUsername] is missing"},
		"escalator password": {
			[]string{"service.escalator.type=basic", "service.escalator.internalClientUsername=u"},
			"[service.escalator.internalClientPassword] is missing",
		},
		"escalator authority": {
			[]string{"service.escalator.type=basic", "service.escalator.internalClientUsername=u", "service.escalator.internalClientPassword=p"},
			"[service.escalator.authorizerName] is missing",
		},
		"path": {[]string{"service.auth.unsecuredPaths=status"}, "[service.auth.unsecuredPaths]"},
		"variable": {[]string{"service.escalator.type=basic", "service.escalator.internalClientUsername=u", "service.escalator.authorizerName=z",
			`service.escalator.internalClientPassword={"type":"environment","variable":"HENGE_NOT_SET"}`},
			"[service.escalator.internalClientPassword]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(settings(test.set...), BuiltIn())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
	if Configured(settings()) {
		t.Error("nothing is configured, but security is on")
	}
	for _, change := range []string{"service.auth.authorizers=z", "service.auth.authenticatorChain=a", "service.escalator.type=basic"} {
		if !Configured(settings(change)) {
			t.Errorf("with %s security is off", change)
		}
	}
}

// scripted knows the users of its map by their passwords.
type scripted map[string]string

func (s scripted) Authenticate(_ context.Context, r *Request) (*Identity, error) {
	user, password, ok := (&http.Request{Header: r.Header}).BasicAuth()
	want, known := s[user]
	switch {
	case !ok || !known:
		return nil, nil
	case want != password:
		return nil, fault.Unauthorized("User authentication failed.")
	}
	return &Identity{Name: user, Authorizer: AllowAll, By: "scripted"}, nil
}

func (scripted) Challenge() string { return "Basic" }

func TestChainAsksInOrder(t *testing.T) {
	known := BuiltIn()
	known.Authenticators["first"] = func(Part) (Authenticator, error) { return scripted{"ann": "1", "bob": "2"}, nil }
	known.Authenticators["second"] = func(Part) (Authenticator, error) { return scripted{"ann": "x", "cid": "3"}, nil }
	s, err := Open(settings("service.auth.authenticatorChain=a,b", in+"a.type=first", in+"b.type=second"), known)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ user, password, want, failure string }{
		{"ann", "1", "ann", ""}, {"cid", "3", "cid", ""}, {"ann", "x", "", "User authentication failed."}, {"dan", "1", "", ""},
	} {
		access, err := s.Authenticate(t.Context(), BasicRequest(test.user, test.password, "127.0.0.1:1", nil))
		if access.Name() != test.want || (err != nil) != (test.failure != "") || err != nil && err.Error() != test.failure {
			t.Errorf("%s:%s: got %q, %v; want %q, %q", test.user, test.password, access.Name(), err, test.want, test.failure)
		}
	}
	if got := s.Challenges(); !slices.Equal(got, []string{"Basic"}) {
		t.Errorf("got challenges %v", got)
	}
	if _, err := s.AccessOf(&Identity{Name: "x", Authorizer: "gone"}); err == nil || err.Error() != "No authorizer found with name: [gone]." {
		t.Errorf("got %v", err)
	}
}

func TestAnonymousEndsAChain(t *testing.T) {
	s, err := Open(settings("service.auth.authenticatorChain=a", in+"a.type=anonymous", in+"a.identity=guest", in+"a.authorizerName=z",
		"service.auth.authorizers=z", by+"z.type=readOnly"), BuiltIn())
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Authenticate(t.Context(), &Request{Header: http.Header{}})
	if err != nil || a.Name() != "guest" {
		t.Fatalf("got %v, %v", a, err)
	}
	if !a.May(t.Context(), Reads(Datasource, "x")) || a.May(t.Context(), Writes(Datasource, "x")) {
		t.Error("readOnly grants writing, or no reading")
	}
	if err := a.Check(t.Context(), Reads(Datasource, "x"), Writes(State, "STATE")); !IsRefusal(err) {
		t.Errorf("got %v", err)
	}
}

func TestTrustedDomain(t *testing.T) {
	open := func(t *testing.T, domain, forwarded string) *trustedDomain {
		t.Helper()
		a, err := newTrustedDomain(Part{Name: "a", Prefix: in + "a.", Settings: values{
			in + "a.domain": domain, in + "a.authorizerName": "z", in + "a.identity": "it", in + "a.useForwardedHeaders": forwarded}})
		if err != nil {
			t.Fatal(err)
		}
		d := a.(*trustedDomain)
		d.names = func(_ context.Context, address string) ([]string, error) {
			return map[string][]string{"192.0.2.1": {"db.example.com."},
				"192.0.2.2": {"db.evil-example.com."}, "192.0.2.3": {"db.example.com."}}[address], nil
		}
		d.addresses = func(_ context.Context, name string) ([]string, error) { return []string{"192.0.2.1"}, nil }
		return d
	}
	for _, test := range []struct {
		domain, peer, forwarded string
		believe                 string
		want                    bool
	}{
		{"example.com", "db.example.com:80", "", "", true}, {"example.com", "EXAMPLE.com", "", "", true},
		{".example.com", "a.example.com", "", "", true},
		{"example.com", "evil-example.com", "", "", false}, {"example.com", "192.0.2.1:5", "", "", true},
		{"example.com", "192.0.2.2:5", "", "", false}, {"example.com", "192.0.2.3:5", "", "", false}, // the name leads elsewhere
		{"0.2.1", "192.0.2.1:5", "", "", true}, {"2.1", "192.0.12.1:5", "", "", false},
		{"192.0.2.0/24", "192.0.2.77:1", "", "", true}, {"192.0.2.0/24", "192.0.3.1:1", "", "", false},
		{"fd00::/8", "[fd00::1]:9", "", "", true}, {"192.0.2.0/24", "[::ffff:192.0.2.9]:9", "", "", true},
		{"example.com", "10.0.0.1:1", "a.example.com, b", "true", true}, {"example.com", "10.0.0.1:1", "a.example.com", "false", false},
		{"example.com", "a.example.com", "b.other.org", "true", false}, {"192.0.2.0/24", "nohost", "", "", false},
	} {
		d := open(t, test.domain, test.believe)
		r := &Request{Peer: test.peer, Header: http.Header{}}
		if test.forwarded != "" {
			r.Header.Set("X-Forwarded-For", test.forwarded)
		}
		id, err := d.Authenticate(t.Context(), r)
		if err != nil || (id != nil) != test.want {
			t.Errorf("domain %s, peer %s, forwarded %q: got %v, %v", test.domain, test.peer, test.forwarded, id, err)
		}
	}
}

func TestEscalatedRequestsCarryCredentials(t *testing.T) {
	t.Setenv("HENGE_TEST_PASSWORD", "sesame")
	s, err := Open(settings("service.escalator.type=basic", "service.escalator.internalClientUsername=service_system",
		"service.escalator.authorizerName=z",
		`service.escalator.internalClientPassword={"type":"environment","variable":"HENGE_TEST_PASSWORD"}`), BuiltIn())
	if err != nil {
		t.Fatal(err)
	}
	var sent string
	client := http.Client{Transport: Escalated{By: s.Escalator(), RoundTripper: roundTrip(func(r *http.Request) (*http.Response, error) {
		sent = r.Header.Get("Authorization")
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})}}
	r, _ := http.NewRequest(http.MethodGet, "http://x/", nil)
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("service_system:sesame"))
	if sent != want || r.Header.Get("Authorization") != "" {
		t.Errorf("got %q, want %q", sent, want)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAnAccessThatNobodyMadeMayDoNothing(t *testing.T) {
	ctx := t.Context()
	for _, a := range []*Access{nil, {}, Of(ctx)} {
		if a.Check(ctx) == nil || a.May(ctx, Reads(State, "STATE")) {
			t.Error("access without an identity may do something")
		}
		if a.Decided() || !a.Limited() || a.Name() != "" {
			t.Error("access without an identity has decided")
		}
	}
	a := Unlimited("x").Again()
	if a.Decided() || a.Check(ctx, Writes(Config, "security")) != nil || !a.Decided() || a.Again().Decided() {
		t.Error("an unlimited access is limited, or does not note its decision")
	}
}
