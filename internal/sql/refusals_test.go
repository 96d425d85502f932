package sql

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
)

type refusal struct{ text, want string }

func refused(t *testing.T, list []refusal, change ...func(*Request)) {
	t.Helper()
	for _, c := range list {
		if _, err := prepare(c.text, change...); err == nil || err.Error() != c.want {
			t.Errorf("%.200s\ngives %v\nwant  %s", c.text, err, c.want)
		}
	}
}

// Arguments of table functions that don't fit.
func TestRefusedTableFunctions(t *testing.T) {
	refused(t, []refusal{
		{`SELECT * FROM TABLE(EXTERN('{}', '{"type":"json"}')) EXTEND (a VARCHAR)`,
			`Invalid value for the field [inputSource]. Reason: [it must be a JSON object with a member [type]]`},
		{`SELECT * FROM TABLE(EXTERN('', '{"type":"json"}')) EXTEND (a VARCHAR)`,
			`EXTERN requires a value for the parameter [inputSource]`},
		{`SELECT * FROM TABLE(EXTERN('{"type":"inline","data":"a"}')) EXTEND (a VARCHAR)`,
			`EXTERN requires a value for the parameter [inputFormat]`},
		{`SELECT * FROM TABLE(EXTERN('{"type":"inline","data":"a"}', '{"type":"json"}', '[{"name":"a","type":"string"}]')) EXTEND (a VARCHAR)`,
			`EXTERN requires either a [signature] value or an EXTEND clause, but not both`},
		{`SELECT * FROM TABLE(EXTERN('{"type":"inline","data":"a"}', '{"type":"json"}', '{'))`,
			`Invalid value for the field [signature]. Reason: [it ends too early, at byte [1]]`},
		{`SELECT * FROM TABLE(EXTERN('{"type":"inline","data":"a"}', '{"type":"json"}', '[{"name":"a","type":"word"}]'))`,
			`Invalid value for the field [signature]. Reason: [column [a] has the unknown type [word]]`},
		{`SELECT * FROM TABLE(EXTERN('{"type":"inline","data":"a"}', '{"type":"json"}', inputFormat => '{}'))`,
			`Argument [inputFormat] of EXTERN is given twice (line [1], column [94])`},
		{`SELECT * FROM TABLE(EXTERN(1, '{"type":"json"}')) EXTEND (a VARCHAR)`,
			`Argument [inputSource] of EXTERN must be a string (line [1], column [21])`},
		{`SELECT * FROM TABLE(INLINE('a', 'csv')) EXTEND (a VARCHAR)`,
			`Arguments of INLINE must be named, as in [name => value] (line [1], column [28])`},
		{`SELECT * FROM TABLE(INLINE(data => 'a', data => 'b', format => 'csv')) EXTEND (a VARCHAR)`,
			`Argument [data] of INLINE is given twice (line [1], column [49])`},
		{`SELECT * FROM TABLE(INLINE(data => ARRAY[1], format => 'csv')) EXTEND (a VARCHAR)`,
			`Argument [data] of INLINE must be an array of strings (line [1], column [21])`},
		{`SELECT * FROM TABLE(INLINE(data => 1, format => 'csv')) EXTEND (a VARCHAR)`,
			`Argument [data] of INLINE must be an array of strings (line [1], column [21])`},
		{`SELECT * FROM TABLE(INLINE(format => 'csv')) EXTEND (a VARCHAR)`,
			`Argument [data] of INLINE must be given (line [1], column [21])`},
		{`SELECT * FROM TABLE(INLINE(data => 'a')) EXTEND (a VARCHAR)`,
			`Argument [format] of INLINE must be given (line [1], column [21])`},
		{`SELECT * FROM TABLE(INLINE(data => 'a', format => 'csv', skipHeaderRows => 'x')) EXTEND (a VARCHAR)`,
			`Argument [skipHeaderRows] of INLINE must be a whole number (line [1], column [21])`},
		{`SELECT * FROM TABLE(HTTP(format => 'csv')) EXTEND (a VARCHAR)`,
			`Argument [uris] of HTTP must be given (line [1], column [21])`},
		{`SELECT * FROM TABLE(HTTP(uris => 'http://x/', headers => 'a', format => 'csv')) EXTEND (a VARCHAR)`,
			`Argument [headers] of HTTP must be a JSON object of strings (line [1], column [21])`},
		{`SELECT * FROM TABLE(HTTP(uris => 'http://x/', password => 'a', passwordEnvVar => 'b', format => 'csv')) EXTEND (a VARCHAR)`,
			`Only one of [password] and [passwordEnvVar] may be given (line [1], column [21])`},
		{`SELECT * FROM TABLE(LOCALFILES(format => 'csv')) EXTEND (a VARCHAR)`,
			`LOCALFILES needs [baseDir] with [filter], or [files] (line [1], column [21])`},
		{`SELECT * FROM TABLE(LOCALFILES(files => 'a', filter => '*', format => 'csv')) EXTEND (a VARCHAR)`,
			`LOCALFILES takes [baseDir] with [filter], or [files], but not both (line [1], column [21])`},
		{`SELECT * FROM TABLE(S3(bucket => 'b', format => 'csv')) EXTEND (a VARCHAR)`,
			`S3 needs [uris], [prefixes], or [bucket] with [paths] (line [1], column [21])`},
	}, func(r *Request) { r.Engine = MSQ })
}

