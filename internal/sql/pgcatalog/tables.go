package pgcatalog

import (
	"strconv"

	"github.com/hengedb/henge/internal/sql/pgtype"
)

// row is a row under construction: its columns by name. Columns that are not set are empty: 0, ""
// or false if they are never NULL, else NULL.
type row map[string]any

// makeRow puts a row into the order of a table.
func makeRow(t *builtin, r row) []any {
	out := make([]any, len(t.columns))
	for i, k := range t.columns {
		if v, ok := r[k.Name]; ok {
			out[i] = v
			continue
		}
		if k.NotNull {
			out[i] = zero(k.Type)
		}
	}
	return out
}

func zero(t pgtype.OID) any {
	switch {
	case t == pgtype.Bool:
		return false
	case t.IsInteger() || t.IsOID():
		return int64(0)
	case t == pgtype.Float4 || t == pgtype.Float8:
		return float64(0)
	case t.IsText():
		return ""
	case pgtype.ElementOf(t) != 0:
		return &pgtype.Array{Elem: pgtype.ElementOf(t)}
	}
	return nil
}

// tables are the virtual tables that have rows, by schema and name; all others are empty. A table
// gives all its rows.
var tables = map[string]func(s *Session, add func(row)){}

// perSession are the tables whose rows depend on more than the snapshot.
var perSession = map[string]bool{
	"pg_catalog.pg_settings": true, "pg_catalog.pg_stat_activity": true, "pg_catalog.pg_database": true, "pg_catalog.pg_roles": true,
	"pg_catalog.pg_authid": true, "pg_catalog.pg_user": true, "pg_catalog.pg_shadow": true, "pg_catalog.pg_prepared_statements": true,
	"pg_catalog.pg_cursors": true, "pg_catalog.pg_tables": true, "pg_catalog.pg_views": true, "information_schema.tables": true,
	"information_schema.schemata": true, "information_schema.views": true, "information_schema.information_schema_catalog_name": true,
	"information_schema.enabled_roles": true, "information_schema.applicable_roles": true, "information_schema.table_privileges": true,
	"information_schema.role_table_grants": true, "pg_catalog.pg_group": true,
}

// keyed are the tables of which the rows of one relation can be given alone, by the column that
// names it.
var keyed = map[string]map[string]func(s *Session, v any, add func(row)){
	"pg_catalog.pg_attribute": {"attrelid": attributesOf},
	"information_schema.columns": {"table_name": func(s *Session, v any, add func(row)) {
		for _, r := range s.Snapshot.relations {
			if r.Name == v {
				columnsOf(s, r, add)
			}
		}
		for _, b := range known().tables {
			if b.name == v {
				columnsOf(s, b.relation(), add)
			}
		}
	}},
}

// maxKept bounds the rows of one table that are kept for later statements.
const maxKept = 200_000

// tableRows gives the rows of a virtual table; those whose column has a value where that is at
// least
// 0.
func tableRows(r *run, t *builtin, column int, v any) [][]any {
	name := t.schema + "." + t.name
	if column >= 0 {
		if f := keyed[name][t.columns[column].Name]; f != nil {
			var rows [][]any
			f(r.s, v, func(x row) { rows = append(rows, makeRow(t, x)) })
			return rows
		}
	}
	rows := allRows(r, t, name)
	if column < 0 {
		return rows
	}
	if found, ok := r.s.Snapshot.lookUp(name, column, rows, v); ok {
		return found
	}
	var out [][]any
	for _, row := range rows {
		r.step()
		if row[column] != nil && compare(row[column], v) == 0 {
			out = append(out, row)
		}
	}
	return out
}

func allRows(r *run, t *builtin, name string) [][]any {
	f := tables[name]
	if f == nil {
		return nil
	}
	s := r.s.Snapshot
	if !perSession[name] {
		s.mu.Lock()
		rows, ok := s.tables[name]
		s.mu.Unlock()
		if ok {
			return rows
		}
	}
	rows := [][]any{}
	f(r.s, func(x row) {
		r.step()
		rows = append(rows, makeRow(t, x))
	})
	if !perSession[name] && len(rows) <= maxKept {
		s.mu.Lock()
		s.tables[name] = rows
		s.mu.Unlock()
	}
	return rows
}

// relation is how a table of the catalog looks as a relation.
func (b *builtin) relation() *Relation {
	return &Relation{Schema: b.schema, Name: b.name, Columns: b.columns, View: b.view, oid: b.oid}
}

// namespaceOf is the number of a schema.
func (s *Session) namespaceOf(schema string) int64 { return s.Snapshot.namespaces()[schema] }

// everything lists the relations and the tables of the catalog.
func (s *Session) everything(f func(*Relation)) {
	for _, b := range known().tables {
		f(b.relation())
	}
	for _, r := range s.Snapshot.relations {
		f(r)
	}
}

func init() {
	tables["pg_catalog.pg_namespace"] = func(s *Session, add func(row)) {
		for name, o := range s.Snapshot.namespaces() {
			add(row{"oid": o, "nspname": name, "nspowner": int64(ownerOID)})
		}
	}
	tables["pg_catalog.pg_class"] = classes
	tables["pg_catalog.pg_attribute"] = func(s *Session, add func(row)) {
		s.everything(func(r *Relation) { attributes(r, add) })
	}
	tables["pg_catalog.pg_type"] = typeRows
	tables["pg_catalog.pg_range"] = func(_ *Session, add func(row)) {
		for _, l := range known().ranges {
			add(row{"rngtypid": number(l[0]), "rngsubtype": number(l[1]), "rngmultitypid": number(l[2]), "rngcollation": number(l[3]),
				"rngsubopc": number(l[4])})
		}
	}
	tables["pg_catalog.pg_proc"] = func(_ *Session, add func(row)) {
		for _, p := range known().procs {
			add(row{"oid": p.oid, "proname": p.name, "pronamespace": int64(catalogNamespace), "proowner": int64(ownerOID), "prolang": int64(12),
				"procost": float64(1), "prokind": p.kind, "proisstrict": true, "proretset": p.set, "provolatile": p.volatile, "proparallel": "s",
				"pronargs": int64(len(p.args)), "prorettype": p.ret, "proargtypes": &pgtype.Array{Elem: pgtype.OIDType, Items: p.args},
				"prosrc": p.name})
		}
	}
	tables["pg_catalog.pg_am"] = func(_ *Session, add func(row)) {
		add(row{"oid": int64(2), "amname": "heap", "amtype": "t", "amhandler": int64(3)})
		add(row{"oid": int64(403), "amname": "btree", "amtype": "i", "amhandler": int64(330)})
		add(row{"oid": int64(405), "amname": "hash", "amtype": "i", "amhandler": int64(331)})
	}
	tables["pg_catalog.pg_collation"] = func(_ *Session, add func(row)) {
		for o, n := range map[int64][2]string{100: {"default", "d"}, 950: {"C", "c"}, 951: {"POSIX", "c"}} {
			r := row{"oid": o, "collname": n[0], "collnamespace": int64(catalogNamespace), "collowner": int64(ownerOID), "collprovider": n[1],
				"collisdeterministic": true, "collencoding": int64(-1)}
			if n[1] == "c" {
				r["collcollate"], r["collctype"] = n[0], n[0]
			}
			add(r)
		}
	}
	tables["pg_catalog.pg_language"] = func(_ *Session, add func(row)) {
		for o, n := range map[int64]string{12: "internal", 13: "c", 14: "sql"} {
			add(row{"oid": o, "lanname": n, "lanowner": int64(ownerOID), "lanpltrusted": n == "sql"})
		}
	}
	sessionTables()
	relationTables()
	informationTables()
}

