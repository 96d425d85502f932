package postgres

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"testing"
)

// Remember keeps what is in a store and returns a function that puts it back, as when a database
// comes back from a crash without its last commits. Nobody may be connected then (Link.Cut).
func Remember(t testing.TB, store string) (putBack func()) {
	t.Helper()
	at, err := url.Parse(store)
	if err != nil {
		t.Fatal(err)
	}
	schema := at.Query().Get("search_path")
	kept := schema + "_kept"
	db, err := sql.Open("pgx", store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	var tables []string
	rows, err := db.QueryContext(t.Context(), "SELECT tablename FROM pg_tables WHERE schemaname = $1", schema)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(tables) == 0 {
		t.Fatalf("tables %q: %v", tables, err)
	}
	// together runs statements in one transaction that sees one moment, and asks for no foreign keys.
	together := func(statements ...string) {
		t.Helper()
		tx, err := db.BeginTx(context.WithoutCancel(t.Context()), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range append([]string{"SET LOCAL session_replication_role = replica"}, statements...) {
			if _, err := tx.Exec(s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	keep := []string{"CREATE SCHEMA " + kept}
	back := []string{"TRUNCATE " + strings.Join(tables, ", ")}
	for _, name := range tables {
		keep = append(keep, "CREATE TABLE "+kept+"."+name+" AS TABLE "+name)
		back = append(back, "INSERT INTO "+name+" SELECT * FROM "+kept+"."+name)
	}
	together(keep...)
	return func() {
		t.Helper()
		together(back...)
	}
}
