package pgcatalog

import (
	"strings"

	"github.com/hengedb/henge/internal/sql/pgtype"
)

// maxSeries bounds what a function gives.
const maxSeries = 1_000_000

func element(args []pgtype.OID) (pgtype.OID, []Column) { return pgtype.ElementOf(args[0]), nil }

func plain(t pgtype.OID) func([]pgtype.OID) (pgtype.OID, []Column) {
	return func([]pgtype.OID) (pgtype.OID, []Column) { return t, nil }
}

func fields(list ...Column) func([]pgtype.OID) (pgtype.OID, []Column) {
	return func([]pgtype.OID) (pgtype.OID, []Column) { return pgtype.RecordT, list }
}

func textFields(names string) func([]pgtype.OID) (pgtype.OID, []Column) {
	var list []Column
	for n := range strings.FieldsSeq(names) {
		n, t, typed := strings.Cut(n, ":")
		k := Column{Name: n, Type: pgtype.Text}
		if typed {
			k.Type = pgtype.Named(t)
		}
		list = append(list, k)
	}
	return fields(list...)
}

func nothing(*called) []any { return nil }

// flatten lists the elements of an array of any dimensions.
func flatten(a *pgtype.Array) (out []any) {
	for _, item := range a.Items {
		if inner, ok := item.(*pgtype.Array); ok {
			out = append(out, flatten(inner)...)
			continue
		}
		out = append(out, item)
	}
	return out
}

// setFunctions are the functions that give several rows.
var setFunctions map[string]*setFunction

func init() { // they name what names them
	setFunctions = map[string]*setFunction{
		"unnest":              {1, 1, element, func(c *called) []any { return flatten(c.arr(0)) }},
		"generate_series":     {2, 3, seriesType, series},
		"generate_subscripts": {2, 3, plain(pgtype.Int4), subscripts},
		"_pg_expandarray": {1, 1, func(args []pgtype.OID) (pgtype.OID, []Column) {
			return pgtype.RecordT, []Column{{Name: "x", Type: pgtype.ElementOf(args[0])}, {Name: "n", Type: pgtype.Int4}}
		}, expandArray},
		"regexp_split_to_table": {2, 3, plain(pgtype.Text), func(c *called) []any {
			var out []any
			for _, s := range pattern(c.str(1), strings.Contains(c.str(2), "i"), c.at).Split(c.str(0), -1) {
				out = append(out, s)
			}
			return out
		}},
		"string_to_table": {2, 2, plain(pgtype.Text), func(c *called) []any {
			var out []any
			for s := range strings.SplitSeq(c.str(0), c.str(1)) {
				out = append(out, s)
			}
			return out
		}},
		"pg_get_keywords": {0, 0, textFields("word catcode:char barelabel:bool catdesc baredesc"), func(*called) []any {
			var out []any
			for _, k := range known().keywords {
				out = append(out, record(k[0], k[1], k[2] == "t", k[3], k[4]))
			}
			return out
		}},
		"pg_listening_channels":           {0, 0, plain(pgtype.Text), nothing},
		"aclexplode":                      {1, 1, textFields("grantor:oid grantee:oid privilege_type is_grantable:bool"), nothing},
		"pg_options_to_table":             {1, 1, textFields("option_name option_value"), nothing},
		"pg_available_extensions":         {0, 0, textFields("name:name default_version comment"), nothing},
		"pg_available_extension_versions": {0, 0, textFields("name:name version"), nothing},
		"pg_partition_ancestors":          {1, 1, plain(pgtype.Regclass), func(c *called) []any { return []any{c.args[0]} }},
		"pg_partition_tree":               {1, 1, textFields("relid:regclass parentrelid:regclass isleaf:bool level:int4"), nothing},
		"pg_get_publication_tables":       {1, 1, textFields("relid:oid attrs:int2vector qual:pg_node_tree"), nothing},
		"pg_timezone_names":               {0, 0, textFields("name abbrev utc_offset:interval is_dst:bool"), nothing},
		"pg_lock_status":                  {0, 0, textFields("locktype"), nothing},
		"pg_stat_get_activity":            {0, 1, textFields("datid:oid pid:int4"), nothing},
		"pg_get_multixact_members":        {1, 1, textFields("xid:xid mode"), nothing},
		"json_array_elements_text":        {1, 1, plain(pgtype.Text), nothing},
	}
}

func record(items ...any) *pgtype.Record { return &pgtype.Record{Items: items} }

func seriesType(args []pgtype.OID) (pgtype.OID, []Column) {
	switch {
	case args[0].IsTime():
		if args[0] == pgtype.DateType {
			return pgtype.Timestamptz, nil
		}
		return args[0], nil
	case args[0] == pgtype.Text && len(args) == 3:
		return pgtype.Timestamptz, nil
	case rank(args[0]) == 0:
		return 0, nil
	case rank(args[1]) > rank(args[0]):
		return args[1], nil
	}
	return args[0], nil
}

func series(c *called) []any {
	var out []any
	add := func(v any) bool {
		if len(out) >= maxSeries {
			fail(c.at, "54000", "generate_series gives more than %d rows", maxSeries)
		}
		out = append(out, v)
		return true
	}
	if !c.types[0].IsTime() && c.types[0] != pgtype.Text {
		var step any = int64(1)
		if len(c.args) > 2 {
			step = c.args[2]
		}
		sign := compare(step, int64(0))
		if sign == 0 {
			fail(c.at, "22023", "step size cannot equal zero")
		}
		for v := c.args[0]; compare(v, c.args[1])*sign <= 0; v = arithmetic("+", v, step, c.at) {
			add(v)
		}
		return out
	}
	typ := pgtype.Timestamptz
	if c.types[0] == pgtype.TimestampT {
		typ = c.types[0]
	}
	v := convert(c.s, c.args[0], c.types[0], typ, c.at)
	end := convert(c.s, c.args[1], c.types[1], typ, c.at)
	if len(c.args) < 3 {
		fail(c.at, "42883", "generate_series of times needs a step")
	}
	step, _ := convert(c.s, c.args[2], c.types[2], pgtype.IntervalT, c.at).(pgtype.Interval)
	sign := compare(intervalMicros(step), int64(0))
	if sign == 0 {
		fail(c.at, "22023", "step size cannot equal zero")
	}
	for ; compare(v, end)*sign <= 0; v = arithmetic("+", v, step, c.at) {
		add(v)
	}
	return out
}

func subscripts(c *called) []any {
	a := c.arr(0)
	var out []any
	for i := range a.Items {
		out = append(out, int64(a.Lower+i))
	}
	return out
}

func expandArray(c *called) []any {
	var out []any
	for i, item := range c.arr(0).Items {
		out = append(out, record(item, int64(i+1)))
	}
	return out
}
