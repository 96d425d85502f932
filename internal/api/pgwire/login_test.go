package pgwire

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// chainSettings are settings of an authenticator per name, whose type is the name.
type chainSettings []string

func (c chainSettings) Text(key string) string {
	if key == "service.escalator.type" {
		return "noop"
	}
	rest, ok := strings.CutPrefix(key, "service.auth.authenticator.")
	if name, isType := strings.CutSuffix(rest, ".type"); ok && isType {
		return name
	}
	return ""
}
func (chainSettings) Bool(string) bool  { return false }
func (chainSettings) Int(string) int64  { return 0 }
func (chainSettings) IsSet(string) bool { return false }
func (c chainSettings) List(key string) []string {
	switch key {
	case "service.auth.authenticatorChain":
		return c
	case "service.auth.authorizers":
		return []string{auth.AllowAll}
	}
	return nil
}

// directory knows ann, whose password is q, and is gone for the user away.
type directory struct{}

func (directory) Authenticate(_ context.Context, r *auth.Request) (*auth.Identity, error) {
	switch user, password, _ := basic.ParseHeader(r.Header.Get("Authorization")); {
	case user == "ann" && password == "q":
		return &auth.Identity{Name: user, Authorizer: auth.AllowAll}, nil
	case user == "away":
		return nil, fault.Unavailable("The directory can't be reached")
	}
	return nil, nil
}

func (directory) Challenge() string { return "" }

