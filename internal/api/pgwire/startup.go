package pgwire

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hengedb/henge/internal/audit"
	"github.com/hengedb/henge/internal/clock"
)

// Codes of first packets that are not protocol versions.
const (
	codeCancel = 80877102
	codeTLS    = 80877103
	codeGSS    = 80877104
)

// errRefused ends a connection that was told why.
var errRefused = errors.New("the connection was refused")

// startup reads the packets before the first message. done is set when there is nothing to follow.
func (c *session) startup(encrypted bool) (done bool, err error) {
	gone, ok := c.server.arrive()
	if !ok {
		_ = c.conn.SetDeadline(clock.Deadline(farewell)) // a connection that can't is closed
		return true, c.refuse(failure("53300", "sorry, too many clients already"))
	}
	defer gone()
	raw := c.conn
	stop := context.AfterFunc(c.ctx, func() { _ = raw.Close() }) // nobody else ends a client that is silent
	defer stop()
	_ = c.conn.SetDeadline(clock.Deadline(startupTime)) // a connection that can't is closed
	defer func() { _ = c.conn.SetDeadline(time.Time{}) }()
	for range 4 {
		packet, err := c.packet(encrypted)
		if err != nil {
			return true, err
		}
		code := binary.BigEndian.Uint32(packet)
		switch {
		case code == codeCancel:
			if len(packet) >= 8+4 {
				c.server.cancel(uint32Of(packet[4:]), packet[8:])
			}
			return true, nil
		case code == codeGSS:
			if _, err := c.conn.Write([]byte{'N'}); err != nil {
				return true, err
			}
		case code == codeTLS && c.tls != nil:
			return true, c.refuse(failure("08P01", "the connection is encrypted already"))
		case code == codeTLS:
			if err := c.startTLS(); err != nil {
				return true, err
			}
		default:
			if encrypted && c.tls == nil {
				return true, c.refuse(failure("28000", "this port takes encrypted connections only").withHint("Connect with sslmode=require."))
			}
			return c.begin(code, packet[4:])
		}
	}
	return true, c.refuse(failure("08P01", "too many requests before the startup packet"))
}

// packet reads a packet without a type. On a port that is encrypted it may be TLS at once.
func (c *session) packet(encrypted bool) ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(c.conn, head); err != nil {
		return nil, err
	}
	if head[0] == 0x16 && c.tls == nil { // a TLS handshake instead of a packet
		if !encrypted || c.server.o.TLS == nil {
			return nil, c.refuse(failure("08P01", "TLS without a request for it is not spoken here"))
		}
		c.conn.ahead = nil
		if err := c.handshake(head); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(c.conn, head); err != nil {
			return nil, err
		}
	}
	n := binary.BigEndian.Uint32(head)
	if n < 8 || n > maxStartup {
		return nil, c.refuse(failure("08P01", "invalid length of startup packet"))
	}
	packet := make([]byte, n-4)
	_, err := io.ReadFull(c.conn, packet)
	return packet, err
}

func (c *session) startTLS() error {
	if c.server.o.TLS == nil {
		_, err := c.conn.Write([]byte{'N'})
		return err
	}
	if _, err := c.conn.Write([]byte{'S'}); err != nil {
		return err
	}
	return c.handshake(nil)
}

// replayed gives some bytes before those of the connection.
type replayed struct {
	*wire
	first io.Reader
}

func (r *replayed) Read(p []byte) (int, error) { return r.first.Read(p) }

func (c *session) handshake(read []byte) error {
	var shown tls.Certificate
	t := tls.Server(&replayed{c.conn, io.MultiReader(bytes.NewReader(read), c.conn)}, watched(c.server.o.TLS, &shown))
	if err := t.HandshakeContext(c.ctx); err != nil {
		return err
	}
	state := t.ConnectionState()
	c.tls, c.endPoint = &state, endPointOf(&shown)
	c.conn = newWire(t)
	return nil
}

