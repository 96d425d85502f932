package lookup

import (
	"context"
	"database/sql"
	"encoding/json"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/secret"
)

// database reads a table from two columns of a table of PostgreSQL, MySQL or SQLite.
type database struct {
	uri            string // behind "jdbc:"
	user           string
	password       secret.Password
	table          string
	key, value     string
	filter, marker string // a condition, and a column that grows when rows change; both may be empty
	quote, text    string // what the dialect puts around names, and what it calls text in casts
}

func parseDatabase(text json.RawMessage) (source, error) {
	var wire struct {
		Connector struct {
			URI      string          `json:"connectURI"`
			User     string          `json:"user"`
			Password secret.Password `json:"password"`
		} `json:"connectorConfig"`
		Table  string `json:"table"`
		Key    string `json:"keyColumn"`
		Value  string `json:"valueColumn"`
		Filter string `json:"filter"`
		Marker string `json:"tsColumn"`
	}
	if err := jsontext.Read(text, &wire); err != nil {
		return nil, unreadable("extractionNamespace of type [jdbc]", err)
	}
	for name, value := range map[string]string{"connectorConfig.connectURI": wire.Connector.URI, "table": wire.Table, "keyColumn": wire.Key, "valueColumn": wire.Value} {
		if value == "" {
			return nil, fault.InvalidInput("extractionNamespace of type [jdbc] needs a [%s]", name)
		}
	}
	d := &database{user: wire.Connector.User, password: wire.Connector.Password,
		table: wire.Table, key: wire.Key, value: wire.Value, filter: wire.Filter, marker: wire.Marker}
	var ok bool
	if d.uri, ok = strings.CutPrefix(wire.Connector.URI, "jdbc:"); !ok {
		return nil, fault.InvalidInput("connectURI of a lookup must begin with [jdbc:]")
	}
	kind, _, _ := strings.Cut(d.uri, ":")
	switch d.quote, d.text = `"`, "TEXT"; kind {
	case "postgresql", "sqlite":
	case "mysql", "mariadb":
		d.quote, d.text = "`", "CHAR"
	default:
		return nil, fault.Unsupported("Lookups can't be read from a database of kind [%s]; known are [mysql, postgresql, sqlite]", kind)
	}
	return d, nil
}

// open returns a database of one connection, which the caller closes.
func (d *database) open(ctx context.Context, access *ingest.Access) (*sql.DB, error) {
	if path, ok := strings.CutPrefix(d.uri, "sqlite:"); ok {
		path, _, _ = strings.Cut(path, "?")
		file, err := sourceOf(&url.URL{Scheme: "file", Path: path})
		if err != nil {
			return nil, err
		}
		if _, err := file.List(ctx, access); err != nil { // it must exist, in a folder that may be read
			return nil, err
		}
		return sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: path, RawQuery: "mode=ro&_pragma=query_only(1)"}).String())
	}
	password, err := d.password.Resolve(access.Environment())
	if err != nil {
		return nil, err
	}
	if d.quote == "`" {
		return ingest.MySQL(d.uri, d.user, password, access)
	}
	config, err := d.postgres(access, password)
	if err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*config), nil
}

// postgres makes the settings of a connection. Addresses are checked when names have been resolved,
// as for other input.
func (d *database) postgres(access *ingest.Access, password secret.Text) (*pgx.ConnConfig, error) {
	u, err := url.Parse(d.uri)
	if err != nil || u.Host == "" {
		return nil, fault.InvalidInput("connectURI of a lookup is not readable; write jdbc:postgresql://host:port/database")
	}
	properties, err := access.JDBCProperties(u.Query())
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	for name, values := range properties {
		switch strings.ToLower(name) {
		case "sslmode":
			query["sslmode"] = values
		case "usessl", "requiressl", "ssl":
			if len(values) > 0 && values[0] == "true" {
				query.Set("sslmode", "require")
			}
		}
	}
	u.Scheme, u.RawQuery, u.User = "postgres", query.Encode(), nil
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, fault.InvalidInput("connectURI of a lookup is not readable; write jdbc:postgresql://host:port/database").WithCause(err)
	}
	config.User, config.Password = d.user, password.Reveal()
	access.TrustPostgres(config)
	dialer := &net.Dialer{}
	if access != nil && access.CheckAddress != nil {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return access.CheckAddress(netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
		}
	}
	config.DialFunc = dialer.DialContext
	return config, nil
}

// name makes an identifier of a name, parts between dots each for itself. Druid puts names into its
// statements as they are: what is quoted stays, and PostgreSQL knows a plain name by its small
// letters.
func (d *database) name(name string) string {
	if d.quoted(name) || strings.ContainsAny(name, "()'|+*/") { // or an expression
		return name
	}
	parts := strings.Split(name, ".")
	for i, p := range parts {
		if d.quoted(p) {
			continue
		}
		if strings.HasPrefix(d.uri, "postgresql:") && !strings.ContainsFunc(p, notPlain) {
			p = strings.ToLower(p)
		}
		parts[i] = d.quote + strings.ReplaceAll(p, d.quote, d.quote+d.quote) + d.quote
	}
	return strings.Join(parts, ".")
}

func (d *database) quoted(name string) bool {
	return len(name) > 2 && strings.HasPrefix(name, d.quote) && strings.HasSuffix(name, d.quote)
}

// notPlain reports whether names with r must be quoted.
func notPlain(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// textOf casts a column to text.
func (d *database) textOf(column string) string { return "CAST(" + column + " AS " + d.text + ")" }

// read implements source. The mark is the greatest value of the marker column; without one the
// table is read each time.
func (d *database) read(
	ctx context.Context, access *ingest.Access, last string, add func(key, value string) error,
) (changed bool, mark string, err error) {
	db, err := d.open(ctx, access)
	if err != nil {
		return false, "", err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if d.marker != "" {
		var newest sql.NullString
		if err := db.QueryRowContext(ctx, "SELECT "+d.textOf("MAX("+d.name(d.marker)+")")+" FROM "+d.name(d.table)).Scan(&newest); err != nil {
			return false, "", d.failed(err)
		}
		if mark = newest.String; mark != "" && mark == last {
			return false, mark, nil
		}
	}
	query := "SELECT " + d.textOf(d.name(d.key)) + ", " + d.textOf(d.name(d.value)) + " FROM " + d.name(d.table) +
		" WHERE " + d.name(d.key) + " IS NOT NULL AND " + d.name(d.value) + " IS NOT NULL"
	if d.filter != "" {
		query += " AND (" + d.filter + ")"
	}
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return false, "", d.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key, value string
		if err := rows.Scan(&key, &value); err != nil {
			return false, "", d.failed(err)
		}
		if err := add(key, value); err != nil {
			return false, "", err
		}
	}
	if err := rows.Err(); err != nil {
		return false, "", d.failed(err)
	}
	return true, mark, nil
}

// failed is the fault of a database that can't be read. What it says names no secret: the password
// is in no text that it saw.
func (d *database) failed(err error) error {
	if f := fault.Find(err); f != nil {
		return f
	}
	return fault.Unavailable("Table [%s] of a lookup could not be read: %v", d.table, err).WithCause(err)
}
