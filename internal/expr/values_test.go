package expr_test

import (
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/nativetext"
	"github.com/hengedb/henge/internal/vector"
)

// answer folds a constant expression and shows its value; NULL is "NULL", an error its message.
func answer(t *testing.T, sql string) string {
	t.Helper()
	e, err := parseSQL(sql, nil, nil)
	if err == nil {
		e, err = expr.Fold(e, &expr.Context{Now: 1_582_990_200_000})
	}
	if err != nil {
		return err.Error()
	}
	l, ok := e.(*expr.Literal)
	if !ok {
		t.Fatalf("%s: did not fold to a constant, but to %s", sql, nativetext.Format(e, nil))
	}
	cell := showCell(vector.Constant(l.T.Runtime(), l.Value, 1), 0, l.T, nil)
	if cell == nil {
		return "NULL"
	}
	return cell.(string)
}

func TestConstantsOfTheSpecification(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"1 + 1", "2"},
		{"7 / 2", "3"},
		{"-7 / 2", "-3"},
		{"7 / 2.0", "3.5"},
		{"1024*1024*1024*1024", "1099511627776"},
		{"1 / 0", "/ by zero"},
		{"CAST(1/0.0 AS BIGINT)", "9223372036854775807"},
		{"CAST(-1/0.0 AS BIGINT)", "-9223372036854775808"},
		{"CAST(0/0.0 AS BIGINT)", "0"},
		{"CAST('foo' AS BIGINT)", "NULL"},
		{"CAST('1.9' AS BIGINT)", "1"},
		{"CAST(1.5 AS BIGINT)", "1"},
		{"CAST(123.0 AS INTEGER)", "123"},
		{"FLOOR(123)", "123"},
		{"FLOOR(-2.5)", "-3.0"},
		{"CEIL(2.1)", "3.0"},
		{"MOD(-78, 10)", "-8"},
		{"DIV(78, 10)", "7"},
		{"SAFE_DIVIDE(1, 0)", "NULL"},
		{"SAFE_DIVIDE(10, 2.5)", "4.0"},
		{"SAFE_DIVIDE(10.5, 3)", "3.5"},
		{"SAFE_DIVIDE(10, 2)", "5"},
		{"SAFE_DIVIDE(0.0, 0)", "0.0"},
		{"POWER(5, 2)", "25.0"},
		{"ROUND(25, -1)", "30"},
		{"ROUND(2.25, 1)", "2.3"},
		{"ROUND(1.005, 2)", "1.01"},
		{"ROUND(0/0.0)", "0.0"},
		{"ROUND(1/0.0)", "1.7976931348623157E308"},
		{"TRUNCATE(2.25, 1)", "2.2"},
		{"TRUNCATE(-2.25, 1)", "-2.2"},
		{"TRUNCATE(25, -1)", "20"},
		{"SQRT(25)", "5.0"},
		{"ATAN2(1, -1)", "2.356194490192345"},
		{"DEGREES(PI)", "180.0"},
		{"BITWISE_AND(12, 10)", "8"},
		{"BITWISE_XOR(12, 10)", "6"},
		{"BITWISE_SHIFT_RIGHT(16, 3)", "2"},
		{"BITWISE_COMPLEMENT(12)", "-13"},
		{"BITWISE_CONVERT_DOUBLE_TO_LONG_BITS(255)", "4643176031446892544"},
		{"GREATEST(PI, 4, -5.0)", "4.0"},
		{"LEAST('apple','orange','pear')", "apple"},
		{"GREATEST(NULL, 1)", "1"},
		{"COALESCE(NULL, 5)", "5"},
		{"HUMAN_READABLE_BINARY_BYTE_FORMAT(1000000)", "976.56 KiB"},
		{"HUMAN_READABLE_BINARY_BYTE_FORMAT(-9223372036854775807 - 1)", "-8.00 EiB"},
		{"HUMAN_READABLE_BINARY_BYTE_FORMAT(999)", "999 B"},
		{"HUMAN_READABLE_DECIMAL_BYTE_FORMAT(1048576)", "1.05 MB"},
		{"HUMAN_READABLE_DECIMAL_BYTE_FORMAT(9223372036854775807)", "9.22 EB"},
		{"HUMAN_READABLE_DECIMAL_BYTE_FORMAT(45678, 0)", "46 KB"},
		{"HUMAN_READABLE_DECIMAL_FORMAT(1000000)", "1.00 M"},
		{"HUMAN_READABLE_DECIMAL_FORMAT(999)", "999"},
		{"PARSE_LONG('0xEF', 16)", "239"},
		{"PARSE_LONG('1110', 2)", "14"},
		{"PARSE_LONG('EF')", "NULL"},
		{"PARSE_LONG('-9223372036854775808')", "-9223372036854775808"},
		{"PARSE_LONG('9223372036854775808')", "NULL"},

		{"'a' || 'b'", "ab"},
		{"'a' || NULL", "NULL"},
		{"LENGTH('hello')", "5"},
		{"LENGTH('😀')", "2"},
		{"SUBSTRING('abcdefghi', 4, 3)", "def"},
		{"SUBSTRING('abc', 4)", "NULL"},
		{"SUBSTRING('abc', 0, 2)", "a"},
		{"SUBSTRING('abc', -5, 3)", ""},
		{"SUBSTRING('abc', 2, -1)", "bc"},
		{"LEFT('ABCDEFG', 3)", "ABC"},
		{"LEFT('ABC', -1)", "Function[left] needs a positive integer as the second argument"},
		{"RIGHT('ABCDEFG', 3)", "EFG"},
		{"REVERSE('abc')", "cba"},
		{"REVERSE('a😀b')", "b😀a"},
		{"REPEAT('abc', 3)", "abcabcabc"},
		{"REPEAT('abc', 0)", "NULL"},
		{"LPAD('foo', 5, 'x')", "xxfoo"},
		{"LPAD('foo', 2, 'x')", "fo"},
		{"LPAD('foo', 0)", "NULL"},
		{"RPAD('foo', 2, 'x')", "fo"},
		{"TRIM(BOTH 'x' FROM 'xfoox')", "foo"},
		{"TRIM(TRAILING 'x' FROM 'xfoox')", "xfoo"},
		{"TRIM(TRAILING FROM ' foo ')", " foo"},
		{"LTRIM('xfoox', 'x')", "foox"},
		{"POSITION('oo' IN 'foo' FROM 3)", "0"},
		{"STRPOS('Hello World!', 'World')", "7"},
		{"REPLACE('abc 123 abc', 'abc', 'XYZ')", "XYZ 123 XYZ"},
		{"UPPER('straße')", "STRASSE"},
		{"REGEXP_EXTRACT('foo', '^(.)')", "f"},
		{"REGEXP_EXTRACT('foo-bar', '([a-z]+)-([a-z]+)', 2)", "bar"},
		{"REGEXP_EXTRACT('foo', '(x)?(o)', 3)", "No group 3"},
		{"REGEXP_EXTRACT('bar', '(x)?(o)', 3)", "NULL"},
		{"REGEXP_LIKE('foo', 'o$')", "true"},
		{"REGEXP_REPLACE('foo bar baz','([A-Za-z]+) ([A-Za-z]+) ([A-Za-z]+)','$2!')", "bar!"},
		{`REGEXP_REPLACE('a1', '(\d)', '\$$1')`, "a$1"},
		{"'50%' LIKE '50!%' ESCAPE '!'", "true"},
		{"'Foo' ILIKE 'f%'", "true"},
		{"ICONTAINS_STRING('San Juan', 'san')", "true"},
		{"DECODE_BASE64_UTF8('SGVsbG8sIFdvcmxkIQ==')", "Hello, World!"},
		{"DECODE_BASE64_UTF8('!!')", "NULL"},
		{"STRING_FORMAT('%s %,d %.2f %05d %x', 'a', 1234567, 2.345, 42, 255)", "a 1,234,567 2.35 00042 ff"},
		{"STRING_FORMAT('%d', 'a')", "%d; a"},
		{"CONCAT_WS('-', 'a', NULL, 'b')", "a-b"},
		{"SPLIT_PART('a-b-c', '-', 2)", "b"},
		{"SPLIT_PART('a-b-c', '-', -1)", "c"},
		{"INITCAP('hello wORLD')", "Hello World"},
		{"ASCII('a')", "97"},
		{"CHR(233)", "é"},
		{"MD5('a')", "0cc175b9c0f1b6a831c399e269772661"},
		{"SIGN(-2.5)", "-1"},
		{"LOG(2, 8)", "3.0"},

		{"IPV4_PARSE('5.5.5.5')", "84215045"},
		{"IPV4_STRINGIFY(84215045)", "5.5.5.5"},
		{"IPV4_MATCH('10.1.2.3', '10.0.0.0/8')", "true"},
		{"IPV4_MATCH('1.2', '10.0.0.0/8')", "false"},
		{"IPV4_MATCH('10.1.2.3', 'x')", "Function[ipv4_match] subnet arg has an invalid format: x"},
		{"IPV6_MATCH('75e9:efa4:29c6:85f6::232c','75e9:efa4:29c6:85f6::/64')", "true"},
		{"IPV6_MATCH(7, '::/0')", "false"},
		{"IPV6_MATCH(1.5, '::/0')", "false"},

		{"TIMESTAMP '2000-01-01 00:00:00'", "2000-01-01T00:00:00.000Z"},
		{"CAST(TIMESTAMP '2000-02-03 04:05:06' AS VARCHAR)", "2000-02-03 04:05:06"},
		{"CAST(DATE '2000-02-03' AS VARCHAR)", "2000-02-03"},
		{"CAST(TIMESTAMP '2000-02-03 04:05:06' AS BIGINT)", "949550706000"},
		{"CAST(TIMESTAMP '2000-02-03 04:05:06' AS DATE)", "2000-02-03T00:00:00.000Z"},
		{"CAST('foo' AS TIMESTAMP)", "Illegal TIMESTAMP constant [CAST('foo'):TIMESTAMP NOT NULL]"},
		{"TIME_PARSE('2000-02-01 00:00:00', NULL, 'America/Los_Angeles')", "2000-02-01T08:00:00.000Z"},
		{"TIME_PARSE('2005-11-01','YYYY-MM-dd','-05:00')", "2005-11-01T05:00:00.000Z"},
		{"TIME_PARSE('not a time')", "NULL"},
		{"TIME_PARSE('2000-01-02T03:04:05Z')", "2000-01-02T03:04:05.000Z"},
		{"TIME_FLOOR(TIMESTAMP '2013-08-01 09:13:00','PT45M',TIMESTAMP '2013-08-01 08:00:00')", "2013-08-01T08:45:00.000Z"},
		{"TIME_CEIL(TIMESTAMP '2013-08-01 08:14:37','PT1H')", "2013-08-01T09:00:00.000Z"},
		{"TIME_CEIL(TIMESTAMP '2013-08-01 08:00:00','PT1H')", "2013-08-01T08:00:00.000Z"},
		{"TIME_CEIL(TIMESTAMP '2013-08-01 08:00:00','PT1Y')",
			"Invalid period['PT1Y'] specified for expression[timestamp_ceil(1375344000000,'PT1Y',null,'UTC')]"},
		{"FLOOR(TIMESTAMP '2013-08-01 08:14:37' TO WEEK)", "2013-07-29T00:00:00.000Z"},
		{"DATE_TRUNC('decade', TIMESTAMP '2013-08-01 08:14:37')", "2010-01-01T00:00:00.000Z"},
		{"DATE_TRUNC('quarter', TIMESTAMP '2013-08-01 08:14:37')", "2013-07-01T00:00:00.000Z"},
		{"DATE_TRUNC('x', TIMESTAMP '2013-08-01 08:14:37')", "Operator[DATE_TRUNC] cannot truncate to[x]"},
		{"TIME_SHIFT(TIMESTAMP '2013-08-01 08:14:37','PT1H',-24)", "2013-07-31T08:14:37.000Z"},
		{"TIMESTAMPADD(MONTH, 5, TIMESTAMP '2000-01-01 00:00:00')", "2000-06-01T00:00:00.000Z"},
		{"TIMESTAMPADD(DAY, '2', TIMESTAMP '2000-01-01 00:00:00')", "2000-01-03T00:00:00.000Z"},
		{"TIMESTAMPADD(DAY, 'a', TIMESTAMP '2000-01-01 00:00:00')", "NULL"},
		{"TIMESTAMP '2000-01-31 00:00:00' + INTERVAL '1' MONTH", "2000-02-29T00:00:00.000Z"},
		{"'86400000' = INTERVAL '1' DAY", "true"},
		{"INTERVAL '2' YEAR <> '24'", "false"},
		{"TIMESTAMPDIFF(MINUTE, TIMESTAMP '2013-08-01 08:14:37', TIMESTAMP '2013-08-01 09:09:06')", "54"},
		{"EXTRACT(DOW FROM TIMESTAMP '2000-01-02 00:00:00')", "7"},
		{"TIME_EXTRACT(TIMESTAMP '2013-08-01 08:14:37','HOUR','-04:00')", "4"},
		{"EXTRACT(WEEK FROM TIMESTAMP '2000-01-01 00:00:00')", "52"},
		{"EXTRACT(CENTURY FROM TIMESTAMP '2000-01-01 00:00:00')", "20"},
		{"YEAR(DATE '2000-01-02')", "2000"},
		{"TIME_FORMAT(TIMESTAMP '2013-08-01 08:14:37','dd-MM-yyyy hh:mm aa','-05:00')", "01-08-2013 03:14 AM"},
		{"TIME_IN_INTERVAL(TIMESTAMP '2013-08-01 08:14:37','2013-08-01T08:00:00/PT1H')", "true"},
		{"TIME_IN_INTERVAL(TIMESTAMP '2013-08-01 09:00:00','PT1H/2013-08-01T09:00:00')", "false"},
		{"MILLIS_TO_TIMESTAMP(0)", "1970-01-01T00:00:00.000Z"},
		{"TIMESTAMP_TO_MILLIS(TIMESTAMP '2013-08-01 08:14:37')", "1375344877000"},
		{"LAST_DAY(TIMESTAMP '2020-02-03 04:05:06')", "2020-02-29T00:00:00.000Z"},
		{"CURRENT_TIMESTAMP", "2020-02-29T15:30:00.000Z"},
		{"CURRENT_DATE", "2020-02-29T00:00:00.000Z"},
		{"CURRENT_TIMESTAMP(4)", "Argument to function 'CURRENT_TIMESTAMP' must be a valid precision between '0' and '3'"},

		{"ARRAY['Hello', NULL]", `["Hello",null]`},
		{"ARRAY[1, 'a']", `["1","a"]`},
		{"ARRAY_LENGTH(ARRAY[1,2,3])", "3"},
		{"ARRAY_OFFSET(ARRAY[1,2,3], 2)", "3"},
		{"ARRAY_ORDINAL(ARRAY[1,2,3], 4)", "NULL"},
		{"ARRAY_OFFSET_OF(ARRAY['a','b'], 'b')", "1"},
		{"ARRAY_CONTAINS(ARRAY[1,2,3], ARRAY[1,3])", "true"},
		{"ARRAY_CONTAINS(ARRAY[1,NULL], NULL)", "true"},
		{"ARRAY_OVERLAP(ARRAY['a'], ARRAY['b','a'])", "true"},
		{"ARRAY_APPEND(ARRAY[1.5], 2)", "[1.5,2.0]"},
		{"ARRAY_PREPEND('x', ARRAY['a'])", `["x","a"]`},
		{"ARRAY_CONCAT(ARRAY[1], ARRAY[2,3])", "[1,2,3]"},
		{"ARRAY_SLICE(ARRAY[1,2,3], 0, 2)", "[1,2]"},
		{"ARRAY_SLICE(ARRAY[1], 0, 3)", "[1,null,null]"},
		{"ARRAY_SLICE(ARRAY[1], 2)", "NULL"},
		{"ARRAY_TO_STRING(ARRAY[1,2], '-')", "1-2"},
		{"ARRAY_TO_STRING(ARRAY[1,NULL], '-')", "1-null"},
		{`ARRAY_TO_STRING(JSON_QUERY_ARRAY(PARSE_JSON('[1,"x\ty",{"b":"c"},null,""]'), '$'), '|')`, "1|x\ty|{\"b\":\"c\"}|null|"},
		{"SCALAR_IN_ARRAY(36, ARRAY[1,36])", "true"},
		{"SCALAR_IN_ARRAY(NULL, ARRAY[1,NULL])", "true"},
		{"STRING_TO_ARRAY('a,b,,', ',')", `["a","b"]`},
		{`STRING_TO_MV('123 Rose Lane', '\s+')`, `["123","Rose","Lane"]`},
		{"ARRAY_SORT(ARRAY[3,NULL,1])", "[null,1,3]"},
		{"ARRAY_DISTINCT(ARRAY[3,1,3])", "[3,1]"},
		{"ARRAY_MAX(ARRAY[3,NULL,7])", "7"},
		{"ARRAY_QUANTILE(ARRAY[1,2,3,4], 0.5)", "2.5"},
		{"ARRAY[1,2] < ARRAY[1,3]", "true"},
		{"ARRAY[1] < ARRAY[1,0]", "true"},
		{"ARRAY[NULL] < ARRAY[1]", "true"},

		{`JSON_VALUE(PARSE_JSON('{"x":1,"y":[1,2,3]}'), '$.y[1]' RETURNING BIGINT)`, "2"},
		{`JSON_VALUE(PARSE_JSON('{"x":1,"y":[1,2,3]}'), '$.y[-1]' RETURNING BIGINT)`, "3"},
		{`JSON_VALUE(PARSE_JSON('{"x":1,"y":[1,2,3]}'), '$.y' RETURNING BIGINT ARRAY)`, "[1,2,3]"},
		{`JSON_VALUE(PARSE_JSON('{"x":542.0}'), '$.x')`, "542.0"},
		{`JSON_VALUE(PARSE_JSON('{"x":{}}'), '$.x')`, "NULL"},
		{`JSON_QUERY(PARSE_JSON('{"x":{"z":1}}'), '$.x')`, `{"z":1}`},
		{`JSON_VALUE(PARSE_JSON('{}'), '.x')`, "JSONPath [.x] is invalid, it must start with '$'"},
		{`TO_JSON_STRING(PARSE_JSON('{"x": "y"}'))`, `{"x":"y"}`},
		{`TO_JSON_STRING('a')`, `"a"`},
		{`TRY_PARSE_JSON('{x:x}')`, "NULL"},
		{`TO_JSON_STRING(TRY_PARSE_JSON(' 1.5 GB'))`, "1.5"},
		{`TRY_PARSE_JSON('2020-02-29')`, "NULL"},
		{"LN(4.9E-324)", "-744.4400719213812"},
		{"ROUND(LOG10(1E-310), 6)", "-310.0"},
		{"LOG10(1E-4)", "-4.0"},
		{"LOG10(1E15)", "15.0"},
		{`PARSE_JSON('{x:x}')`, "Function[parse_json] bad string input [{x:x}]"},
		{`JSON_KEYS(PARSE_JSON('{"a":1,"b":2}'), '$.')`, `["a","b"]`},
		{`JSON_PATHS(PARSE_JSON('{"a":1,"b":[2]}'))`, `["$.b","$.a"]`},
		{`JSON_PATHS(PARSE_JSON('{"a":{"x":[]},"b":[[1],{"y":2},3],"c":null,"d":{}}'))`, `["$.c","$.b[2]","$.a.x","$.b[1].y","$.b[0]"]`},
		{`JSON_OBJECT('a': 1, 'b': 'x', 'c': NULL)`, `{"a":1,"b":"x","c":null}`},
		{`JSON_MERGE('{"a":{"b":1}}', '{"a":{"c":2},"d":3}')`, `{"a":{"b":1,"c":2},"d":3}`},
		{`JSON_MERGE('{"a":[1],"b":[],"c":[0]}', '{"a":[2,3],"b":[4],"c":5}', '{"a":[ ]}')`, `{"a":[1,2,3],"b":[4],"c":5}`},
		{`JSON_QUERY_ARRAY(PARSE_JSON('{"a":[1,{}]}'), '$.a')`, `[1,{}]`},

		{"1 IN (2, NULL)", "NULL"},
		{"1 IN (1, NULL)", "true"},
		{"NULL IS NOT DISTINCT FROM NULL", "true"},
		{"CASE WHEN NULL THEN 1 ELSE 2 END", "2"},
		{"CASE WHEN 1 = 2 THEN 1 / 0 ELSE 2 END", "2"},
		{"NULLIF(1, 1)", "NULL"},
		{"IF(TRUE, 1, 2)", "1"},
		{"NULL AND FALSE", "false"},
		{"NULL OR TRUE", "true"},
		{"(NULL = 1) IS NULL", "true"},
		{"1 = '1'", "true"},
		{"TRUE + 1", "2"},
		{"3 BETWEEN SYMMETRIC 5 AND 1", "true"},
		{"ABS('x', 1)", "Invalid number of arguments to function 'ABS'. Was expecting 1 arguments"},
		{"FOO(1)", "No match found for function signature FOO(<NUMERIC>)"},
		{"UPPER(ARRAY['a'])", "Cannot apply 'UPPER' to arguments of type 'UPPER(<CHAR(1) ARRAY>)'. Supported form(s): 'UPPER(<CHARACTER>)'"},
		{"TIMESTAMP '2000-01-01 00:00:00' > 1",
			"Cannot apply '>' to arguments of type '<TIMESTAMP(0)> > <INTEGER>'. Supported form(s): '<COMPARABLE_TYPE> > <COMPARABLE_TYPE>'"},
	} {
		if got := answer(t, c.sql); got != c.want {
			t.Errorf("%s = %s, want %s", c.sql, got, c.want)
		}
	}
}

