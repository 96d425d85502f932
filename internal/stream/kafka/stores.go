package kafka

import (
	"bytes"
	"crypto"
	"crypto/sha1" //nolint:gosec // the format of JKS
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"os"
	"strings"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"github.com/youmark/pkcs8"
	"software.sslmate.com/src/go-pkcs12"
)

// storeKinds are the formats of files with certificates and keys.
var storeKinds = []string{"JKS", "PKCS12", "PEM"}

// stores are the ssl.* properties.
type stores struct {
	trust, key  store
	keyPassword string
	anyHost     bool
	least, most uint16
}

// store is a file of certificates, or texts of such; name of properties: ssl.truststore or
// ssl.keystore.
type store struct {
	kind, location, password string
	certificates, key        string // PEM in the property itself
}

func (s *stores) readProtocols(text string) string {
	known := map[string]uint16{"TLS": tls.VersionTLS12, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}
	for name := range strings.SplitSeq(text, ",") {
		version, ok := known[strings.TrimSpace(name)]
		if !ok {
			return "it must be of [TLSv1.2, TLSv1.3]"
		}
		if s.least == 0 || version < s.least {
			s.least = version
		}
		s.most = max(s.most, version)
		if strings.TrimSpace(name) == "TLS" {
			s.most = tls.VersionTLS13
		}
	}
	return ""
}

// config makes the settings of TLS. The name of a broker is put into a copy of it.
func (s *stores) config() (*tls.Config, error) {
	out := &tls.Config{MinVersion: max(s.least, tls.VersionTLS12), MaxVersion: s.most}
	roots, err := s.roots()
	if err != nil {
		return nil, err
	}
	out.RootCAs = roots
	if s.key.location != "" || s.key.certificates != "" || s.key.key != "" {
		own, err := s.own()
		if err != nil {
			return nil, err
		}
		out.Certificates = []tls.Certificate{*own}
	}
	if s.anyHost {
		// The chain is still checked, but not the name of the host.
		out.InsecureSkipVerify = true
		out.VerifyConnection = func(state tls.ConnectionState) error {
			options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
			for _, c := range state.PeerCertificates[1:] {
				options.Intermediates.AddCert(c)
			}
			_, err := state.PeerCertificates[0].Verify(options)
			return err
		}
	}
	return out, nil
}

