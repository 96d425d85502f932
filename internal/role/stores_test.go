package role

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/testkit/certs"
)

func TestTLSOfTheMetastore(t *testing.T) {
	const of = "service.metadata.postgres.ssl."
	file := certs.Write(t, t.TempDir(), "ca.pem", certs.Authority(t, "root").ChainPEM())
	for _, c := range []struct {
		settings  []string
		url, want string // or what is wrong
	}{
		{nil, "postgresql://h/db", "postgresql://h/db"},
		{[]string{of + "useSSL=true"}, "postgresql://h/db", "postgresql://h/db?sslmode=verify-full"},
		{[]string{of + "useSSL=true"}, "postgresql://h/db?sslmode=require", "postgresql://h/db?sslmode=require"},
		{[]string{of + "useSSL=true", of + "sslMode=verify-ca", of + "sslRootCert=" + file}, "postgresql://h/db",
			"postgresql://h/db?sslmode=verify-ca&sslrootcert=" + strings.ReplaceAll(file, string(filepath.Separator), "%2F")},
		{[]string{of + "sslMode=verify"}, "postgresql://h/db", "[service.metadata.postgres.ssl.sslMode] is unknown"},
		{[]string{of + "sslKey=/nowhere"}, "postgresql://h/db", "[service.metadata.postgres.ssl.sslKey] is not readable"},
		{[]string{of + `sslPassword={"type":"none"}`}, "postgresql://h/db", "[service.metadata.postgres.ssl.sslPassword]"},
	} {
		set, err := config.Load(config.Sources{Flags: c.settings})
		if err != nil {
			t.Fatal(err)
		}
		got, err := secureStore(set, c.url)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%v: %s; want %s", c.settings, got, c.want)
		}
	}
}
