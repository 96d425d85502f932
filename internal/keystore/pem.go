package keystore

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"

	"github.com/youmark/pkcs8"
)

// readCertificates returns the certificates of PEM files.
func readCertificates(property string, files []file) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for _, f := range files {
		for text := f.data; ; {
			var block *pem.Block
			if block, text = pem.Decode(text); block == nil {
				break
			}
			if block.Type != "CERTIFICATE" && block.Type != "TRUSTED CERTIFICATE" {
				continue
			}
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, problem(property, "certificate [%d] of the PEM text is not readable", len(out)+1)
			}
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, problem(property, "there is no certificate in PEM format")
	}
	return out, nil
}

// pairPEM finds a key, which may be encrypted, and its chain: the certificates of the file that has
// the key's own. Others, as those of authorities beside it, are not shown to anybody.
func (s *Store) pairPEM(property string, files []file) (*tls.Certificate, error) {
	key, err := s.keyPEM(property, files)
	if err != nil {
		return nil, err
	}
	found := false
	for _, f := range files {
		certificates, err := readCertificates(property, []file{f})
		if err != nil {
			if strings.Contains(string(f.data), "-----BEGIN CERTIFICATE-----") {
				return nil, err
			}
			continue // it has the key
		}
		found = true
		if pair, ok := assemble(key, certificates); ok {
			return pair, nil
		}
	}
	if !found {
		return nil, problem(property, "there is no certificate in PEM format")
	}
	return nil, problem(property, "no certificate belongs to the private key")
}

// keyPEM returns the first private key, or that of the file that the alias names.
func (s *Store) keyPEM(property string, files []file) (crypto.PrivateKey, error) {
	found := false
	for _, f := range files {
		if s.Alias != "" && f.path != "" && len(files) > 1 && !strings.EqualFold(f.base(), s.Alias) {
			continue
		}
		found = true
		for text := f.data; ; {
			var block *pem.Block
			if block, text = pem.Decode(text); block == nil {
				break
			}
			if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
				continue
			}
			if key := readKey(block, s.KeyPassword.Reveal()); key != nil {
				return key, nil
			}
			if key := readKey(block, s.Password.Reveal()); key != nil {
				return key, nil
			}
			return nil, problem(property, "the private key is not readable, or [%s] is not its password", s.keyPassword())
		}
	}
	if !found {
		return nil, s.noAlias()
	}
	return nil, problem(property, "there is no private key in PEM format")
}

func readKey(block *pem.Block, password string) crypto.PrivateKey {
	if block.Type == "ENCRYPTED PRIVATE KEY" {
		key, err := pkcs8.ParsePKCS8PrivateKey(block.Bytes, []byte(password))
		if err != nil {
			return nil
		}
		return key
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		return key
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key
	}
	return nil
}
