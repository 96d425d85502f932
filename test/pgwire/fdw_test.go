package pgwire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hengedb/henge/internal/testkit/postgres"
)

// foreignTables has a real PostgreSQL read datasources as its own tables.
func foreignTables(t *testing.T, address string) {
	c, err := pgx.Connect(t.Context(), postgres.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context()) //nolint:errcheck // the test is over
	if _, err := c.Exec(t.Context(), "create extension postgres_fdw"); err != nil {
		t.Skipf("this PostgreSQL has no postgres_fdw: %v", err)
	}
	host, port, _ := strings.Cut(address, ":")
	for _, sql := range []string{
		fmt.Sprintf("create server henge foreign data wrapper postgres_fdw options (host '%s', port '%s', dbname 'henge', fetch_size '2')",
			host, port),
		"create user mapping for current_user server henge options (user 'ann', password_required 'false')",
		"create schema far", "import foreign schema public limit to (wiki, sink) from server henge into far", "set timezone = 'UTC'",
		"set search_path = far, public", "create table own (page text, owner text)", "insert into own values ('Main', 'bob'), ('Help', 'eve')",
	} {
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	// remote is the statement that PostgreSQL sends for one.
	remote := func(sql string) string {
		rows, err := c.Query(t.Context(), "explain (verbose, costs off) "+sql)
		if err != nil {
			return err.Error()
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err.Error()
		}
		for _, l := range lines {
			if _, found, ok := strings.Cut(l, "Remote SQL: "); ok {
				return found
			}
		}
		return strings.Join(lines, "\n")
	}
	for _, step := range []struct{ sql, want, remote string }{
		{"select page, added, delta, __time, tags from wiki order by __time", "Main|10|1.5|2024-01-01 00:00:00+00|{a,b}\nHelp|20|2.5|" +
			"2024-01-01 01:00:00+00|{b}\nMain|30|3.5|2024-01-02 00:00:00+00|{c}", "ORDER BY"},
		{"select added from wiki where page = 'Main' and __time >= '2024-01-02'", "30", "WHERE"},
		{"select page, count(*), sum(added), avg(delta), min(__time) from wiki group by page order by page",
			"Help|1|20|2.5|2024-01-01 01:00:00+00\nMain|2|40|2.5|2024-01-01 00:00:00+00", "GROUP BY"},
		{"select page, max(added) from wiki where added > 5 group by page having count(*) > 1", "Main|30", "added > 5"},
		{"select page from wiki where page in ('Help', 'Nope') or added between 25 and 35 order by added limit 5", "Help\nMain", "WHERE"},
		{"select count(*) from wiki where page like 'M%' and tags is not null", "2", "page ~~ 'M%'"},
		{"select owner, sum(added) from wiki join own using (page) group by owner order by owner", "bob|40\neve|20", ""},
		{"select w.page, s.delta from wiki w join sink s on w.__time = s.__time and w.page = s.page where w.added = 10", "Main|1.25", "JOIN"},
		{"select distinct page from wiki order by page desc", "Main\nHelp", ""},
	} {
		for _, estimate := range []string{"false", "true"} { // with its own estimates, and with those of Henge by EXPLAIN
			if _, err := c.Exec(t.Context(), "alter server henge options ("+map[string]string{"false": "add", "true": "set"}[estimate]+
				" use_remote_estimate '"+estimate+"')"); err != nil {
				t.Fatal(err)
			}
			got := answer(t, c, step.sql)
			if got != step.want {
				t.Errorf("%s\n got %s\nwant %s", step.sql, got, step.want)
			}
			if sent := remote(step.sql); !strings.Contains(sent, step.remote) {
				t.Errorf("%s: PostgreSQL sent %s, want %s in it", step.sql, sent, step.remote)
			}
		}
		if _, err := c.Exec(t.Context(), "alter server henge options (drop use_remote_estimate)"); err != nil {
			t.Fatal(err)
		}
	}
}

// answer is the rows of a query as text.
func answer(t *testing.T, c *pgx.Conn, sql string) string {
	t.Helper()
	r := c.PgConn().ExecParams(t.Context(), sql, nil, nil, nil, nil)
	var list []string
	for r.NextRow() {
		var values []string
		for _, v := range r.Values() {
			values = append(values, string(v))
		}
		list = append(list, strings.Join(values, "|"))
	}
	if _, err := r.Close(); err != nil {
		return err.Error()
	}
	return strings.Join(list, "\n")
}