// begin reads the startup packet.
func (c *session) begin(version uint32, body []byte) (done bool, err error) {
	if version>>16 != 3 {
		return true, c.refuse(failure("0A000", "unsupported frontend protocol %d.%d: server supports 3.0 to 3.0", version>>16, version&0xffff))
	}
	parameters := map[string]string{}
	for {
		key, rest, ok := bytes.Cut(body, []byte{0})
		if !ok {
			return true, c.refuse(failure("08P01", "invalid startup packet layout: expected terminator as last byte"))
		}
		if len(key) == 0 {
			break
		}
		value, rest, ok := bytes.Cut(rest, []byte{0})
		if !ok {
			return true, c.refuse(failure("08P01", "invalid startup packet layout: expected terminator as last byte"))
		}
		parameters[string(key)], body = string(value), rest
	}
	if c.user = parameters["user"]; c.user == "" {
		return true, c.refuse(failure("28000", "no PostgreSQL user name specified in startup packet"))
	}
	if c.database = parameters["database"]; c.database == "" {
		c.database = c.user
	}
	if parameters["replication"] != "" && parameters["replication"] != "false" {
		return true, c.refuse(failure("0A000", "replication is not supported"))
	}
	c.backend = pgproto3.NewBackend(c.conn, c.conn)
	c.backend.SetMaxBodyLen(maxLogin)
	c.settings = newSettings(c)
	var unknown []string
	for key := range parameters {
		if len(key) > 5 && key[:5] == "_pq_." {
			unknown = append(unknown, key)
		}
	}
	if version&0xffff > 0 || len(unknown) > 0 {
		c.send(&pgproto3.NegotiateProtocolVersion{NewestMinorProtocol: 0, UnrecognizedOptions: unknown})
	}
	if err := c.login(parameters); err != nil {
		return true, c.refuse(c.explain(err, "", nil))
	}
	c.backend.SetMaxBodyLen(int(c.server.o.MaxMessageBytes))
	if err := c.server.enter(c); err != nil {
		return true, c.refuse(c.explain(err, "", nil))
	}
	return false, c.ready(parameters)
}

// login asks the authenticator.
func (c *session) login(parameters map[string]string) error {
	l := &Login{User: c.user, Database: c.database, Application: parameters["application_name"], Peer: c.conn.RemoteAddr().String(),
		TLS: c.tls, EndPoint: c.endPoint}
	answer := func() (pgproto3.FrontendMessage, error) {
		if err := c.flush(); err != nil {
			return nil, err
		}
		m, err := c.backend.Receive()
		if err != nil { // clients go away here to ask for a password
			err = failure("08P01", "expected password response: %v", err)
		}
		return m, err
	}
	l.Password = func() (string, error) {
		c.send(&pgproto3.AuthenticationCleartextPassword{})
		if err := c.backend.SetAuthType(pgproto3.AuthTypeCleartextPassword); err != nil {
			return "", err
		}
		m, err := answer()
		if err != nil {
			return "", err
		}
		p, ok := m.(*pgproto3.PasswordMessage)
		if !ok {
			return "", failure("08P01", "expected password response")
		}
		return p.Password, nil
	}
	l.SASL = func(mechanisms []string) (string, []byte, error) {
		c.send(&pgproto3.AuthenticationSASL{AuthMechanisms: mechanisms})
		if err := c.backend.SetAuthType(pgproto3.AuthTypeSASL); err != nil {
			return "", nil, err
		}
		m, err := answer()
		if err != nil {
			return "", nil, err
		}
		first, ok := m.(*pgproto3.SASLInitialResponse)
		if !ok {
			return "", nil, failure("08P01", "expected SASL response")
		}
		return first.AuthMechanism, bytes.Clone(first.Data), nil
	}
	l.Continue = func(challenge []byte) ([]byte, error) {
		c.send(&pgproto3.AuthenticationSASLContinue{Data: challenge})
		if err := c.backend.SetAuthType(pgproto3.AuthTypeSASLContinue); err != nil {
			return nil, err
		}
		m, err := answer()
		if err != nil {
			return nil, err
		}
		next, ok := m.(*pgproto3.SASLResponse)
		if !ok {
			return nil, failure("08P01", "expected SASL response")
		}
		return bytes.Clone(next.Data), nil
	}
	l.Final = func(data []byte) { c.send(&pgproto3.AuthenticationSASLFinal{Data: data}) }
	access, again, err := c.server.o.Authenticator.Authenticate(c.ctx, l)
	if err != nil {
		c.server.o.Audit.Add(&audit.Entry{
			Kind: audit.Login, Identity: l.User, Address: l.Peer, Door: "postgresql", Outcome: "refused", Error: err.Error(),
		})
		return err
	}
	c.access, c.again, c.user = access, again, access.Name()
	return nil
}

// refuse tells why the connection ends.
func (c *session) refuse(e *wireError) error {
	text, err := e.message3("FATAL").Encode(nil)
	if err == nil {
		_, err = c.conn.Write(text)
	}
	if err != nil {
		return err
	}
	return errRefused
}
