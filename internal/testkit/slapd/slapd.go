// Package slapd runs OpenLDAP's slapd for a test, if it is installed. The directory listens on
// loopback only and ends with the test.
package slapd

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-ldap/ldap/v3"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/certs"
)

// The names and passwords of the directory.
const (
	Base          = "dc=henge,dc=test"
	Admin         = "cn=admin," + Base
	AdminPassword = "capstone-of-the-ring"
	// Passwords of users are their names with this behind it.
	PasswordEnd = "-has-a-secret"
)

// patience is how long the server may take to listen.
const patience = 60 * time.Second

// Server is a directory with some users and groups:
//
//	alice  in the groups analysts and admins
//	bob    in no group
//	carol (below another branch, and with the mail of bob)
//	a referral to another server
type Server struct {
	// URL and SecureURL are those of ldap and of ldaps. The certificate is for localhost.
	URL, SecureURL string
	// Root has signed the certificate of the server.
	Root *certs.Pair

	end func()
}

// DN returns the name of a user's entry.
func DN(user string) string { return "uid=" + user + ",ou=people," + Base }

// Group returns the name of a group's entry.
func Group(name string) string { return "cn=" + name + ",ou=groups," + Base }

// program finds slapd, which is not on the path of every user.
func program() (string, error) {
	path, err := exec.LookPath("slapd")
	if err != nil {
		if _, missing := os.Stat("/usr/sbin/slapd"); missing == nil {
			return "/usr/sbin/slapd", nil
		}
	}
	return path, err
}

// Start runs a directory, or skips the test.
func Start(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no directory")
	}
	path, err := program()
	if err != nil {
		t.Skip("no slapd: " + err.Error())
	}
	dir := t.TempDir()
	s := &Server{Root: certs.Authority(t, "root of the directory")}
	chain, key := s.Root.Issue(t, "localhost").WritePEM(t, dir)
	if err := os.Mkdir(filepath.Join(dir, "db"), 0o700); err != nil {
		t.Fatal(err)
	}
	conf := certs.Write(t, dir, "slapd.conf", fmt.Sprintf(`include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
pidfile %[1]s/pid
TLSCertificateFile %[2]s
TLSCertificateKeyFile %[3]s
database mdb
suffix "%[4]s"
rootdn "%[5]s"
rootpw %[6]s
directory %[1]s/db
overlay memberof
`, dir, chain, key, Base, Admin, AdminPassword))
	plain, secure := free(t), free(t)
	s.URL, s.SecureURL = "ldap://"+plain, "ldaps://"+secure
	var out bytes.Buffer
	cmd := exec.Command(path, "-f", conf, "-h", s.URL+" "+s.SecureURL, "-d", "0") // -d: it stays in the foreground
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // what it wrote says why it ended
		close(ended)
	}()
	s.end = func() {
		_ = cmd.Process.Kill() // it may be gone already
		<-ended
	}
	t.Cleanup(s.Stop)
	for deadline := time.Now().Add(patience); ; {
		if conn, err := net.Dial("tcp", plain); err == nil {
			_ = conn.Close() // it listens
			break
		}
		select {
		case <-ended:
			t.Fatalf("the directory did not start:\n%s", out.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("the directory does not listen")
		}
		if err := clock.System().Sleep(t.Context(), 10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	s.URL, s.SecureURL = "ldap://localhost:"+port(plain), "ldaps://localhost:"+port(secure)
	s.fill(t)
	return s
}

// Stop ends the directory; a second call does nothing.
func (s *Server) Stop() { s.end() }

func free(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address) // a listener made it
	return port
}

// Do does something as the administrator.
func (s *Server) Do(t testing.TB, do func(*ldap.Conn) error) {
	t.Helper()
	conn, err := ldap.DialURL(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // all that was asked was answered
	if err := errors.Join(conn.Bind(Admin, AdminPassword), do(conn)); err != nil {
		t.Fatal(err)
	}
}

// SetPassword changes the password of a user.
func (s *Server) SetPassword(t testing.TB, user, password string) {
	t.Helper()
	s.Do(t, func(c *ldap.Conn) error {
		change := ldap.NewModifyRequest(DN(user), nil)
		change.Replace("userPassword", []string{password})
		return c.Modify(change)
	})
}

// fill writes the entries.
func (s *Server) fill(t testing.TB) {
	t.Helper()
	add := func(c *ldap.Conn, dn string, attributes ...string) error {
		request := ldap.NewAddRequest(dn, nil)
		values := map[string][]string{}
		var order []string
		for i := 0; i < len(attributes); i += 2 {
			if values[attributes[i]] == nil {
				order = append(order, attributes[i])
			}
			values[attributes[i]] = append(values[attributes[i]], attributes[i+1])
		}
		for _, name := range order {
			request.Attribute(name, values[name])
		}
		return c.Add(request)
	}
	user := func(c *ldap.Conn, dn, name, mail string) error {
		return add(c, dn, "objectClass", "inetOrgPerson", "uid", name, "cn", name, "sn", name, "mail", mail, "userPassword", name+PasswordEnd)
	}
	s.Do(t, func(c *ldap.Conn) error {
		return errors.Join(
			add(c, Base, "objectClass", "dcObject", "objectClass", "organization", "o", "Henge", "dc", "henge"),
			add(c, "ou=people,"+Base, "objectClass", "organizationalUnit", "ou", "people"),
			add(c, "ou=groups,"+Base, "objectClass", "organizationalUnit", "ou", "groups"),
			user(c, DN("alice"), "alice", "alice@example.com"),
			user(c, DN("bob"), "bob", "bob@example.com"),
			add(c, "ou=more,"+Base, "objectClass", "organizationalUnit", "ou", "more"),
			user(c, "uid=carol,ou=more,"+Base, "carol", "bob@example.com"),
			user(c, DN("odd(*)/name"), "odd(*)/name", "odd@example.com"),
			add(c, Group("analysts"), "objectClass", "groupOfNames", "cn", "analysts", "member", DN("alice")),
			add(c, Group("admins"), "objectClass", "groupOfNames", "cn", "admins", "member", DN("alice")),
			c.Add(&ldap.AddRequest{DN: "ou=away," + Base, Attributes: []ldap.Attribute{
				{Type: "objectClass", Vals: []string{"referral", "extensibleObject"}}, {Type: "ou", Vals: []string{"away"}},
				{Type: "ref", Vals: []string{"ldap://127.0.0.1:1/ou=away," + Base}},
			}, Controls: []ldap.Control{ldap.NewControlManageDsaIT(true)}}),
		)
	})
}
