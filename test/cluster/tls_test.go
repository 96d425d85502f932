package cluster

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/certs"
	"github.com/hengedb/henge/internal/testkit/kdc"
	"github.com/hengedb/henge/internal/testkit/server"
)

// secured are the settings of processes that have one certificate, show it to each other and want
// to see one.
func secured(t *testing.T, root *certs.Pair) []string {
	t.Helper()
	folder := t.TempDir()
	store := filepath.Join(folder, "key.jks")
	certs.WriteJKS(t, store, map[string]*certs.Pair{"henge": root.Issue(t, "localhost", "127.0.0.1")})
	trust := filepath.Join(folder, "trust.p12")
	root.WriteTrustPKCS12(t, trust)
	out := []string{"service.enableTlsPort=true", "service.server.https.requireClientCertificate=true"}
	for _, of := range []string{"service.server.https.", "service.client.https."} {
		out = append(out, of+"keyStorePath="+store, of+"keyStoreType=jks", of+"keyStorePassword="+certs.StorePassword, of+"certAlias=henge",
			of+"keyManagerPassword="+certs.KeyPassword, of+"trustStorePath="+trust, of+"trustStoreType=pkcs12",
			of+"trustStorePassword="+certs.StorePassword)
	}
	return out
}

// browser is a client that shows a certificate.
func browser(t *testing.T, root *certs.Pair) *http.Client {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: root.Pool(), Certificates: []tls.Certificate{root.Issue(t, "127.0.0.1").TLS()}},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// TestClusterOverTLS has no port that answers plain HTTP, and every process shows a certificate to
// the others: loading, queries, tasks with help and what leaders answer go over TLS.
func TestClusterOverTLS(t *testing.T) {
	root := certs.Authority(t, "root")
	client := browser(t, root)
	c := server.StartCluster(t, server.ClusterOptions{
		HTTP: client, Settings: append(secured(t, root), "service.enablePlaintextPort=false"),
		Processes: [][]string{
			{"router"}, {"broker"}, {"coordinator", "overlord"}, {"coordinator", "overlord"}, {"historical"}, {"historical"}, {"worker"}, {"worker"},
		},
	})
	for _, p := range c.Nodes {
		for role, url := range p.Addresses {
			if !strings.HasPrefix(url, "https://") {
				t.Errorf("the %s is at %s", role, url)
			}
		}
	}
	days(t, c, "t", 0, 8)
	c.Until("all rows are there", func() bool {
		n, err := one(t.Context(), c, "SELECT COUNT(*) FROM t")
		return err == nil && n == "80"
	})
	c.Until("both Historicals have segments", func() bool {
		n, err := one(t.Context(), c, "SELECT COUNT(DISTINCT server) FROM sys.server_segments")
		return err == nil && n == "2"
	})
	if n := ask(t, c, "SELECT SUM(n) FROM t GROUP BY FLOOR(__time TO DAY) LIMIT 1"); n != "45" {
		t.Errorf("a day has %s", n)
	}
	const servers = "SELECT COUNT(*) FROM sys.servers WHERE plaintext_port = -1 AND tls_port > 0 AND server = host || ':' || tls_port"
	if n := ask(t, c, servers); n != "10" {
		t.Errorf("sys.servers has %s of them", n)
	}
	if n := ask(t, c, "SELECT COUNT(*) FROM sys.tasks WHERE plaintext_port = -1 AND tls_port > 0"); n != "1" {
		t.Errorf("sys.tasks has %s of them", n)
	}
	redirected := 0
	for _, p := range c.Nodes[2:4] {
		status, body, head := get(t, client, p.Addresses["coordinator"]+"/service/coordinator/v1/rules")
		if status == http.StatusTemporaryRedirect {
			redirected++
			if !strings.HasPrefix(head.Get("Location"), "https://localhost:") {
				t.Errorf("redirected to %s", head.Get("Location"))
			}
		} else if status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
	}
	if redirected != 1 {
		t.Errorf("%d redirections", redirected)
	}
	status, body, _ := get(t, client, c.Addresses["router"]+"/service/indexer/v1/workers")
	if status != http.StatusOK || strings.Count(body, `"scheme":"https"`) != 2 {
		t.Errorf("workers: %d %s", status, body)
	}
	status, body, _ = get(t, client, c.Addresses["router"]+"/service/coordinator/v1/servers?simple")
	if status != http.StatusOK || !strings.Contains(body, `"type":"historical"`) {
		t.Errorf("servers: %d %s", status, body)
	}
}