// roots are the trusted certificates; nil: those of the machine.
func (s *stores) roots() (*x509.CertPool, error) {
	t := &s.trust
	var certificates []*x509.Certificate
	var err error
	switch {
	case t.certificates != "":
		if t.location != "" {
			return nil, invalid("ssl.truststore.certificates", "[ssl.truststore.location] is given, too")
		}
		certificates, err = readCertificates("ssl.truststore.certificates", []byte(t.certificates))
	case t.location != "":
		certificates, err = t.trusted()
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, c := range certificates {
		pool.AddCert(c)
	}
	return pool, nil
}

// read returns the file of a store.
func (s *store) read(name string) ([]byte, error) {
	info, err := os.Stat(s.location)
	if err != nil || !info.Mode().IsRegular() || info.Size() > storeBytes {
		return nil, invalid(name, "file [%s] is not readable", s.location)
	}
	data, err := os.ReadFile(s.location)
	if err != nil {
		return nil, invalid(name, "file [%s] is not readable", s.location)
	}
	return data, nil
}

// format returns the kind of a file. Java takes JKS and PKCS12 for each other.
func (s *store) format(data []byte) string {
	if s.kind == "PEM" {
		return "PEM"
	}
	if len(data) >= 4 && binary.BigEndian.Uint32(data) == 0xFEEDFEED {
		return "JKS"
	}
	return "PKCS12"
}

func (s *store) trusted() ([]*x509.Certificate, error) {
	const name = "ssl.truststore.location"
	data, err := s.read(name)
	if err != nil {
		return nil, err
	}
	var out []*x509.Certificate
	switch s.format(data) {
	case "PEM":
		return readCertificates(name, data)
	case "PKCS12":
		if out, err = pkcs12.DecodeTrustStore(data, s.password); err != nil {
			return nil, invalid(name, "file [%s] is no store of type [%s], or [ssl.truststore.password] is not its password", s.location, s.kind)
		}
	default:
		entries, err := readJKS(data, s.password)
		if err != nil {
			return nil, invalid(name, "file [%s] is damaged, or [ssl.truststore.password] is not its password", s.location)
		}
		for _, alias := range entries.Aliases() {
			entry, err := entries.GetTrustedCertificateEntry(alias)
			if err != nil {
				continue // a key
			}
			c, err := x509.ParseCertificate(entry.Certificate.Content)
			if err != nil {
				return nil, invalid(name, "certificate [%s] of file [%s] is not readable", alias, s.location)
			}
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, invalid(name, "file [%s] has no trusted certificate", s.location)
	}
	return out, nil
}

// readJKS reads a store, and checks its sum if there is a password, as Java does.
func readJKS(data []byte, password string) (keystore.KeyStore, error) {
	const sum = sha1.Size
	if password == "" && len(data) > sum {
		h := sha1.New() //nolint:gosec // the format of JKS
		h.Write([]byte("Mighty Aphrodite"))
		h.Write(data[:len(data)-sum])
		data = h.Sum(bytes.Clone(data[:len(data)-sum]))
	}
	entries := keystore.New(keystore.WithOrderedAliases())
	err := entries.Load(bytes.NewReader(data), []byte(password))
	return entries, err
}

// own returns the certificate and key that the client shows.
func (s *stores) own() (*tls.Certificate, error) {
	k := &s.key
	if k.location == "" {
		if k.certificates == "" || k.key == "" {
			return nil, invalid("ssl.keystore.key", "[ssl.keystore.certificate.chain] and [ssl.keystore.key] go together")
		}
		return readPair("ssl.keystore.key", []byte(k.certificates), []byte(k.key), s.keyPassword)
	}
	const name = "ssl.keystore.location"
	data, err := k.read(name)
	if err != nil {
		return nil, err
	}
	switch k.format(data) {
	case "PEM":
		return readPair(name, data, data, s.keyPassword)
	case "PKCS12":
		key, leaf, rest, err := pkcs12.DecodeChain(data, k.password)
		if err != nil {
			return nil, invalid(name, "file [%s] is no store of type [%s] with one key, or [ssl.keystore.password] is not its password",
				k.location, k.kind)
		}
		out := &tls.Certificate{PrivateKey: key, Leaf: leaf, Certificate: [][]byte{leaf.Raw}}
		for _, c := range rest {
			out.Certificate = append(out.Certificate, c.Raw)
		}
		return out, nil
	}
	entries, err := readJKS(data, k.password)
	if err != nil {
		return nil, invalid(name, "file [%s] is damaged, or [ssl.keystore.password] is not its password", k.location)
	}
	password := s.keyPassword
	if password == "" {
		password = k.password
	}
	for _, alias := range entries.Aliases() {
		if !entries.IsPrivateKeyEntry(alias) {
			continue
		}
		entry, err := entries.GetPrivateKeyEntry(alias, []byte(password))
		if err != nil {
			return nil, invalid(name, "the key of file [%s] is damaged, or [ssl.key.password] is not its password", k.location)
		}
		key, err := x509.ParsePKCS8PrivateKey(entry.PrivateKey)
		if err != nil {
			return nil, invalid(name, "the key of file [%s] is of an unknown kind", k.location)
		}
		out := &tls.Certificate{PrivateKey: key}
		for _, c := range entry.CertificateChain {
			out.Certificate = append(out.Certificate, c.Content)
		}
		return out, nil
	}
	return nil, invalid(name, "file [%s] has no key", k.location)
}

func readCertificates(name string, text []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, invalid(name, "certificate [%d] of the PEM text is not readable", len(out)+1)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, invalid(name, "there is no certificate in PEM format")
	}
	return out, nil
}

// readPair reads a chain of certificates and a key, which may be encrypted.
func readPair(name string, chain, key []byte, password string) (*tls.Certificate, error) {
	certificates, err := readCertificates(name, chain)
	if err != nil {
		return nil, err
	}
	out := &tls.Certificate{Leaf: certificates[0]}
	for _, c := range certificates {
		out.Certificate = append(out.Certificate, c.Raw)
	}
	for out.PrivateKey == nil {
		var block *pem.Block
		if block, key = pem.Decode(key); block == nil {
			return nil, invalid(name, "there is no private key in PEM format")
		}
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			if out.PrivateKey = readKey(block, password); out.PrivateKey == nil {
				return nil, invalid(name, "the private key is not readable, or [ssl.key.password] is not its password")
			}
		}
	}
	return out, nil
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
