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

// Login is a client that begins a session.
type Login struct {
	User, Database, Application string
	// Peer is its address, TLS the state of its connection; nil: it is not encrypted.
	Peer string
	TLS  *tls.ConnectionState
	// Password asks the client for its password, which goes over the wire as it is.
	Password func() (string, error)
	// SASL begins an exchange with mechanisms of SASL: it returns the one that the client chose and
	// its first message. Continue sends a challenge and returns the answer; Final sends the last
	// message.
	SASL     func(mechanisms []string) (mechanism string, first []byte, err error)
	Continue func(challenge []byte) ([]byte, error)
	Final    func(data []byte)
}

// Authenticator says who a client is, and what it may do. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns what a client may do. Again, if not nil, is asked before later
	// statements of the session, which ends when it gives an Unauthorized fault.
	Authenticate(ctx context.Context, l *Login) (access *auth.Access, again Again, err error)
}

// Again returns what a client may do now.
type Again func(ctx context.Context) (*auth.Access, error)

// Trust lets everyone in: no security is configured.
type Trust struct{}

// Authenticate implements Authenticator.
func (Trust) Authenticate(_ context.Context, l *Login) (*auth.Access, Again, error) {
	return auth.Unlimited(l.User), nil, nil
}

// Secured logs clients in by the authenticators of the process. How a client is asked depends on
// its connection and on the settings, never on its user, so that nobody learns who exists.
type Secured struct {
	security *auth.Security
	scram    *basic.ScramServer
}

// NewSecured returns an authenticator for what is configured.
func NewSecured(s *auth.Security) *Secured { return &Secured{s, basic.NewScramServer(s.Chain())} }

// Authenticate implements Authenticator. Where all users are those of credential stores, or the
// wire could be read by others, clients prove that they know their password; else they send it.
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
	mechanism, first, err := l.SASL([]string{basic.ScramMechanism})
	if err != nil {
		return nil, nil, err
	}
	if mechanism != basic.ScramMechanism {
		return nil, nil, failure("08P01", "client selected an invalid SASL authentication mechanism")
	}
	x, challenge, err := s.scram.Begin(l.User, l.Peer, first)
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
	if of := config.GetConfigForClient; of != nil {
		out.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			now, err := of(hello)
			if err != nil || now == nil {
				return now, err
			}
			now = now.Clone()
			now.NextProtos = slices.Clone(out.NextProtos)
			now.SessionTicketsDisabled = true // tickets are good with one configuration only
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