func TestTextOfNumbers(t *testing.T) {
	for _, c := range []struct {
		x    float64
		want string
	}{
		{1, "1.0"}, {0, "0.0"}, {1e-3, "0.001"}, {1e-4, "1.0E-4"}, {1e7, "1.0E7"}, {9999999, "9999999.0"}, {12345678, "1.2345678E7"},
		{5e-324, "4.9E-324"}, {2e23, "2.0E23"}, {-1.5, "-1.5"}, {0.1, "0.1"}, {1.7976931348623157e308, "1.7976931348623157E308"},
	} {
		if got := vector.DoubleText(c.x); got != c.want {
			t.Errorf("text of %g is %s, want %s", c.x, got, c.want)
		}
	}
	if got := string(expr.AppendFloat(nil, 0.1)); got != "0.1" {
		t.Errorf("text of a FLOAT 0.1 is %s", got)
	}
}

func TestNativeLanguage(t *testing.T) {
	columns := columnsOf("__time", expr.Of(expr.Timestamp), "dim1", expr.Of(expr.Varchar), "l", expr.Of(expr.BigInt), "mv", expr.MultiString)
	for _, c := range []struct{ sql, want string }{
		{"FLOOR(__time TO HOUR)", `timestamp_floor("__time",'PT1H',null,'UTC')`},
		{"TIME_FLOOR(__time, 'P1D', NULL, 'Europe/Berlin')", `timestamp_floor("__time",'P1D',null,'Europe/Berlin')`},
		{"EXTRACT(YEAR FROM __time)", `timestamp_extract("__time",'YEAR','UTC')`},
		{"l + 1", `("l" + 1)`},
		{"l = 1 AND dim1 <> 'a'", `(("l" == 1) && ("dim1" != 'a'))`},
		{"CASE WHEN l > 3 THEN 'a' ELSE 'b' END", `case_searched(("l" > 3),'a','b')`},
		{"dim1 || 'x' || dim1", `concat(concat("dim1",'x'),"dim1")`},
		{"CAST(dim1 AS BIGINT)", `CAST("dim1", 'LONG')`},
		{"CAST(dim1 AS TIMESTAMP)", `timestamp_parse("dim1",null,'UTC')`},
		{"COALESCE(dim1, 'a', 'b')", `case_searched(notnull("dim1"),"dim1",notnull('a'),'a','b')`},
		{"UPPER(mv)", `upper("mv")`},
		{"mv = 'a'", `("mv" == 'a')`},
		{"NOT (l = 1)", `(! ("l" == 1))`},
		{"l IN (1, 2)", `(("l" == 1) || ("l" == 2))`},
		{"(l IN (1, 2)) IN (TRUE, FALSE)", `array_contains(array(1,0),(("l" == 1) || ("l" == 2)))`},
		{"dim1 || 'a''b\\c=+é`~'", `concat("dim1",'a\u0027b\u005Cc\u003D\u002Bé` + "`" + `~')`},
		{"CASE WHEN l > 3 THEN 'a' END", `case_searched(("l" > 3),'a',null)`},
		{"TRUNCATE(l)", `(cast(cast("l" * 1,'long'),'double') / 1)`},
		{"TRUNCATE(l, 2)", `(cast(cast("l" * 100.0,'long'),'double') / 100.0)`},
		{"STRPOS(dim1, 'a')", `(strpos("dim1",'a') + 1)`},
		{"POSITION('a' IN dim1)", `(strpos("dim1",'a',0) + 1)`},
		{"POSITION('a' IN dim1 FROM 3)", `(strpos("dim1",'a',(3 - 1)) + 1)`},
		{"TIMESTAMPADD(HOUR, 2, __time)", `("__time" + 7200000)`},
		{"TIMESTAMPADD(DAY, l, __time)", `("__time" + (86400000 * "l"))`},
		{"TIMESTAMPADD(YEAR, 2, __time)", `timestamp_shift("__time",'P24M',1,'UTC')`},
		{"TIMESTAMPADD(QUARTER, l, __time)", `timestamp_shift("__time",concat('P', (3 * "l"), 'M'),1,'UTC')`},
		{"TIMESTAMPDIFF(DAY, __time, TIMESTAMP '1970-01-02 00:00:00')", `div((86400000 - "__time"),86400000)`},
		{"__time - INTERVAL '2' MONTH", `timestamp_shift("__time",'P2M',-1,'UTC')`},
		{"SQRT(l)", `pow("l",0.5)`},
		{"POWER(l, 2)", `pow("l",2)`},
		{"DEGREES(l)", `toDegrees("l")`},
		{"GREATEST(dim1, l)", `greatest("dim1","l")`},
		{"BITWISE_SHIFT_LEFT(l, 1)", `bitwiseShiftLeft("l",1)`},
		{"CAST(l AS DOUBLE) / l", `(CAST("l", 'DOUBLE') / "l")`},
		{"TRIM(dim1)", `trim("dim1",' ')`},
		{"HUMAN_READABLE_DECIMAL_FORMAT(l)", `human_readable_decimal_format("l")`},
	} {
		if got := nativetext.Format(mustParse(t, c.sql, columns...), nil); got != c.want {
			t.Errorf("%s is %s, want %s", c.sql, got, c.want)
		}
	}
}
