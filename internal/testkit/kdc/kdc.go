// Package kdc runs MIT's Kerberos server for a test, if it is installed. The server listens on
// loopback only and ends with the test.
package kdc

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/certs"
)

// Realm is that of the server.
const Realm = "HENGE.TEST"

// patience is how long the server may take to listen.
const patience = 60 * time.Second

// Server gives tickets.
type Server struct {
	// Config is the path of krb5.conf.
	Config string
	dir    string
	env    []string
	made   int // keytabs
}

// find returns the path of a program of the server's package.
func find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		if _, missing := os.Stat("/usr/sbin/" + name); missing == nil {
			return "/usr/sbin/" + name, nil
		}
	}
	return path, err
}

// Start runs a server, or skips the test.
func Start(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no server of Kerberos")
	}
	for _, name := range []string{"krb5kdc", "kdb5_util", "kadmin.local", "kinit"} {
		if _, err := find(name); err != nil {
			t.Skip("no server of Kerberos: " + err.Error())
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close() // the server takes its port
	s := &Server{dir: t.TempDir()}
	s.Config = certs.Write(t, s.dir, "krb5.conf", fmt.Sprintf(`[libdefaults]
 default_realm = %[1]s
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
 default_ccache_name = FILE:%[3]s/cc
[realms]
 %[1]s = {
  kdc = %[2]s
 }
[domain_realm]
 localhost = %[1]s
`, Realm, address, s.dir))
	profile := certs.Write(t, s.dir, "kdc.conf", fmt.Sprintf(`[kdcdefaults]
 kdc_listen = ""
 kdc_tcp_listen = %[2]s
[realms]
 %[1]s = {
  database_name = %[3]s/principal
  key_stash_file = %[3]s/stash
  acl_file = %[3]s/acl
  kdc_listen = ""
  kdc_tcp_listen = %[2]s
 }
[logging]
 kdc = FILE:%[3]s/kdc.log
`, Realm, address, s.dir))
	s.env = append(os.Environ(), "KRB5_CONFIG="+s.Config, "KRB5_KDC_PROFILE="+profile)
	s.Run(t, "kdb5_util", "create", "-s", "-r", Realm, "-P", "megalith")
	s.serve(t, address)
	return s
}

// serve starts the server and waits until it listens.
func (s *Server) serve(t testing.TB, address string) {
	t.Helper()
	path, _ := find("krb5kdc") // it was found before
	var out bytes.Buffer
	cmd := exec.Command(path, "-n", "-r", Realm) // -n: it stays in the foreground
	cmd.Env, cmd.Stdout, cmd.Stderr = s.env, &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // what it wrote says why it ended
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone already
		<-ended
	})
	for deadline := time.Now().Add(patience); ; {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close() // it listens
			return
		}
		select {
		case <-ended:
			t.Fatalf("the server of Kerberos did not start:\n%s", out.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("the server of Kerberos does not listen")
		}
		if err := clock.System().Sleep(t.Context(), 10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// Run runs a program with the settings of the server and returns what it writes.
func (s *Server) Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	path, err := find(name)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// Keytab makes principals of services or of users, if they are new, and returns a file with new
// keys of them.
func (s *Server) Keytab(t testing.TB, principals ...string) string {
	t.Helper()
	s.made++
	path := filepath.Join(s.dir, fmt.Sprintf("%d.keytab", s.made))
	for _, p := range principals {
		s.Run(t, "kadmin.local", "-r", Realm, "-q", "addprinc -randkey "+p)
		s.Run(t, "kadmin.local", "-r", Realm, "-q", "ktadd -k "+path+" "+p)
	}
	return path
}

// Login gets a user of a keytab a ticket, which programs that are run then have.
func (s *Server) Login(t testing.TB, keytab, user string) {
	t.Helper()
	s.Run(t, "kinit", "-k", "-t", keytab, user)
}
