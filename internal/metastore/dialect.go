package metastore

import (
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// dialect is what differs between the databases. Everything else is one schema and one set of
// statements, written with "?".
type dialect struct {
	name  string
	goose goose.Dialect
	// now is the database's clock in milliseconds.
	now string
	// numbered is whether parameters are $1, $2, ... and not "?".
	numbered bool
	// lockWriter begins a write transaction: after it, no other process has one open. Its parameters
	// are the row of tokens of the process and the transaction's token; it returns what the database
	// calls the transaction. Empty if beginning is enough.
	lockWriter string
	// lockRow is appended to a SELECT whose row must not change until the end of the transaction.
	lockRow string
}

var sqliteDialect = &dialect{
	name:  "SQLite",
	goose: goose.DialectSQLite3,
	now:   "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
}

var postgresDialect = &dialect{
	name:     "PostgreSQL",
	goose:    goose.DialectPostgres,
	now:      "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
	numbered: true,
	lockWriter: "WITH turn AS MATERIALIZED (SELECT 1 FROM counters WHERE name = 'writer' FOR UPDATE) " +
		"INSERT INTO counters (name, value) SELECT ?, ? FROM turn ON CONFLICT (name) DO UPDATE SET value = excluded.value " +
		"RETURNING CAST(pg_current_xact_id() AS TEXT)",
	lockRow: " FOR SHARE",
}

// rebind writes the parameters of a statement as the dialect wants them. Question marks in quotes
// stay.
func (d *dialect) rebind(query string) string {
	if !d.numbered || !strings.Contains(query, "?") {
		return query
	}
	var out strings.Builder
	out.Grow(len(query) + 16)
	n, quote := 0, byte(0)
	for i := range len(query) {
		c := query[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '?':
			n++
			out.WriteByte('$')
			out.WriteString(strconv.Itoa(n))
			continue
		}
		out.WriteByte(c)
	}
	return out.String()
}

// marks returns "?, ?, ?" for n parameters.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }
