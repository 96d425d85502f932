package pgcatalog

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

func testSession() *Session {
	snapshot := NewSnapshot([]*Relation{
		{Schema: Public, Name: "wiki", Rows: 10, Columns: []Column{{"__time", pgtype.Timestamptz, true}, {"page", pgtype.Text, false},
			{"added", pgtype.Int8, false}}},
		{Schema: Public, Name: "ads", Columns: []Column{{"__time", pgtype.Timestamptz, true}, {"tags", 1009, false}}},
		{Schema: "sys", Name: "segments", View: true, Columns: []Column{{"segment_id", pgtype.Text, false}}},
	})
	settings := map[string]string{"search_path": `"$user", public`, "server_version_num": "150000", "timezone": "UTC"}
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	return &Session{Snapshot: snapshot, Database: "henge", User: "ann", PID: 7, Zone: time.UTC, Now: at, Began: at, Started: at,
		Version:    "PostgreSQL 15.0 (Henge)",
		Setting:    func(name string) (string, bool) { v, ok := settings[name]; return v, ok },
		Settings:   func() map[string]string { return settings },
		SetConfig:  func(name, v string, _ bool) error { settings[name] = v; return nil },
		Activities: func() []Activity { return nil },
	}
}

func runText(t *testing.T, s *Session, sql string, params ...any) (string, error) {
	t.Helper()
	list, err := pg.Parse(sql)
	if err != nil {
		return "", err
	}
	q, ok := list[0].Node.(*pg.Select)
	if !ok {
		if n, is := list[0].Node.(*pg.Native); is {
			return "", n.Why
		}
		t.Fatalf("%s is a %T", sql, list[0].Node)
	}
	p, err := Compile(s, q.Query, nil, list[0].Params)
	if err != nil {
		return "", err
	}
	rows, err := p.Run(s, params)
	if err != nil {
		return "", err
	}
	var out []string
	for _, row := range rows {
		var fields []string
		for i, v := range row {
			if v == nil {
				fields = append(fields, "~")
				continue
			}
			fields = append(fields, string(pgtype.AppendText(nil, p.Columns[i].Type, v, s.style())))
		}
		out = append(out, strings.Join(fields, "|"))
	}
	return strings.Join(out, "\n"), nil
}

func TestStatementsOverTheCatalog(t *testing.T) {
	s := testSession()
	script, err := os.ReadFile("testdata/statements.txt")
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(strings.TrimSpace(string(script)), "\n\n") {
		sql, want, ok := strings.Cut(part+"\n", "\n----\n")
		if !ok {
			t.Fatalf("no line of dashes in %q", part)
		}
		want = strings.TrimSpace(want)
		got, err := runText(t, s, sql)
		if err != nil || got != want {
			t.Errorf("%s\n got %q (%v)\nwant %q", sql, got, err, want)
		}
	}
}

func TestParametersOfTheCatalog(t *testing.T) {
	s := testSession()
	got, err := runText(t, s, "select relname from pg_class where relname = $1 and relkind = any($2) and $3::int4 = 5", "wiki",
		pgtype.Strings(pgtype.Text, []string{"r", "v"}), int64(5))
	if err != nil || got != "wiki" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestStatementsThatMeanNothing(t *testing.T) {
	s := testSession()
	for sql, code := range map[string]string{
		"select a": "42703", "select * from nothing": "42P01", "select x.a from pg_class": "42P01", "select nope(1)": "42883",
		"select 1 / 0": "22012", "select 'a'::int": "22P02", "select 'x'::regclass": "42P01", "select (select 1 union select 2)": "21000",
		"select 1 + true": "42883", "select 'a' ~ '('": "2201B", "select relname, oid from pg_class order by 3": "42P10",
		"select count(count(*)) from pg_class": "42803", "select 1 limit -1": "2201W", "select * ": "42601", "select 1::nope": "42704",
		"select oid from pg_class a, pg_type b": "42702", "select 1 where count(*) > 1": "42803", "select 99999999999::int4": "22003",
		"select * from generate_series(1, 100000000)": "54000", "select sum(1) over w": "42704", "select current_setting('nope')": "42704",
	} {
		_, err := runText(t, s, sql)
		e, ok := errors.AsType[*pg.Error](err)
		if !ok || e.Code != code {
			t.Errorf("%s: %v, want %s", sql, err, code)
		}
	}
}

func TestOidsAreStable(t *testing.T) {
	a, b := testSession().Snapshot, testSession().Snapshot
	for _, r := range a.Relations() {
		if o := b.Relation(r.Schema, r.Name).OID(); o != r.OID() || o < firstOID {
			t.Errorf("%s has the oids %d and %d", r.Name, r.OID(), o)
		}
	}
}
