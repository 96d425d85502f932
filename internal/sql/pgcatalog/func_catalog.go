package pgcatalog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/sql/pgtype"
)

// functions are the functions of one row, by name.
var functions = map[string]function{}

// sessionText is a function of the session alone.
func sessionText(ret pgtype.OID, f func(s *Session) any) function {
	return function{ret: ret, nulls: true, of: func(c *called) any { return f(c.s) }}
}

// visible says that an object is found without its schema.
func visible() function {
	return function{args: types(oidT), least: 1, ret: boolT, of: func(c *called) any {
		if r := c.s.Snapshot.byOID[c.num(0)]; r != nil {
			return slices.Contains(c.s.searchPath(), r.Schema)
		}
		if b := known().byOID[c.num(0)]; b != nil {
			return b.schema == Catalog
		}
		return true
	}}
}

// privilege answers has_.._privilege: what is shown may be read, and nothing else may be done.
func privilege() function {
	return function{args: types(anyT, anyT, textT, textT), least: 1, ret: boolT, of: func(c *called) any {
		wanted := ""
		for i := len(c.args) - 1; i >= 0 && wanted == ""; i-- {
			wanted = c.str(i)
		}
		for w := range strings.SplitSeq(wanted, ",") {
			switch strings.ToUpper(strings.TrimSpace(w)) {
			case "SELECT", "USAGE", "CONNECT", "EXECUTE", "MEMBER", "SELECT WITH GRANT OPTION":
				return true
			}
		}
		return false
	}}
}

func init() {
	user := sessionText(nameT, func(s *Session) any { return s.User })
	null := func(ret pgtype.OID, args ...pgtype.OID) function { return always(ret, nil, args...) }
	for name, f := range map[string]function{
		"version":          sessionText(textT, func(s *Session) any { return s.Version }),
		"current_database": sessionText(nameT, func(s *Session) any { return s.Database }),
		"current_catalog":  sessionText(nameT, func(s *Session) any { return s.Database }),
		"current_schema": sessionText(nameT, func(s *Session) any {
			if path := s.searchPath(); len(path) > 0 {
				return path[0]
			}
			return nil
		}),
		"current_schemas": {args: types(boolT), least: 1, ret: 1003, of: func(c *called) any {
			path := c.s.searchPath()
			if c.args[0] == true && !slices.Contains(path, Catalog) {
				path = append([]string{Catalog}, path...)
			}
			return pgtype.Strings(nameT, path)
		}},
		"current_user": user, "session_user": user, "user": user, "current_role": user,
		"pg_backend_pid":     sessionText(intT, func(s *Session) any { return s.PID }),
		"txid_current":       sessionText(longT, func(s *Session) any { return s.Transaction }),
		"pg_current_xact_id": sessionText(5069, func(s *Session) any { return s.Transaction }), "txid_current_if_assigned": null(longT),
		"txid_snapshot_xmin": always(longT, int64(1), anyT), "pg_is_in_recovery": always(boolT, false), "pg_jit_available": always(boolT, false),
		"pg_my_temp_schema": always(oidT, int64(0)), "pg_is_other_temp_schema": always(boolT, false, oidT),
		"pg_postmaster_start_time": sessionText(pgtype.Timestamptz, func(s *Session) any { return pgtype.Timestamp(s.Started.UnixMicro()) }),
		"pg_conf_load_time":        sessionText(pgtype.Timestamptz, func(s *Session) any { return pgtype.Timestamp(s.Started.UnixMicro()) }),
		"inet_server_addr":         null(pgtype.Inet), "inet_client_addr": null(pgtype.Inet), "inet_server_port": null(intT),
		"inet_client_port":    null(intT),
		"pg_table_is_visible": visible(), "pg_type_is_visible": visible(), "pg_function_is_visible": visible(),
		"pg_operator_is_visible":  visible(),
		"pg_collation_is_visible": visible(), "pg_opclass_is_visible": visible(), "pg_opfamily_is_visible": visible(),
		"pg_conversion_is_visible": visible(), "pg_ts_config_is_visible": visible(), "pg_ts_dict_is_visible": visible(),
		"pg_ts_parser_is_visible": visible(), "pg_ts_template_is_visible": visible(), "pg_statistics_obj_is_visible": visible(),
		"has_table_privilege": privilege(), "has_schema_privilege": privilege(), "has_database_privilege": privilege(),
		"has_column_privilege": privilege(), "has_any_column_privilege": privilege(), "has_function_privilege": privilege(),
		"has_sequence_privilege": privilege(), "has_language_privilege": privilege(), "has_type_privilege": privilege(),
		"has_tablespace_privilege": privilege(), "has_foreign_data_wrapper_privilege": privilege(), "has_server_privilege": privilege(),
		"pg_has_role": always(boolT, true, anyT, anyT, textT), "row_security_active": always(boolT, false, anyT),
		"format_type": {args: types(oidT, intT), least: 1, ret: textT, nulls: true, of: formatType},
		"pg_get_expr": null(textT, anyT, anyT, boolT), "pg_get_constraintdef": null(textT, oidT, boolT), "pg_get_indexdef": null(textT, oidT,
			intT, boolT),
		"pg_get_viewdef": always(textT, "", anyT, anyT), "pg_get_functiondef": null(textT, oidT), "pg_get_function_arguments": null(textT, oidT),
		"pg_get_function_identity_arguments": null(textT, oidT), "pg_get_function_arg_default": null(textT, oidT, intT),
		"pg_get_function_sqlbody": null(textT, oidT),
		"pg_get_function_result": {args: types(oidT), least: 1, ret: textT, of: func(c *called) any {
			for _, p := range known().procs {
				if p.oid == c.num(0) {
					return c.s.formatType(p.ret)
				}
			}
			return nil
		}},
		"pg_get_triggerdef": null(textT, oidT, boolT), "pg_get_ruledef": null(textT, oidT, boolT), "pg_get_partkeydef": null(textT, oidT),
		"pg_get_partition_constraintdef": null(textT, oidT), "pg_get_statisticsobjdef": null(textT, oidT),
		"pg_get_statisticsobjdef_columns": null(textT, oidT), "pg_get_statisticsobjdef_expressions": null(1009, oidT),
		"pg_get_serial_sequence": null(textT, textT, textT), "pg_get_replica_identity_index": null(pgtype.Regclass, anyT),
		"pg_get_userbyid": {args: types(oidT), least: 1, ret: nameT, of: func(c *called) any {
			if c.num(0) == ownerOID {
				return c.s.User
			}
			return fmt.Sprintf("unknown (OID=%d)", c.num(0))
		}},
	} {
		addFunction(name, f)
	}
}

