package pgcatalog

import (
	"fmt"
	"testing"

	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// wideCatalog is one of 800 datasources with 2,000 columns each.
func wideCatalog() *Snapshot {
	columns := []Column{{"__time", pgtype.Timestamptz, true}}
	for i := range 1999 {
		columns = append(columns, Column{fmt.Sprintf("column_%04d", i), pgtype.Text, false})
	}
	var list []*Relation
	for i := range 800 {
		list = append(list, &Relation{Schema: Public, Name: fmt.Sprintf("table_%03d", i), Rows: 1000, Columns: columns})
	}
	return NewSnapshot(list)
}

// wideStatements are what clients ask of one table, or of the list of tables.
var wideStatements = map[string]string{
	"psql d": `SELECT n.nspname, c.relname, CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' END,
		pg_catalog.pg_get_userbyid(c.relowner)
		FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
		WHERE c.relkind IN ('r','p','v','m','S','f','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast'
		AND n.nspname <> 'information_schema' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2`,
	"psql d table": `SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
		(SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true)
		FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull,
		(SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type t WHERE c.oid = a.attcollation AND t.oid = a.atttypid
		AND a.attcollation <> t.typcollation) AS attcollation FROM pg_catalog.pg_attribute a
		WHERE a.attrelid = 'table_500'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
	"columns of a name": `select column_name, data_type, is_nullable from information_schema.columns
		where table_schema = 'public' and table_name = 'table_500' order by ordinal_position`,
	"pgjdbc columns": `SELECT n.nspname,c.relname,a.attname,a.atttypid,a.attnotnull OR (t.typtype = 'd' AND t.typnotnull) AS attnotnull,
		a.atttypmod,a.attlen,t.typtypmod,row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum) AS attnum,
		pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS adsrc,dsc.description,t.typbasetype,t.typtype
		FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid) JOIN pg_catalog.pg_attribute a ON (a.attrelid=c.oid)
		JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid) LEFT JOIN pg_catalog.pg_attrdef def ON (a.attrelid=def.adrelid AND a.attnum = def.adnum)
		LEFT JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)
		WHERE c.relkind in ('r','p','v','f','m') and a.attnum > 0 AND NOT a.attisdropped AND n.nspname LIKE 'public'
		AND c.relname LIKE 'table\_500'
		ORDER BY nspname,c.relname,attnum`,
	"tables":       `select table_schema, table_name, table_type from information_schema.tables where table_schema not in ('pg_catalog')`,
	"asyncpg type": `select t.oid, t.typname from pg_type t join pg_namespace n on n.oid = t.typnamespace where t.oid = 25`,
}

// BenchmarkWideCatalog answers statements over a catalog of 1,600,000 columns.
func BenchmarkWideCatalog(b *testing.B) {
	s := testSession()
	s.Snapshot = wideCatalog()
	for name, sql := range wideStatements {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				list, err := pg.Parse(sql)
				if err != nil {
					b.Fatal(err)
				}
				q, ok := list[0].Node.(*pg.Select)
				if !ok {
					b.Fatalf("%s is no query", sql)
				}
				p, err := Compile(s, q.Query, nil, 0)
				if err != nil {
					b.Fatal(err)
				}
				rows, err := p.Run(s, nil)
				if err != nil || len(rows) == 0 {
					b.Fatalf("%d rows, %v", len(rows), err)
				}
			}
		})
	}
}
