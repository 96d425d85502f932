package ingest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/jsontext"

	_ "modernc.org/sqlite"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// the driver of database type sqlite

// SQL is the rows of statements that another database executes: PostgreSQL, MySQL, or an SQLite
// file.
type SQL struct {
	// FoldCase converts column names to lower case.
	FoldCase   bool
	Statements []string

	database sqlDatabase
}

type sqlDatabase struct {
	Type      string `json:"type"`
	Connector struct {
		URI      string    `json:"connectURI"`
		User     string    `json:"user,omitempty"`
		Password *password `json:"password,omitempty"`
	} `json:"connectorConfig"`
}

type sqlWire struct {
	Type     string          `json:"type"`
	SQLs     wire.StringList `json:"sqls"`
	FoldCase bool            `json:"foldCase"`
	Database sqlDatabase     `json:"database"`
}

func parseSQL(text json.RawMessage) (Source, error) {
	var w sqlWire
	if err := wire.Decode("inputSource", text, &w); err != nil {
		return nil, err
	}
	switch {
	case len(w.SQLs) == 0:
		return nil, wire.Invalid("inputSource", "a source of this type needs 'sqls'")
	case w.Database.Connector.URI == "":
		return nil, wire.Invalid("inputSource", "a source of this type needs 'database' with a 'connectorConfig.connectURI'")
	}
	switch w.Database.Type {
	case "mysql", "postgresql", "sqlite":
	default:
		return nil, wire.UnknownType("database", w.Database.Type, []string{"mysql", "postgresql", "sqlite"})
	}
	return &SQL{FoldCase: w.FoldCase, Statements: w.SQLs, database: w.Database}, nil
}

// Type returns "sql".
func (s *SQL) Type() string { return "sql" }

// MarshalJSON returns the JSON form with passwords hidden, including a password in the address.
func (s *SQL) MarshalJSON() ([]byte, error) {
	w := sqlWire{"sql", s.Statements, s.FoldCase, s.database}
	if u, err := url.Parse(strings.TrimPrefix(w.Database.Connector.URI, "jdbc:")); err == nil {
		if q := u.Query(); q.Has("password") {
			q.Set("password", "********")
			u.RawQuery = q.Encode()
		}
		w.Database.Connector.URI = secret.URL(u)
	}
	return jsontext.Marshal(w)
}

func (*SQL) source() {}

// List returns one entity for each statement. The statements are executed when the entities are
// read.
func (s *SQL) List(_ context.Context, access *Access) ([]Entity, error) {
	var out []Entity
	for _, text := range s.Statements {
		out = append(out, &sqlEntity{source: s, text: text, access: access})
	}
	return out, nil
}

type sqlEntity struct {
	noBytes
	source *SQL
	text   string
	access *Access
}

// Name returns "sql". It omits the statement, which may contain private values.
func (e *sqlEntity) Name() string { return "sql" }

func (e *sqlEntity) openRecords(ctx context.Context) (objectReader, error) {
	db, err := e.source.open(e.access)
	if err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, e.text)
	if err != nil {
		return nil, errors.Join(sqlProblem(ctx, err), db.Close())
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, errors.Join(sqlProblem(ctx, err), rows.Close(), db.Close())
	}
	names, values := make([]string, len(types)), make([]func(any) any, len(types))
	for i, t := range types {
		names[i], values[i] = t.Name(), sqlValue(t.DatabaseTypeName())
	}
	if e.source.FoldCase {
		for i, name := range names {
			names[i] = strings.ToLower(name)
		}
	}
	return &sqlRows{db: db, rows: rows, names: names, values: values}, nil
}

// open connects to the database. A file of SQLite is opened for reading only and must be where
// local sources may read.
func (s *SQL) open(access *Access) (*sql.DB, error) {
	uri := strings.TrimPrefix(s.database.Connector.URI, "jdbc:")
	if s.database.Type == "sqlite" {
		path := strings.TrimPrefix(strings.TrimPrefix(uri, "sqlite:"), "file:")
		path, _, _ = strings.Cut(path, "?")
		if err := allowedLocal(access, path); err != nil {
			return nil, err
		}
		real, err := realPath(path)
		if err != nil {
			return nil, localFault("Database file", path, err)
		}
		return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(real), RawQuery: "mode=ro&_pragma=query_only(1)&_pragma=trusted_schema(0)"}).String())
	}
	var given secret.Text
	if p := s.database.Connector.Password; p != nil {
		var err error
		if given, err = p.resolve(access); err != nil {
			return nil, err
		}
	}
	if s.database.Type == "mysql" {
		return MySQL(uri, s.database.Connector.User, given, access)
	}
	config, err := pgx.ParseConfig(uri)
	if err != nil {
		return nil, wire.Invalid("database", "'connectURI' is not the address of a PostgreSQL database")
	}
	if s.database.Connector.User != "" {
		config.User = s.database.Connector.User
	}
	if s.database.Connector.Password != nil {
		config.Password = given.Reveal()
	}
	access.TrustPostgres(config)
	config.DialFunc = guardedDialer(access).DialContext
	config.ConnectTimeout = 10 * time.Second
	config.RuntimeParams["default_transaction_read_only"] = "on"
	return stdlib.OpenDB(*config), nil
}

// TrustPostgres makes connections verify the certificates of a PostgreSQL server with the
// authorities of a, if the connection string requires verification.
func (a *Access) TrustPostgres(config *pgx.ConnConfig) {
	if a.roots() == nil {
		return
	}
	if config.TLSConfig != nil {
		config.TLSConfig.RootCAs = a.Roots
	}
	for _, other := range config.Fallbacks {
		if other.TLSConfig != nil {
			other.TLSConfig.RootCAs = a.Roots
		}
	}
}

func sqlProblem(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f := fault.Find(err); f != nil {
		return f
	}
	return fault.InvalidInput("The database of input source [sql] did not answer the statement: [%v]", err).WithCause(err)
}

type sqlRows struct {
	db    *sql.DB
	rows  *sql.Rows
	names []string
	// evidence.Values make values of Objects of those of the driver, by column.
	values []func(any) any
}

// sqlValue returns what makes values of Objects of a column's. Bytes are text but in columns of
// bytes, and numbers in columns of decimals.
func sqlValue(typ string) func(any) any {
	binary := strings.Contains(typ, "BLOB") || strings.Contains(typ, "BINARY") || typ == "BYTEA" || typ == "BIT" || typ == "GEOMETRY" || typ == ""
	return func(v any) any {
		switch v := v.(type) {
		case time.Time:
			return chrono.FormatMillis(v.UnixMilli(), chrono.UTC)
		case uint64:
			if v <= math.MaxInt64 {
				return int64(v)
			}
			return record.Digits(strconv.FormatUint(v, 10))
		case []byte:
			switch {
			case binary:
				return v
			case typ == "DECIMAL" || typ == "UNSIGNED BIGINT":
				return record.Digits(v)
			}
			return string(v)
		}
		return v
	}
}

func (r *sqlRows) next(ctx context.Context) (Record, error) {
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return Record{}, sqlProblem(ctx, err)
		}
		return Record{}, io.EOF
	}
	values := make([]any, len(r.names))
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	if err := r.rows.Scan(into...); err != nil {
		return Record{}, sqlProblem(ctx, err)
	}
	o := &record.Object{Names: r.names, Values: values}
	for i, v := range values {
		values[i] = r.values[i](v)
	}
	return Record{Object: o}, nil
}

func (r *sqlRows) close() error { return errors.Join(r.rows.Close(), r.db.Close()) }
