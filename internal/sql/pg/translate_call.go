package pg

import (
	"strings"

	"github.com/hengedb/henge/internal/sql/pgtype"
)

// castTypes are the types of package sql.
var castTypes = map[pgtype.OID]string{
	pgtype.Bool: "BOOLEAN", pgtype.Int2: "SMALLINT", pgtype.Int4: "INTEGER", pgtype.Int8: "BIGINT", pgtype.Float4: "FLOAT",
	pgtype.Float8: "DOUBLE", pgtype.NumericT: "DECIMAL", pgtype.Text: "VARCHAR", pgtype.Varchar: "VARCHAR", pgtype.BPChar: "VARCHAR",
	pgtype.NameType: "VARCHAR", pgtype.DateType: "DATE", pgtype.TimestampT: "TIMESTAMP", pgtype.Timestamptz: "TIMESTAMP",
	pgtype.UUID: "VARCHAR", pgtype.OIDType: "BIGINT", pgtype.Unknown: "VARCHAR",
}

func (t *translator) cast(x *Cast) {
	if t.plain {
		t.put("CAST(")
		t.expr(x.X)
		t.put(" AS ", x.Type.Name, strings.Repeat("[]", x.Type.Array), ")")
		return
	}
	typ := pgtype.Named(x.Type.Name)
	if typ == 0 {
		t.refuse(x.Type.At, "type %q does not exist", x.Type.Name)
		return
	}
	if p, ok := x.X.(*Param); ok {
		if _, known := t.out.Casts[p.N]; !known {
			t.out.Casts[p.N] = x.Type
		}
	}
	if typ == pgtype.IntervalT {
		if v, ok := spanOf(x); ok {
			t.span(v, x.Pos())
			return
		}
	}
	if c, ok := x.X.(*Const); ok && c.Kind == Text && (typ.IsTime() || typ == pgtype.Bool || x.Type.Array > 0) {
		if v, ok := t.constantOf(x); ok {
			t.value(v, typ, x.Pos())
			return
		}
	}
	if typ == pgtype.JSON || typ == pgtype.JSONB {
		t.put("TRY_PARSE_JSON(")
		t.expr(x.X)
		t.put(")")
		return
	}
	name := castTypes[typ]
	if name == "" {
		if v, ok := t.constantOf(x); ok {
			t.value(v, typ, x.Pos())
			return
		}
		t.refuse(x.Type.At, "casts to type %s are not supported over datasources", typ.Name())
		return
	}
	t.put("CAST(")
	t.expr(x.X)
	t.put(" AS ", name, strings.Repeat(" ARRAY", x.Type.Array), ")")
}

// renamed are the functions that have another name in package sql.
var renamed = map[string]string{
	"now": "CURRENT_TIMESTAMP", "transaction_timestamp": "CURRENT_TIMESTAMP", "statement_timestamp": "CURRENT_TIMESTAMP",
	"clock_timestamp": "CURRENT_TIMESTAMP", "current_timestamp": "CURRENT_TIMESTAMP", "localtimestamp": "CURRENT_TIMESTAMP",
	"current_date": "CURRENT_DATE",
}

var sameName = map[string]string{
	"length": "CHAR_LENGTH", "char_length": "CHAR_LENGTH", "character_length": "CHAR_LENGTH", "substr": "SUBSTRING", "pow": "POWER",
	"ceil": "CEIL", "ceiling": "CEIL", "array_to_string": "ARRAY_TO_STRING", "string_to_array": "STRING_TO_ARRAY", "stddev": "STDDEV_SAMP",
	"variance": "VAR_SAMP", "array_append": "ARRAY_APPEND", "array_cat": "ARRAY_CONCAT", "cardinality": "ARRAY_LENGTH",
	"to_json": "TO_JSON_STRING",
	"log":     "LOG10",
}

// sessionCalls are functions of the session: what they give stands in the text.
var sessionCalls = words(`version current_database current_catalog current_schema current_schemas current_user session_user user
	current_role current_setting pg_backend_pid txid_current pg_is_in_recovery inet_server_addr inet_server_port pg_postmaster_start_time
	quote_ident 	quote_literal format_type to_regclass has_table_privilege has_schema_privilege pg_typeof age make_interval to_regtype`)

