package grammar

import "fmt"

// where is a condition on a value, as a filter and as an output.
func where(name string, classes Class, conditions ...string) *Production {
	q := &Production{Group: "operators", Name: name, Classes: classes}
	for _, c := range conditions {
		q.Templates = append(q.Templates, "SELECT t.id FROM {t} WHERE "+c, "SELECT r.id FROM (SELECT t.id AS id, ("+c+") AS v FROM "+
			"{t}) AS r WHERE r.v IS TRUE",
			"SELECT r.id FROM (SELECT t.id AS id, CASE WHEN "+c+" THEN 1 ELSE 0 END AS v FROM {t}) AS r WHERE r.v = 1")
	}
	return q
}

// of is expressions that give the same.
func of(group, name string, classes Class, expressions ...string) *Production {
	q := &Production{Group: group, Name: name, Classes: classes}
	for _, e := range expressions {
		q.Templates = append(q.Templates, "SELECT t.id, "+e+" FROM {t}")
	}
	return q
}

var operators = []*Production{
	where("=", Plain|JSON, "{x} = {y}", "{y} = {x}", "NOT ({x} <> {y})"),
	where("= of a constant", Plain|JSON, "{x} = {k}", "{x} IN ({k})", "{k} = {x}"),
	where("<>", Plain|JSON, "{x} <> {y}", "NOT ({x} = {y})", "{x} != {y}"),
	where("<", ranked|Lists, "{x} < {y}", "{y} > {x}"),
	where("<=", ranked|Lists, "{x} <= {y}", "{y} >= {x}", "NOT ({x} > {y})"),
	where("> of a constant", ranked|Lists, "{x} > {k}", "{k} < {x}"),
	where("IS DISTINCT FROM", Plain|JSON, "{x} IS DISTINCT FROM {y}", "NOT ({x} IS NOT DISTINCT FROM {y})"),
	where("BETWEEN", ranked, "{x} BETWEEN {k} AND {k2}", "{x} >= {k} AND {x} <= {k2}"),
	where("NOT BETWEEN", ranked, "{x} NOT BETWEEN {y} AND {k}", "NOT ({x} BETWEEN {y} AND {k})"),
	where("BETWEEN SYMMETRIC", ranked, "{x} BETWEEN SYMMETRIC {k} AND {y}", "{x} BETWEEN {k} AND {y} OR {x} BETWEEN {y} AND {k}"),
	where("IN", Plain|JSON, "{x} IN ({k}, {k2}, {y})", "{x} = {k} OR {x} = {k2} OR {x} = {y}"),
	where("NOT IN", Plain|JSON, "{x} NOT IN ({k}, {k2})", "{x} <> {k} AND {x} <> {k2}"),
	where("IN with NULL", Scalar, "{x} NOT IN ({k}, NULL)", "FALSE AND {x} = {k}"),
	where("IS NULL", Any&^Multi, "{x} IS NULL", "NOT ({x} IS NOT NULL)", "COALESCE({x}, NULL) IS NULL"),
	where("IS NULL of a multi-value string", Multi, "{x} IS NULL", "NOT ({x} IS NOT NULL)"),
	where("IS TRUE", Bool, "{x} IS TRUE", "{x} IS NOT FALSE AND {x} IS NOT UNKNOWN", "{x}"),
	where("IS FALSE", Bool, "{x} IS FALSE", "NOT {x}", "{x} IS NOT TRUE AND {x} IS NOT NULL"),
	where("IS UNKNOWN", Bool, "{x} IS UNKNOWN", "{x} IS NULL"),
	where("AND", Bool, "{x} AND {y}", "{y} AND {x}", "NOT (NOT {x} OR NOT {y})"),
	where("OR", Bool, "{x} OR {y}", "{y} OR {x}", "NOT (NOT {x} AND NOT {y})"),
	where("LIKE", Text, "{x} LIKE 'a%'", "LEFT({x}, 1) = 'a'", "SUBSTRING({x}, 1, 1) = 'a'"),
	where("NOT LIKE", Text, "{x} NOT LIKE '%b%'", "STRPOS({x}, 'b') = 0", "NOT CONTAINS_STRING({x}, 'b')"),
	where("LIKE ESCAPE", Text, "{x} LIKE 'a!%' ESCAPE '!'", "{x} = 'a%'"),
	where("ILIKE", Text, "{x} ILIKE 'A%'", "LOWER({x}) LIKE 'a%'"),
	where("SIMILAR TO", Text, "{x} SIMILAR TO '(a|b)%'", "{x} LIKE 'a%' OR {x} LIKE 'b%'"),
	where("LIKE of an expression", Text, "{x} LIKE {y}", "{x} LIKE {y} ESCAPE '!'"),
	where("= of a multi-value string", Multi, "{x} = {k}", "MV_CONTAINS({x}, ARRAY[{k}])", "MV_OVERLAP({x}, ARRAY[{k}])", "{x} IN ({k})"),
	where("<> of a multi-value string", Multi, "NOT ({x} = 'a')", "{x} <> 'a'"),
	where("LIKE of a multi-value string", Multi, "{x} LIKE 'a%'", "{x} LIKE 'a%' OR {x} = 'a'"),
	where("row comparison", ranked, "({x}, t.n) < ({y}, 2)", "{x} < {y} OR {x} = {y} AND t.n < 2"),
	where("row equality", Plain, "({x}, t.n) = ({y}, 2)", "{x} = {y} AND t.n = 2"),
	where("OVERLAPS", Time, "({x}, {y}) OVERLAPS ({k}, {k2})", "({k}, {k2}) OVERLAPS ({x}, {y})"),
	of("operators", "+", Num, "{x} + 1", "1 + {x}", "{x} - (-1)").calm(),
	of("operators", "-", Num, "{x} - {y}", "{x} + (-{y})", "-({y} - {x})").calm(),
	of("operators", "*", Num, "{x} * 3", "{x} + {x} + {x}", "3 * {x}").calm(),
	of("operators", "/", Num, "{x} / 2", "{x} / (1 + 1)").calm(),
	of("operators", "%", Int, "{x} % 3", "MOD({x}, 3)", "{x} - {x} / 3 * 3").calm(),
	of("operators", "unary +", Num, "+{x}", "{x}"),
	of("operators", "unary -", Num, "-{x}", "0 - {x}").calm(),
	of("operators", "+ of intervals", Time, "CAST({x} + INTERVAL '1' DAY AS TIMESTAMP)", "CAST({x} + INTERVAL '24' HOUR AS TIMESTAMP)"),
	of("operators", "negative intervals", Time, "CAST({x} - INTERVAL -'2' DAY AS TIMESTAMP)", "CAST({x} + INTERVAL '2' DAY AS TIMESTAMP)"),
	of("operators", "- of intervals", Time, "CAST({x} - INTERVAL '1' MONTH AS TIMESTAMP)",
		"CAST({x} - INTERVAL '0-1' YEAR TO MONTH AS TIMESTAMP)"),
	of("operators", "- of times", Time, "TIMESTAMPDIFF(HOUR, {y}, {x})", "-TIMESTAMPDIFF(HOUR, {x}, {y})"),
	of("operators", "||", Scalar, "{x} || 'x'", "CAST({x} AS VARCHAR) || 'x'"),
	of("operators", "x[i]", Lists, "{x}[1]", "ARRAY_ORDINAL({x}, 1)", "ARRAY_OFFSET({x}, 0)"),
	of("operators", "CASE", Any&^(Sketch|Multi), "CASE WHEN {q} THEN {x} ELSE {y} END", "IF({q}, {x}, {y})",
		"CASE WHEN NOT ({q}) THEN {y} WHEN {q} THEN {x} ELSE {y} END"),
	of("operators", "CASE of a multi-value string", Multi, "CASE WHEN {q} THEN {x} END", "IF({q}, {x}, NULL)"),
	of("operators", "CASE x WHEN", Scalar, "CASE {x} WHEN {k} THEN 1 WHEN {y} THEN 2 ELSE 3 END",
		"CASE WHEN {x} = {k} THEN 1 WHEN {x} = {y} THEN 2 ELSE 3 END"),
	of("operators", "CASE x WHEN a, b", Scalar, "CASE {x} WHEN {k}, {y} THEN 1 END", "CASE WHEN {x} = {k} OR {x} = {y} THEN 1 END"),
	of("operators", "ARRAY[..]", Plain|JSON, "ARRAY_LENGTH(ARRAY[{x}, {y}, {k}])", "3 + 0 * t.id"),
	of("operators", "ROW in CASE", Plain, "CASE WHEN ROW({x}, 1) = ROW({y}, 1) THEN 1 ELSE 0 END", "CASE WHEN {x} = {y} THEN 1 ELSE 0 END"),
	of("operators", "CAST to itself", Plain, "CAST({x} AS {T})", "{x}::{T}", "TRY_CAST({x} AS {T})", "SAFE_CAST({x} AS {T})"),
	of("operators", "CAST to VARCHAR", Scalar, "CAST({x} AS VARCHAR)", "{x}::VARCHAR",
		"CASE WHEN {x} IS NOT NULL THEN CAST({x} AS VARCHAR) END"),
	of("operators", "CAST to BIGINT", Scalar, "CAST({x} AS BIGINT)", "TRY_CAST({x} AS BIGINT)"),
	of("operators", "CAST to DOUBLE", Bool|Num|Text, "CAST({x} AS DOUBLE)", "{x}::DOUBLE"),
	of("operators", "CAST to BOOLEAN", Bool|Num|Text, "CAST({x} AS BOOLEAN)", "{x}::BOOLEAN").calm(),
	of("operators", "CAST to TIMESTAMP", Int|Text|Time, "CAST({x} AS TIMESTAMP)", "{x}::TIMESTAMP").calm(),
	of("operators", "CAST to JSON", JSON, "TO_JSON_STRING(CAST({x} AS TYPE('COMPLEX<json>')))", "TO_JSON_STRING({x})"),
	of("operators", "CAST to an array", Plain&^Lists, "CAST({x} AS {T} ARRAY)", "CASE WHEN {x} IS NOT NULL THEN ARRAY[{x}] END"),
}

var calls = []*Production{
	of("functions", "COALESCE", Any&^(Multi|Sketch), "COALESCE({x}, {y})", "CASE WHEN {x} IS NOT NULL THEN {x} ELSE {y} END",
		"NVL({x}, {y})"),
	of("functions", "NULLIF", Scalar, "NULLIF({x}, {y})", "CASE WHEN {x} = {y} THEN NULL ELSE {x} END"),
	of("functions", "GREATEST", Scalar&^Bool, "GREATEST({x}, {y})", "GREATEST({y}, {x})",
		"CASE WHEN {x} IS NULL THEN {y} WHEN {y} IS NULL THEN {x} WHEN {x} > {y} THEN {x} ELSE {y} END").calm(),
	of("functions", "LEAST", Scalar&^Bool, "LEAST({x}, {y})", "LEAST({y}, {x})").calm(),
	of("functions", "ABS, SIGN", Num, "ABS({x}) * SIGN({x})", "{x} * 1").calm(),
	of("functions", "FLOOR, CEIL", Num, "FLOOR({x})", "-CEIL(-({x}))").calm(),
	of("functions", "ROUND, TRUNCATE", Num, "TRUNCATE({x}, 0)", "CASE WHEN {x} < 0 THEN CEIL({x}) ELSE FLOOR({x}) END").calm(),
	of("functions", "SQRT, POWER", Num, "POWER({x}, 2)", "{x} * {x} * 1e0").calm(),
	of("functions", "BITWISE", Int, "BITWISE_XOR({x}, {y})",
		"BITWISE_AND(BITWISE_OR({x}, {y}), BITWISE_COMPLEMENT(BITWISE_AND({x}, {y})))"),
	of("functions", "CONCAT", Scalar, "CONCAT({x}, 'x')", "{x} || 'x'"),
	of("functions", "LENGTH", Text, "LENGTH({x} || 'x')", "CHAR_LENGTH({x}) + 1"),
	of("functions", "UPPER, LOWER", Text, "UPPER({x})", "UPPER(LOWER({x}))"),
	of("functions", "SUBSTRING", Text, "LEFT({x}, 2)",
		"LEFT({x}, 1) || SUBSTRING({x} || 'xx', 2, CASE WHEN LENGTH({x}) > 1 THEN 1 ELSE 0 END)"),
	of("functions", "TRIM", Text, "TRIM({x})", "LTRIM(RTRIM({x}))", "TRIM(BOTH ' ' FROM {x})"),
	of("functions", "REVERSE", Text, "REVERSE(REVERSE({x}))", "{x}"),
	of("functions", "REPLACE", Text, "REPLACE({x}, 'a', 'b')", "REGEXP_REPLACE({x}, 'a', 'b')"),
	of("functions", "LPAD, REPEAT", Text, "LPAD({x}, 3, 'z')",
		"CASE WHEN LENGTH({x}) < 3 THEN REPEAT('z', 3 - LENGTH({x})) || {x} ELSE LEFT({x}, 3) END"),
	of("functions", "REGEXP_LIKE", Text, "REGEXP_LIKE({x}, '^a')", "{x} LIKE 'a%'"),
	of("functions", "STRING_TO_ARRAY", Text, "ARRAY_TO_STRING(STRING_TO_ARRAY({x} || ',x', ','), ',')", "{x} || ',x'"),
	of("functions", "FLOOR .. TO", Time, "CAST(FLOOR({x} TO DAY) AS TIMESTAMP)", "TIME_FLOOR({x}, 'P1D')",
		"CAST(DATE_TRUNC('day', {x}) AS TIMESTAMP)"),
	of("functions", "CEIL .. TO", Time, "CAST(CEIL({x} TO HOUR) AS TIMESTAMP)", "TIME_CEIL({x}, 'PT1H')"),
	of("functions", "EXTRACT", Time, "EXTRACT(MONTH FROM {x})", "TIME_EXTRACT({x}, 'MONTH')", "MONTH({x})"),
	of("functions", "TIME_SHIFT", Time, "TIME_SHIFT({x}, 'P1D', 2)", "TIMESTAMPADD(DAY, 2, CAST({x} AS TIMESTAMP))"),
	of("functions", "TIME_FORMAT", Time, "TIME_PARSE(TIME_FORMAT({x}))", "CAST({x} AS TIMESTAMP)"),
	of("functions", "TIMESTAMP_TO_MILLIS", Time, "MILLIS_TO_TIMESTAMP(TIMESTAMP_TO_MILLIS({x}))", "CAST({x} AS TIMESTAMP)"),
	of("functions", "CURRENT_TIMESTAMP", Time, "{x} < CURRENT_TIMESTAMP", "{x} < LOCALTIMESTAMP"),
	of("functions", "ARRAY_LENGTH", Lists, "ARRAY_LENGTH(ARRAY_CONCAT({x}, {y}))", "ARRAY_LENGTH({x}) + CARDINALITY({y})"),
	of("functions", "ARRAY_SLICE", Lists, "ARRAY_SLICE(ARRAY_CONCAT({x}, {y}), 0, ARRAY_LENGTH({x}))",
		"CASE WHEN {y} IS NOT NULL THEN {x} END"),
	of("functions", "ARRAY_CONTAINS", Lists, "ARRAY_CONTAINS({x}, {x})", "CASE WHEN {x} IS NOT NULL THEN TRUE END"),
	of("functions", "ARRAY_OVERLAP", Lists, "ARRAY_OVERLAP({x}, COALESCE({y}, {k}))",
		"CASE WHEN {x} IS NOT NULL THEN ARRAY_OVERLAP(COALESCE({y}, {k}), {x}) END"),
	of("functions", "ARRAY_SORT, ARRAY_DISTINCT", Lists, "ARRAY_SORT(ARRAY_DISTINCT({x}))", "ARRAY_DISTINCT(ARRAY_SORT({x}))"),
	of("functions", "MV_LENGTH", Multi, "MV_LENGTH({x})", "ARRAY_LENGTH(MV_TO_ARRAY({x}))"),
	of("functions", "MV_TO_STRING", Multi, "MV_TO_STRING({x}, '-')", "ARRAY_TO_STRING(MV_TO_ARRAY({x}), '-')"),
	of("functions", "scalar function of a multi-value string", Multi, "UPPER({x})", "UPPER(LOWER({x}))"),
	of("functions", "TO_JSON", Plain|JSON, "TO_JSON_STRING(TO_JSON({x}))", "TO_JSON_STRING({x})"),
	of("functions", "JSON_OBJECT", Plain|JSON, "TO_JSON_STRING(JSON_QUERY(JSON_OBJECT(KEY 'k' VALUE {x}), '$.k'))",
		"TO_JSON_STRING(JSON_QUERY(JSON_OBJECT('k': {x}), '$.k'))"),
	of("functions", "JSON_VALUE", JSON, "JSON_VALUE({x}, '$.a' RETURNING BIGINT)", "CAST(JSON_VALUE({x}, '$.a') AS BIGINT)"),
	of("functions", "JSON_QUERY", JSON, "TO_JSON_STRING(JSON_QUERY({x}, '$'))", "TO_JSON_STRING({x})"),
	of("functions", "JSON_VALUE ON EMPTY", JSON, "JSON_VALUE({x}, '$.a' NULL ON EMPTY NULL ON ERROR)", "JSON_VALUE({x}, '$.a')"),
	of("functions", "JSON_QUERY ON EMPTY", JSON, "TO_JSON_STRING(JSON_QUERY({x}, '$.b' WITHOUT ARRAY WRAPPER NULL ON EMPTY NULL ON ERROR))",
		"TO_JSON_STRING(JSON_QUERY({x}, '$.b'))"),
	of("functions", "JSON_OBJECT NULL ON NULL", Plain|JSON, "TO_JSON_STRING(JSON_OBJECT(KEY 'a' VALUE {x} NULL ON NULL))",
		"TO_JSON_STRING(JSON_OBJECT(KEY 'a' VALUE {x}))"),
	of("functions", "PARSE_JSON", JSON, "TO_JSON_STRING(PARSE_JSON(TO_JSON_STRING({x})))",
		"TO_JSON_STRING(TRY_PARSE_JSON(TO_JSON_STRING({x})))"),
	of("functions", "HLL_SKETCH_UNION", Sketch, "HLL_SKETCH_ESTIMATE(HLL_SKETCH_UNION({x}, {y}))",
		"HLL_SKETCH_ESTIMATE(HLL_SKETCH_UNION({y}, {x}))"),
}

