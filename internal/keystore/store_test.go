package keystore

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/testkit/certs"
)

var names = Names{
	Kind: "s.keyStoreType", Path: "s.keyStorePath", Password: "s.keyStorePassword", Alias: "s.certAlias", KeyPassword: "s.keyManagerPassword",
	Chain: "s.chain", Key: "s.key",
}

// folder has one key and its authority in all formats.
type folder struct {
	path             string
	root, middle     *certs.Pair
	server, other    *certs.Pair
	chain, key, tree string
}

func newFolder(t testing.TB) *folder {
	t.Helper()
	f := &folder{path: t.TempDir(), root: certs.Authority(t, "root")}
	f.middle = f.root.Authority(t, "middle")
	f.server, f.other = f.middle.Issue(t, "localhost", "127.0.0.1"), f.root.Issue(t, "other.example.com")
	f.chain, f.key = f.server.ChainPEM(), f.server.KeyPEM(t)
	write := func(name, text string) { certs.Write(t, f.path, name, text) }
	write("both.pem", f.key+f.chain)
	write("hidden.pem", f.chain+f.server.EncryptedPEM(t))
	write("wrong.pem", f.other.KeyPEM(t)+f.chain)
	write("chain.pem", f.chain)
	write("key.pem", f.key)
	write("trust.pem", f.root.ChainPEM()+f.middle.ChainPEM())
	write("empty.pem", "")
	write("noise", "\x01\x02\x03\x04\x05noise")
	write("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	certs.WriteJKS(t, filepath.Join(f.path, "keys.jks"), map[string]*certs.Pair{"one": f.server, "Two": f.other})
	f.root.WriteTrustJKS(t, filepath.Join(f.path, "trust.jks"))
	f.server.WritePKCS12(t, filepath.Join(f.path, "key.p12"))
	f.root.WriteTrustPKCS12(t, filepath.Join(f.path, "trust.p12"))
	f.tree = filepath.Join(f.path, "tree")
	for _, dir := range []string{f.tree, filepath.Join(f.path, "bare")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f.server.WritePEM(t, f.tree)
	certs.Write(t, f.tree, "ca.crt", f.root.ChainPEM())
	certs.Write(t, f.tree, "other.key", f.other.KeyPEM(t))
	certs.Write(t, f.tree, "other.crt", f.other.ChainPEM())
	certs.Write(t, f.tree, "README", "not a certificate")
	return f
}

func TestPairs(t *testing.T) {
	f := newFolder(t)
	right, keyRight, wrong := secret.NewText(certs.StorePassword), secret.NewText(certs.KeyPassword), secret.NewText("wr0ng")
	for _, c := range []struct {
		name  string
		store Store
		host  string // of the certificate, where there is nothing wrong
		chain int
		at    string // the property, and what is wrong with it
		why   string
	}{
		{"one PEM file", Store{Path: "both.pem"}, "localhost", 2, "", ""},
		{"two PEM files", Store{Path: "chain.pem,key.pem", Kind: "pem"}, "localhost", 2, "", ""},
		{"encrypted PEM", Store{Path: "hidden.pem", KeyPassword: keyRight}, "localhost", 2, "", ""},
		{"encrypted PEM, password of the store", Store{Path: "hidden.pem", Password: keyRight}, "localhost", 2, "", ""},
		{"folder", Store{Path: "tree", Kind: "PEM", Alias: "tls"}, "localhost", 2, "", ""},
		{"folder, other alias", Store{Path: "tree", Alias: "other"}, "other.example.com", 1, "", ""},
		{"text", Store{Chain: f.chain, Key: secret.NewText(f.key)}, "localhost", 2, "", ""},
		{"JKS", Store{Path: "keys.jks", Kind: "jks", Password: right, KeyPassword: keyRight}, "localhost", 2, "", ""},
		{"JKS by alias", Store{Path: "keys.jks", Password: right, KeyPassword: keyRight, Alias: "two"}, "other.example.com", 1, "", ""},
		{"JKS, unchecked", Store{Path: "keys.jks", KeyPassword: keyRight}, "localhost", 2, "", ""},
		{"PKCS#12", Store{Path: "key.p12", Kind: "pkcs12", Password: right}, "localhost", 2, "", ""},
		{"PKCS#12 called jks", Store{Path: "key.p12", Kind: "jks", Password: right}, "localhost", 2, "", ""},

		{"unknown type", Store{Path: "both.pem", Kind: "bks"}, "", 0, names.Kind, "type [bks] is unknown"},
		{"no file", Store{Path: "missing.pem"}, "", 0, names.Path, "is not readable"},
		{"folder without PEM", Store{Path: "bare"}, "", 0, names.Path, "has no file that ends in"},
		{"encrypted PEM, wrong password", Store{Path: "hidden.pem", KeyPassword: wrong}, "", 0, names.Path,
			"[s.keyManagerPassword] is not its password"},
		{"PEM without a key", Store{Path: "chain.pem"}, "", 0, names.Path, "no private key"},
		{"PEM without a certificate", Store{Path: "key.pem"}, "", 0, names.Path, "no certificate"},
		{"PEM of two", Store{Path: "wrong.pem"}, "", 0, names.Path, "no certificate belongs to the private key"},
		{"PEM that is none", Store{Path: "noise", Kind: "pem"}, "", 0, names.Path, "no private key"},
		{"folder, no such alias", Store{Path: "tree", Alias: "third"}, "", 0, names.Alias, "no key with the alias [third]"},
		{"text without a key", Store{Chain: f.chain}, "", 0, names.Key, "go together"},
		{"JKS, wrong password", Store{Path: "keys.jks", Password: wrong}, "", 0, names.Path, "[s.keyStorePassword] is not its password"},
		{"JKS, wrong password of the key", Store{Path: "keys.jks", Password: right, KeyPassword: wrong}, "", 0, names.Path,
			"[s.keyManagerPassword] is not its password"},
		{"JKS, no such alias", Store{Path: "keys.jks", Password: right, KeyPassword: keyRight, Alias: "three"}, "", 0, names.Alias,
			"alias [three]"},
		{"JKS without a key", Store{Path: "trust.jks", Password: right}, "", 0, names.Path, "has no key"},
		{"PKCS#12, wrong password", Store{Path: "key.p12", Password: wrong}, "", 0, names.Path, "[s.keyStorePassword] is not its password"},
		{"PKCS#12 without a key", Store{Path: "trust.p12", Password: right}, "", 0, names.Path, "has no key"},
		{"noise", Store{Path: "noise", Password: right}, "", 0, names.Path, "is not a store of type [PKCS12]"},
	} {
		s := c.store
		s.Names = names
		if s.Path != "" {
			list := strings.Split(s.Path, ",")
			for i := range list {
				list[i] = filepath.Join(f.path, list[i])
			}
			s.Path = strings.Join(list, ",")
		}
		pair, err := s.Pair()
		checkProblem(t, c.name, err, c.at, c.why)
		if err == nil && c.why == "" && (pair.Leaf.VerifyHostname(c.host) != nil || len(pair.Certificate) != c.chain) {
			t.Errorf("%s: certificate of %s with a chain of %d", c.name, pair.Leaf.Subject, len(pair.Certificate))
		}
	}
}

func checkProblem(t *testing.T, name string, err error, at, why string) {
	t.Helper()
	p, _ := errors.AsType[*Problem](err)
	switch {
	case why == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case why != "" && (p == nil || p.Property != at || !strings.Contains(p.Why, why)):
		t.Errorf("%s: %v; want %s of [%s]", name, err, why, at)
	case err != nil && strings.Contains(err.Error(), "wr0ng"):
		t.Errorf("%s: shows the password: %v", name, err)
	}
}

func TestTrusted(t *testing.T) {
	f := newFolder(t)
	for _, c := range []struct {
		name, path, password string
		count                int
		why                  string
	}{
		{"PEM", "trust.pem", "", 2, ""},
		{"folder", "tree", "", 4, ""},
		{"JKS", "trust.jks", certs.StorePassword, 1, ""},
		{"PKCS#12", "trust.p12", certs.StorePassword, 1, ""},
		{"no file", "missing", "", 0, "not readable"},
		{"empty", "empty.pem", "", 0, "is not a store of type [PKCS12]"},
		{"broken", "broken.pem", "", 0, "certificate [1] of the PEM text is not readable"},
		{"JKS, wrong password", "trust.jks", "wr0ng", 0, "is not its password"},
		{"PKCS#12, wrong password", "trust.p12", "wr0ng", 0, "is not its password"},
		{"JKS of a key", "keys.jks", certs.StorePassword, 0, "has no trusted certificate"},
		{"PKCS#12 of a key", "key.p12", certs.StorePassword, 0, "s.keyStorePassword] is not its password"},
	} {
		s := Store{Path: filepath.Join(f.path, c.path), Password: secret.NewText(c.password), Names: names}
		list, err := s.Trusted()
		checkProblem(t, c.name, err, names.Path, c.why)
		if len(list) != c.count {
			t.Errorf("%s: %d certificates", c.name, len(list))
		}
	}
	if pool, err := (&Store{}).Roots(); pool != nil || err != nil {
		t.Errorf("no store: %v, %v", pool, err)
	}
	if _, err := (&Store{Chain: f.chain, Path: f.tree, Names: names}).Trusted(); err == nil || !strings.Contains(err.Error(),
		"is given, too") {
		t.Errorf("text and file: %v", err)
	}
}

// TestStoresOfOthers reads what keytool and openssl write.
func TestStoresOfOthers(t *testing.T) {
	f := newFolder(t)
	run := func(program string, args ...string) {
		t.Helper()
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("not installed: " + program)
		}
		cmd := exec.Command(program, args...)
		cmd.Dir = f.path
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", program, args, err, out)
		}
	}
	pair := func(name, alias, password, host string, chain int) {
		t.Helper()
		s := Store{Path: filepath.Join(f.path, name), Password: secret.NewText(password), Alias: alias, Names: names}
		p, err := s.Pair()
		if err != nil {
			t.Errorf("%s, %s: %v", name, alias, err)
		} else if p.Leaf.VerifyHostname(host) != nil || len(p.Certificate) != chain {
			t.Errorf("%s, %s: certificate of %s with a chain of %d", name, alias, p.Leaf.Subject, len(p.Certificate))
		}
	}
	t.Run("openssl", func(t *testing.T) {
		run("openssl", "pkcs12", "-export", "-in", "both.pem", "-name", "mine", "-out", "openssl.p12", "-passout", "pass:openssl")
		pair("openssl.p12", "", "openssl", "localhost", 2)
		pair("openssl.p12", "mine", "openssl", "localhost", 2)
	})
	t.Run("keytool", func(t *testing.T) {
		for _, kind := range []string{"JKS", "PKCS12"} {
			store := "java." + strings.ToLower(kind)
			for _, alias := range []string{"first", "second"} {
				run("keytool", "-J-XX:TieredStopAtLevel=1", "-genkeypair", "-alias", alias, "-keyalg", "RSA", "-dname", "CN="+alias, "-ext",
					"san=dns:"+alias+".example.com",
					"-storetype", kind, "-keystore", store, "-storepass", "changeit", "-keypass", "changeit", "-validity", "9000")
			}
			pair(store, "first", "changeit", "first.example.com", 1)
			pair(store, "SECOND", "changeit", "second.example.com", 1)
			run("keytool", "-J-XX:TieredStopAtLevel=1", "-importcert", "-noprompt", "-alias", "root", "-file", "trust.pem", "-storetype", kind,
				"-keystore", "trust-"+store, "-storepass", "changeit")
			s := Store{Path: filepath.Join(f.path, "trust-"+store), Password: secret.NewText("changeit"), Names: names}
			if list, err := s.Trusted(); err != nil || len(list) != 1 || list[0].Subject.CommonName != "root" {
				t.Errorf("trust of %s: %v, %v", kind, list, err)
			}
		}
	})
}
