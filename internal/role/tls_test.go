package role_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/testkit/certs"
	"github.com/hengedb/henge/internal/testkit/server"
)

// browser is a client that trusts an authority, and shows a certificate if there is one.
func browser(t *testing.T, root *certs.Pair, own ...*certs.Pair) *http.Client {
	t.Helper()
	config := &tls.Config{RootCAs: root.Pool()}
	for _, p := range own {
		config.Certificates = append(config.Certificates, p.TLS())
	}
	transport := &http.Transport{TLSClientConfig: config}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// ask sends a GET and returns the answer, its body read.
func ask(t *testing.T, c *http.Client, url string, edit func(*http.Request)) (*http.Response, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(req)
	}
	req.Close = true
	resp, err := c.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

// secure are the settings of a process whose key is in a folder, with HTTPS only.
func secure(folder string, more ...string) []string {
	return append([]string{
		"service.enableTlsPort=true", "service.enablePlaintextPort=false", "service.server.https.keyStorePath=" + folder,
		"service.client.https.trustStorePath=" + filepath.Join(folder, "ca.pem"),
	}, more...)
}

// folderOf writes a pair and its authority.
func folderOf(t *testing.T, root, p *certs.Pair) string {
	t.Helper()
	folder := t.TempDir()
	p.WritePEM(t, folder)
	certs.Write(t, folder, "ca.pem", root.ChainPEM())
	return folder
}

func TestPlainHTTPIsOff(t *testing.T) {
	root := certs.Authority(t, "root")
	c := browser(t, root)
	s := server.Start(t, server.Options{
		Settings: secure(folderOf(t, root, root.Issue(t, "localhost")), "service.server.http.enableHSTS=true",
			"service.emitter.prometheus.port=0"), HTTP: c,
	})
	if len(s.Addresses) != 7 {
		t.Errorf("addresses %v", s.Addresses)
	}
	for role, url := range s.Addresses {
		path := "/status/health"
		if role == "exporter" {
			path = "/metrics"
		}
		if !strings.HasPrefix(url, "https://localhost:") {
			t.Errorf("the %s is at %s", role, url)
		}
		resp, _, err := ask(t, c, url+path, nil)
		if err != nil {
			t.Errorf("%s: %v", role, err)
		} else if resp.StatusCode != http.StatusOK || resp.Header.Get("Strict-Transport-Security") != "max-age=63072000; includeSubDomains" {
			t.Errorf("%s: %d %v", role, resp.StatusCode, resp.Header)
		}
		resp, body, err := ask(t, http.DefaultClient, strings.Replace(url, "https:", "http:", 1)+path, nil)
		if err != nil || resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "https://") {
			t.Errorf("plain HTTP to the %s: %v %q", role, err, body)
		}
	}
	if err := s.Ingest(t.Context(), replaceAll("t", inline), nil); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Query(t.Context(), "SELECT SUM(n) FROM t")
	if err != nil || len(rows) != 1 || rows[0][0].(interface{ String() string }).String() != "3" {
		t.Errorf("rows %v, %v", rows, err)
	}
	rows, err = s.Query(t.Context(),
		"SELECT COUNT(*) FROM sys.servers WHERE plaintext_port = -1 AND tls_port > 0 AND server LIKE '%:' || tls_port")
	if err != nil || rows[0][0].(interface{ String() string }).String() != "6" {
		t.Errorf("sys.servers: %v, %v", rows, err)
	}
	_, body, err := ask(t, c, s.Addresses["coordinator"]+"/service/coordinator/v1/leader", nil)
	if err != nil || body != s.Addresses["coordinator"] {
		t.Errorf("the leader is at %q, %v", body, err)
	}
	_, body, _ = ask(t, c, s.Addresses["exporter"]+"/metrics", nil)
	for _, want := range []string{
		"service_tls_certificate_secondsLeft{", `henge_certificate_expiry_seconds{certificate="server",file="`,
		`henge_certificate_expiry_seconds{certificate="client_authority",file="`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %d bytes of metrics", want, len(body))
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if resp, body, err := ask(t, c, s.Addresses["exporter"]+path, nil); err != nil || resp.StatusCode != http.StatusOK || body != "ok\n" {
			t.Errorf("%s of the exporter: %v %q", path, err, body)
		}
	}
}