// grouped are aggregates that give the same, over one group and several.
func grouped(name string, classes Class, aggregates ...string) *Production {
	q := &Production{Group: "aggregates", Name: name, Classes: classes, Calm: true}
	for _, a := range aggregates {
		q.Templates = append(q.Templates, "SELECT t.s, "+a+" FROM {t} GROUP BY t.s", "SELECT t.s, "+a+" FROM {t} GROUP BY ROLLUP "+
			"(t.s) HAVING GROUPING(t.s) = 0")
	}
	return q
}

var aggregates = []*Production{
	grouped("COUNT", Any, "COUNT({x})", "SUM(CASE WHEN {x} IS NOT NULL THEN 1 ELSE 0 END)"),
	grouped("COUNT(DISTINCT)", Plain, "COUNT(DISTINCT {x})", "COUNT(DISTINCT CASE WHEN {x} IS NOT NULL THEN {x} END)"),
	grouped("COUNT(DISTINCT) of a multi-value string", Multi, "COUNT(DISTINCT {x})"),
	grouped("FILTER", Any, "COUNT({x}) FILTER (WHERE {q})",
		"COUNT(CASE WHEN {q} THEN 1 END) - COUNT(CASE WHEN {q} AND {x} IS NULL THEN 1 END)"),
	grouped("SUM", Num, "SUM({x})", "-SUM(-({x}))", "SUM({x} + 1) - COUNT({x})"),
	grouped("SUM(DISTINCT)", Num, "SUM(DISTINCT {x})", "-SUM(DISTINCT -({x}))"),
	grouped("AVG", Num, "AVG({x})", "SUM({x}) * 1e0 / COUNT({x})"),
	grouped("MIN, MAX", Scalar, "MIN({x})", "PERCENTILE_DISC(0) WITHIN GROUP (ORDER BY {x})", "MIN(DISTINCT {x})"),
	grouped("MAX of the other way", Num, "MAX({x})", "-MIN(-({x}))"),
	{Group: "aggregates", Name: "ANY_VALUE", Classes: Scalar, Templates: []string{"SELECT t.id, ANY_VALUE({x}) FROM {t} GROUP BY t.id",
		"SELECT t.id, {x} FROM {t}"}},
	grouped("EARLIEST, LATEST", Scalar, "EARLIEST({x})", "EARLIEST_BY({x}, t.__time)", "MIN_BY({x}, t.__time)"),
	grouped("MAX_BY, MIN_BY", Plain, "MAX_BY({x}, t.id)", "ARG_MAX({x}, t.id)"),
	grouped("MODE", Scalar, "MODE({x})", "MODE({x}) FILTER (WHERE {x} IS NOT NULL)"),
	grouped("MEDIAN", Num, "MEDIAN({x})", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY {x})", "PERCENTILE_CONT({x}, 0.5)"),
	grouped("PERCENTILE_DISC", Scalar, "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY {x})", "PERCENTILE_DISC({x}, 0.5)"),
	grouped("ARRAY_AGG", Plain, "ARRAY_AGG({x} ORDER BY t.id)", "ARRAY_AGG({x} ORDER BY t.id) FILTER (WHERE t.id IS NOT NULL)"),
	grouped("ARRAY_CONCAT_AGG", Lists, "ARRAY_LENGTH(ARRAY_CONCAT_AGG({x}))", "SUM(ARRAY_LENGTH({x}))"),
	grouped("STRING_AGG", Text, "STRING_AGG({x}, ',' ORDER BY t.id)",
		"ARRAY_TO_STRING(ARRAY_AGG({x} ORDER BY t.id) FILTER (WHERE {x} IS NOT NULL), ',')"),
	grouped("BIT_AND, BIT_OR, BIT_XOR", Int, "BIT_AND({x})", "BITWISE_COMPLEMENT(BIT_OR(BITWISE_COMPLEMENT({x})))"),
	grouped("EVERY, SOME", Bool, "EVERY({x})", "NOT SOME(NOT {x})"),
	grouped("COUNT_IF", Bool, "COUNT_IF({x})", "COUNT(*) FILTER (WHERE {x})", "SUM(CASE WHEN {x} THEN 1 ELSE 0 END)"),
	grouped("VAR, STDDEV", Num, "VAR_POP({x})", "POWER(STDDEV_POP({x}), 2)"),
	grouped("COVAR, REGR", Num, "COVAR_POP({x}, t.n)", "COVAR_POP(t.n, {x})"),
	grouped("APPROX_COUNT_DISTINCT", Scalar|Multi, "APPROX_COUNT_DISTINCT({x})", "APPROX_COUNT_DISTINCT({x}) FILTER (WHERE TRUE)"),
	grouped("DS_HLL", Scalar, "APPROX_COUNT_DISTINCT_DS_HLL({x})", "ROUND(HLL_SKETCH_ESTIMATE(DS_HLL({x})))"),
	grouped("DS_HLL of sketches", Sketch, "APPROX_COUNT_DISTINCT_DS_HLL({x})", "ROUND(HLL_SKETCH_ESTIMATE(DS_HLL({x})))"),
	grouped("DS_THETA", Scalar, "APPROX_COUNT_DISTINCT_DS_THETA({x})", "THETA_SKETCH_ESTIMATE(DS_THETA({x}))"),
	grouped("APPROX_QUANTILE_DS", Num, "APPROX_QUANTILE_DS({x}, 0.5)", "DS_GET_QUANTILE(DS_QUANTILES_SKETCH({x}), 0.5)"),
}