// Clauses of INSERT, REPLACE and exports that can't be.
func TestRefusedWrites(t *testing.T) {
	refused(t, []refusal{
		{`SET sqlOuterLimit = 5; INSERT INTO x SELECT * FROM t PARTITIONED BY ALL`,
			`Context parameter [sqlOuterLimit] cannot be provided on operator [INSERT]`},
		{`SET sqlOuterLimit = 5; REPLACE INTO x OVERWRITE ALL SELECT * FROM t PARTITIONED BY ALL`,
			`Context parameter [sqlOuterLimit] cannot be provided on operator [REPLACE]`},
		{`SET sqlOuterLimit = 5; INSERT INTO EXTERN(LOCAL(exportPath => '/x')) AS CSV SELECT dim1 FROM t`,
			`Context parameter [sqlOuterLimit] cannot be provided on operator [INSERT]`},
		{`INSERT INTO x SELECT * FROM t OFFSET 2 PARTITIONED BY ALL`,
			`INSERT and REPLACE queries cannot have an OFFSET.`},
		{`INSERT INTO x SELECT * FROM t PARTITIONED BY CEIL(__time TO DAY)`,
			`PARTITIONED BY clause only supports FLOOR(__time TO <unit> and TIME_FLOOR(__time, period) functions`},
		{`INSERT INTO x SELECT * FROM t PARTITIONED BY TIME_FLOOR(__time)`,
			`TIME_FLOOR in PARTITIONED BY clause must have 2 arguments, but only [1] provided.`},
		{`INSERT INTO x SELECT * FROM t PARTITIONED BY TIME_FLOOR(cnt, 'P1D')`,
			`The first argument to TIME_FLOOR in PARTITIONED BY clause can only be __time`},
		{`INSERT INTO x SELECT * FROM t PARTITIONED BY TIME_FLOOR(__time, 'day')`,
			`granularity['day'] is an invalid period string`},
		{`INSERT INTO x SELECT * FROM t PARTITIONED BY ALL CLUSTERED BY 0`,
			`Ordinal [0] specified in the CLUSTERED BY clause is invalid. It must be a positive integer.`},
		{`INSERT INTO x SELECT * FROM t PARTITIONED BY ALL CLUSTERED BY -1`,
			`Ordinal [-1] specified in the CLUSTERED BY clause is invalid. It must be a positive integer.`},
		{`REPLACE INTO x OVERWRITE WHERE __time >= INTERVAL '1' DAY SELECT * FROM t PARTITIONED BY ALL`,
			`Cannot get a timestamp from sql expression [INTERVAL '1' DAY]`},
		{`REPLACE INTO x OVERWRITE WHERE __time >= 5 SELECT * FROM t PARTITIONED BY ALL`,
			`Cannot get a timestamp from sql expression [5]`},
		{`REPLACE INTO x OVERWRITE WHERE __time >= CAST(NULL AS TIMESTAMP) SELECT * FROM t PARTITIONED BY ALL`,
			`Cannot get a timestamp from sql expression [CAST(NULL AS TIMESTAMP)]`},
		{`REPLACE INTO x OVERWRITE WHERE __time >= CAST(RAND() AS VARCHAR) SELECT * FROM t PARTITIONED BY ALL`,
			`Cannot get a timestamp from sql expression [CAST(RAND() AS VARCHAR)]`},
		{`REPLACE INTO EXTERN(LOCAL(exportPath => '/x')) AS CSV OVERWRITE ALL SELECT dim1 FROM t`,
			`REPLACE operations do no support EXTERN destinations. Use INSERT statements to write to an external destination.`},
		{`INSERT INTO EXTERN(LOCAL(exportPath => '/x')) SELECT dim1 FROM t`,
			`Exporting rows into an EXTERN destination requires an AS clause to specify the format, but none was found.`},
		{`INSERT INTO EXTERN(AZURE(exportPath => '/x')) AS CSV SELECT dim1 FROM t`,
			`Export destination [azure] is unknown; use one of [google, local, s3] (line [1], column [20])`},
	}, func(r *Request) { r.Engine = MSQ })
}