func TestBothKindsOfPorts(t *testing.T) {
	root := certs.Authority(t, "root")
	c := browser(t, root)
	s := server.Start(t, server.Options{
		Settings: append(secure(folderOf(t, root, root.Issue(t, "localhost"))), "service.enablePlaintextPort=true"),
	})
	_, body, err := ask(t, http.DefaultClient, s.Addresses["router"]+"/service/coordinator/v1/cluster/broker", nil)
	if err != nil || !strings.Contains(body, `"plaintextPort":`) || !strings.Contains(body, `"tlsPort":`) {
		t.Fatalf("%v %s", err, body)
	}
	_, leader, _ := ask(t, http.DefaultClient, s.Addresses["coordinator"]+"/service/coordinator/v1/leader", nil)
	if !strings.HasPrefix(leader, "https://") {
		t.Errorf("the leader is at %s", leader)
	}
	if resp, _, err := ask(t, c, leader+"/status/health", nil); err != nil || resp.Header.Get("Strict-Transport-Security") != "" {
		t.Errorf("%v", err)
	}
	if _, _, err := ask(t, c, strings.Replace(s.Addresses["router"], "http:", "https:", 1)+"/status/health", nil); err == nil {
		t.Error("TLS on the port of plain HTTP was answered")
	}
}

func TestHostsOfRequests(t *testing.T) {
	root := certs.Authority(t, "root")
	folder := folderOf(t, root, root.Issue(t, "localhost", "127.0.0.1", "henge.example.com"))
	c := browser(t, root)
	for _, strict := range []bool{true, false} {
		more := "service.server.http.enforceStrictSNIHostChecking=false"
		if strict {
			more = "service.tls.certificateChecker=default"
		}
		s := server.Start(t, server.Options{Settings: secure(folder, more), HTTP: c})
		byAddress := strings.Replace(s.Addresses["router"], "localhost", "127.0.0.1", 1)
		for _, q := range []struct {
			url, host string
			right     bool
		}{
			{s.Addresses["router"], "", true}, {s.Addresses["router"], "henge.example.com", true}, {s.Addresses["router"], "henge.example.com:443",
				true},
			{s.Addresses["router"], "evil.example.com", false}, {byAddress, "", true}, {byAddress, "other.example.com", true},
		} {
			resp, _, err := ask(t, c, q.url+"/status/health", func(r *http.Request) { r.Host = q.host })
			if want := q.right || !strict; err != nil || (resp.StatusCode == http.StatusOK) != want || !want &&
				resp.StatusCode != http.StatusBadRequest {
				t.Errorf("strict %t, [%s] at %s: %v %v", strict, q.host, q.url, resp, err)
			}
		}
	}
}

func TestClientsNeedCertificates(t *testing.T) {
	root, stranger := certs.Authority(t, "root"), certs.Authority(t, "stranger")
	folder := folderOf(t, root, root.Issue(t, "localhost"))
	own := root.Issue(t, "127.0.0.1", "localhost")
	s := server.Start(t, server.Options{
		Settings: secure(folder, "service.server.https.requireClientCertificate=true",
			"service.server.https.trustStorePath="+filepath.Join(folder, "ca.pem")),
		HTTP: browser(t, root, own),
	})
	url := s.Addresses["router"] + "/status/health"
	if resp, _, err := ask(t, browser(t, root, own), url, nil); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("with a certificate: %v", err)
	}
	for name, c := range map[string]*http.Client{"none": browser(t, root), "a stranger's": browser(t, root, stranger.Issue(t, "127.0.0.1"))} {
		if _, _, err := ask(t, c, url, nil); err == nil {
			t.Errorf("with %s: answered", name)
		}
	}
}

func TestCertificatesAreReloaded(t *testing.T) {
	first, second := certs.Authority(t, "first"), certs.Authority(t, "second")
	folder := folderOf(t, first, first.Issue(t, "localhost"))
	log := &text{}
	s := server.Start(t, server.Options{
		Settings: secure(folder, "service.server.https.reloadSslContext=true", "service.server.https.reloadSslContextSeconds=1"),
		HTTP:     browser(t, first), Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	url := s.Addresses["router"] + "/status/health"
	if _, _, err := ask(t, browser(t, first), url, nil); err != nil {
		t.Fatal(err)
	}
	certs.Write(t, folder, "tls.key", "half a key")
	server.Until(t, "half a key is logged", func() bool { return strings.Contains(log.String(), "failed to reload certificates") })
	if _, _, err := ask(t, browser(t, first), url, nil); err != nil {
		t.Errorf("with half a key: %v", err)
	}
	second.Issue(t, "localhost").WritePEM(t, folder)
	server.Until(t, "the new certificate is shown", func() bool {
		_, _, err := ask(t, browser(t, second), url, nil)
		return err == nil
	})
	if _, _, err := ask(t, browser(t, first), url, nil); err == nil {
		t.Error("the old certificate is still shown")
	}
}

// text is a log that many goroutines write.
type text struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *text) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(b)
}

