package ingest

import (
	"crypto/x509"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
)

// The authorities of Access check the certificates of databases where the connection wants them
// checked, and nowhere else.
func TestAuthoritiesOfDatabases(t *testing.T) {
	access := &Access{Roots: x509.NewCertPool()}
	for mode, checked := range map[string]bool{"verify-full": true, "verify-ca": true, "prefer": true, "disable": false} {
		config, err := pgx.ParseConfig("postgres://h/d?sslmode=" + mode)
		if err != nil {
			t.Fatal(err)
		}
		access.TrustPostgres(config)
		if got := config.TLSConfig != nil && config.TLSConfig.RootCAs == access.Roots; got != checked {
			t.Errorf("PostgreSQL, %s: %t", mode, got)
		}
		for _, other := range config.Fallbacks {
			if other.TLSConfig != nil && other.TLSConfig.RootCAs != access.Roots {
				t.Errorf("PostgreSQL, %s: another address has other authorities", mode)
			}
		}
	}
	var none *Access
	none.TrustPostgres(&pgx.ConnConfig{})
	for mode, checked := range map[string]bool{"verify_identity": true, "verify_ca": true, "required": false, "disabled": false} {
		config := mysql.NewConfig()
		if err := encrypt(config, "h", "sslMode", mode, access.roots()); err != nil {
			t.Fatal(err)
		}
		if got := config.TLS != nil && config.TLS.RootCAs == access.Roots; got != checked {
			t.Errorf("MySQL, %s: %t", mode, got)
		}
	}
}
