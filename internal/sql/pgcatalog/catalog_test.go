package pgcatalog

import (
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

func testSession() *Session {
	snapshot := NewSnapshot([]*Relation{
		{Schema: Public, Name: "wiki", Rows: 10, Columns: []Column{{"__time", pgtype.Timestamptz, true}, {"page", pgtype.Text, false}, {"added", pgtype.Int8, false}}},
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
	for sql, want := range map[string]string{
		"SELECT 1, 'a', 1.50, true, null, 1 + 2 * 3, 7 / 2, 7 % 4, -3":                                 "1|a|1.50|t|~|7|3|3|-3",
		"select relname, relkind from pg_class where relnamespace = 'public'::regnamespace order by 1": "ads|r\nwiki|r",
		"SELECT c.relname FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relname OPERATOR(pg_catalog.~) '^(wiki)$' COLLATE pg_catalog.default AND pg_catalog.pg_table_is_visible(c.oid)": "wiki",
		"select attname, format_type(atttypid, atttypmod), (select count(*) from pg_attrdef d where d.adrelid = a.attrelid) from pg_attribute a where attrelid = 'wiki'::regclass and attnum > 0 order by attnum":                          "__time|timestamp with time zone|0\npage|text|0\nadded|bigint|0",
		"select n.nspname, count(*) from pg_class c join pg_namespace n on c.relnamespace = n.oid where n.nspname in ('public', 'sys') group by 1 order by 1":                                                                              "public|2\nsys|1",
		"select nspname = any(current_schemas(true)), current_schemas(false), current_schema from pg_namespace where nspname = 'public'":                                                                                                   "t|{public}|public",
		"select r, s from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) cross join (select 5) as q(s)":                                                                                                                "1|5",
		"select (k).n, (k).x from (select information_schema._pg_expandarray(array['a','b']) as k) q":                                                                                                                                      "1|a\n2|b",
		"select x.a from unnest(array[3,1,2]) with ordinality as x(a, o) order by o desc":                                                                                                                                                  "2\n1\n3",
		"with recursive t(n) as (select 1 union all select n + 1 from t where n < 4) select sum(n), string_agg(n::text, ',' order by n desc) from t":                                                                                       "10|4,3,2,1",
		"select distinct on (a) a, b from (values (1, 2), (1, 1), (2, 9)) v(a, b) order by a, b":                                                                                                                                           "1|1\n2|9",
		"select a, row_number() over (partition by a order by b desc) from (values (1, 2), (1, 1), (2, 9)) v(a, b) order by 1, 2":                                                                                                          "1|1\n1|2\n2|1",
		"select t.typname from pg_type t join pg_proc p on p.oid = t.typreceive where p.proname = 'int4recv'":                                                                                                                              "int4",
		"select 'pg_class'::regclass, 'pg_class'::regclass::oid, 1259::regclass, 23::regtype, 'wiki'::regclass::text":                                                                                                                      "pg_class|1259|pg_class|integer|wiki",
		"select array(select relname from pg_class where relnamespace = 2200 order by 1)":                                                                                                                                                  "{ads,wiki}",
		"select case when 1 = 2 then 'a' end, coalesce(null, 'x'), nullif(1, 1), greatest(1, 3, 2), 'abc' like 'a%', 'ABC' ilike 'a_c', 'a' ~* 'A'":                                                                                        "~|x|~|3|t|t|t",
		"select current_setting('server_version_num')::int / 100, quote_ident('A b'), parse_ident('a.b'), (parse_ident('a.b'))[1]":                                                                                                         `1500|"A b"|{a,b}|a`,
		"select extract(epoch from interval '1 day'), date_trunc('month', now()), now() - interval '1 day', to_char(now(), 'YYYY-MM-DD HH24:MI:SS')":                                                                                       "86400|2024-05-01 00:00:00+00|2024-05-05 07:08:09+00|2024-05-06 07:08:09",
		"select i.indkey[0] from pg_index i": "",
		"select 1 where 1 in (select 2 union select 1) and not exists (select 1 from pg_index) and (1, 2) in (select 1, 2)":                                                  "1",
		"select count(*), max(relname), array_agg(relname order by relname desc) filter (where relname > 'b') from pg_class where relnamespace = 2200":                       "2|wiki|{wiki}",
		"select * from (select 1 a, 2 b) x natural join (select 1 a, 3 c) y":                                                                                                 "1|2|3",
		"select x.a, y.b from (select 1 a) x left join lateral (select x.a + 1 as b) y on true":                                                                              "1|2",
		"select a from (values (1), (2)) v(a) except select 2 union all select 7":                                                                                            "1\n7",
		"select table_name, column_name, data_type, udt_name from information_schema.columns where table_schema = 'public' and table_name = 'ads' order by ordinal_position": "ads|__time|timestamp with time zone|timestamptz\nads|tags|ARRAY|_text",
		"select oid, typname from pg_type where typname = any(array['int4','_int4']) order by 1":                                                                             "23|int4\n1007|_int4",
		"select obj_description(c.oid, 'pg_class'), c.oid::regclass from pg_class c where relname = 'ads'":                                                                   "~|ads",
		"select pg_get_userbyid(datdba), datname from pg_database":                                                                                                           "ann|henge",
		"select has_table_privilege('wiki', 'SELECT'), has_table_privilege('ann', 'wiki', 'INSERT')":                                                                         "t|f",
		"select 2 > 1 is true, null is unknown, 1 is distinct from null, not false and true or null":                                                                         "t|t|t|t",
		"select version(), pg_typeof(1), '{1,2}'::int[] || 3, array[1,2] @> array[1], 'a' || 1":                                                                              "PostgreSQL 15.0 (Henge)|integer|{1,2,3}|t|a1",
		"select a + 1 as b from (select 1 as a) q order by b limit 1 offset 0":                                                                                               "2",
		"select relname from pg_class where oid = (select attrelid from pg_attribute where attname = 'added')":                                                               "wiki",
	} {
		got, err := runText(t, s, sql)
		if err != nil || got != want {
			t.Errorf("%s\n got %q (%v)\nwant %q", sql, got, err, want)
		}
	}
}

func TestParametersOfTheCatalog(t *testing.T) {
	s := testSession()
	got, err := runText(t, s, "select relname from pg_class where relname = $1 and relkind = any($2) and $3::int4 = 5", "wiki", pgtype.Strings(pgtype.Text, []string{"r", "v"}), int64(5))
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
		e, ok := err.(*pg.Error)
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
