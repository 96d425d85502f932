package keystore

import (
	"cmp"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"

	"software.sslmate.com/src/go-pkcs12"
)

func (s *Store) trustedPKCS12(data []byte) ([]*x509.Certificate, error) {
	out, err := pkcs12.DecodeTrustStore(data, s.Password.Reveal())
	if err == nil {
		return out, nil
	}
	return nil, s.notPKCS12(err)
}

// notPKCS12 says why a file can't be read as a store.
func (s *Store) notPKCS12(err error) error {
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword), errors.Is(err, pkcs12.ErrDecryption):
		return problem(s.Names.Path, "file [%s] is damaged, or [%s] is not its password", s.Path, s.Names.Password)
	case strings.Contains(err.Error(), "not marked as trusted"), strings.Contains(err.Error(), "only certificate bags"):
		return problem(s.Names.Path, "file [%s] has no certificate that is marked as trusted; keytool -importcert marks them",
			s.Path)
	}
	return problem(s.Names.Path, "file [%s] is not a store of type [%s], or [%s] is not its password", s.Path, cmp.Or(s.Kind, "PKCS12"),
		s.Names.Password)
}

// pairPKCS12 returns the only key of a file, or where it has several the one with the alias, or the
// first.
func (s *Store) pairPKCS12(data []byte) (*tls.Certificate, error) {
	// The library finds several keys, and their aliases, only by a function that does not know all
	// kinds of keys. A file with one key is read by the one that does.
	blocks, several := pkcs12.ToPEM(data, s.Password.Reveal()) //nolint:staticcheck // the other functions read one key only
	if several == nil {
		return s.chosen(blocks)
	}
	key, leaf, rest, err := pkcs12.DecodeChain(data, s.Password.Reveal())
	if err != nil {
		switch {
		case strings.Contains(err.Error(), "private key missing"):
			return nil, problem(s.Names.Path, "file [%s] has no key", s.Path)
		case strings.Contains(err.Error(), "exactly one key bag"):
			return nil, problem(s.Names.Path, "file [%s] has several keys of which one is of an unknown kind", s.Path)
		}
		return nil, s.notPKCS12(err)
	}
	pair, ok := assemble(key, append([]*x509.Certificate{leaf}, rest...))
	if !ok {
		return nil, problem(s.Names.Path, "no certificate of file [%s] belongs to its private key", s.Path)
	}
	return pair, nil
}

// chosen returns the key with the alias, or the first, with the certificates that issued its own.
func (s *Store) chosen(blocks []*pem.Block) (*tls.Certificate, error) {
	var key crypto.PrivateKey
	var certificates []*x509.Certificate
	keys := 0
	for _, b := range blocks {
		if b.Type == "CERTIFICATE" {
			c, err := x509.ParseCertificate(b.Bytes)
			if err != nil {
				return nil, problem(s.Names.Path, "a certificate of file [%s] is not readable", s.Path)
			}
			certificates = append(certificates, c)
			continue
		}
		keys++
		if key == nil && (s.Alias == "" || strings.EqualFold(b.Headers["friendlyName"], s.Alias)) {
			if key = readKey(b, ""); key == nil {
				return nil, problem(s.Names.Path, "the key of file [%s] is of an unknown kind", s.Path)
			}
		}
	}
	switch {
	case keys == 0:
		return nil, problem(s.Names.Path, "file [%s] has no key", s.Path)
	case key == nil:
		return nil, s.noAlias()
	}
	for _, c := range certificates {
		if belongs(key, c) {
			pair, _ := assemble(key, issuers(c, certificates)) // its own is among them
			return pair, nil
		}
	}
	return nil, problem(s.Names.Path, "no certificate of file [%s] belongs to its private key", s.Path)
}
