package pgwire

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hengedb/henge/internal/testkit/postgres"
)

// shape is the columns of an answer with their types, or the SQLSTATE of the error.
func shape(ctx context.Context, c *pgx.Conn, sql string) (columns, rows string) {
	r := c.PgConn().ExecParams(ctx, sql, nil, nil, nil, nil)
	var fields []string
	for _, f := range r.FieldDescriptions() {
		fields = append(fields, fmt.Sprintf("%s:%d:%d", f.Name, f.DataTypeOID, f.DataTypeSize))
	}
	var list []string
	for r.NextRow() {
		var values []string
		for _, v := range r.Values() {
			if v == nil {
				values = append(values, "~")
			} else {
				values = append(values, string(v))
			}
		}
		list = append(list, strings.Join(values, "|"))
	}
	if _, err := r.Close(); err != nil {
		if e, ok := err.(*pgconn.PgError); ok { //nolint:errorlint // the driver returns no other
			return "error " + e.Code, ""
		}
		return err.Error(), ""
	}
	return strings.Join(fields, ", "), strings.Join(list, "\n")
}

// catalog sends the statements of testdata/catalog.sql, which clients
// run when they connect, to a real PostgreSQL and to Henge: columns and types must be the same, and
// behind a line that begins with = the rows too.
func catalog(t *testing.T, address string) {
	oracle, err := pgx.Connect(t.Context(), postgres.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer oracle.Close(t.Context()) //nolint:errcheck // the test is over
	if _, err := oracle.Exec(t.Context(), "set search_path to public; set timezone to 'UTC'"); err != nil {
		t.Fatal(err)
	}
	var version string
	if err := oracle.QueryRow(t.Context(), "show server_version_num").Scan(&version); err != nil || !strings.HasPrefix(version, "15") {
		t.Skipf("PostgreSQL is of version %s, not 15 (%v)", version, err)
	}
	henge, err := pgx.Connect(t.Context(), "postgres://ann@"+address+"/henge?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer henge.Close(t.Context()) //nolint:errcheck // the test is over
	script, err := os.ReadFile("testdata/catalog.sql")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(script)) {
		sql, all := strings.CutPrefix(strings.TrimSpace(line), "=")
		if sql == "" || strings.HasPrefix(sql, "--") {
			continue
		}
		want, wantRows := shape(t.Context(), oracle, sql)
		got, gotRows := shape(t.Context(), henge, sql)
		if got != want || all && gotRows != wantRows {
			t.Errorf("%s\n got %s\n%s\nwant %s\n%s", sql, got, gotRows, want, wantRows)
		}
	}
}
