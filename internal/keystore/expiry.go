package keystore

import (
	"crypto/x509"
	"time"
)

// Expiry is when the certificates of a file end.
type Expiry struct {
	File string
	// Trust says that they are of authorities, not of this side.
	Trust bool
	At    time.Time
}

// Expiries returns when the certificates in use end that the server has read.
func (s *Server) Expiries(now time.Time) []Expiry {
	return s.now.Load().expiries(&s.o.Key, &s.o.Trust, now)
}

// Expiries returns when the certificates in use end that the client has read.
func (c *Client) Expiries(now time.Time) []Expiry {
	return c.now.Load().expiries(&c.o.Key, &c.o.Trust, now)
}

func (s *serving) expiries(key, trust *Store, now time.Time) (out []Expiry) {
	if !s.expires.IsZero() {
		out = append(out, Expiry{File: key.Path, At: s.expires})
	}
	if at := nextToEnd(s.trusted, now); !at.IsZero() {
		out = append(out, Expiry{File: trust.Path, Trust: true, At: at})
	}
	return out
}

// nextToEnd is when the first authority ends that has not ended yet, since bundles keep old ones
// beside the new; if all have ended, when the last one did.
func nextToEnd(list []*x509.Certificate, now time.Time) (at time.Time) {
	for _, c := range list {
		switch ends := c.NotAfter; {
		case at.IsZero(), ends.After(now) && (at.Before(now) || ends.Before(at)), at.Before(now) && ends.After(at):
			at = ends
		}
	}
	return at
}
