package keystore

import (
	"bytes"
	"cmp"
	"crypto/sha1" //nolint:gosec // the format of JKS
	"crypto/tls"
	"crypto/x509"
	"strings"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
)

// loadJKS reads a store, and checks its sum if there is a password, as Java does.
func (s *Store) loadJKS(data []byte) (keystore.KeyStore, error) {
	const sum = sha1.Size
	if s.Password.IsZero() && len(data) > sum {
		h := sha1.New() //nolint:gosec // the format of JKS
		h.Write([]byte("Mighty Aphrodite"))
		h.Write(data[:len(data)-sum])
		data = h.Sum(bytes.Clone(data[:len(data)-sum]))
	}
	entries := keystore.New(keystore.WithOrderedAliases())
	if err := entries.Load(bytes.NewReader(data), []byte(s.Password.Reveal())); err != nil {
		return entries, problem(s.Names.Path, "file [%s] is damaged, or [%s] is not its password", s.Path, s.Names.Password)
	}
	return entries, nil
}

func (s *Store) trustedJKS(data []byte) ([]*x509.Certificate, error) {
	entries, err := s.loadJKS(data)
	if err != nil {
		return nil, err
	}
	var out []*x509.Certificate
	for _, alias := range entries.Aliases() {
		entry, err := entries.GetTrustedCertificateEntry(alias)
		if err != nil {
			continue // a key
		}
		c, err := x509.ParseCertificate(entry.Certificate.Content)
		if err != nil {
			return nil, problem(s.Names.Path, "certificate [%s] of file [%s] is not readable", alias, s.Path)
		}
		out = append(out, c)
	}
	return out, nil
}

func (s *Store) pairJKS(data []byte) (*tls.Certificate, error) {
	entries, err := s.loadJKS(data)
	if err != nil {
		return nil, err
	}
	for _, alias := range entries.Aliases() {
		if !entries.IsPrivateKeyEntry(alias) || s.Alias != "" && !strings.EqualFold(alias, s.Alias) {
			continue
		}
		entry, err := entries.GetPrivateKeyEntry(alias, []byte(cmp.Or(s.KeyPassword, s.Password).Reveal()))
		if err != nil {
			return nil, problem(s.Names.Path, "the key of file [%s] is damaged, or [%s] is not its password", s.Path, s.keyPassword())
		}
		key, err := x509.ParsePKCS8PrivateKey(entry.PrivateKey)
		if err != nil {
			return nil, problem(s.Names.Path, "the key of file [%s] is of an unknown kind", s.Path)
		}
		var chain []*x509.Certificate
		for _, c := range entry.CertificateChain {
			parsed, err := x509.ParseCertificate(c.Content)
			if err != nil {
				return nil, problem(s.Names.Path, "certificate [%s] of file [%s] is not readable", alias, s.Path)
			}
			chain = append(chain, parsed)
		}
		pair, ok := assemble(key, chain)
		if !ok {
			return nil, problem(s.Names.Path, "no certificate of file [%s] belongs to its private key", s.Path)
		}
		return pair, nil
	}
	if s.Alias != "" {
		return nil, s.noAlias()
	}
	return nil, problem(s.Names.Path, "file [%s] has no key", s.Path)
}