// Values of parameters that aren't of their type.
func TestRefusedParams(t *testing.T) {
	object := map[string]any{"a": "b"}
	for _, c := range []struct {
		param Param
		want  string
	}{
		{Param{"BOOLEAN", "maybe"}, "Value of parameter [1] can't be read as type [BOOLEAN]"},
		{Param{"BIGINT", "few"}, "Value of parameter [1] can't be read as type [BIGINT]"},
		{Param{"DOUBLE", "some"}, "Value of parameter [1] can't be read as type [DOUBLE]"},
		{Param{"DATE", "noon"}, "Value of parameter [1] can't be read as type [DATE]"},
		{Param{"TIMESTAMP", "noon"}, "Value of parameter [1] can't be read as type [TIMESTAMP]"},
		{Param{"ANY", object}, "A parameter can't be an object"},
		{Param{"INT", 1}, "Type [INT] of parameter [1] is not a SQL type name. Write instead: INTEGER"},
		{Param{"text", "a"}, "Type [text] of parameter [1] is not a SQL type name. Write instead: VARCHAR"},
		{Param{"integer", 1}, "Type [integer] of parameter [1] is not a SQL type name; names of types are in capital letters here"},
		{Param{"ARRAY", "a"}, "parameter [1] is of type ARRAY, but its value is not a JSON array"},
	} {
		refused(t, []refusal{{"SELECT ?", c.want}}, func(r *Request) { r.Params = []Param{c.param} })
	}
}

// Values of context parameters that aren't of their type.
func TestRefusedContext(t *testing.T) {
	refused(t, []refusal{{"SELECT 1", "Expected key [bufferGrouperMaxLoadFactor] to be a Float, but got [java.lang.Boolean]"}}, func(r *Request) {
		r.Context = map[string]any{"bufferGrouperMaxLoadFactor": true}
	})
}

// wideCatalog has a table of half as many columns as a query can't have.
type wideCatalog struct{ testCatalog }

func (c wideCatalog) Table(ctx context.Context, schema Schema, name string) (*Table, error) {
	if name != "half" {
		return c.testCatalog.Table(ctx, schema, name)
	}
	t := &Table{Columns: make([]plan.Column, maxColumns/2)}
	for i := range t.Columns {
		t.Columns[i] = plan.Column{Name: fmt.Sprint("c", i), Type: expr.Of(expr.BigInt)}
	}
	return t, nil
}

