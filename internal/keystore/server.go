package keystore

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// Demand is what a server wants to see of its clients.
type Demand uint8

// The demands.
const (
	NoCertificate Demand = iota
	// RequestCertificate checks the certificate of a client that shows one.
	RequestCertificate
	// RequireCertificate refuses clients without a certificate.
	RequireCertificate
)

// ServerOptions are how a port answers TLS.
type ServerOptions struct {
	Key Store
	// Trust has the authorities of clients; none: those of the machine.
	Trust  Store
	Demand Demand
	// ValidateHostnames has a client's certificate be for the address that the client comes from, or
	// for a name of that address.
	ValidateHostnames bool
	// CRL is a file of revoked certificates of clients, CRLName what its setting is called.
	CRL, CRLName string
	Choice       Choice
	// Now stands for the present time where certificates are checked; nil: the system's.
	Now func() time.Time
	// Names returns the names of an address; nil: the system's resolver.
	Names func(ctx context.Context, address string) ([]string, error)
}

// lookUpTimeout bounds the question for the names of a client's address.
const lookUpTimeout = 2 * time.Second

// Server is the server's side of TLS. All methods are safe for use by many goroutines.
type Server struct {
	o   ServerOptions
	now atomic.Pointer[serving]
}

// serving is what has been read of the files.
type serving struct {
	config  *tls.Config
	expires time.Time
	trusted []*x509.Certificate // the authorities of the other side that a file names
	sum     [sha256.Size]byte
}

// NewServer reads the files.
func NewServer(o ServerOptions) (*Server, error) {
	s := &Server{o: o}
	if s.o.Names == nil {
		s.o.Names = net.DefaultResolver.LookupAddr
	}
	_, err := s.Reload()
	return s, err
}

// Reload reads the files again and reports whether something has changed. What was read before
// stays in force if they can't be used.
func (s *Server) Reload() (bool, error) {
	pair, err := s.o.Key.Pair()
	if err != nil {
		return false, err
	}
	config := &tls.Config{Certificates: []tls.Certificate{*pair}, NextProtos: []string{"h2", "http/1.1"}, Time: s.o.Now}
	if err := s.o.Choice.apply(config); err != nil {
		return false, err
	}
	sum := sha256.New()
	for _, c := range pair.Certificate {
		sum.Write(c)
	}
	next := &serving{config: config, expires: expiry(pair)}
	if s.o.Demand != NoCertificate {
		if err := s.demand(next, sum); err != nil {
			return false, err
		}
	}
	sum.Sum(next.sum[:0])
	if before := s.now.Load(); before != nil && before.sum == next.sum {
		return false, nil
	}
	s.now.Store(next)
	return true, nil
}

// demand has clients show certificates.
func (s *Server) demand(next *serving, sum interface{ Write([]byte) (int, error) }) error {
	config := next.config
	config.ClientAuth = tls.VerifyClientCertIfGiven
	if s.o.Demand == RequireCertificate {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	if s.o.Trust.Given() {
		list, err := s.o.Trust.Trusted()
		if err != nil {
			return err
		}
		next.trusted, config.ClientCAs = list, x509.NewCertPool()
		for _, c := range list {
			config.ClientCAs.AddCert(c)
			_, _ = sum.Write(c.Raw) // it is a hash
		}
	}
	if s.o.CRL == "" {
		return nil
	}
	revoked, data, err := readRevoked(s.o.CRL, s.o.CRLName)
	if err != nil {
		return err
	}
	_, _ = sum.Write(data) // it is a hash
	config.VerifyConnection = func(state tls.ConnectionState) error { return revoked.check(state.VerifiedChains, s.time()) }
	return nil
}

func (s *Server) time() time.Time {
	if s.o.Now != nil {
		return s.o.Now()
	}
	return clock.System().Now() // certificates are valid by the clock of the world
}

// Config returns the settings of new connections, which follow the files.
func (s *Server) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			now := s.now.Load()
			if !s.o.ValidateHostnames || s.o.Demand == NoCertificate {
				return now.config, nil
			}
			config := now.config.Clone()
			config.SessionTicketsDisabled = true // tickets are good with one configuration only
			revoked := config.VerifyConnection
			config.VerifyConnection = func(state tls.ConnectionState) error {
				if revoked != nil {
					if err := revoked(state); err != nil {
						return err
					}
				}
				return s.checkHost(hello.Context(), state.PeerCertificates, hello.Conn.RemoteAddr())
			}
			return config, nil
		},
	}
}

// checkHost tests that a client's certificate is for the host that it comes from.
func (s *Server) checkHost(ctx context.Context, chain []*x509.Certificate, from net.Addr) error {
	if len(chain) == 0 {
		return nil // the demand is met without
	}
	peer, err := netip.ParseAddrPort(from.String())
	if err != nil {
		return fmt.Errorf("the address of the client is not known: %w", err)
	}
	address := peer.Addr().Unmap().WithZone("").String()
	if chain[0].VerifyHostname(address) == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	names, _ := s.o.Names(ctx, address) // an address without names has no right one
	for _, name := range names {
		if chain[0].VerifyHostname(strings.TrimSuffix(name, ".")) == nil {
			return nil
		}
	}
	return fmt.Errorf("the client's certificate is not for its address [%s], nor for a name of it %v", address, names)
}

// Expires returns when the certificate, or one of its chain, is no longer valid.
func (s *Server) Expires() time.Time { return s.now.Load().expires }

// Leaf returns the server's certificate.
func (s *Server) Leaf() *x509.Certificate { return s.now.Load().config.Certificates[0].Leaf }

// expiry is when the first of a chain expires.
func expiry(pair *tls.Certificate) (first time.Time) {
	for _, der := range pair.Certificate {
		c, err := x509.ParseCertificate(der)
		if err == nil && (first.IsZero() || c.NotAfter.Before(first)) {
			first = c.NotAfter
		}
	}
	return first
}

// errUnchecked is that a certificate's issuer has no list of revoked ones.
var errUnchecked = errors.New("no list of revoked certificates of its issuer is at hand")
