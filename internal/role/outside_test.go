package role_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/certs"
	"github.com/hengedb/henge/internal/testkit/kdc"
	"github.com/hengedb/henge/internal/testkit/server"
	"github.com/hengedb/henge/internal/testkit/slapd"
)

// asUser adds a name and a password to requests.
func asUser(user, password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(user, password) }
}

const (
	authenticator = "service.auth.authenticator."
	authorizer    = "service.auth.authorizer."
)

// directorySettings are those of people in a directory, and of the internal user in the metastore.
func directorySettings(url string) []string {
	const of = authenticator + "ldap."
	return []string{
		`service.auth.authenticatorChain=["ldap","meta"]`, of + "type=basic", of + "credentialsValidator.type=ldap", of + "skipOnFailure=true",
		of + "authorizerName=az", of + "credentialsValidator.url=" + url, of + "credentialsValidator.bindUser=" + slapd.Admin,
		of + "credentialsValidator.bindPassword=" + slapd.AdminPassword, of + "credentialsValidator.baseDn=" + slapd.Base,
		of + "credentialsValidator.userSearch=(&(objectClass=inetOrgPerson)(uid=%s))", of + "credentialsValidator.userAttribute=uid",
		of + "credentialsValidator.readTimeout=1",
		authenticator + "meta.type=basic", authenticator + "meta.authorizerName=az", authenticator + "meta.initialAdminPassword=sarsen-1",
		authenticator + "meta.initialInternalClientPassword=sarsen-2",
		`service.auth.authorizers=["az"]`, authorizer + "az.type=basic", authorizer + "az.roleProvider.type=ldap",
		authorizer + "az.initialAdminGroupMapping=" + slapd.Group("admins"),
		"service.escalator.type=basic", "service.escalator.internalClientUsername=service_system",
		"service.escalator.internalClientPassword=sarsen-2", "service.escalator.authorizerName=az",
	}
}

func TestPeopleOfADirectory(t *testing.T) {
	d := slapd.Start(t)
	root := certs.Write(t, t.TempDir(), "root.pem", d.Root.ChainPEM())
	s := server.Start(t, server.Options{
		Settings: append(directorySettings("ldap://127.0.0.1:1 "+d.SecureURL), "service.auth.basic.ssl.trustStorePath="+root),
	})
	url := s.Addresses["router"] + "/service/coordinator/v1/leader"
	for _, c := range []struct {
		name, user, password string
		status               int
	}{
		{"admin by a group", "alice", "alice" + slapd.PasswordEnd, http.StatusOK},
		{"wrong password", "alice", "sarsen-1", http.StatusUnauthorized},
		{"without a role", "bob", "bob" + slapd.PasswordEnd, http.StatusForbidden},
		{"of the metastore", "admin", "sarsen-1", http.StatusOK},
		{"wrong password of the metastore", "admin", "x", http.StatusUnauthorized},
		{"nobody", "dora", "x", http.StatusUnauthorized},
		{"a filter", "*", "alice" + slapd.PasswordEnd, http.StatusUnauthorized},
		{"empty password", "alice", "", http.StatusUnauthorized},
	} {
		resp, body, err := ask(t, http.DefaultClient, url, asUser(c.user, c.password))
		if err != nil || resp.StatusCode != c.status {
			t.Errorf("%s: %v %v %s", c.name, err, resp, body)
		}
	}
	d.Stop()
	resp, _, err := ask(t, http.DefaultClient, url, asUser("carol", "carol"+slapd.PasswordEnd))
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the directory: %v %v", err, resp)
	}
	if resp, _, err = ask(t, http.DefaultClient, url, asUser("alice", "alice"+slapd.PasswordEnd)); err != nil ||
		resp.StatusCode != http.StatusOK {
		t.Errorf("remembered, without the directory: %v %v", err, resp)
	}
}

func TestDirectorySettingsThatAreRefused(t *testing.T) {
	for why, setting := range map[string]string{
		"credentialsValidator.url]":                        "credentialsValidator.url=ftp://x",
		"credentialsValidator.userSearch]":                 "credentialsValidator.userSearch=(uid=x)",
		"credentialsValidator.type] is not a known type":   "credentialsValidator.type=sql",
		"credentialsValidator.bindPassword] can't be used": "credentialsValidator.bindPassword=",
	} {
		f := refused(t, server.Options{Dir: t.TempDir(), Settings: append(directorySettings("ldap://localhost"), authenticator+"ldap."+setting)})
		if !strings.Contains(f.Message, why) {
			t.Errorf("%s: %s", setting, f.Message)
		}
	}
	f := refused(t, server.Options{
		Dir: t.TempDir(), Settings: append(directorySettings("ldaps://localhost"), "service.auth.basic.ssl.trustStorePath=/nowhere"),
	})
	if !strings.Contains(f.Message, "[service.auth.basic.ssl.trustStorePath]") {
		t.Error(f.Message)
	}
}

func TestTicketsLetUsersIn(t *testing.T) {
	k := kdc.Start(t)
	keys, people := k.Keytab(t, "HTTP/localhost"), k.Keytab(t, "admin")
	s := server.Start(t, server.Options{Settings: []string{
		`service.auth.authenticatorChain=["krb"]`, authenticator + "krb.type=kerberos", authenticator + "krb.authorizerName=az",
		authenticator + "krb.serverPrincipal=HTTP/_HOST@" + kdc.Realm, authenticator + "krb.serverKeytab=" + keys,
		authenticator + `krb.cookieSignatureSecret={"type":"default","password":"lintel"}`,
		`service.auth.authorizers=["az"]`, authorizer + "az.type=basic",
	}})
	url := s.Addresses["router"] + "/service/coordinator/v1/leader"
	resp, _, err := ask(t, http.DefaultClient, url, nil)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") != "Negotiate" {
		t.Fatalf("without a ticket: %v %v", err, resp)
	}
	k.Login(t, people, "admin")
	jar := filepath.Join(t.TempDir(), "jar")
	out := k.Run(t, "curl", "-s", "-c", jar, "--negotiate", "-u", ":", url)
	if !strings.HasPrefix(out, "http://localhost:") {
		t.Errorf("with a ticket: %s", out)
	}
	if out = k.Run(t, "curl", "-s", "-b", jar, url); !strings.HasPrefix(out, "http://localhost:") {
		t.Errorf("with a cookie: %s", out)
	}
}
