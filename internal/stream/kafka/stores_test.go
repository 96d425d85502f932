package kafka

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/youmark/pkcs8"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
)

// identity is a key with a certificate that it signs itself.
type identity struct {
	key         *ecdsa.PrivateKey
	pkcs8       []byte
	certificate *x509.Certificate
}

func newIdentity(t testing.TB, host string) identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Unix(1_600_000_000, 0), NotAfter: time.Unix(4_000_000_000, 0), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	out := identity{key: key}
	if out.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	if out.pkcs8, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
		t.Fatal(err)
	}
	return out
}

func asPEM(kind string, bytes []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
}

// writeStores writes an identity in all formats, with password stones, and returns the folder.
func writeStores(t testing.TB, i identity) string {
	t.Helper()
	folder := t.TempDir()
	write := func(name string, data []byte, err error) {
		t.Helper()
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(name, err)
		}
	}
	certificate := keystore.Certificate{Type: "X.509", Content: i.certificate.Raw}
	for name, entry := range map[string]any{
		"trust.jks": keystore.TrustedCertificateEntry{CreationTime: time.Unix(1, 0), Certificate: certificate},
		"key.jks": keystore.PrivateKeyEntry{
			CreationTime: time.Unix(1, 0), PrivateKey: i.pkcs8, CertificateChain: []keystore.Certificate{certificate},
		},
	} {
		ks := keystore.New()
		var err error
		switch entry := entry.(type) {
		case keystore.TrustedCertificateEntry:
			err = ks.SetTrustedCertificateEntry("one", entry)
		case keystore.PrivateKeyEntry:
			err = ks.SetPrivateKeyEntry("one", entry, []byte("pebbles"))
		}
		var out bytes.Buffer
		if err == nil {
			err = ks.Store(&out, []byte("stones"))
		}
		write(name, out.Bytes(), err)
	}
	data, err := pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{i.certificate}, "stones")
	write("trust.p12", data, err)
	data, err = pkcs12.Modern.Encode(i.key, i.certificate, nil, "stones")
	write("key.p12", data, err)
	chain := asPEM("CERTIFICATE", i.certificate.Raw)
	write("trust.pem", chain, nil)
	write("key.pem", append(asPEM("PRIVATE KEY", i.pkcs8), chain...), nil)
	hidden, err := pkcs8.MarshalPrivateKey(i.key, []byte("pebbles"), nil)
	write("hidden.pem", append(asPEM("ENCRYPTED PRIVATE KEY", hidden), chain...), err)
	sec1, err := x509.MarshalECPrivateKey(i.key)
	write("sec1.pem", append(chain, asPEM("EC PRIVATE KEY", sec1)...), err)
	return folder
}

func TestStores(t *testing.T) {
	folder := writeStores(t, newIdentity(t, "localhost"))
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, c := range []struct {
		name  string
		pairs string // without "ssl."; "@" is before a file whose text is the value
		why   string // what is wrong with it; "": nothing
	}{
		{"jks", "truststore.location=trust.jks truststore.password=stones", ""},
		{"jks, unchecked", "truststore.location=trust.jks", ""},
		{"pkcs12 that is called jks", "truststore.location=trust.p12 truststore.password=stones", ""},
		{"jks, wrong password", "truststore.location=trust.jks truststore.password=secret", "[ssl.truststore.password] is not its password"},
		{"pkcs12, wrong password", "truststore.location=trust.p12 truststore.password=secret", "[ssl.truststore.password] is not its password"},
		{"trust of a key", "truststore.location=key.jks", "has no trusted certificate"},
		{"pem", "truststore.location=trust.pem truststore.type=PEM", ""},
		{"pem that is none", "truststore.location=trust.jks truststore.type=PEM", "no certificate in PEM"},
		{"both kinds of trust", "truststore.location=trust.pem truststore.certificates=@trust.pem", "is given, too"},
		{"key of jks", "keystore.location=key.jks keystore.password=stones key.password=pebbles", ""},
		{"key of jks, wrong password", "keystore.location=key.jks keystore.password=stones", "[ssl.key.password] is not its password"},
		{"store of jks, wrong password", "keystore.location=key.jks keystore.password=secret", "[ssl.keystore.password] is not its password"},
		{"no key", "keystore.location=trust.jks", "has no key"},
		{"key of pkcs12", "keystore.location=key.p12 keystore.password=stones keystore.type=PKCS12", ""},
		{"key of pkcs12, wrong password", "keystore.location=key.p12 keystore.password=secret", "[ssl.keystore.password] is not its password"},
		{"key of pem", "keystore.location=key.pem keystore.type=PEM", ""},
		{"key of sec1", "keystore.location=sec1.pem keystore.type=PEM", ""},
		{"encrypted key", "keystore.location=hidden.pem keystore.type=PEM key.password=pebbles", ""},
		{"encrypted key, wrong password", "keystore.location=hidden.pem keystore.type=PEM key.password=secret",
			"[ssl.key.password] is not its password"},
		{"certificate without a key", "keystore.location=trust.pem keystore.type=PEM", "no private key in PEM"},
		{"key in place", "keystore.certificate.chain=@trust.pem keystore.key=@key.pem", ""},
	} {
		properties := given(t, `{"security.protocol":"SSL"}`)
		for pair := range strings.FieldsSeq(c.pairs) {
			name, value, _ := strings.Cut(pair, "=")
			if strings.HasSuffix(name, ".location") {
				value = filepath.Join(folder, value)
			} else if file, ok := strings.CutPrefix(value, "@"); ok {
				value = read(file)
			}
			properties["ssl."+name], _ = json.Marshal(value)
		}
		err := Check(stream.Config{Name: "t", Properties: properties}, nil)
		switch f := fault.Find(err); {
		case c.why == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.why != "" && (f == nil || !strings.Contains(f.Message, c.why) || strings.Contains(f.Message, "secret")):
			t.Errorf("%s: %v, want %s", c.name, err, c.why)
		}
	}
}

func TestNamesOfHosts(t *testing.T) {
	right, other := newIdentity(t, "127.0.0.1"), newIdentity(t, "elsewhere")
	c := brokers(t, kfake.SeedTopics(1, "t"), kfake.TLS(&tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{other.certificate.Raw}, PrivateKey: other.key}},
	}))
	trusted := func(i identity) string { return string(asPEM("CERTIFICATE", i.certificate.Raw)) }
	for _, test := range []struct {
		name, problem string
		pairs         []string
	}{
		{"not its name", "the broker's certificate is not for [127.0.0.1]", []string{"ssl.truststore.certificates", trusted(other)}},
		{"any name", "", []string{"ssl.truststore.certificates", trusted(other), "ssl.endpoint.identification.algorithm", ""}},
		{"any name, but not anybody", "not signed by a trusted authority",
			[]string{"ssl.truststore.certificates", trusted(right), "ssl.endpoint.identification.algorithm", ""}},
	} {
		s := open(t, c.ListenAddrs(), "t", append([]string{"security.protocol", "SSL"}, test.pairs...)...)
		_, err := s.Partitions(context.Background())
		if test.problem == "" {
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		if class, message := stream.ClassOf(err); class != errorClasses+"SslAuthenticationException" ||
			!strings.Contains(message, test.problem) {
			t.Errorf("%s: %s: %s (%v)", test.name, class, message, err)
		}
	}
}