func init() {
	null := func(ret pgtype.OID, args ...pgtype.OID) function { return always(ret, nil, args...) }
	size := function{args: types(oidT, textT), least: 1, ret: longT, of: func(*called) any { return int64(0) }}
	comment := null(textT, anyT, anyT)
	for name, f := range map[string]function{
		"obj_description": comment, "shobj_description": comment, "col_description": null(textT, oidT, intT),
		"pg_encoding_to_char": {args: types(intT), least: 1, ret: nameT, of: func(c *called) any {
			return map[int64]string{6: "UTF8", 0: "SQL_ASCII", 8: "LATIN1"}[c.num(0)]
		}},
		"pg_char_to_encoding": {args: types(textT), least: 1, ret: intT, of: func(c *called) any {
			if strings.EqualFold(strings.ReplaceAll(c.str(0), "-", ""), "utf8") {
				return int64(6)
			}
			return int64(-1)
		}},
		"getdatabaseencoding": always(nameT, "UTF8"), "pg_client_encoding": always(nameT, "UTF8"),
		"pg_relation_size": size, "pg_total_relation_size": size, "pg_table_size": size, "pg_indexes_size": size,
		"pg_database_size":       {args: types(anyT), least: 1, ret: longT, of: func(*called) any { return int64(0) }},
		"pg_tablespace_size":     {args: types(anyT), least: 1, ret: longT, of: func(*called) any { return int64(0) }},
		"pg_size_pretty":         {args: types(anyT), least: 1, ret: textT, of: func(c *called) any { return pretty(float(c.args[0])) }},
		"pg_tablespace_location": always(textT, "", oidT), "pg_relation_filenode": always(oidT, int64(0), anyT),
		"pg_relation_is_publishable": always(boolT, false, anyT), "pg_relation_is_updatable": always(intT, int64(0), anyT, boolT),
		"pg_column_is_updatable": always(boolT, false, anyT, anyT, boolT), "pg_collation_for": always(textT, `"default"`, anyT),
		"pg_index_column_has_property": null(boolT, anyT, intT, textT), "pg_index_has_property": null(boolT, anyT, textT),
		"pg_indexam_has_property": null(boolT, anyT, textT), "pg_partition_root": {args: types(pgtype.Regclass), least: 1,
			ret: pgtype.Regclass, of: func(c *called) any { return c.args[0] }},
		"pg_stat_get_numscans": always(longT, int64(0), oidT), "pg_stat_get_live_tuples": always(longT, int64(0), oidT),
		"pg_stat_get_dead_tuples": always(longT, int64(0), oidT), "pg_sequence_last_value": null(longT, anyT),
	} {
		addFunction(name, f)
	}
}