func (t *translator) call(x *Call) {
	if t.plain {
		t.plainCall(x)
		return
	}
	if name := renamed[x.Name]; name != "" && x.Over == nil {
		t.put(name)
		return
	}
	if sessionCalls[x.Name] {
		if v, ok := t.constantOf(x); ok {
			t.value(v, pgtype.Text, x.Pos())
			return
		}
	}
	switch x.Name {
	case "extract", "date_part":
		if f, ok := first(x.Args); ok && len(x.Args) == 2 {
			t.put("EXTRACT(", strings.ToUpper(lower(f)), " FROM ")
			t.against(&Name{Parts: []Ident{{Name: "__time"}}}, x.Args[1])
			t.put(")")
			return
		}
	case "date_trunc":
		if t.dateTrunc(x) {
			return
		}
	case "position":
		if len(x.Args) == 2 {
			t.put("POSITION(")
			t.operand(x.Args[0])
			t.put(" IN ")
			t.operand(x.Args[1])
			t.put(")")
			return
		}
	case "to_timestamp":
		if len(x.Args) == 1 {
			t.put("MILLIS_TO_TIMESTAMP(CAST(")
			t.operand(x.Args[0])
			t.put(" * 1000 AS BIGINT))")
			return
		}
	case "to_char":
		if t.toChar(x) {
			return
		}
	case "percentile_cont", "percentile_disc":
		if len(x.Args) == 1 && len(x.Within) == 1 {
			t.put("APPROX_QUANTILE_DS(")
			t.expr(x.Within[0].X)
			t.put(", ")
			t.expr(x.Args[0])
			t.put(")")
			t.filterOver(x)
			return
		}
	case "bool_and", "every", "bool_or":
		if len(x.Args) == 1 {
			t.put("(", map[bool]string{true: "MAX", false: "MIN"}[x.Name == "bool_or"], "(CASE WHEN ")
			t.expr(x.Args[0])
			t.put(" THEN 1 WHEN NOT ")
			t.operand(x.Args[0])
			t.put(" THEN 0 END)")
			t.filterOver(x)
			t.put(" = 1)")
			return
		}
	case "timezone":
		if z, ok := first(x.Args); ok && len(x.Args) == 2 {
			// The clock of a zone is the time shifted by what the zone is off UTC.
			if strings.EqualFold(z, "utc") || strings.EqualFold(z, "gmt") || strings.EqualFold(z, "z") {
				t.expr(x.Args[1])
				return
			}
			t.put("TIME_PARSE(TIME_FORMAT(")
			t.expr(x.Args[1])
			t.put(", 'yyyy-MM-dd HH:mm:ss.SSS', ", literal(z), "), 'yyyy-MM-dd HH:mm:ss.SSS', 'UTC')")
			return
		}
	case "array_length", "array_upper":
		if len(x.Args) == 2 {
			t.put("ARRAY_LENGTH(")
			t.expr(x.Args[0])
			t.put(")")
			return
		}
	}
	name := strings.ToUpper(x.Raw)
	if n := sameName[x.Name]; n != "" {
		name = n
	}
	t.put(name, "(")
	t.args(x)
	t.put(")")
	t.filterOver(x)
}

func first(args []Expr) (string, bool) {
	if len(args) == 0 {
		return "", false
	}
	c, ok := args[0].(*Const)
	if !ok || c.Kind != Text {
		return "", false
	}
	return c.Text, true
}

func (t *translator) args(x *Call) {
	if x.Star {
		t.put("*")
	}
	if x.Distinct {
		t.put("DISTINCT ")
	}
	t.list(x.Args)
	if len(x.OrderBy) > 0 {
		t.put(" ORDER BY ")
		t.order(x.OrderBy)
	}
}

