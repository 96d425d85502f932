// Package infoschema implements the tables of INFORMATION_SCHEMA and the columns of the tables of
// sys.
//
// Columns returns the columns of a table, for the binder of package sql. Rows builds the rows of an
// INFORMATION_SCHEMA table from a Catalog, a plain list of tables and columns, which the caller has
// already restricted to the permissions of the reader. The rows of sys tables are built where the
// facts are (the Broker, the Coordinator), in the order of Columns.
package infoschema

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// The names of the schemas.
const (
	Information = "INFORMATION_SCHEMA"
	System      = "sys"
)

// table is a name and its columns.
type table struct {
	name string
	cols []plan.Column
	// required are the columns that are listed as not nullable.
	required map[string]bool
}

// define makes a table. Columns are VARCHAR, with # before the name BIGINT; with ! before that they
// are listed as not nullable, as Druid lists them, also where it has NULLs in them: to the planner
// every column is nullable. See quirk Q014.
func define(name string, columns ...string) table {
	t := table{name: name, required: map[string]bool{}}
	for _, c := range columns {
		c, required := strings.CutPrefix(c, "!")
		typ := expr.Of(expr.Varchar)
		if c[0] == '#' {
			c, typ = c[1:], expr.Of(expr.BigInt)
		}
		t.cols = append(t.cols, plan.Column{Name: c, Type: typ})
		t.required[c] = required
	}
	return t
}

// Columns of docs/sql.md.
var schemas = map[string][]table{
	Information: {
		define("SCHEMATA", "!CATALOG_NAME", "!SCHEMA_NAME", "!SCHEMA_OWNER", "!DEFAULT_CHARACTER_SET_CATALOG", "!DEFAULT_CHARACTER_SET_SCHEMA",
			"!DEFAULT_CHARACTER_SET_NAME", "!SQL_PATH"),
		define("TABLES", "!TABLE_CATALOG", "!TABLE_SCHEMA", "!TABLE_NAME", "!TABLE_TYPE", "!IS_JOINABLE", "!IS_BROADCAST"),
		define("COLUMNS", "!TABLE_CATALOG", "!TABLE_SCHEMA", "!TABLE_NAME", "!COLUMN_NAME", "!#ORDINAL_POSITION", "!COLUMN_DEFAULT", "!IS_NULLABLE",
			"!DATA_TYPE", "CHARACTER_MAXIMUM_LENGTH", "CHARACTER_OCTET_LENGTH", "#NUMERIC_PRECISION", "#NUMERIC_PRECISION_RADIX", "#NUMERIC_SCALE",
			"#DATETIME_PRECISION", "CHARACTER_SET_NAME", "COLLATION_NAME", "!#JDBC_TYPE"),
		define("ROUTINES", "!ROUTINE_CATALOG", "!ROUTINE_SCHEMA", "!ROUTINE_NAME", "!ROUTINE_TYPE", "!IS_AGGREGATOR", "SIGNATURES"),
	},
	System: {
		define("segments", "segment_id", "datasource", "start", "end", "#size", "version", "#partition_num", "#num_replicas", "#num_rows",
			"#is_active", "#is_published", "#is_available", "#is_realtime", "#is_overshadowed", "shard_spec", "dimensions", "metrics",
			"projections", "last_compaction_state", "#replication_factor"),
		define("servers", "server", "host", "#plaintext_port", "#tls_port", "server_type", "tier", "#curr_size", "#max_size", "#storage_size",
			"#is_leader", "start_time", "version", "build_revision", "labels", "#available_processors", "#total_memory"),
		define("server_segments", "server", "segment_id"),
		define("tasks", "task_id", "group_id", "type", "datasource", "created_time", "queue_insertion_time", "status", "runner_status",
			"#duration", "location", "host", "#plaintext_port", "#tls_port", "error_msg"),
		define("supervisors", "supervisor_id", "datasource", "state", "detailed_state", "#healthy", "type", "source", "#suspended", "spec"),
		define("server_properties", "server", "service_name", "node_roles", "property", "value", "error_message"),
		define("queries", "id", "engine", "state", "info", "start_time", "#duration", "#num_rows", "#memory", "user", "error_msg"),
		define("decisions", "subject", "subject_id", "datasource", "topic", "outcome", "reason", "details"),
	},
}

// Columns returns the columns of a table of INFORMATION_SCHEMA or sys, or nil if it does not exist.
// Callers must not change them.
func Columns(schema, name string) []plan.Column {
	for _, t := range schemas[schema] {
		if t.name == name {
			return t.cols
		}
	}
	return nil
}

// Required reports whether a column of a table of INFORMATION_SCHEMA or sys is listed as not
// nullable.
func Required(schema, name, column string) bool {
	for _, t := range schemas[schema] {
		if t.name == name {
			return t.required[column]
		}
	}
	return false
}

// Tables returns the names of a schema's tables, sorted.
func Tables(schema string) []string {
	var out []string
	for _, t := range schemas[schema] {
		out = append(out, t.name)
	}
	slices.Sort(out)
	return out
}