// addFunction lists a function; one with arguments wants one at least.
func addFunction(name string, f function) {
	if f.least == 0 && len(f.args) > 0 && f.nulls {
		f.least = 1
	}
	functions[name] = f
}

func init() {
	null := func(ret pgtype.OID, args ...pgtype.OID) function { return always(ret, nil, args...) }
	for name, f := range map[string]function{
		"current_setting": {args: types(textT, boolT), least: 1, ret: textT, of: func(c *called) any {
			v, ok := c.s.Setting(strings.ToLower(c.str(0)))
			if !ok && (len(c.args) < 2 || c.args[1] != true) {
				fail(c.at, "42704", "unrecognized configuration parameter %q", c.str(0))
			}
			if !ok {
				return nil
			}
			return v
		}},
		"set_config": {args: types(textT, textT, boolT), least: 3, ret: textT, nulls: true, of: func(c *called) any {
			if err := c.s.SetConfig(strings.ToLower(c.str(0)), c.str(1), c.args[2] == true); err != nil {
				value(nil, err, c.at)
			}
			v, _ := c.s.Setting(strings.ToLower(c.str(0)))
			return v
		}},
		"to_regclass": {args: types(textT), least: 1, ret: pgtype.Regclass, of: func(c *called) any {
			if o := c.s.relationOID(c.str(0)); o != 0 {
				return o
			}
			return nil
		}},
		"to_regtype": {args: types(textT), least: 1, ret: pgtype.Regtype, of: func(c *called) any {
			if o := typeOID(c.str(0)); o != 0 {
				return o
			}
			return nil
		}},
		"to_regnamespace": {args: types(textT), least: 1, ret: pgtype.Regnamespac, of: func(c *called) any {
			if o, ok := c.s.Snapshot.namespaces()[strings.Trim(c.str(0), `"`)]; ok {
				return o
			}
			return nil
		}},
		"to_regproc": null(pgtype.Regproc, textT), "to_regrole": null(pgtype.Regrole, textT),
		"pg_typeof": {args: types(anyT), least: 1, ret: pgtype.Regtype, nulls: true, of: func(c *called) any { return int64(c.types[0]) }},
		"pg_sleep": {args: types(pgtype.Float8), least: 1, ret: pgtype.Void, of: func(c *called) any {
			if c.s.Sleep != nil {
				value(nil, c.s.Sleep(time.Duration(float(c.args[0])*float64(time.Second))), c.at)
			}
			return ""
		}},
		"pg_cancel_backend": {args: types(intT), least: 1, ret: boolT, of: func(c *called) any {
			return c.s.Cancel != nil &&
				c.s.Cancel(c.num(0))
		}},
		"pg_advisory_unlock_all": always(pgtype.Void, ""), "pg_advisory_unlock": always(boolT, true, anyT, anyT),
		"pg_try_advisory_lock":        always(boolT, true, anyT, anyT),
		"pg_notification_queue_usage": always(pgtype.Float8, float64(0)), "pg_export_snapshot": always(textT, "00000003-0000001B-1"),
		"array_in": null(arrT, anyT), "_pg_truetypid": {args: types(anyT, anyT), least: 1, ret: oidT,
			of: func(c *called) any { return int64(0) }},
	} {
		addFunction(name, f)
	}
}

// formatType shows a type with its modifier.
func formatType(c *called) any {
	if c.args[0] == nil {
		return nil
	}
	name := c.s.formatType(c.num(0))
	mod := int64(-1)
	if len(c.args) > 1 && c.args[1] != nil {
		mod = c.num(1)
	}
	if o := pgtype.OID(c.num(0)); mod >= 4 && (o == pgtype.Varchar || o == pgtype.BPChar) {
		return fmt.Sprintf("%s(%d)", name, mod-4)
	} else if mod >= 4 && o == pgtype.NumericT {
		return fmt.Sprintf("numeric(%d,%d)", (mod-4)>>16, (mod-4)&0xffff)
	}
	return name
}

func pretty(n float64) string {
	for _, unit := range []string{"bytes", "kB", "MB", "GB", "TB"} {
		if n < 10240 {
			return fmt.Sprintf("%.0f %s", n, unit)
		}
		n /= 1024
	}
	return fmt.Sprintf("%.0f PB", n)
}