// over are window calls that give the same.
func over(name string, classes Class, calls ...string) *Production {
	q := &Production{Group: "windows", Name: name, Classes: classes, Calm: true}
	for _, c := range calls {
		q.Templates = append(q.Templates, fmt.Sprintf("SELECT t.id, %s FROM {t}", c))
	}
	return q
}

var windows = []*Production{
	over("PARTITION BY", keys, "COUNT(*) OVER (PARTITION BY {x})",
		"SUM(1) OVER (PARTITION BY {x} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"),
	over("ORDER BY", ranked, "RANK() OVER (ORDER BY {x})",
		"1 + COUNT(*) OVER (ORDER BY {x} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE GROUP)"),
	over("ROW_NUMBER", ranked|Lists, "ROW_NUMBER() OVER (ORDER BY {x}{dir}, t.id)",
		"COUNT(*) OVER (ORDER BY {x}{dir}, t.id ROWS UNBOUNDED PRECEDING)"),
	over("DENSE_RANK", ranked|Lists, "DENSE_RANK() OVER (ORDER BY {x})", "DENSE_RANK() OVER (ORDER BY {x} ASC NULLS FIRST)"),
	over("PERCENT_RANK, CUME_DIST", ranked|Lists, "CUME_DIST() OVER (ORDER BY {x})",
		"COUNT(*) OVER (ORDER BY {x}) * 1e0 / COUNT(*) OVER ()"),
	over("NTILE", ranked|Lists, "NTILE(1) OVER (ORDER BY {x}, t.id)", "1 + 0 * t.id"),
	over("LAG, LEAD", Plain|JSON, "LAG({x}) OVER (ORDER BY t.id)", "LEAD({x}) OVER (ORDER BY t.id DESC)",
		"NTH_VALUE({x}, 1) OVER (ORDER BY t.id ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING)"),
	over("LAG with a default", Plain, "LAG({x}, 2, {k}) OVER (ORDER BY t.id)", "LEAD({x}, 2, {k}) OVER (ORDER BY t.id DESC)"),
	over("LAG IGNORE NULLS", Plain|JSON, "LAG({x}) IGNORE NULLS OVER (ORDER BY t.id)",
		"LAST_VALUE({x}) IGNORE NULLS OVER (ORDER BY t.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"),
	over("FIRST_VALUE, LAST_VALUE", Plain|JSON, "FIRST_VALUE({x}) OVER (PARTITION BY t.s ORDER BY t.id)",
		"LAST_VALUE({x}) OVER (PARTITION BY t.s ORDER BY t.id DESC ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
		"NTH_VALUE({x}, 1) RESPECT NULLS OVER (PARTITION BY t.s ORDER BY t.id)"),
	over("SUM", Num, "SUM({x}) OVER (ORDER BY t.id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)",
		"SUM({x}) OVER (ORDER BY t.id DESC ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING)"),
	over("MIN, MAX", Scalar, "MAX({x}) OVER (PARTITION BY t.s)",
		"MAX({x}) OVER (PARTITION BY t.s ORDER BY t.n ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"),
	over("COUNT with FILTER", Any&^(Multi|Sketch), "COUNT({x}) FILTER (WHERE t.n > 1) OVER (PARTITION BY t.s)",
		"COUNT(CASE WHEN t.n > 1 THEN {x} END) OVER (PARTITION BY t.s)"),
	over("COUNT(DISTINCT)", keys, "COUNT(DISTINCT {x}) OVER (PARTITION BY t.s)",
		"COUNT(DISTINCT {x}) OVER (PARTITION BY t.s ORDER BY t.id RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"),
	over("RANGE of the value", Num, "COUNT(*) OVER (ORDER BY {x} RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
		"COUNT(*) OVER (ORDER BY {x} DESC RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)"),
	over("RANGE of a time", Time, "COUNT(*) OVER (ORDER BY {x} RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW)",
		"COUNT(*) OVER (ORDER BY {x} DESC RANGE BETWEEN CURRENT ROW AND INTERVAL '1' DAY FOLLOWING)"),
	over("GROUPS", ranked|Lists, "COUNT(*) OVER (ORDER BY {x} GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW)",
		"COUNT(*) OVER (ORDER BY {x} DESC NULLS LAST GROUPS BETWEEN CURRENT ROW AND 1 FOLLOWING)"),
}
