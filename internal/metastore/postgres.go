package metastore

import (
	"cmp"
	"context"
	"database/sql"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/hengedb/henge/internal/fault"
)

// openPostgres opens a pool of connections.
//
// Write transactions take turns across all processes (dialect.lockWriter), so READ COMMITTED is
// enough: each statement of a writer sees everything that was committed before it, and nobody else
// writes. A process that stalls inside a transaction loses it after a while, or it would block the
// others.
func (s *Store) openPostgres(ctx context.Context) error {
	s.dialect = postgresDialect
	config, err := pgx.ParseConfig(s.options.URL)
	if err != nil {
		// The cause holds the URL, which may hold a password.
		return fault.InvalidInput("The URL of the metadata store is not a PostgreSQL connection string")
	}
	config.User, config.Password = cmp.Or(s.options.User, config.User), cmp.Or(s.options.Password.Reveal(), config.Password)
	config.RuntimeParams["idle_in_transaction_session_timeout"] = strconv.FormatInt(s.options.idleTransaction.Milliseconds(), 10)
	config.RuntimeParams["application_name"] = "henge"
	s.listener = config
	db := stdlib.OpenDB(*config.Copy())
	db.SetMaxOpenConns(maxPostgresConns)
	db.SetMaxIdleConns(maxPostgresConns)
	s.readers, s.writers = db, db
	return s.createDomain(ctx, db)
}

// createDomain makes the type of the migrations whose texts compare byte by byte, whatever the
// collation of the database.
func (s *Store) createDomain(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `DO $$ BEGIN
		CREATE DOMAIN bytetext AS TEXT COLLATE "C";
	EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
	END $$`)
	return s.dialect.explain(err)
}
