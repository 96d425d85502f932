package keystore

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/secret"
)

const (
	// storeBytes bounds a file of certificates and keys: stores of whole companies are smaller.
	storeBytes = 16 << 20
	// folderFiles bounds how many files of a folder are read.
	folderFiles = 1000
)

// Kinds are the formats of stores.
var Kinds = []string{"JKS", "PKCS12", "PEM"}

// Names are what the settings of a Store are called, for messages.
type Names struct {
	Kind, Path, Password, Alias, KeyPassword string
	// Chain and Key are the names of those that hold PEM text.
	Chain, Key string
}

// Store says where certificates and keys are: in a file, in a folder, or in text. The zero Store is
// none.
type Store struct {
	// Kind is one of Kinds in any case; "": whatever the file is.
	Kind string
	// Path is a file. With PEM it may also be a folder, or several files with commas between them.
	Path     string
	Password secret.Text
	// Alias chooses one of several keys; "": the first. In PEM it is the name of the key's file,
	// without the ending.
	Alias string
	// KeyPassword is that of the key; "": that of the store.
	KeyPassword secret.Text
	// Chain and Key are PEM text, in place of a file.
	Chain string
	Key   secret.Text
	Names Names
}

// Problem is what keeps a store from being used. It never holds a secret.
type Problem struct {
	// Property is the name of the setting that is to be mended.
	Property string
	Why      string
}

// Error names the setting.
func (p *Problem) Error() string {
	return fmt.Sprintf("Setting [%s] can't be used: %s", p.Property, p.Why)
}

func problem(property, why string, args ...any) error {
	return &Problem{property, fmt.Sprintf(why, args...)}
}

// Given reports whether there is a store at all.
func (s *Store) Given() bool { return s.Path != "" || s.Chain != "" || !s.Key.IsZero() }

// file is one file of a store, or one text.
type file struct {
	path string
	data []byte
}

