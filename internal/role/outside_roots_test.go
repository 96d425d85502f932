package role_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/certs"
	"github.com/hengedb/henge/internal/testkit/server"
)

const outside = "service.client.outside."

// handshakes is told what a server says of failed ones.
type handshakes chan struct{}

// Write implements io.Writer.
func (h handshakes) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "handshake") {
		select {
		case h <- struct{}{}:
		default:
		}
	}
	return len(p), nil
}

// Input and lookups over HTTPS trust the authorities of the settings beside those of the machine.
func TestAuthoritiesOfServersOutside(t *testing.T) {
	t.Parallel()
	root, dir := certs.Authority(t, "root of the web"), t.TempDir()
	root.WriteTrustJKS(t, filepath.Join(dir, "trust.jks"))
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("k,v\none,1\n")) // the reader sees whether it came
	}))
	web.TLS = &tls.Config{Certificates: []tls.Certificate{root.Issue(t, "127.0.0.1").TLS()}}
	broken := make(handshakes, 100)
	web.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(broken, nil), slog.LevelError)
	web.StartTLS()
	t.Cleanup(web.Close)
	input := `SELECT k, v FROM TABLE(EXTERN('{"type":"http","uris":["` + web.URL + `/a.csv"]}', ` +
		`'{"type":"csv","findColumnsFromHeader":true}')) EXTEND (k VARCHAR, v VARCHAR)`
	plain := server.Start(t, server.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel() // or it would be tried again and again
		select {
		case <-broken:
		case <-ctx.Done():
		}
	}()
	if rows, err := plain.Query(ctx, input); err == nil {
		t.Errorf("without the authority: %v", rows)
	}
	s := server.Start(t, server.Options{Settings: []string{
		outside + "trustStorePath=" + filepath.Join(dir, "trust.jks"), outside + "trustStoreType=jks",
		outside + `trustStorePassword={"type":"default","password":"` + certs.StorePassword + `"}`,
	}})
	if rows, err := s.Query(t.Context(), input); err != nil || len(rows) != 1 || rows[0][0] != "one" {
		t.Errorf("with the authority: %v, %v", rows, err)
	}
	const at = "/service/coordinator/v1/lookups/config"
	for _, body := range []string{"{}", `{"__default":{"web":{"version":"v1","lookupExtractorFactory":{"type":"cachedNamespace",` +
		`"extractionNamespace":{"type":"uri","uri":"` + web.URL + `/a.csv","pollPeriod":"PT1H","namespaceParseSpec":` +
		`{"format":"csv","columns":["k","v"],"skipHeaderRows":1}}}}}}`} {
		if status, answer, err := s.Send(t.Context(), "coordinator", http.MethodPost, at, body); err != nil || status/100 != 2 {
			t.Fatal(status, string(answer), err)
		}
	}
	server.Until(t, "the lookup is there", func() bool {
		rows, err := s.Query(t.Context(), "SELECT LOOKUP('one', 'web')")
		return err == nil && len(rows) == 1 && rows[0][0] == "1"
	})
	for why, settings := range map[string][]string{
		"[" + outside + "trustStorePath] can't be used": {outside + "trustStorePath=/nowhere"},
		"is not its password": {outside + "trustStorePath=" + filepath.Join(dir, "trust.jks"),
			outside + "trustStorePassword=wr0ng"},
		"names, is not set": {outside + "trustStorePath=" + filepath.Join(dir, "trust.jks"),
			outside + `trustStorePassword={"type":"environment","variable":"HENGE_NO_SUCH"}`},
	} {
		if f := refused(t, server.Options{Dir: t.TempDir(), Settings: settings}); !strings.Contains(f.Message, why) {
			t.Errorf("%s: %s", settings, f.Message)
		}
	}
}