func (l *text) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

func TestFailedHandshakesAreLoggedOnce(t *testing.T) {
	root := certs.Authority(t, "root")
	log := &text{}
	s := server.Start(t, server.Options{
		Settings: secure(folderOf(t, root, root.Issue(t, "localhost"))), HTTP: browser(t, root), Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	address := strings.TrimPrefix(s.Addresses["router"], "https://")
	for range 5 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "no handshake at all") // the answer says whether it came
		_, _ = io.ReadAll(conn)                            // until it is closed
		_ = conn.Close()                                   // likewise
	}
	if n := strings.Count(log.String(), "TLS handshake failed"); n != 1 {
		t.Errorf("%d lines: %s", n, log)
	}
}

func TestTLSSettingsThatAreRefused(t *testing.T) {
	root := certs.Authority(t, "root")
	folder := folderOf(t, root, root.Issue(t, "localhost"))
	store := filepath.Join(t.TempDir(), "keys.jks")
	certs.WriteJKS(t, store, map[string]*certs.Pair{"one": root.Issue(t, "localhost")})
	const https = "service.server.https."
	tls := []string{"service.enableTlsPort=true"}
	for _, c := range []struct {
		settings []string
		why      string
	}{
		{[]string{"service.enablePlaintextPort=false"}, "[service.enablePlaintextPort] and [service.enableTlsPort] are both [false]"},
		{tls, "needs [service.server.https.keyStorePath]"},
		{append(tls, https+"keyStorePath=/nowhere"),
			"Setting [service.server.https.keyStorePath] can't be used: file [/nowhere] is not readable"},
		{append(tls, https+"keyStorePath="+store, https+"keyStorePassword=sesame"),
			"[service.server.https.keyStorePassword] is not its password"},
		{append(tls, https+"keyStorePath="+store, https+"keyStorePassword="+certs.StorePassword, https+"keyManagerPassword=sesame"),
			"[service.server.https.keyManagerPassword] is not its password"},
		{append(tls, https+"keyStorePath="+folder, https+"keyStorePassword={\"type\":\"environment\",\"variable\":\"HENGE_NO_SUCH\"}"),
			"Variable [HENGE_NO_SUCH]"},
		{secure(folder, https+"keyStoreType=bks"), "[service.server.https.keyStoreType] can't be used: type [bks] is unknown"},
		{secure(folder, https+"certAlias=other"), "[service.server.https.certAlias]"},
		{secure(folder, https+"requireClientCertificate=true"), "needs [service.server.https.trustStorePath]"},
		{secure(folder, https+"crlPath=/nowhere"), "needs [service.server.https.requireClientCertificate]"},
		{secure(folder, https+"requestClientCertificate=true", https+"crlPath=/nowhere"), "[service.server.https.crlPath] can't be used"},
		{secure(folder, https+"includeProtocols=TLSv1"), "[service.server.https.includeProtocols]"},
		{secure(folder, https+"excludeCipherSuites=("), "[service.server.https.excludeCipherSuites]"},
		{secure(folder, "service.client.https.trustStorePath=/nowhere"), "[service.client.https.trustStorePath]"},
		{[]string{"service.client.https.trustStorePath=" + store, "service.client.https.trustStorePassword=sesame"},
			"[service.client.https.trustStorePassword] is not its password"},
		{[]string{"service.client.https.keyStorePath=" + os.DevNull}, "[service.client.https.keyStorePath]"},
		{[]string{"service.client.https.protocol=TLSv9"}, "[service.client.https.protocol]"},
		{secure(folder, https+"trustStoreAlgorithm=Mine"), "[service.server.https.trustStoreAlgorithm] is unknown"},
		{secure(folder, https+"keyManagerFactoryAlgorithm=Mine"), "[service.server.https.keyManagerFactoryAlgorithm] is unknown"},
		{[]string{"service.tls.certificateChecker=none"}, "[service.tls.certificateChecker]"},
	} {
		f := refused(t, server.Options{Dir: t.TempDir(), Settings: c.settings})
		if !strings.Contains(f.Message, c.why) || strings.Contains(f.Message, "sesame") {
			t.Errorf("%v: %s; want %s", c.settings, f.Message, c.why)
		}
	}
}
