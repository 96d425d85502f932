package pgwire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/fault"
)

// Login is a client that starts a session.
type Login struct {
	User, Database, Application string
	// Peer is the address of the client. TLS is the state of its connection; nil: it is not encrypted.
	Peer string
	TLS  *tls.ConnectionState
	// EndPoint is the hash of the server certificate for channel binding; nil: channel binding is not
	// available.
	EndPoint []byte
	// Password requests the password of the client in plain text.
	Password func() (string, error)
	// SASL starts a SASL exchange: it offers mechanisms, and returns the mechanism that the client
	// selected and its first message. Continue sends a challenge and returns the response. Final sends
	// the last message.
	SASL     func(mechanisms []string) (mechanism string, first []byte, err error)
	Continue func(challenge []byte) ([]byte, error)
	Final    func(data []byte)
}

// Authenticator authenticates clients. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns the access of a client. Again, if not nil, is called before later
	// statements of the session. If it returns an Unauthorized fault, the session ends.
	Authenticate(ctx context.Context, l *Login) (access *auth.Access, again Again, err error)
}

// Again returns the current access of a client.
type Again func(ctx context.Context) (*auth.Access, error)

// Trust accepts every client: security is not configured.
type Trust struct{}

// Authenticate implements Authenticator.
func (Trust) Authenticate(_ context.Context, l *Login) (*auth.Access, Again, error) {
	return auth.Unlimited(l.User), nil, nil
}

// Secured authenticates clients with the authenticators of the process. The method depends on the
// connection and the settings, but never on the user, so that clients can't find out which users
// exist.
type Secured struct {
	security *auth.Security
	scram    *basic.ScramServer
}

// NewSecured returns an authenticator for the configured security.
func NewSecured(s *auth.Security) *Secured { return &Secured{s, basic.NewScramServer(s.Chain())} }

// Authenticate implements Authenticator. If all users are in credential stores, or if the
// connection is not encrypted, clients prove that they know their password. Otherwise they send it.
func (s *Secured) Authenticate(ctx context.Context, l *Login) (*auth.Access, Again, error) {
	private := l.TLS != nil || isLoopback(l.Peer)
	var (
		access *auth.Access
		again  Again
		err    error
	)
	switch {
	case s.scram.Whole(), s.scram.Any() && !private:
		access, again, err = s.prove(ctx, l)
	case private:
		access, again, err = s.password(ctx, l)
	default:
		return nil, nil, failure("28000", "passwords are taken over encrypted connections only").withHint("Connect with sslmode=require.")
	}
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Category == fault.CategoryUnauthorized {
		e := failure("28P01", "password authentication failed for user \"%s\"", l.User)
		if !private && !s.scram.Whole() {
			e = e.withHint("Users of a directory and API keys need an encrypted connection: sslmode=require.")
		}
		err = e
	}
	return access, again, err
}

// prove plays SCRAM.
func (s *Secured) prove(ctx context.Context, l *Login) (*auth.Access, Again, error) {
	offered := []string{basic.ScramMechanism}
	if l.EndPoint != nil {
		offered = []string{basic.ScramPlus, basic.ScramMechanism}
	}
	mechanism, first, err := l.SASL(offered)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(offered, mechanism) {
		return nil, nil, failure("08P01", "client selected an invalid SASL authentication mechanism")
	}
	channel := basic.Channel{EndPoint: l.EndPoint, Bound: mechanism == basic.ScramPlus}
	x, challenge, err := s.scram.Begin(l.User, l.Peer, channel, first)
	if err != nil {
		return nil, nil, protocolError(err)
	}
	final, err := l.Continue(challenge)
	if err != nil {
		return nil, nil, err
	}
	id, signature, err := x.Finish(ctx, final)
	if err != nil {
		return nil, nil, protocolError(err)
	}
	access, err := s.security.AccessOf(id)
	if err != nil {
		return nil, nil, err
	}
	l.Final(signature)
	return access, func(context.Context) (*auth.Access, error) { return access, x.Still() }, nil
}

// protocolError gives messages that are malformed the code that PostgreSQL has for them.
func protocolError(err error) error {
	if f := fault.Find(err); f != nil && f.Category == fault.CategoryInvalidInput {
		return failure("08P01", "malformed SCRAM message").withDetail(f.Message)
	}
	return err
}

// password asks for the password, and the chain of authenticators for who has it.
func (s *Secured) password(ctx context.Context, l *Login) (*auth.Access, Again, error) {
	password, err := l.Password()
	if err != nil {
		return nil, nil, err
	}
	again := func(ctx context.Context) (*auth.Access, error) {
		if l.TLS != nil && isToken(password) {
			access, err := s.security.Authenticate(ctx, auth.BearerRequest(password, l.Peer, l.TLS))
			if err != nil || access != nil {
				return access, err
			}
		}
		access, err := s.security.Authenticate(ctx, auth.BasicRequest(l.User, password, l.Peer, l.TLS))
		if err == nil && access == nil {
			err = fault.Unauthorized("Nobody knows the user")
		}
		return access, err
	}
	if strings.Contains(l.User, ":") { // basic credentials would be those of another user
		return nil, nil, fault.Unauthorized("Names of users have no colon")
	}
	access, err := again(ctx)
	return access, again, err
}

// isToken tells whether a password looks like a signed token, as OpenID Connect has them: three
// parts
// of which the first is JSON.
func isToken(password string) bool {
	return strings.HasPrefix(password, "eyJ") && strings.Count(password, ".") == 2
}

// isLoopback tells whether what a peer sends leaves the machine.
func isLoopback(peer string) bool {
	host, _, err := net.SplitHostPort(peer)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// forWire returns settings of TLS for the wire: newer clients name its protocol when they shake
// hands, and settings of HTTPS name others.
func forWire(config *tls.Config) *tls.Config {
	if config == nil {
		return nil
	}
	out := config.Clone()
	out.NextProtos = []string{"postgresql"}
	out.SessionTicketsDisabled = true // a session that goes on has no certificate to bind a login to
	if of := config.GetConfigForClient; of != nil {
		out.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			now, err := of(hello)
			if err != nil || now == nil {
				return now, err
			}
			now = now.Clone()
			now.NextProtos = slices.Clone(out.NextProtos)
			now.SessionTicketsDisabled = true
			return now, nil
		}
	}
	return out
}

// renew asks anew what the client may do, once before its next answer: what was taken away is gone.
func (c *session) renew() error {
	if c.renewed || c.again == nil {
		return nil
	}
	access, err := c.again(c.ctx)
	if f := fault.Find(err); f != nil && f.Category == fault.CategoryUnauthorized {
		return fatal{c.refuse(failure("28P01", "the credentials of user \"%s\" are no longer valid", c.user))}
	}
	if err != nil {
		return err
	}
	if access.Name() != c.user {
		return fatal{c.refuse(failure("28P01", "the credentials are those of another user now"))}
	}
	c.access, c.renewed = access, true
	return nil
}