func (t *translator) filterOver(x *Call) {
	if x.Filter != nil {
		t.put(" FILTER (WHERE ")
		t.expr(x.Filter)
		t.put(")")
	}
	if x.Over == nil {
		return
	}
	t.put(" OVER ")
	if x.Over.Name != "" && x.Over.PartitionBy == nil && x.Over.OrderBy == nil && x.Over.Frame == "" {
		t.put(quote(x.Over.Name))
		return
	}
	t.put("(")
	t.window(x.Over)
	t.put(")")
}

func (t *translator) plainCall(x *Call) {
	t.put(x.Schema, ".", x.Name, "(")
	t.args(x)
	if len(x.Within) > 0 {
		t.put(" WITHIN ")
		t.order(x.Within)
	}
	t.put(")")
	t.filterOver(x)
}

var truncPeriods = map[string]string{
	"second": "PT1S", "minute": "PT1M", "hour": "PT1H", "day": "P1D", "week": "P1W", "month": "P1M", "quarter": "P3M", "year": "P1Y",
	"decade": "P10Y", "century": "P100Y", "millisecond": "PT0.001S", "milliseconds": "PT0.001S",
}

func (t *translator) dateTrunc(x *Call) bool {
	unit, ok := first(x.Args)
	period := truncPeriods[strings.TrimSuffix(lower(unit), "s")]
	if !ok || period == "" || len(x.Args) < 2 || strings.Contains(period, ".") {
		return false
	}
	t.put("TIME_FLOOR(")
	t.against(&Name{Parts: []Ident{{Name: "__time"}}}, x.Args[1])
	t.put(", ", literal(period))
	if len(x.Args) == 3 {
		t.put(", NULL, ")
		t.expr(x.Args[2])
	}
	t.put(")")
	return true
}

// charForms are the parts of to_char's patterns, longest first, with those of TIME_FORMAT.
var charForms = [][2]string{
	{"YYYY", "yyyy"}, {"IYYY", "xxxx"}, {"HH24", "HH"}, {"HH12", "hh"}, {"Month", "MMMM"}, {"MONTH", "MMMM"}, {"month", "MMMM"}, {"DDD",
		"DDD"},
	{"Mon", "MMM"}, {"MON", "MMM"}, {"mon", "MMM"}, {"Day", "EEEE"}, {"DAY", "EEEE"}, {"day", "EEEE"}, {"YY", "yy"}, {"MM", "MM"}, {"DD",
		"dd"},
	{"Dy", "EEE"}, {"DY", "EEE"}, {"HH", "hh"}, {"MI", "mm"}, {"SS", "ss"}, {"MS", "SSS"}, {"AM", "a"}, {"PM", "a"}, {"am", "a"}, {"pm", "a"},
	{"IW", "ww"}, {"TZ", "z"}, {"yyyy", "yyyy"}, {"mm", "MM"}, {"dd", "dd"}, {"hh24", "HH"}, {"mi", "mm"}, {"ss", "ss"}, {"ID", "e"},
}

func (t *translator) toChar(x *Call) bool {
	if len(x.Args) != 2 {
		return false
	}
	c, ok := x.Args[1].(*Const)
	if !ok || c.Kind != Text {
		return false
	}
	var b strings.Builder
	for rest := c.Text; rest != ""; {
		found := false
		if rest[0] == '"' {
			if end := strings.IndexByte(rest[1:], '"'); end >= 0 {
				b.WriteString("'" + strings.ReplaceAll(rest[1:1+end], "'", "''") + "'")
				rest = rest[end+2:]
				continue
			}
		}
		for _, f := range charForms {
			if strings.HasPrefix(rest, f[0]) {
				b.WriteString(f[1])
				rest, found = rest[len(f[0]):], true
				break
			}
		}
		if found {
			continue
		}
		if isLetter(rest[0]) && rest[0] != '_' {
			if rest[0] == 'T' {
				b.WriteString("'T'")
				rest = rest[1:]
				continue
			}
			return false
		}
		b.WriteByte(rest[0])
		rest = rest[1:]
	}
	t.put("TIME_FORMAT(")
	t.expr(x.Args[0])
	t.put(", ", literal(b.String()), ")")
	return true
}