// secured returns an authenticator with a chain of the types stored and directory. The user bob of
// stored has the password p.
func secured(t *testing.T, chain ...string) *Secured {
	t.Helper()
	c, err := basic.NewCredential("p", 1000)
	if err != nil {
		t.Fatal(err)
	}
	users := basic.NewAuthenticator("stored", basic.Options{Iterations: 1000, PassOn: true, Clock: clock.System()})
	text, err := json.Marshal(map[string]basic.User{"bob": {Name: "bob", Credential: c}})
	if err == nil {
		err = users.Load(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	known := auth.BuiltIn()
	known.Authenticators["stored"] = func(auth.Part) (auth.Authenticator, error) {
		return &basic.Filter{Name: "stored", Authorizer: auth.AllowAll, PassOn: true, Validator: users}, nil
	}
	known.Authenticators["directory"] = func(auth.Part) (auth.Authenticator, error) { return directory{}, nil }
	s, err := auth.Open(chainSettings(chain), known)
	if err != nil {
		t.Fatal(err)
	}
	return NewSecured(s)
}

// How a client is asked depends on the chain and on the connection, not on the user.
func TestWhatClientsAreAskedFor(t *testing.T) {
	errAsked := errors.New("asked")
	for _, test := range []struct {
		chain, peer string
		encrypted   bool
		want        string
	}{
		{"stored", "192.0.2.1:5", false, "SASL"}, {"stored", "192.0.2.1:5", true, "SASL"}, {"stored", "127.0.0.1:5", false, "SASL"},
		{"stored directory", "192.0.2.1:5", false, "SASL"}, {"stored directory", "192.0.2.1:5", true, "password"},
		{"stored directory", "127.0.0.1:5", false, "password"}, {"stored directory", "[::1]:5", false, "password"},
		{"directory", "192.0.2.1:5", false, "28000 passwords are taken over encrypted connections only Connect with sslmode=require."},
		{"directory", "192.0.2.1:5", true, "password"}, {"directory", "nowhere", false, "28000 passwords are taken over encrypted " +
			"connections only Connect with sslmode=require."}, {"directory", "[::ffff:127.0.0.1]:5", false, "password"},
	} {
		s := secured(t, strings.Fields(test.chain)...)
		for _, user := range []string{"bob", "ann", "nobody", "a:b"} {
			asked := ""
			l := &Login{User: user, Peer: test.peer, Password: func() (string, error) { asked = "password"; return "", errAsked },
				SASL: func([]string) (string, []byte, error) { asked = "SASL"; return "", nil, errAsked }}
			if test.encrypted {
				l.TLS = &tls.ConnectionState{}
			}
			_, _, err := s.Authenticate(t.Context(), l)
			if e, ok := errors.AsType[*wireError](err); ok {
				asked = e.code + " " + e.message + " " + e.hint
			}
			if asked != test.want || err == nil {
				t.Errorf("%+v: %s: %s, %v", test, user, asked, err)
			}
		}
	}
}

func TestPasswordsGoThroughTheChain(t *testing.T) {
	s := secured(t, "stored", "directory")
	for _, test := range []struct{ user, password, want string }{
		{"bob", "p", ""}, {"ann", "q", ""}, {"bob", "q", "28P01"}, {"ann", "p", "28P01"}, {"nobody", "p", "28P01"},
		{"bob", "", "28P01"}, {"bob:p", "", "28P01"}, {"ann:q", "x", "28P01"}, {"away", "p", "57P03"},
	} {
		l := &Login{User: test.user, Peer: "127.0.0.1:5", Password: func() (string, error) { return test.password, nil }}
		access, again, err := s.Authenticate(t.Context(), l)
		got := ""
		if err != nil {
			c := &session{}
			got = c.explain(err, "", nil).code
		} else if access.Name() != test.user || again == nil {
			t.Errorf("%s: %+v", test.user, access.Identity())
		}
		if got != test.want {
			t.Errorf("%s with %q: %q, %v", test.user, test.password, got, err)
		}
	}
}

// tokens knows one token, as OpenID Connect has them.
type tokens struct{ ended *bool }

func (a tokens) Authenticate(_ context.Context, r *auth.Request) (*auth.Identity, error) {
	switch r.Header.Get("Authorization") {
	case "Bearer eyJ0.good.sig":
		if *a.ended {
			return nil, fault.Unauthorized("The token has expired")
		}
		return &auth.Identity{Name: "eve", Authorizer: auth.AllowAll}, nil
	case "Bearer eyJ0.old.sig":
		return nil, fault.Unauthorized("The token has expired")
	}
	return nil, nil
}

func (tokens) Challenge() string { return "Bearer" }

// Tokens are passwords over TLS only; the user that the client names does not count.
func TestTokensArePasswords(t *testing.T) {
	ended := false
	known := auth.BuiltIn()
	known.Authenticators["tokens"] = func(auth.Part) (auth.Authenticator, error) { return tokens{&ended}, nil }
	known.Authenticators["directory"] = func(auth.Part) (auth.Authenticator, error) { return directory{}, nil }
	security, err := auth.Open(chainSettings{"tokens", "directory"}, known)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSecured(security)
	for _, test := range []struct {
		user, password string
		encrypted      bool
		want           string // the user, or the code of the error
	}{
		{"any", "eyJ0.good.sig", true, "eve"}, {"any", "eyJ0.old.sig", true, "28P01"}, {"any", "eyJ0.unknown.sig", true, "28P01"},
		{"any", "eyJ0.good.sig", false, "28P01"}, {"ann", "q", true, "ann"}, {"ann", "q", false, "ann"}, {"any", "good.sig", true, "28P01"},
	} {
		l := &Login{User: test.user, Peer: "127.0.0.1:5", Password: func() (string, error) { return test.password, nil }}
		if test.encrypted {
			l.TLS = &tls.ConnectionState{}
		}
		access, again, err := s.Authenticate(t.Context(), l)
		got := access.Name()
		if err != nil {
			got = (&session{}).explain(err, "", nil).code
		}
		if got != test.want {
			t.Errorf("%+v: %s, %v", test, got, err)
		}
		if got == "eve" {
			ended = true
			if _, err := again(t.Context()); err == nil {
				t.Error("the session goes on behind the end of its token")
			}
			ended = false
		}
	}
}

func TestLoginsThatAreMalformed(t *testing.T) {
	_, address := open(t, func(o *Options) { o.Authenticator = secured(t, "stored") })
	for name, send := range map[string]pgproto3.FrontendMessage{
		"another mechanism": &pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256-PLUS", Data: []byte("p=tls-exporter,,n=,r=a")},
		"no SCRAM":          &pgproto3.SASLInitialResponse{AuthMechanism: basic.ScramMechanism, Data: []byte("hello")},
		"a query":           &pgproto3.Query{String: "select 1"},
		"a long message": &pgproto3.SASLInitialResponse{AuthMechanism: basic.ScramMechanism, Data: bytes.Repeat([]byte("n"),
			1<<20)},
	} {
		f := begin(t, address)
		f.Send(send)
		_ = f.Flush() // the server may have gone already
		m, err := f.Receive()
		e, ok := m.(*pgproto3.ErrorResponse)
		if ok && e.Code == "08P01" && e.Severity == "FATAL" {
			continue
		}
		if _, reset := errors.AsType[net.Error](err); name != "a long message" || !reset { // which is not read to its end
			t.Errorf("%s: %+v %v", name, m, err)
		}
	}
}

// begin sends a startup message and receives the request of SASL.
func begin(t *testing.T, address string) *pgproto3.Frontend {
	t.Helper()
	conn := dial(t, address)
	f := pgproto3.NewFrontend(conn, conn)
	f.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "bob"}})
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	m, err := f.Receive()
	if a, ok := m.(*pgproto3.AuthenticationSASL); !ok || len(a.AuthMechanisms) != 1 || a.AuthMechanisms[0] != basic.ScramMechanism {
		t.Fatalf("%+v %v", m, err)
	}
	return f
}

// A client that says nothing does not keep the server from stopping: open waits for its end.
func TestAClientThatIsAskedDoesNotHoldTheServer(t *testing.T) {
	_, address := open(t, func(o *Options) { o.Authenticator = secured(t, "stored") })
	begin(t, address)
}

// Connections that have not logged in are bounded, and make room when they end.
func TestStrangersAreBounded(t *testing.T) {
	s, address := open(t, func(o *Options) { o.Authenticator, o.MaxConnections = secured(t, "stored"), 2 })
	begin(t, address)
	held := dial(t, address)
	for {
		s.mu.Lock()
		n := s.mu.strangers
		s.mu.Unlock()
		if n == 2 {
			break
		}
		runtime.Gosched()
	}
	refused := dial(t, address)
	m, err := pgproto3.NewFrontend(refused, refused).Receive()
	if e, ok := m.(*pgproto3.ErrorResponse); !ok || e.Code != "53300" {
		t.Errorf("%+v %v", m, err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	for {
		s.mu.Lock()
		n := s.mu.strangers
		s.mu.Unlock()
		if n == 1 {
			break
		}
		runtime.Gosched()
	}
	begin(t, address)
}
