package keystore

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/testkit/certs"
)

// logged is what a listener has logged. It is safe for use by many goroutines.
type logged struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(b)
}

// await returns when something is logged.
func (l *logged) await(t *testing.T) {
	t.Helper()
	for l.lines()[0] == "" {
		if t.Context().Err() != nil {
			t.Fatal("nothing is logged")
		}
		time.Sleep(time.Millisecond)
	}
}

func (l *logged) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.out.String()), "\n")
}

// serve answers "hello" to each connection, until the test ends.
func serve(t *testing.T, o ServerOptions) (*Server, string, *logged) {
	t.Helper()
	s, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out := &logged{}
	l := s.Listen(inner, clock.System(), slog.New(slog.NewTextHandler(out, nil)))
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "hello") // the client sees whether it came
			_ = conn.Close()                     // likewise
		}
	})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		served.Wait()
	})
	return s, inner.Addr().String(), out
}

// ask connects and returns what the client gets, or why it does not.
func ask(t *testing.T, o ClientOptions, address string) error {
	t.Helper()
	c, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	secured, err := c.Handshake(ctx, conn, strings.Replace(address, "127.0.0.1", "localhost", 1))
	if err != nil {
		return err
	}
	defer secured.Close()
	text, err := io.ReadAll(secured)
	if err == nil && string(text) != "hello" {
		err = errors.New("got " + string(text))
	}
	return err
}

func asText(p *certs.Pair, t testing.TB) Store {
	return Store{Chain: p.ChainPEM(), Key: secret.NewText(p.KeyPEM(t)), Names: names}
}

func trust(p *certs.Pair) Store { return Store{Chain: p.ChainPEM(), Names: names} }

func TestHandshakes(t *testing.T) {
	root, stranger := certs.Authority(t, "root"), certs.Authority(t, "stranger")
	server, elsewhere := root.Issue(t, "localhost"), root.Issue(t, "elsewhere.example.com")
	old := root.IssueFor(t, [2]time.Time{certs.Valid[0], certs.Valid[0].Add(time.Hour)}, "localhost")
	client, foreign := root.Issue(t, "127.0.0.1", "client.example.com"), stranger.Issue(t, "127.0.0.1")
	far, named, revoked := root.Issue(t, "192.0.2.1"), root.Issue(t, "peer.example.com"), root.Issue(t, "127.0.0.1")
	folder := t.TempDir()
	list := certs.Write(t, folder, "list.pem", root.Revoked(t, certs.Valid[1], revoked))
	stale := certs.Write(t, folder, "stale.pem", root.Revoked(t, certs.Valid[0].Add(time.Hour)))
	others := certs.Write(t, folder, "others.pem", stranger.Revoked(t, certs.Valid[1]))
	namesOf := func(context.Context, string) ([]string, error) { return []string{"peer.example.com."}, nil }
	for _, c := range []struct {
		name   string
		server ServerOptions
		client ClientOptions
		why    string
	}{
		{"right", ServerOptions{Key: asText(server, t)}, ClientOptions{Trust: trust(root)}, ""},
		{"wrong authority", ServerOptions{Key: asText(server, t)}, ClientOptions{Trust: trust(stranger)}, "not signed by a trusted authority"},
		{"authority of the machine", ServerOptions{Key: asText(server, t)}, ClientOptions{}, "not signed by a trusted authority"},
		{"expired", ServerOptions{Key: asText(old, t)}, ClientOptions{Trust: trust(root)}, "has expired"},
		{"expired, any host", ServerOptions{Key: asText(old, t)}, ClientOptions{Trust: trust(root), AnyHost: true}, "has expired"},
		{"other host", ServerOptions{Key: asText(elsewhere, t)}, ClientOptions{Trust: trust(root)}, "not for host [localhost]"},
		{"any host", ServerOptions{Key: asText(elsewhere, t)}, ClientOptions{Trust: trust(root), AnyHost: true}, ""},
		{"any host, wrong authority", ServerOptions{Key: asText(server, t)}, ClientOptions{Trust: trust(stranger), AnyHost: true},
			"not signed by a trusted authority"},
		{"no protocol in common",
			ServerOptions{Key: asText(server, t), Choice: Choice{IncludeProtocols: []string{"TLSv1.2"}}},
			ClientOptions{Trust: trust(root), Protocol: "TLSv1.3"}, "protocol version not supported"},
		{"old protocol is the least", ServerOptions{Key: asText(server, t), Choice: Choice{ExcludeProtocols: []string{"TLSv1.3", "SSLv3"}}},
			ClientOptions{Trust: trust(root), Protocol: "TLSv1"}, ""},

		{"certificate wanted", ServerOptions{Key: asText(server, t), Demand: RequireCertificate, Trust: trust(root)},
			ClientOptions{Trust: trust(root)}, "certificate required"},
		{"certificate shown", ServerOptions{Key: asText(server, t), Demand: RequireCertificate, Trust: trust(root), ValidateHostnames: true},
			ClientOptions{Trust: trust(root), Key: asText(client, t)}, ""},
		{"certificate of a stranger", ServerOptions{Key: asText(server, t), Demand: RequireCertificate, Trust: trust(root)},
			ClientOptions{Trust: trust(root), Key: asText(foreign, t)}, "certificate"},
		{"certificate asked for", ServerOptions{Key: asText(server, t), Demand: RequestCertificate, Trust: trust(root), ValidateHostnames: true},
			ClientOptions{Trust: trust(root)}, ""},
		{"certificate of another host", ServerOptions{Key: asText(server, t), Demand: RequireCertificate, Trust: trust(root),
			ValidateHostnames: true},
			ClientOptions{Trust: trust(root), Key: asText(far, t)}, "bad certificate"},
		{"any host of a client", ServerOptions{Key: asText(server, t), Demand: RequireCertificate, Trust: trust(root)},
			ClientOptions{Trust: trust(root), Key: asText(far, t)}, ""},
		{"name of the client's address",
			ServerOptions{Key: asText(server, t), Demand: RequireCertificate, Trust: trust(root), ValidateHostnames: true, Names: namesOf},
			ClientOptions{Trust: trust(root), Key: asText(named, t)}, ""},

		{"not revoked", ServerOptions{Key: asText(server, t), Demand: RequireCertificate, Trust: trust(root), CRL: list, ValidateHostnames: true},
			ClientOptions{Trust: trust(root), Key: asText(client, t)}, ""},
		{"revoked", ServerOptions{Key: asText(server, t), Demand: RequireCertificate, Trust: trust(root), CRL: list},
			ClientOptions{Trust: trust(root), Key: asText(revoked, t)}, "bad certificate"},
		{"stale list", ServerOptions{Key: asText(server, t), Demand: RequireCertificate, Trust: trust(root), CRL: stale},
			ClientOptions{Trust: trust(root), Key: asText(client, t)}, "bad certificate"},
		{"list of another authority", ServerOptions{Key: asText(server, t), Demand: RequireCertificate, Trust: trust(root), CRL: others},
			ClientOptions{Trust: trust(root), Key: asText(client, t)}, "bad certificate"},
	} {
		_, address, _ := serve(t, c.server)
		err := ask(t, c.client, address)
		switch {
		case c.why == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)):
			t.Errorf("%s: %v; want %s", c.name, err, c.why)
		}
	}
}

