// Package certs creates authorities and certificates for tests, and writes them in all supported
// formats of key stores.
package certs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"github.com/youmark/pkcs8"
	"software.sslmate.com/src/go-pkcs12"
)

// StorePassword opens all stores. KeyPassword opens keys in JKS and in encrypted PEM.
const (
	StorePassword = "stones-of-a-ring"
	KeyPassword   = "pebbles-of-a-beach"
)

// Valid is the time in which certificates are valid if nothing else is said.
var Valid = [2]time.Time{time.Unix(1_600_000_000, 0), time.Unix(4_000_000_000, 0)}

var serial atomic.Int64

// Pair is a certificate with its key and those that issued it.
type Pair struct {
	Key         crypto.Signer
	Certificate *x509.Certificate
	// Issuer is nil where the certificate is signed by itself.
	Issuer *Pair
}

// Authority makes an authority that signs itself.
func Authority(t testing.TB, name string) *Pair {
	return issue(t, nil, name, Valid, true, nil)
}

// Authority makes an authority below this one.
func (p *Pair) Authority(t testing.TB, name string) *Pair { return issue(t, p, name, Valid, true, nil) }

// Issue makes a certificate for hosts, which are names or addresses; the first is its subject, too.
func (p *Pair) Issue(t testing.TB, hosts ...string) *Pair {
	return issue(t, p, hosts[0], Valid, false, hosts)
}

// IssueFor makes a certificate that is valid in a time only.
func (p *Pair) IssueFor(t testing.TB, valid [2]time.Time, hosts ...string) *Pair {
	return issue(t, p, hosts[0], valid, false, hosts)
}

func issue(t testing.TB, issuer *Pair, name string, valid [2]time.Time, authority bool, hosts []string) *Pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial.Add(1)), Subject: pkix.Name{CommonName: name}, NotBefore: valid[0], NotAfter: valid[1],
		IsCA: authority, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if authority {
		template.KeyUsage |= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	out := &Pair{Key: key, Issuer: issuer}
	parent, signer := template, crypto.Signer(key)
	if issuer != nil {
		parent, signer = issuer.Certificate, issuer.Key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	if out.Certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return out
}

// Chain returns the certificate and the authorities between it and the one that signs itself.
func (p *Pair) Chain() []*x509.Certificate {
	out := []*x509.Certificate{p.Certificate}
	for i := p.Issuer; i != nil && i.Issuer != nil; i = i.Issuer {
		out = append(out, i.Certificate)
	}
	return out
}

// TLS returns the pair as a server or client takes it.
func (p *Pair) TLS() tls.Certificate {
	out := tls.Certificate{PrivateKey: p.Key, Leaf: p.Certificate}
	for _, c := range p.Chain() {
		out.Certificate = append(out.Certificate, c.Raw)
	}
	return out
}

// Pool returns the certificate as the only one that is trusted.
func (p *Pair) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.Certificate)
	return pool
}

// ChainPEM returns the chain as text.
func (p *Pair) ChainPEM() string {
	var out bytes.Buffer
	for _, c := range p.Chain() {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
	}
	return out.String()
}

// PKCS8 returns the key in bytes.
func (p *Pair) PKCS8(t testing.TB) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// KeyPEM returns the key as text.
func (p *Pair) KeyPEM(t testing.TB) string {
	t.Helper()
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: p.PKCS8(t)}))
}

// Revoked returns a list of certificates that this authority has revoked, as text.
func (p *Pair) Revoked(t testing.TB, next time.Time, pairs ...*Pair) string {
	t.Helper()
	template := &x509.RevocationList{Number: big.NewInt(serial.Add(1)), ThisUpdate: Valid[0], NextUpdate: next}
	for _, r := range pairs {
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: r.Certificate.SerialNumber, RevocationTime: Valid[0]})
	}
	der, err := x509.CreateRevocationList(rand.Reader, template, p.Certificate, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}))
}

// Write writes a file into a folder and returns its path.
func Write(t testing.TB, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// WritePEM writes chain and key into two files, tls.crt and tls.key, and returns their paths.
func (p *Pair) WritePEM(t testing.TB, folder string) (chain, key string) {
	t.Helper()
	return Write(t, folder, "tls.crt", p.ChainPEM()), Write(t, folder, "tls.key", p.KeyPEM(t))
}

// EncryptedPEM returns the key as text that KeyPassword opens.
func (p *Pair) EncryptedPEM(t testing.TB) string {
	t.Helper()
	der, err := pkcs8.MarshalPrivateKey(p.Key, []byte(KeyPassword), nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: der}))
}

// WriteJKS writes a store with keys by their aliases.
func WriteJKS(t testing.TB, path string, pairs map[string]*Pair) {
	t.Helper()
	ks := keystore.New()
	for alias, p := range pairs {
		entry := keystore.PrivateKeyEntry{CreationTime: Valid[0], PrivateKey: p.PKCS8(t)}
		for _, c := range p.Chain() {
			entry.CertificateChain = append(entry.CertificateChain, keystore.Certificate{Type: "X.509", Content: c.Raw})
		}
		if err := ks.SetPrivateKeyEntry(alias, entry, []byte(KeyPassword)); err != nil {
			t.Fatal(err)
		}
	}
	storeJKS(t, path, ks)
}

// WriteTrustJKS writes a store that trusts the certificate.
func (p *Pair) WriteTrustJKS(t testing.TB, path string) {
	t.Helper()
	ks := keystore.New()
	entry := keystore.TrustedCertificateEntry{CreationTime: Valid[0], Certificate: keystore.Certificate{Type: "X.509",
		Content: p.Certificate.Raw}}
	if err := ks.SetTrustedCertificateEntry("authority", entry); err != nil {
		t.Fatal(err)
	}
	storeJKS(t, path, ks)
}

func storeJKS(t testing.TB, path string, ks keystore.KeyStore) {
	t.Helper()
	var out bytes.Buffer
	if err := ks.Store(&out, []byte(StorePassword)); err != nil {
		t.Fatal(err)
	}
	Write(t, filepath.Dir(path), filepath.Base(path), out.String())
}

// WritePKCS12 writes a store with the key and its chain.
func (p *Pair) WritePKCS12(t testing.TB, path string) {
	t.Helper()
	data, err := pkcs12.Modern.Encode(p.Key, p.Certificate, p.Chain()[1:], StorePassword)
	if err != nil {
		t.Fatal(err)
	}
	Write(t, filepath.Dir(path), filepath.Base(path), string(data))
}

// WriteTrustPKCS12 writes a store that trusts the certificate.
func (p *Pair) WriteTrustPKCS12(t testing.TB, path string) {
	t.Helper()
	data, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{p.Certificate}, StorePassword)
	if err != nil {
		t.Fatal(err)
	}
	Write(t, filepath.Dir(path), filepath.Base(path), string(data))
}