// TestTLSIsTurnedOnProcessByProcess has processes with both kinds of ports reach those with one of
// them, as while a cluster is moved to TLS.
func TestTLSIsTurnedOnProcessByProcess(t *testing.T) {
	root := certs.Authority(t, "root")
	client := browser(t, root)
	var calling []string // what a process needs to reach others over TLS
	settings := secured(t, root)
	for _, s := range settings {
		if strings.HasPrefix(s, "service.client.") {
			calling = append(calling, s)
		}
	}
	c := server.StartCluster(t, server.ClusterOptions{
		Settings: calling, Processes: [][]string{{"router"}, {"coordinator", "overlord"}, {"historical"}, {"worker"}},
	})
	only := c.StartWith(append(settings, "service.enablePlaintextPort=false"), "broker")
	both := c.StartWith(settings, "historical")
	for _, p := range c.Nodes {
		c.Until("all processes see each other", func() bool { return p.Members() == 7 })
	}
	days(t, c, "t", 0, 6)
	c.Until("all rows are there", func() bool {
		n, err := one(t.Context(), c, "SELECT COUNT(*) FROM t")
		return err == nil && n == "60"
	})
	c.Until("both Historicals have segments", func() bool {
		n, err := one(t.Context(), c, "SELECT COUNT(DISTINCT server) FROM sys.server_segments")
		return err == nil && n == "2"
	})
	status, body, _ := get(t, client, only.Addresses["broker"]+"/status/health")
	if status != http.StatusOK || body != "true" {
		t.Errorf("%d %s", status, body)
	}
	if !strings.HasPrefix(both.Addresses["historical"], "http://") {
		t.Errorf("the Historical with both is at %s", both.Addresses["historical"])
	}
	rows, err := c.Query(t.Context(), "SELECT plaintext_port > 0, tls_port > 0, COUNT(*) FROM sys.servers GROUP BY 1, 2 ORDER BY 1, 2")
	if err != nil || fmt.Sprint(rows) != "[[0 1 1] [1 0 5] [1 1 1]]" && fmt.Sprint(rows) != "[[false true 1] [true false 5] [true true 1]]" {
		t.Errorf("rows %v, %v", rows, err)
	}
}

// TestTicketsInACluster has processes know each other and their users by tickets of Kerberos, over
// TLS. A Router passes a user's request on with a cookie: the ticket is for the Router.
func TestTicketsInACluster(t *testing.T) {
	k := kdc.Start(t)
	t.Setenv("KRB5_CONFIG", k.Config)
	root := certs.Authority(t, "root")
	folder := t.TempDir()
	root.Issue(t, "localhost").WritePEM(t, folder)
	authority := certs.Write(t, folder, "ca.pem", root.ChainPEM())
	keys, people := k.Keytab(t, "HTTP/localhost"), k.Keytab(t, "admin")
	const in, by = "service.auth.authenticator.krb.", "service.auth.authorizer.az."
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: root.Pool()}}
	t.Cleanup(transport.CloseIdleConnections)
	c := server.StartCluster(t, server.ClusterOptions{
		HTTP: &http.Client{Transport: transport},
		Settings: []string{
			"service.enableTlsPort=true", "service.enablePlaintextPort=false", "service.server.https.keyStorePath=" + folder,
			"service.client.https.trustStorePath=" + authority,
			`service.auth.authenticatorChain=["krb"]`, in + "type=kerberos", in + "authorizerName=az",
			in + "serverPrincipal=HTTP/_HOST@" + kdc.Realm, in + "serverKeytab=" + keys, in + "cookieSignatureSecret=lintel",
			`service.auth.authorizers=["az"]`, by + "type=basic",
			"service.escalator.type=kerberos", "service.escalator.authorizerName=az",
			"service.escalator.internalClientPrincipal=service_system@" + kdc.Realm,
			"service.escalator.internalClientKeytab=" + k.Keytab(t, "service_system"),
		},
		Processes: [][]string{{"router"}, {"broker"}, {"coordinator", "overlord"}, {"historical"}, {"worker"}},
	})
	k.Login(t, people, "admin")
	get := func(path string) string {
		return k.Run(t, "curl", "-s", "--cacert", authority, "--negotiate", "-u", ":", c.Addresses["router"]+path)
	}
	c.Until("the roles are loaded", func() bool { return strings.HasPrefix(get("/service/coordinator/v1/leader"), "https://localhost:") })
	c.Until("the leader of the tasks knows the worker", func() bool {
		return strings.Contains(get("/service/indexer/v1/workers"), `"scheme":"https"`)
	})
	status, _, err := c.Send(t.Context(), "router", http.MethodGet, "/service/coordinator/v1/leader", "")
	if err != nil || status != http.StatusUnauthorized {
		t.Errorf("without a ticket: %d %v", status, err)
	}
}