func TestServersThatAreRefused(t *testing.T) {
	root := certs.Authority(t, "root")
	key, folder := asText(root.Issue(t, "localhost"), t), t.TempDir()
	noise := certs.Write(t, folder, "noise", "noise")
	choice := func(c Choice) Choice {
		c.Names = ChoiceNames{"includeProtocols", "excludeProtocols", "includeCipherSuites", "excludeCipherSuites"}
		return c
	}
	for _, c := range []struct {
		name    string
		o       ServerOptions
		at, why string
	}{
		{"no key", ServerOptions{Key: Store{Path: filepath.Join(folder, "no"), Names: names}}, names.Path, "not readable"},
		{"no list", ServerOptions{Key: key, Demand: RequestCertificate, CRL: filepath.Join(folder, "no"), CRLName: "crlPath"}, "crlPath",
			"not readable"},
		{"list that is none", ServerOptions{Key: key, Demand: RequestCertificate, CRL: noise, CRLName: "crlPath"}, "crlPath",
			"is not a list of revoked"},
		{"trust that is none", ServerOptions{Key: key, Demand: RequestCertificate, Trust: Store{Path: noise, Names: names}}, names.Path,
			"is not a store"},
		{"unknown protocol", ServerOptions{Key: key, Choice: choice(Choice{IncludeProtocols: []string{"TLSv2"}})}, "includeProtocols",
			"[TLSv2] is unknown"},
		{"old protocols only", ServerOptions{Key: key, Choice: choice(Choice{IncludeProtocols: []string{"TLSv1"}})}, "includeProtocols",
			"no protocol is left"},
		{"nothing left", ServerOptions{Key: key, Choice: choice(Choice{ExcludeProtocols: []string{"TLSv1.2", "TLSv1.3"}})}, "excludeProtocols",
			"no protocol is left"},
		{"no cipher", ServerOptions{Key: key, Choice: choice(Choice{IncludeCiphers: []string{"TLS_DHE_RSA_WITH_AES_128_CBC_SHA"}})},
			"includeCipherSuites", "no cipher suite is left"},
		{"bad pattern", ServerOptions{Key: key, Choice: choice(Choice{ExcludeCiphers: []string{"TLS_(.*"}})}, "excludeCipherSuites",
			"nor a pattern"},
		{"one of TLS 1.3", ServerOptions{Key: key, Choice: choice(Choice{ExcludeCiphers: []string{"TLS_AES_256_GCM_SHA384"}})},
			"excludeCipherSuites", "all on or all off"},
	} {
		_, err := NewServer(c.o)
		checkProblem(t, c.name, err, c.at, c.why)
	}
	_, err := NewClient(ClientOptions{Protocol: "TLSv9", ProtocolName: "protocol"})
	checkProblem(t, "protocol of a client", err, "protocol", "[TLSv9] is unknown")
}

