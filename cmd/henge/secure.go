package main

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/keystore"
	"github.com/hengedb/henge/internal/secret"
)

// renewBefore is how long before its end a certificate is made anew at a start.
const renewBefore = 30 * 24 * time.Hour

// protection is what henge server --secure has made, in a folder of the data directory.
type protection struct {
	folder string
	// settings are added to those of the user, where these say nothing else.
	settings []string
	// password is that of admin, if it was made now.
	password secret.Text
	// certificate is that of the server, if it is not the user's.
	certificate string
	renewed     bool
}

// Files of the folder. That of the server has its key, too.
const (
	serverFile      = "server.pem"
	certificateFile = "server.crt"
	adminFile       = "admin-password"
	internalFile    = "internal-password"
)

// secure adds what --secure makes to the settings of a process with all roles.
func (f *settingFlags) secure(set *config.Settings, roles []string) (*protection, *config.Settings, error) {
	if len(roles) < len(cluster.Roles) {
		return nil, nil, fault.InvalidInput("--secure is only for one process with all roles; docs/tls.md describes how to secure a cluster")
	}
	made, err := makeSecurity(set, clock.System().Now())
	if err != nil {
		return nil, nil, err
	}
	f.set = append(f.set, made.settings...)
	set, err = f.load()
	return made, set, err
}

// makeSecurity makes a certificate and passwords at the first start, and returns the settings that
// use them: HTTPS in place of HTTP, and a user and a password for every request.
func makeSecurity(set *config.Settings, now time.Time) (*protection, error) {
	dir, err := filepath.Abs(set.Text("service.data.dir"))
	if err != nil {
		return nil, err
	}
	s := &protection{folder: filepath.Join(dir, "security")}
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return nil, fault.InvalidInput("Directory [%s] can't be created: %v", s.folder, reasonOf(err))
	}
	add := func(key, value string) {
		if !set.IsSet(key) {
			s.settings = append(s.settings, key+"="+value)
		}
	}
	add("service.enableTlsPort", "true")
	add("service.enablePlaintextPort", "false")
	if !set.IsSet("service.server.https.keyStorePath") {
		if err := s.certify(hostsOf(set), now); err != nil {
			return nil, err
		}
		add("service.server.https.keyStorePath", filepath.Join(s.folder, serverFile))
		add("service.server.https.keyStoreType", "pem")
		add("service.client.https.trustStorePath", s.certificate)
		add("service.client.https.trustStoreType", "pem")
	}
	if !set.IsSet("service.auth.authenticatorChain") {
		if err := s.passwords(add); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// hostsOf are the names that clients may have for this machine.
func hostsOf(set *config.Settings) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if name, err := os.Hostname(); err == nil && name != "" && !slices.Contains(hosts, name) {
		hosts = append(hosts, name)
	}
	if host := set.Text("service.host"); host != "" && !slices.Contains(hosts, host) {
		hosts = append(hosts, host)
	}
	return hosts
}

// certify makes a certificate if there is none, if it ends soon, or if it is not for all hosts.
func (s *protection) certify(hosts []string, now time.Time) error {
	path := filepath.Join(s.folder, serverFile)
	s.certificate = filepath.Join(s.folder, certificateFile)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fault.InvalidInput("File [%s] can't be read: %v", path, reasonOf(err))
	default:
		if good := goodUntil(text, hosts); now.Before(good.Add(-renewBefore)) {
			return s.show(text)
		}
		s.renewed = true
	}
	key, certificate, err := keystore.SelfSigned(hosts, now)
	if err != nil {
		return err
	}
	text = append(key, certificate...)
	if err := durable.WriteFile(path, text, 0o600); err != nil {
		return fmt.Errorf("writing file [%s]: %w", path, err)
	}
	return s.show(text)
}

// show writes the certificate alone, which clients are given.
func (s *protection) show(text []byte) error {
	certificate := text[max(0, bytes.Index(text, []byte("-----BEGIN CERTIFICATE-----"))):]
	if there, err := os.ReadFile(s.certificate); err == nil && bytes.Equal(there, certificate) {
		return nil
	}
	if err := durable.WriteFile(s.certificate, certificate, 0o644); err != nil {
		return fmt.Errorf("writing file [%s]: %w", s.certificate, err)
	}
	return nil
}

// goodUntil is when a certificate ends; zero: it is not readable or not for all hosts.
func goodUntil(text []byte, hosts []string) time.Time {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return time.Time{}
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil || slices.ContainsFunc(hosts, func(h string) bool { return c.VerifyHostname(h) != nil }) {
			return time.Time{}
		}
		return c.NotAfter
	}
}

// passwords makes that of admin and that of the process itself, and adds the settings of a store of
// users.
func (s *protection) passwords(add func(key, value string)) error {
	admin, fresh, err := s.passwordIn(adminFile)
	if err != nil {
		return err
	}
	if fresh {
		s.password = secret.NewText(admin)
	}
	internal, _, err := s.passwordIn(internalFile)
	if err != nil {
		return err
	}
	const in, by = "service.auth.authenticator.local.", "service.auth.authorizer.local."
	for _, pair := range [][2]string{
		{"service.auth.authenticatorChain", `["keys","local"]`}, {"service.auth.authenticator.keys.type", "keys"},
		{"service.auth.authenticator.keys.authorizerName", "local"}, {in + "type", "basic"}, {in + "authorizerName", "local"},
		{in + "initialAdminPassword", admin}, {in + "initialInternalClientPassword", internal},
		{"service.auth.authorizers", `["local"]`}, {by + "type", "basic"},
		{"service.escalator.type", "basic"}, {"service.escalator.authorizerName", "local"},
		{"service.escalator.internalClientUsername", "service_system"}, {"service.escalator.internalClientPassword", internal},
	} {
		add(pair[0], pair[1])
	}
	return nil
}

// passwordIn returns the password of a file, which is made if it is not there.
func (s *protection) passwordIn(name string) (password string, fresh bool, err error) {
	path := filepath.Join(s.folder, name)
	text, err := os.ReadFile(path)
	if err == nil {
		if password = strings.TrimSpace(string(text)); password == "" {
			return "", false, fault.InvalidInput("File [%s] has no password; restore it, or delete the data directory to start over", path)
		}
		return password, false, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false, fault.InvalidInput("File [%s] can't be read: %v", path, reasonOf(err))
	}
	password = rand.Text()
	if err := durable.WriteFile(path, []byte(password+"\n"), 0o600); err != nil {
		return "", false, fmt.Errorf("writing file [%s]: %w", path, err)
	}
	return password, true, nil
}

// tell says how to log in; the password only when it is made.
func (s *protection) tell(url string) string {
	var out strings.Builder
	if !s.password.IsZero() {
		fmt.Fprintf(&out, "A password was created for user admin: %s\nIt is also in %s, and is not printed again.\n", s.password.Reveal(),
			filepath.Join(s.folder, adminFile))
	}
	if s.renewed {
		fmt.Fprintf(&out, "The certificate was renewed; give %s to clients that have the old one.\n", s.certificate)
	}
	fmt.Fprintf(&out, "Log in: henge sql --server %s", url)
	if s.certificate != "" {
		fmt.Fprintf(&out, " --cacert %s", s.certificate)
	}
	if _, err := os.Stat(filepath.Join(s.folder, adminFile)); err == nil {
		fmt.Fprintf(&out, " --user admin --password-file %s", filepath.Join(s.folder, adminFile))
	}
	return out.String()
}
