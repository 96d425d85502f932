package keystore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// ClientOptions are how a process speaks TLS to others.
type ClientOptions struct {
	// Trust has the authorities of servers; none: those of the machine.
	Trust Store
	// Key is shown to servers that want to see one; none: there is none.
	Key Store
	// AnyHost takes the certificate of a server whatever hosts it is for.
	AnyHost bool
	// Protocol is the least version of TLS, ProtocolName what its setting is called.
	Protocol, ProtocolName string
	// Now stands for the present time where certificates are checked; nil: the system's.
	Now func() time.Time
}

// Client is the client's side of TLS. All methods are safe for use by many goroutines.
type Client struct {
	o   ClientOptions
	now atomic.Pointer[serving]
}

// NewClient reads the files.
func NewClient(o ClientOptions) (*Client, error) {
	c := &Client{o: o}
	_, err := c.Reload()
	return c, err
}

// Reload reads the files again and reports whether something has changed. What was read before
// stays in force if they can't be used.
func (c *Client) Reload() (bool, error) {
	sum := sha256.New()
	least, err := MinVersion(c.o.Protocol, c.o.ProtocolName)
	if err != nil {
		return false, err
	}
	config := &tls.Config{MinVersion: least, Time: c.o.Now}
	next := &serving{config: config}
	if c.o.Trust.Given() {
		list, err := c.o.Trust.Trusted()
		if err != nil {
			return false, err
		}
		next.trusted, config.RootCAs = list, x509.NewCertPool()
		for _, t := range list {
			config.RootCAs.AddCert(t)
			sum.Write(t.Raw)
		}
	}
	if c.o.Key.Given() {
		pair, err := c.o.Key.Pair()
		if err != nil {
			return false, err
		}
		sum.Write(bytes.Join(pair.Certificate, nil))
		config.Certificates, next.expires = []tls.Certificate{*pair}, expiry(pair)
	}
	if c.o.AnyHost {
		AnyHost(config)
	}
	sum.Sum(next.sum[:0])
	if before := c.now.Load(); before != nil && before.sum == next.sum {
		return false, nil
	}
	c.now.Store(next)
	return true, nil
}

// AnyHost has a client's configuration take certificates whatever hosts they are for. Their chain
// is still checked.
func AnyHost(config *tls.Config) {
	roots, now := config.RootCAs, config.Time
	config.InsecureSkipVerify = true // the connection is verified below
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errors.New("the server has shown no certificate")
		}
		options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		if now != nil {
			options.CurrentTime = now()
		}
		for _, c := range state.PeerCertificates[1:] {
			options.Intermediates.AddCert(c)
		}
		_, err := state.PeerCertificates[0].Verify(options)
		return err
	}
}

// Config returns the settings of a connection to a host.
func (c *Client) Config(host string) *tls.Config {
	config := c.now.Load().config.Clone()
	config.ServerName = host
	return config
}

// Expires returns when the certificate that is shown to servers, or one of its chain, is no longer
// valid; zero: there is none.
func (c *Client) Expires() time.Time { return c.now.Load().expires }

// Handshake makes a connection to address, host:port, secure. It closes the connection if it can't.
func (c *Client) Handshake(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		_ = conn.Close() // it is of no use
		return nil, err
	}
	secured := tls.Client(conn, c.Config(host))
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // it is of no use
		return nil, &HandshakeError{address, err}
	}
	return secured, nil
}
