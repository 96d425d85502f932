package peer

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/timeline"
)

// DefaultPrefix begins the names of the tables unless Druid was told otherwise
// (druid.metadata.storage.tables.base).
const DefaultPrefix = "druid"

// namePart is what a prefix may be: it becomes part of statements.
var namePart = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,40}$`)

// ReadMetadata reads the metadata tables at a PostgreSQL or MySQL URL or in an SQLite file, in one
// snapshot. Druid may run; nothing is changed.
func ReadMetadata(ctx context.Context, address, prefix string) (*Catalog, error) {
	if !namePart.MatchString(prefix) {
		return nil, fault.InvalidInput("Table prefix [%.60s] is not a name", prefix)
	}
	db, err := openMetadata(address)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	t, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: isolationOf(address)})
	if err != nil {
		return nil, fault.Unavailable("The metadata store to import from can't be reached").WithCause(err)
	}
	defer t.Rollback() //nolint:errcheck // nothing was written
	m := &metadata{ctx: ctx, t: t, prefix: prefix, found: &Catalog{
		Rules: map[string]json.RawMessage{}, Compaction: map[string]json.RawMessage{}, Supervisors: map[string]json.RawMessage{},
		Offsets: map[string]json.RawMessage{},
	}}
	for _, read := range []func() error{m.segments, m.rules, m.configs, m.supervisors} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	if err := m.offsets(); err != nil && fault.Find(err) == nil { // tables that somebody has copied may lack this one
		return nil, err
	}
	m.found.sort()
	return m.found, nil
}

func isolationOf(address string) sql.IsolationLevel {
	if isPostgres(address) || isMySQL(address) {
		return sql.LevelRepeatableRead
	}
	return sql.LevelDefault
}

func isPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

func isMySQL(address string) bool {
	address = strings.TrimPrefix(address, "jdbc:")
	return strings.HasPrefix(address, "mysql:") || strings.HasPrefix(address, "mariadb:")
}

// passwordVariable names the password of a MySQL address that has none, as its own tools do.
const passwordVariable = "MYSQL_PWD"

func openMetadata(address string) (*sql.DB, error) {
	if isMySQL(address) {
		password := os.Getenv(passwordVariable)
		if u, err := url.Parse(strings.TrimPrefix(address, "jdbc:")); err == nil && u.User != nil {
			if _, given := u.User.Password(); given {
				password = ""
			}
		}
		return ingest.MySQL(address, "", secret.NewText(password), &ingest.Access{}) // of a command, which may reach what its user may
	}
	address = strings.TrimPrefix(address, "jdbc:")
	if isPostgres(address) {
		db, err := sql.Open("pgx", address)
		if err != nil {
			// The cause holds the address, which may hold a password.
			return nil, fault.InvalidInput("The address of the metadata store is not a PostgreSQL connection string")
		}
		return db, nil
	}
	if strings.HasPrefix(address, "derby:") {
		return nil, fault.Unsupported("Metadata in [derby] can only be read by Java; export its tables to PostgreSQL or MySQL, as the documentation says")
	}
	path := strings.TrimPrefix(address, "sqlite:")
	if _, err := os.Stat(path); err != nil {
		return nil, fault.NotFound("There is no SQLite file [%s]; write postgresql://... for a database", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro"}).String())
}

// metadata is a reading of the tables.
type metadata struct {
	ctx    context.Context
	t      *sql.Tx
	prefix string
	found  *Catalog
}

// each calls f for the rows of a statement, in which "#" stands for the prefix. Payloads are bytes
// or text.
func (m *metadata) each(statement string, f func(rows *sql.Rows) error) error {
	rows, err := m.t.QueryContext(m.ctx, strings.ReplaceAll(statement, "#", m.prefix))
	if err != nil {
		if m.ctx.Err() != nil {
			return m.ctx.Err()
		}
		return fault.InvalidInput("The metadata store has no tables with the prefix [%s], or not those of Apache Druid", m.prefix).WithCause(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (m *metadata) segments() error {
	return m.each("SELECT payload FROM #_segments WHERE used", func(rows *sql.Rows) error {
		var payload []byte
		if err := rows.Scan(&payload); err != nil {
			return err
		}
		s := &timeline.Segment{}
		if err := json.Unmarshal(payload, s); err != nil {
			m.found.skip(fault.Malformed("The descriptor of a segment can't be read").WithCause(err))
			return nil
		}
		m.found.Segments = append(m.found.Segments, s)
		return nil
	})
}

// rules keeps the newest version of each list.
func (m *metadata) rules() error {
	return m.each("SELECT dataSource, payload FROM #_rules ORDER BY version", func(rows *sql.Rows) error {
		var name string
		var payload []byte
		if err := rows.Scan(&name, &payload); err != nil {
			return err
		}
		m.found.Rules[name] = payload
		return nil
	})
}

func (m *metadata) configs() error {
	return m.each("SELECT name, payload FROM #_config", func(rows *sql.Rows) error {
		var name string
		var payload []byte
		if err := rows.Scan(&name, &payload); err != nil {
			return err
		}
		switch name {
		case duty.SettingName:
			m.found.Coordinator = payload
		case "lookups":
			m.found.Lookups = payload
		case "coordinator.compaction.config":
			return m.compaction(payload)
		}
		return nil
	})
}

func (m *metadata) compaction(payload []byte) error {
	var settings struct {
		List []json.RawMessage `json:"compactionConfigs"`
	}
	if err := json.Unmarshal(payload, &settings); err != nil {
		return fault.Malformed("The compaction settings of the metadata store can't be read").WithCause(err)
	}
	for _, one := range settings.List {
		var of struct {
			DataSource string `json:"dataSource"`
		}
		if err := json.Unmarshal(one, &of); err != nil || of.DataSource == "" {
			return errors.Join(fault.Malformed("The compaction settings of a datasource can't be read"), err)
		}
		m.found.Compaction[of.DataSource] = one
	}
	return nil
}

// offsets are what tasks committed with the segments that they published. It comes last: a
// statement that fails ends the transaction.
func (m *metadata) offsets() error {
	return m.each("SELECT dataSource, commit_metadata_payload FROM #_dataSource", func(rows *sql.Rows) error {
		var name string
		var payload []byte
		if err := rows.Scan(&name, &payload); err != nil {
			return err
		}
		if fields := map[string]json.RawMessage{}; json.Unmarshal(payload, &fields) == nil && len(fields) > 0 {
			m.found.Offsets[name] = payload
		}
		return nil
	})
}

// supervisors keeps the newest version of each; one that ends in nothing was terminated.
func (m *metadata) supervisors() error {
	return m.each("SELECT spec_id, payload FROM #_supervisors ORDER BY id", func(rows *sql.Rows) error {
		var id string
		var payload []byte
		if err := rows.Scan(&id, &payload); err != nil {
			return err
		}
		var spec struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(payload, &spec) != nil || spec.Type == "" || spec.Type == "NoopSupervisorSpec" {
			delete(m.found.Supervisors, id)
			return nil
		}
		m.found.Supervisors[id] = payload
		return nil
	})
}