func TestCiphers(t *testing.T) {
	const rsa, ecdsa = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
	for _, c := range []struct {
		name        string
		choice      Choice
		least, most uint16
		has, hasNot string
	}{
		{"none", Choice{}, tls.VersionTLS12, tls.VersionTLS13, "", ""},
		{"old only", Choice{IncludeCiphers: []string{"SSL_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}}, tls.VersionTLS12, tls.VersionTLS12, rsa, ecdsa},
		{"new only", Choice{IncludeCiphers: []string{"TLS_AES_.*", "TLS_CHACHA20_POLY1305_SHA256"}}, tls.VersionTLS13, tls.VersionTLS13, "",
			ecdsa},
		{"pattern", Choice{ExcludeCiphers: []string{".*_RSA_.*"}}, tls.VersionTLS12, tls.VersionTLS13, ecdsa, rsa},
	} {
		var config tls.Config
		if err := c.choice.apply(&config); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var list []string
		for _, id := range config.CipherSuites {
			list = append(list, tls.CipherSuiteName(id))
		}
		if config.MinVersion != c.least || config.MaxVersion != c.most || c.has != "" && !slices.Contains(list, c.has) ||
			c.hasNot != "" && slices.Contains(list, c.hasNot) {
			t.Errorf("%s: from %x to %x with %v", c.name, config.MinVersion, config.MaxVersion, list)
		}
	}
}

func TestReload(t *testing.T) {
	first, second := certs.Authority(t, "first"), certs.Authority(t, "second")
	folder := t.TempDir()
	first.Issue(t, "localhost").WritePEM(t, folder)
	roots := certs.Write(t, t.TempDir(), "roots.pem", first.ChainPEM())
	s, address, _ := serve(t, ServerOptions{Key: Store{Path: folder, Names: names}})
	c, err := NewClient(ClientOptions{Trust: Store{Path: roots, Names: names}})
	if err != nil {
		t.Fatal(err)
	}
	reach := func() error {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		secured, err := c.Handshake(t.Context(), conn, "localhost:1")
		if err == nil {
			err = secured.Close()
		}
		return err
	}
	reload := func(r Reloader, wanted bool) {
		t.Helper()
		if changed, err := r.Reload(); err != nil || changed != wanted {
			t.Fatalf("reloaded %t, %v", changed, err)
		}
	}
	if err := reach(); err != nil {
		t.Fatal(err)
	}
	reload(s, false)
	reload(c, false)
	old := s.Expires()
	second.IssueFor(t, [2]time.Time{certs.Valid[0], certs.Valid[1].Add(-time.Hour)}, "localhost").WritePEM(t, folder)
	reload(s, true)
	if s.Expires() != old.Add(-time.Hour) {
		t.Errorf("it expires at %v", s.Expires())
	}
	if err := reach(); err == nil {
		t.Error("the old authority is still good for the new certificate")
	}
	if err := os.WriteFile(roots, []byte(second.ChainPEM()), 0o600); err != nil {
		t.Fatal(err)
	}
	reload(c, true)
	if err := reach(); err != nil {
		t.Error(err)
	}
	certs.Write(t, folder, "tls.key", "half a f")
	if _, err := s.Reload(); err == nil {
		t.Error("half a file was read")
	}
	if err := reach(); err != nil {
		t.Errorf("after half a file: %v", err)
	}
}

func TestClientsThatSpeakSomethingElse(t *testing.T) {
	_, address, log := serve(t, ServerOptions{Key: asText(certs.Authority(t, "root").Issue(t, "localhost"), t)})
	say := func(text string) string {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(conn) // what came before it was closed
		return string(answer)
	}
	answer := say("POST /service/v2/sql HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nSELECT 1;")
	if !strings.HasPrefix(answer, "HTTP/1.1 400 ") || !strings.Contains(answer, "https://") {
		t.Errorf("plain HTTP: %q", answer)
	}
	log.await(t) // the first that fails is the one that is logged
	for range 3 {
		if answer := say("GARBAGE AND MORE OF IT\r\n"); strings.Contains(answer, "HTTP/") {
			t.Errorf("something else: %q", answer)
		}
	}
	if lines := log.lines(); len(lines) != 1 || !strings.Contains(lines[0], "peer=127.0.0.1") || !strings.Contains(lines[0], "plain HTTP") {
		t.Errorf("logged %q", lines)
	}
}

// TestSilentClients has a client that says nothing keep nobody else from being answered, nor the
// listener from being closed.
func TestSilentClients(t *testing.T) {
	root := certs.Authority(t, "root")
	_, address, _ := serve(t, ServerOptions{Key: asText(root.Issue(t, "localhost"), t)})
	for range 5 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	if err := ask(t, ClientOptions{Trust: trust(root)}, address); err != nil {
		t.Error(err)
	}
}