// base is the name by which the alias of a setting finds a file.
func (f *file) base() string {
	name := filepath.Base(f.path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// read returns the files of a store.
func (s *Store) read() ([]file, error) {
	if s.Kind != "" && !slices.ContainsFunc(Kinds, func(k string) bool { return strings.EqualFold(k, s.kind()) }) {
		return nil, problem(s.Names.Kind, "type [%s] is unknown; use one of [jks, pkcs12, pem]", s.Kind)
	}
	paths := []string{s.Path}
	if info, err := os.Stat(s.Path); err == nil && info.IsDir() && (s.Kind == "" || s.kind() == "PEM") {
		if paths, err = s.folder(); err != nil {
			return nil, err
		}
	} else if err != nil && strings.Contains(s.Path, ",") {
		paths = strings.Split(s.Path, ",")
	}
	var out []file
	for _, path := range paths {
		path = strings.TrimSpace(path)
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > storeBytes {
			return nil, problem(s.Names.Path, "file [%s] is not readable", path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, problem(s.Names.Path, "file [%s] is not readable", path)
		}
		out = append(out, file{path, data})
	}
	return out, nil
}

// kind is the format that is named, under the one name that it has here.
func (s *Store) kind() string {
	switch strings.ToUpper(s.Kind) {
	case "P12", "PFX", "PKCS#12":
		return "PKCS12"
	}
	return strings.ToUpper(s.Kind)
}

// folder returns the PEM files of a folder.
func (s *Store) folder() ([]string, error) {
	entries, err := os.ReadDir(s.Path)
	if err != nil || len(entries) > folderFiles {
		return nil, problem(s.Names.Path, "folder [%s] is not readable", s.Path)
	}
	var out []string
	for _, e := range entries {
		switch strings.ToLower(filepath.Ext(e.Name())) {
		case ".pem", ".crt", ".cert", ".cer", ".key":
			path := filepath.Join(s.Path, e.Name())
			// A link is followed: volumes of secrets consist of them.
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				out = append(out, path)
			}
		}
	}
	if len(out) == 0 {
		return nil, problem(s.Names.Path, "folder [%s] has no file that ends in .pem, .crt, .cert, .cer or .key", s.Path)
	}
	return out, nil
}

// format returns the kind of files. Java takes JKS and PKCS#12 for each other, and so does this.
func (s *Store) format(files []file) string {
	first := files[0].data
	switch {
	case s.kind() == "PEM", len(files) > 1:
		return "PEM"
	case len(first) >= 4 && binary.BigEndian.Uint32(first) == 0xFEEDFEED:
		return "JKS"
	case bytes.Contains(first, []byte("-----BEGIN ")):
		return "PEM"
	}
	return "PKCS12"
}

// Trusted returns the certificates that a store trusts.
func (s *Store) Trusted() ([]*x509.Certificate, error) {
	if s.Chain != "" {
		if s.Path != "" {
			return nil, problem(s.Names.Chain, "[%s] is given, too", s.Names.Path)
		}
		return readCertificates(s.Names.Chain, []file{{data: []byte(s.Chain)}})
	}
	files, err := s.read()
	if err != nil {
		return nil, err
	}
	var out []*x509.Certificate
	switch s.format(files) {
	case "PEM":
		return readCertificates(s.Names.Path, files)
	case "PKCS12":
		out, err = s.trustedPKCS12(files[0].data)
	default:
		out, err = s.trustedJKS(files[0].data)
	}
	if err == nil && len(out) == 0 {
		err = problem(s.Names.Path, "file [%s] has no trusted certificate", s.Path)
	}
	return out, err
}

// Roots returns the trusted certificates as a pool; nil, where there is no store: those of the
// machine.
func (s *Store) Roots() (*x509.CertPool, error) {
	if !s.Given() {
		return nil, nil
	}
	list, err := s.Trusted()
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, c := range list {
		pool.AddCert(c)
	}
	return pool, nil
}

// Added returns the authorities of the machine and the trusted certificates; nil, where there is no
// store: those of the machine.
func (s *Store) Added() (*x509.CertPool, error) {
	if !s.Given() {
		return nil, nil
	}
	list, err := s.Trusted()
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil { // the machine has none
		pool = x509.NewCertPool()
	}
	for _, c := range list {
		pool.AddCert(c)
	}
	return pool, nil
}

// Pair returns a key with its chain of certificates.
func (s *Store) Pair() (*tls.Certificate, error) {
	if s.Path == "" {
		if s.Chain == "" || s.Key.IsZero() {
			return nil, problem(s.Names.Key, "[%s] and [%s] go together", s.Names.Chain, s.Names.Key)
		}
		if _, err := readCertificates(s.Names.Key, []file{{data: []byte(s.Chain)}}); err != nil {
			return nil, err
		}
		return s.pairPEM(s.Names.Key, []file{{data: []byte(s.Chain)}, {data: []byte(s.Key.Reveal())}})
	}
	files, err := s.read()
	if err != nil {
		return nil, err
	}
	switch s.format(files) {
	case "PEM":
		return s.pairPEM(s.Names.Path, files)
	case "PKCS12":
		return s.pairPKCS12(files[0].data)
	}
	return s.pairJKS(files[0].data)
}

// noAlias is the problem that no key has the wanted alias.
func (s *Store) noAlias() error {
	return problem(s.Names.Alias, "[%s] has no key with the alias [%s]", s.Path, s.Alias)
}

// keyPassword names the setting that holds the password of keys.
func (s *Store) keyPassword() string { return cmp.Or(s.Names.KeyPassword, s.Names.Password) }

// assemble makes a pair of a key and the certificates near it: the key's own comes first, then the
// others in their order.
func assemble(key crypto.PrivateKey, certificates []*x509.Certificate) (*tls.Certificate, bool) {
	at := slices.IndexFunc(certificates, func(c *x509.Certificate) bool { return belongs(key, c) })
	if at < 0 {
		return nil, false
	}
	out := &tls.Certificate{PrivateKey: key, Leaf: certificates[at], Certificate: [][]byte{certificates[at].Raw}}
	for i, c := range certificates {
		if i != at {
			out.Certificate = append(out.Certificate, c.Raw)
		}
	}
	return out, true
}

// belongs reports whether a certificate is of a key.
func belongs(key crypto.PrivateKey, c *x509.Certificate) bool {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return false
	}
	public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.PublicKey)
}

// issuers returns a certificate with those among others that issued it, in turn.
func issuers(leaf *x509.Certificate, others []*x509.Certificate) []*x509.Certificate {
	out := []*x509.Certificate{leaf}
	for last := leaf; !bytes.Equal(last.RawIssuer, last.RawSubject) && len(out) <= len(others); last = out[len(out)-1] {
		at := slices.IndexFunc(others, func(c *x509.Certificate) bool {
			return bytes.Equal(c.RawSubject, last.RawIssuer) && last.CheckSignatureFrom(c) == nil && !slices.Contains(out, c)
		})
		if at < 0 {
			break
		}
		out = append(out, others[at])
	}
	return out
}
