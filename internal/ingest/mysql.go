package ingest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// MySQL opens a MySQL or MariaDB database by its connector URI,
// mysql://host:port/database?useSSL=true, with an optional prefix jdbc:. Addresses that access
// rejects fail when a connection is opened. Statements are read-only. The caller closes the
// database.
func MySQL(uri, user string, password secret.Text, access *Access) (*sql.DB, error) {
	u, err := url.Parse(strings.TrimPrefix(uri, "jdbc:"))
	if err != nil || u.Host == "" || strings.ContainsAny(u.Host, "(),=/ ") || u.Scheme != "mysql" && u.Scheme != "mariadb" {
		return nil, fault.InvalidInput("The connectURI of a MySQL database is not readable; write jdbc:mysql://host:port/database")
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	if u.Port() == "" {
		config.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	if config.User, config.Passwd = user, password.Reveal(); user == "" && u.User != nil {
		config.User = u.User.Username()
		if given, ok := u.User.Password(); ok && password.IsZero() {
			config.Passwd = given
		}
	}
	properties, err := access.JDBCProperties(u.Query())
	if err != nil {
		return nil, err
	}
	for name, values := range properties {
		if !slices.ContainsFunc(jdbcProperties, func(n string) bool { return strings.EqualFold(n, name) }) {
			continue // it is allowed, and means nothing here
		}
		if err := encrypt(config, u.Hostname(), name, strings.ToLower(values[0]), access.roots()); err != nil {
			return nil, err
		}
	}
	config.ParseTime, config.Loc, config.Timeout = true, time.UTC, 10*time.Second
	config.DialFunc = guardedDialer(access).DialContext
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, fault.InvalidInput("The connectURI of a MySQL database is not readable").WithCause(err)
	}
	return sql.OpenDB(readOnly{connector}), nil
}

// encrypt applies a property about TLS. As with the drivers that the properties come from,
// certificates are checked only where that is asked for.
func encrypt(config *mysql.Config, host, property, value string, roots *x509.CertPool) error {
	mode := strings.ReplaceAll(value, "_", "-")
	switch {
	case !strings.EqualFold(property, "sslmode"):
		if value != "true" {
			return nil
		}
		if mode = "preferred"; strings.EqualFold(property, "requireSSL") {
			mode = "required"
		}
	}
	switch mode {
	case "disable", "disabled":
	case "prefer", "preferred", "allow":
		config.TLSConfig = "preferred"
	case "require", "required", "trust":
		config.TLSConfig = "skip-verify"
	case "verify-ca", "verify-full", "verify-identity":
		config.TLS = &tls.Config{ServerName: host, RootCAs: roots, MinVersion: tls.VersionTLS12}
	default:
		return fault.InvalidInput("Value [%s] of property [%s] of a connection URI is unknown", value, property)
	}
	return nil
}

// readOnly makes sessions in which statements can't write.
type readOnly struct{ driver.Connector }

// Connect implements driver.Connector.
func (c readOnly) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	run, ok := conn.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(fault.Defensive("The driver of MySQL runs no statements"), conn.Close())
	}
	if _, err := run.ExecContext(ctx, "SET SESSION TRANSACTION READ ONLY", nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
