package infoschema

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

var wiki = &Catalog{Name: "druid", Tables: []Table{
	{Name: "wiki", Columns: []plan.Column{
		{Name: "__time", Type: expr.Of(expr.Timestamp).NotNull()},
		{Name: "page", Type: expr.Of(expr.Varchar)},
		{Name: "tags", Type: expr.MultiString},
		{Name: "n", Type: expr.Of(expr.BigInt)},
		{Name: "f", Type: expr.Of(expr.Float)},
		{Name: "d", Type: expr.Of(expr.Double)},
		{Name: "a", Type: expr.ArrayOf(expr.Of(expr.BigInt))},
		{Name: "j", Type: expr.JSON},
	}},
	{Schema: "lookup", Name: "country", Joinable: true, Broadcast: true, Columns: []plan.Column{
		{Name: "k", Type: expr.Of(expr.Varchar).NotNull()}, {Name: "v", Type: expr.Of(expr.Varchar)},
	}},
}}

// rows returns the rows of a table for which the given column has the given value, as text.
func rows(t *testing.T, name, column, value string, want ...string) [][]any {
	t.Helper()
	all := Columns(Information, name)
	cols := make([]plan.Column, len(want)+1)
	for i, w := range append([]string{column}, want...) {
		at := slices.IndexFunc(all, func(c plan.Column) bool { return c.Name == w })
		if at < 0 {
			t.Fatalf("%s has no column %s", name, w)
		}
		cols[i] = all[at]
	}
	b, err := Rows(wiki, name, cols)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]any
	for i := range b.N {
		if b.Cols[0].StringAt(i) != value {
			continue
		}
		row := make([]any, len(want))
		for c := range want {
			row[c] = b.Cols[c+1].ValueAt(i)
		}
		out = append(out, row)
	}
	return out
}

func TestColumnsDescribeTypes(t *testing.T) {
	got := rows(t, "COLUMNS", "TABLE_NAME", "wiki", "COLUMN_NAME", "ORDINAL_POSITION", "COLUMN_DEFAULT", "IS_NULLABLE", "DATA_TYPE",
		"NUMERIC_PRECISION", "NUMERIC_SCALE", "DATETIME_PRECISION", "COLLATION_NAME", "JDBC_TYPE")
	utf := "UTF-16LE$en_US$primary"
	unset := int64(-2147483648)
	want := [][]any{
		{"__time", int64(1), "", "NO", "TIMESTAMP", nil, nil, int64(3), nil, int64(93)},
		{"page", int64(2), "", "YES", "VARCHAR", nil, nil, nil, utf, int64(12)},
		{"tags", int64(3), "", "YES", "VARCHAR", nil, nil, nil, utf, int64(12)},
		{"n", int64(4), "", "YES", "BIGINT", int64(19), int64(0), nil, nil, int64(-5)},
		{"f", int64(5), "", "YES", "FLOAT", int64(15), unset, nil, nil, int64(6)},
		{"d", int64(6), "", "YES", "DOUBLE", int64(15), unset, nil, nil, int64(8)},
		{"a", int64(7), "", "YES", "ARRAY", nil, nil, nil, nil, int64(2003)},
		{"j", int64(8), "", "YES", "COMPLEX<json>", nil, nil, nil, nil, int64(1111)},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Druid lists these as it does, whatever is in them.
func TestColumnsOfTheTablesThemselves(t *testing.T) {
	for table, want := range map[string]string{"SCHEMATA": "", "TABLES": "", "ROUTINES": "SIGNATURES", "server_segments": "server segment_id",
		"COLUMNS": "CHARACTER_MAXIMUM_LENGTH CHARACTER_OCTET_LENGTH NUMERIC_PRECISION NUMERIC_PRECISION_RADIX NUMERIC_SCALE DATETIME_PRECISION CHARACTER_SET_NAME COLLATION_NAME"} {
		var nullable []string
		for _, row := range rows(t, "COLUMNS", "TABLE_NAME", table, "COLUMN_NAME", "IS_NULLABLE") {
			if row[1] == "YES" {
				nullable = append(nullable, row[0].(string))
			}
		}
		if got := strings.Join(nullable, " "); got != want {
			t.Errorf("%s: nullable are [%s], want [%s]", table, got, want)
		}
	}
}

func TestTablesAndSchemata(t *testing.T) {
	for _, c := range []struct {
		name string
		want []any
	}{
		{"wiki", []any{"druid", "TABLE", "NO", "NO"}},
		{"country", []any{"lookup", "TABLE", "YES", "YES"}},
		{"segments", []any{"sys", "SYSTEM_TABLE", "NO", "NO"}},
		{"COLUMNS", []any{"INFORMATION_SCHEMA", "SYSTEM_TABLE", "NO", "NO"}},
	} {
		got := rows(t, "TABLES", "TABLE_NAME", c.name, "TABLE_SCHEMA", "TABLE_TYPE", "IS_JOINABLE", "IS_BROADCAST")
		if d := cmp.Diff([][]any{c.want}, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	got := rows(t, "SCHEMATA", "CATALOG_NAME", "druid", "SCHEMA_NAME", "SQL_PATH")
	want := [][]any{{"INFORMATION_SCHEMA", nil}, {"druid", nil}, {"lookup", nil}, {"sys", nil}, {"view", nil}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestRoutinesListFunctionsAndAggregates(t *testing.T) {
	for name, aggregator := range map[string]string{"TIME_FLOOR": "NO", "COUNT": "YES", "APPROX_COUNT_DISTINCT": "YES"} {
		got := rows(t, "ROUTINES", "ROUTINE_NAME", name, "ROUTINE_TYPE", "IS_AGGREGATOR", "SIGNATURES")
		if len(got) != 1 || got[0][1] != aggregator || !strings.Contains(got[0][2].(string), name) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestUnknownNamesHaveNoColumns(t *testing.T) {
	if Columns(System, "nothing") != nil || Columns("nothing", "segments") != nil || Columns(Information, "tables") != nil {
		t.Error("names of system tables are exact")
	}
	if _, err := Rows(wiki, "nothing", nil); err == nil {
		t.Error("a table that does not exist has rows")
	}
}