// Statements beyond the bounds of limits.go.
func TestRefusedSizes(t *testing.T) {
	tower := "WITH w0 AS (SELECT 1 AS a)"
	for i := range 10 {
		tower += fmt.Sprintf(", w%d AS (SELECT * FROM w%d UNION ALL SELECT * FROM w%d)", i+1, i, i)
	}
	inner := "TRUE" // each query uses a column of each around it
	for i := 11; i >= 0; i-- {
		uses := ""
		for outer := range i {
			uses += fmt.Sprintf(" AND q%d.m1 > q%d.m1", i, outer)
		}
		inner = fmt.Sprintf("EXISTS (SELECT 1 FROM t q%d WHERE %s%s)", i, inner, uses)
	}
	refused(t, []refusal{
		{"SELECT 1 FROM t WHERE " + inner,
			"The columns of outer queries in this query make its plan larger than [10000] operators (line [1], column [97])"},
		{strings.Repeat("SELECT * FROM (", maxQueryDepth) + "SELECT 1" + strings.Repeat(")", maxQueryDepth),
			"Queries are nested deeper than [200] levels (line [1], column [3001])"},
		{tower + " SELECT * FROM w10", "WITH queries are used more than [1000] times (line [1], column [50])"},
		{"SELECT 1 FROM t WHERE cnt IN (cnt" + strings.Repeat(", cnt", syntax.MaxExpressions) + ")",
			"Statement has more than [100000] names, calls, arguments and queries (line [1], column [500016])"},
	})
	long, veryLong := strings.Repeat("x", 1000), strings.Repeat("y", 5000)
	refused(t, []refusal{
		{"SELECT 1" + strings.Repeat(", 1", syntax.MaxExpressions) + ", ", "Statement has more than [100000] names, calls, arguments and queries (line [1], column [300008])"},
		{"SELECT " + long + " FROM t", "Column '" + long[:256] + "...' not found in any table (line [1], column [8])"},
		{"SELECT * FROM " + long, "Object '" + long[:256] + "...' not found (line [1], column [15])"},
		{"SELECT " + long + " FROM (SELECT 1 AS " + long + ") AS a, (SELECT 2 AS " + long + ") AS b",
			"Column '" + long[:256] + "...' is ambiguous (line [1], column [8])"},
		{"SELECT 1 FROM t AS " + veryLong + " JOIN t AS " + veryLong + " ON TRUE",
			"Duplicate relation name '" + veryLong[:4096] + "...' in FROM clause (line [1], column [5026])"},
		{"SELECT " + long + ".cnt FROM t", "Table '" + long[:256] + "...' not found (line [1], column [8])"},
	})
	many := func(before, element, after string) string {
		return before + strings.Repeat(element, syntax.MaxExpressions) + after
	}
	at := func(column int) string {
		return fmt.Sprintf("Statement has more than [100000] names, calls, arguments and queries (line [1], column [%d])", column)
	}
	refused(t, []refusal{
		{many("SELECT 1 FROM t ORDER BY ", "1,", "1"), at(200022)},
		{many("SELECT 1 FROM t GROUP BY ", "1,", "1"), at(200022)},
		{many("SELECT 1 FROM t GROUP BY GROUPING SETS (", "(),", "())"), at(300035)},
		{many("SELECT SUM(cnt) OVER (PARTITION BY ", "1,", "1) FROM t"), at(200034)},
		{many("SELECT 1 FROM t WINDOW ", "w AS (),", "v AS ()"), at(800008)},
		{many("SELECT 1 FROM t JOIN t AS u USING (", "a,", "a)"), at(200030)},
		{many("SELECT * FROM t UNPIVOT (v FOR n IN (", "m1,", "m1))"), at(300035)},
		{many("SELECT * FROM t PIVOT (SUM(m1) FOR dim1 IN (", "'a',", "'b'))"), at(400033)},
		{many("SELECT 1 FROM TABLE(EXTERN('{}', '{}')) EXTEND (", "a INT,", "b INT)"), at(600031)},
		{many("SELECT ARRAY[", "1,", "1]"), at(200014)},
		{many("SELECT CONCAT(", "'a',", "'b')"), at(400015)},
		{many("SELECT JSON_OBJECT(", "'a':1,", "'b':2)"), at(600020)},
		{many("", "SET a=1;", "SELECT 1"), at(800008)},
		{many("SELECT * FROM (VALUES (", "1,", "1))"), at(16)},
		{"SELECT 1 FROM TABLE(APPEND(" + strings.Repeat("'t',", syntax.MaxExpressions/expressionsPerQuery) + "'t'))", at(40028)},
		{"SELECT " + strings.Repeat("a.", 16) + "a FROM t", "A name has more than [16] parts (line [1], column [8])"},
		{"SELECT " + strings.Repeat("a.", 20) + "* FROM t", "A name has more than [16] parts (line [1], column [8])"},
		{"SELECT 1 FROM " + strings.Repeat("a.", 16) + "a", "A name has more than [16] parts (line [1], column [15])"},
		{many("SELECT 1 FROM t WHERE cnt IN (", "7,", "7) )"), "Received an unexpected token [)] (line [1], column [200034])"},
		{many("SELECT 1 FROM t WHERE cnt IN (", "7,", "7) WERE"), "Received an unexpected token [WERE] (line [1], column [200034])"},
	})
	refused(t, []refusal{
		{"SELECT 1 FROM half JOIN half AS h ON TRUE", "A query can't have more than [1048576] columns (line [1], column [15])"},
	}, func(r *Request) { r.Catalog = wideCatalog{tables} })
}

// filesCatalog is a catalog in which every path is a table of one row.
type filesCatalog struct{ Catalog }

func (filesCatalog) File(_ context.Context, path string) (*Table, error) {
	if path == "" {
		return &Table{Query: "SELECT"}, nil
	}
	return &Table{Query: "SELECT 1 AS a"}, nil
}

// Files in the place of tables.
func TestRefusedFiles(t *testing.T) {
	refused(t, []refusal{
		{"SELECT * FROM 'a.csv'", "File 'a.csv' can't be read in place of a table here: only henge sql without a server does that. " +
			"Write instead: TABLE(EXTERN(..)), or load it with henge ingest (line [1], column [15])"},
	})
	with := func(r *Request) { r.Catalog = filesCatalog{r.Catalog} }
	many := strings.Repeat("SELECT a FROM 'x' UNION ALL ", 1000) + "SELECT a FROM 'x'"
	refused(t, []refusal{
		{many, "Tables that are defined by queries are used more than [1000] times (line [1], column [28015])"},
		{"SELECT b FROM 'x'", "Column 'b' not found in any table (line [1], column [8])"},
	}, with)
	for _, text := range []string{
		"SELECT a FROM 'x'", "SELECT x.a, y.a FROM 'x' AS x JOIN 'y' AS y ON x.a = y.a", "WITH w AS (SELECT a FROM 'x') SELECT * FROM w",
	} {
		if _, err := prepare(text, with); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