// sessionTables are those of what is not a relation.
func sessionTables() {
	tables["pg_catalog.pg_tablespace"] = func(_ *Session, add func(row)) {
		add(row{"oid": int64(1663), "spcname": "pg_default", "spcowner": int64(ownerOID)})
		add(row{"oid": int64(1664), "spcname": "pg_global", "spcowner": int64(ownerOID)})
	}
	tables["pg_catalog.pg_database"] = func(s *Session, add func(row)) {
		add(row{"oid": int64(databaseOID), "datname": s.Database, "datdba": int64(ownerOID), "encoding": int64(6), "datlocprovider": "c",
			"datallowconn": true, "datconnlimit": int64(-1), "dattablespace": int64(1663), "datcollate": "C.UTF-8", "datctype": "C.UTF-8"})
	}
	role := func(s *Session, add func(row)) {
		add(row{"oid": int64(ownerOID), "rolname": s.User, "rolinherit": true, "rolcanlogin": true, "rolconnlimit": int64(-1),
			"rolpassword": "********",
			"rolsuper":    false})
	}
	tables["pg_catalog.pg_roles"] = role
	tables["pg_catalog.pg_authid"] = role
	tables["pg_catalog.pg_user"] = func(s *Session, add func(row)) {
		add(row{"usename": s.User, "usesysid": int64(ownerOID), "usecreatedb": false, "usesuper": false, "userepl": false, "usebypassrls": false,
			"passwd": "********"})
	}
	tables["pg_catalog.pg_stat_activity"] = func(s *Session, add func(row)) {
		for _, a := range s.Activities() {
			add(row{"datid": int64(databaseOID), "datname": s.Database, "pid": a.PID, "usesysid": int64(ownerOID), "usename": a.User,
				"application_name": a.Application, "backend_type": "client backend", "state": a.State, "query": a.SQL,
				"query_start": pgtype.Timestamp(a.Started.UnixMicro()), "backend_start": pgtype.Timestamp(a.Started.UnixMicro())})
		}
	}
	settingRows := func(s *Session, add func(row)) {
		seen := map[string]bool{}
		values := s.Settings()
		for _, l := range known().settings {
			name := l[0]
			seen[name] = true
			r := row{"name": name, "setting": l[1], "category": l[3], "short_desc": l[4], "context": l[5], "vartype": l[6], "source": "default",
				"boot_val": l[1], "reset_val": l[1], "pending_restart": false}
			if l[2] != "" {
				r["unit"] = l[2]
			}
			if v, ok := s.Setting(lowerASCII(name)); ok {
				r["setting"] = v
			}
			add(r)
		}
		for name, v := range values {
			if !seen[name] && !hasFolded(seen, name) {
				add(row{"name": name, "setting": v, "category": "Customized Options", "short_desc": "", "context": "user", "vartype": "string",
					"source": "session"})
			}
		}
	}
	tables["pg_catalog.pg_settings"] = settingRows
	list := func(of func(s *Session) func() map[string]string, nameColumn string) func(s *Session, add func(row)) {
		return func(s *Session, add func(row)) {
			if f := of(s); f != nil {
				for name, text := range f() {
					add(row{nameColumn: name, "statement": text, "from_sql": false, "is_holdable": false})
				}
			}
		}
	}
	tables["pg_catalog.pg_prepared_statements"] = list(func(s *Session) func() map[string]string { return s.Prepared }, "name")
	tables["pg_catalog.pg_cursors"] = list(func(s *Session) func() map[string]string { return s.Cursors }, "name")
}

func hasFolded(seen map[string]bool, name string) bool {
	for k := range seen {
		if lowerASCII(k) == lowerASCII(name) {
			return true
		}
	}
	return false
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// kindOf is relkind.
func kindOf(r *Relation) string {
	if r.View {
		return "v"
	}
	return "r"
}

func classes(s *Session, add func(row)) {
	s.everything(func(r *Relation) {
		am := int64(2)
		if r.View {
			am = 0
		}
		typ := int64(0)
		if r.oid >= firstOID {
			typ = rowType(r)
		}
		add(row{"oid": r.oid, "relname": r.Name, "relnamespace": s.namespaceOf(r.Schema), "reltype": typ, "relowner": int64(ownerOID),
			"relam":       am,
			"relfilenode": r.oid, "reltuples": max(r.Rows, 0), "relpersistence": "p", "relkind": kindOf(r), "relnatts": int64(len(r.Columns)),
			"relispopulated": true, "relreplident": "n", "relhasrules": r.View})
	})
}

func attributesOf(s *Session, v any, add func(row)) {
	o, ok := v.(int64)
	if !ok {
		return
	}
	if r := s.Snapshot.byOID[o]; r != nil {
		attributes(r, add)
	} else if b := known().byOID[o]; b != nil {
		attributes(b.relation(), add)
	}
}

func attributes(r *Relation, add func(row)) {
	for i, k := range r.Columns {
		align, storage, byVal, collation := layout(k.Type)
		add(row{"attrelid": r.oid, "attname": k.Name, "atttypid": int64(k.Type), "attstattarget": int64(-1), "attlen": int64(k.Type.Size()),
			"attnum": int64(i + 1), "attcacheoff": int64(-1), "atttypmod": int64(-1), "attbyval": byVal, "attalign": align, "attstorage": storage,
			"attnotnull": k.NotNull, "attislocal": true, "attcollation": collation, "attndims": dims(k.Type)})
	}
}

func dims(t pgtype.OID) int64 {
	if pgtype.ElementOf(t) != 0 {
		return 1
	}
	return 0
}

func layout(t pgtype.OID) (align, storage string, byVal bool, collation int64) {
	if k := known().typeByID[int64(t)]; k != nil {
		return k.fields[16], k.fields[17], k.fields[3] == "t", number(k.fields[19])
	}
	return "i", "x", false, 0
}

func typeRows(s *Session, add func(row)) {
	for _, t := range known().types {
		f := t.fields
		add(row{"oid": t.oid, "typname": t.name, "typnamespace": int64(catalogNamespace), "typowner": int64(ownerOID), "typlen": number(f[2]),
			"typbyval": f[3] == "t", "typtype": f[4], "typcategory": f[5], "typispreferred": f[6] == "t", "typisdefined": true, "typdelim": f[7],
			"typelem": number(f[8]), "typarray": number(f[9]), "typinput": number(f[10]), "typoutput": number(f[11]), "typreceive": number(f[12]),
			"typsend": number(f[13]), "typmodin": number(f[14]), "typmodout": number(f[15]), "typalign": f[16], "typstorage": f[17],
			"typbasetype": number(f[18]), "typcollation": number(f[19]), "typsubscript": number(f[20]), "typtypmod": int64(-1)})
	}
	for _, r := range s.Snapshot.relations {
		add(row{"oid": rowType(r), "typname": r.Name, "typnamespace": s.namespaceOf(r.Schema), "typowner": int64(ownerOID), "typlen": int64(-1),
			"typtype": "c", "typcategory": "C", "typisdefined": true, "typdelim": ",", "typrelid": r.oid, "typinput": known().procName["record_in"],
			"typoutput": known().procName["record_out"], "typreceive": known().procName["record_recv"], "typsend": known().procName["record_send"],
			"typalign": "d", "typstorage": "x", "typtypmod": int64(-1)})
	}
}

// relationTables are the views of pg_catalog over relations.
func relationTables() {
	tables["pg_catalog.pg_tables"] = func(s *Session, add func(row)) {
		s.everything(func(r *Relation) {
			if !r.View {
				add(row{"schemaname": r.Schema, "tablename": r.Name, "tableowner": s.User, "hasindexes": false, "hasrules": false,
					"hastriggers": false, "rowsecurity": false})
			}
		})
	}
	tables["pg_catalog.pg_views"] = func(s *Session, add func(row)) {
		s.everything(func(r *Relation) {
			if r.View {
				add(row{"schemaname": r.Schema, "viewname": r.Name, "viewowner": s.User, "definition": ""})
			}
		})
	}
	stat := func(s *Session, add func(row)) {
		for _, r := range s.Snapshot.relations {
			if !r.View {
				add(row{"relid": r.oid, "schemaname": r.Schema, "relname": r.Name, "n_live_tup": int64(r.Rows), "n_dead_tup": int64(0),
					"seq_scan": int64(0)})
			}
		}
	}
	tables["pg_catalog.pg_stat_user_tables"] = stat
	tables["pg_catalog.pg_stat_all_tables"] = stat
}

// informationTables are those of information_schema.
func informationTables() {
	tables["information_schema.information_schema_catalog_name"] = func(s *Session, add func(row)) { add(row{"catalog_name": s.Database}) }
	tables["information_schema.schemata"] = func(s *Session, add func(row)) {
		for name := range s.Snapshot.namespaces() {
			add(row{"catalog_name": s.Database, "schema_name": name, "schema_owner": s.User})
		}
	}
	tables["information_schema.tables"] = func(s *Session, add func(row)) {
		s.everything(func(r *Relation) {
			kind := "BASE TABLE"
			if r.View {
				kind = "VIEW"
			}
			add(row{"table_catalog": s.Database, "table_schema": r.Schema, "table_name": r.Name, "table_type": kind, "is_insertable_into": "NO",
				"is_typed": "NO"})
		})
	}
	tables["information_schema.views"] = func(s *Session, add func(row)) {
		s.everything(func(r *Relation) {
			if r.View {
				add(row{"table_catalog": s.Database, "table_schema": r.Schema, "table_name": r.Name, "check_option": "NONE", "is_updatable": "NO",
					"is_insertable_into": "NO", "is_trigger_updatable": "NO", "is_trigger_deletable": "NO", "is_trigger_insertable_into": "NO"})
			}
		})
	}
	tables["information_schema.columns"] = func(s *Session, add func(row)) {
		s.everything(func(r *Relation) { columnsOf(s, r, add) })
	}
	perSession["information_schema.columns"] = true // it has the name of the database
	grants := func(s *Session, add func(row)) {
		s.everything(func(r *Relation) {
			add(row{"grantor": s.User, "grantee": s.User, "table_catalog": s.Database, "table_schema": r.Schema, "table_name": r.Name,
				"privilege_type": "SELECT", "is_grantable": "NO", "with_hierarchy": "YES"})
		})
	}
	tables["information_schema.table_privileges"] = grants
	tables["information_schema.role_table_grants"] = grants
	tables["information_schema.enabled_roles"] = func(s *Session, add func(row)) { add(row{"role_name": s.User}) }
}

func columnsOf(s *Session, r *Relation, add func(row)) {
	for i, k := range r.Columns {
		x := row{"table_catalog": s.Database, "table_schema": r.Schema, "table_name": r.Name, "column_name": k.Name,
			"ordinal_position": int64(i + 1),
			"is_nullable":      "YES", "udt_catalog": s.Database, "udt_schema": Catalog, "udt_name": k.Type.Internal(),
			"dtd_identifier":      strconv.Itoa(i + 1),
			"is_self_referencing": "NO", "is_identity": "NO", "is_generated": "NEVER", "is_updatable": "NO", "identity_cycle": "NO",
			"data_type": k.Type.Name()}
		if k.NotNull {
			x["is_nullable"] = "NO"
		}
		if pgtype.ElementOf(k.Type) != 0 && k.Type != pgtype.Int2Vector && k.Type != pgtype.OIDVector {
			x["data_type"] = "ARRAY"
		}
		switch k.Type {
		case pgtype.Int2:
			x["numeric_precision"], x["numeric_precision_radix"], x["numeric_scale"] = int64(16), int64(2), int64(0)
		case pgtype.Int4:
			x["numeric_precision"], x["numeric_precision_radix"], x["numeric_scale"] = int64(32), int64(2), int64(0)
		case pgtype.Int8:
			x["numeric_precision"], x["numeric_precision_radix"], x["numeric_scale"] = int64(64), int64(2), int64(0)
		case pgtype.Float4:
			x["numeric_precision"], x["numeric_precision_radix"] = int64(24), int64(2)
		case pgtype.Float8:
			x["numeric_precision"], x["numeric_precision_radix"] = int64(53), int64(2)
		case pgtype.NumericT:
			x["numeric_precision_radix"] = int64(10)
		case pgtype.Text, pgtype.Varchar:
			x["character_octet_length"] = int64(1 << 30)
		case pgtype.Timestamptz, pgtype.TimestampT:
			x["datetime_precision"] = int64(6)
		case pgtype.DateType:
			x["datetime_precision"] = int64(0)
		}
		add(x)
	}
}
