package random

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/grammar"
	"github.com/hengedb/henge/internal/testkit/server"
)

// part is a part of a native query and what it is in SQL.
type part struct {
	name string
	json map[string]any
	sql  string
}

type object = map[string]any

// filters are conditions of each type over random columns and values.
func (x table) filters() []part {
	text, word, whole := x.pick("s", "t", "m"), x.pick("a", "b", "X", "", "ab"), x.r.IntN(6)-2
	number := x.pick("n", "id", "b")
	single := x.pick("s", "t")
	month := x.r.IntN(3) + 1
	interval := fmt.Sprintf("2024-%02d-10/2024-%02d-05", month, month+1)
	return []part{
		{"selector", object{"type": "selector", "dimension": text, "value": word}, fmt.Sprintf("%s = '%s'", text, word)},
		{"selector of a number", object{"type": "selector", "dimension": number, "value": fmt.Sprint(whole)}, fmt.Sprintf("%s = %d",
			number, whole)},
		{"selector of NULL", object{"type": "selector", "dimension": single, "value": nil}, single + " IS NULL"},
		{"equals", object{"type": "equals", "column": number, "matchValueType": "LONG", "matchValue": whole}, fmt.Sprintf("%s = %d",
			number, whole)},
		{"equals of a text", object{"type": "equals", "column": text, "matchValueType": "STRING", "matchValue": word}, fmt.Sprintf(
			"%s = '%s'", text, word)},
		{"equals of an array", object{"type": "equals", "column": "na", "matchValueType": "ARRAY<LONG>", "matchValue": []int{1, 2}},
			"na = ARRAY[1, 2]"},
		{"null", object{"type": "null", "column": x.pick("s", "q", "na", "n")}, ""},
		{"in", object{"type": "in", "dimension": text, "values": []any{word, "c"}}, fmt.Sprintf("%s IN ('%s', 'c')", text, word)},
		{"inType", object{"type": "inType", "column": number, "matchValueType": "LONG", "sortedValues": []any{whole, whole + 2}},
			fmt.Sprintf("%s IN (%d, %d)", number, whole, whole+2)},
		{"bound of texts", object{"type": "bound", "dimension": single, "lower": "a", "lowerStrict": true, "upper": word + "c",
			"ordering": "lexicographic"},
			fmt.Sprintf("(%s > 'a' AND %s <= '%sc')", single, single, word)},
		{"bound of numbers", object{"type": "bound", "dimension": number, "lower": fmt.Sprint(whole), "upperStrict": true, "upper": fmt.Sprint(whole + 3),
			"ordering": "numeric"},
			fmt.Sprintf("(%s >= %d AND %s < %d)", number, whole, number, whole+3)},
		{"range", object{"type": "range", "column": "q", "matchValueType": "DOUBLE", "lower": float64(whole), "lowerOpen": true, "upper": float64(whole) + 2.5},
			fmt.Sprintf("(q > %d AND q <= %d.5)", whole, whole+2)},
		{"range of texts", object{"type": "range", "column": single, "matchValueType": "STRING", "lower": "a"}, single + " >= 'a'"},
		{"like", object{"type": "like", "dimension": text, "pattern": word + "%"}, fmt.Sprintf("%s LIKE '%s%%'", text, word)},
		{"regex", object{"type": "regex", "dimension": single, "pattern": "^[ab]"}, fmt.Sprintf("REGEXP_LIKE(%s, '^[ab]')", single)},
		{"search", object{"type": "search", "dimension": single, "query": object{"type": "contains", "value": word, "caseSensitive": true}},
			fmt.Sprintf("CONTAINS_STRING(%s, '%s')", single, word)},
		{"interval", object{"type": "interval", "dimension": "__time", "intervals": []string{interval}}, "TIME_IN_INTERVAL(__time, '" + interval + "')"},
		{"columnComparison", object{"type": "columnComparison", "dimensions": []string{"s", "t"}}, "s IS NOT DISTINCT FROM t"},
		{"expression", object{"type": "expression", "expression": fmt.Sprintf("n > %d && id %% 2 == 1", whole)}, fmt.Sprintf(
			"(n > %d AND MOD(id, 2) = 1)", whole)},
		{"arrayContainsElement", object{"type": "arrayContainsElement", "column": "na", "elementMatchValueType": "LONG",
			"elementMatchValue": 2}, "ARRAY_CONTAINS(na, 2)"},
		{"true", object{"type": "true"}, "TRUE"},
		{"false", object{"type": "false"}, "FALSE"},
	}
}

// filter is a random condition: of a given number, and others around it.
func (x table) filter(at int) part {
	all := x.filters()
	f := all[at%len(all)]
	if f.name == "null" {
		f.sql = f.json["column"].(string) + " IS NULL"
	}
	switch x.r.IntN(7) {
	case 0:
		f.json, f.sql = object{"type": "not", "field": f.json}, "NOT ("+f.sql+")"
	case 1, 2:
		kind := x.pick("and", "or")
		g := x.filter(x.r.IntN(len(all)))
		f.json, f.sql = object{"type": kind, "fields": []any{f.json, g.json}}, "("+f.sql+" "+strings.ToUpper(kind)+" "+g.sql+")"
	case 3:
		f.json, f.sql = object{"type": "istrue", "field": f.json}, "("+f.sql+") IS TRUE"
	case 4:
		f.json, f.sql = object{"type": "isfalse", "field": f.json}, "("+f.sql+") IS FALSE"
	}
	return f
}

// aggregators are each type with a name that SQL gives, too.
func (x table) aggregators() []part {
	of := func(kind, column, sql string) part {
		return part{kind, object{"type": kind, "name": "a", "fieldName": column}, sql}
	}
	whole, text := x.pick("n", "id", "l"), x.pick("s", "t")
	filter := x.filter(x.r.IntN(100))
	return []part{
		{"count", object{"type": "count", "name": "a"}, "COUNT(*)"},
		of("longSum", whole, "SUM("+whole+")"), of("longMin", whole, "MIN("+whole+")"), of("longMax", whole, "MAX("+whole+")"),
		of("doubleSum", "q", "SUM(q)"), of("doubleMin", "q", "MIN(q)"), of("doubleMax", "q", "MAX(q)"),
		of("floatSum", "f", "SUM(f)"), of("floatMin", "f", "MIN(f)"), of("floatMax", "f", "MAX(f)"),
		of("longFirst", "id", "EARLIEST(id)"), of("longLast", "id", "LATEST(id)"), of("doubleFirst", "q", "EARLIEST(q)"), of(
			"doubleLast", "q", "LATEST(q)"),
		of("stringFirst", text, "EARLIEST("+text+")"), of("stringLast", text, "LATEST("+text+")"), of("doubleMean", "q",
			"COALESCE(AVG(q), 0)"),
		{"filtered", object{"type": "filtered", "filter": filter.json, "aggregator": object{"type": "longSum", "name": "a", "fieldName": "id"}},
			"SUM(id) FILTER (WHERE " + filter.sql + ")"},
		{"cardinality", object{"type": "cardinality", "name": "a", "fields": []string{text}, "round": true}, "APPROX_COUNT_DISTINCT(" + text + ")"},
		{"HLLSketchBuild", object{"type": "HLLSketchBuild", "name": "a", "fieldName": text, "round": true},
			"APPROX_COUNT_DISTINCT_DS_HLL(" + text + ")"},
		{"thetaSketch", object{"type": "thetaSketch", "name": "a", "fieldName": text}, "APPROX_COUNT_DISTINCT_DS_THETA(" + text + ")"},
	}
}

// dimensions are each type.
func (x table) dimensions() []part {
	text, number := x.pick("s", "t", "m"), x.pick("n", "b", "id")
	single := x.pick("s", "t")
	return []part{
		{"name", object{"type": "default", "dimension": text, "outputName": "d"}, text},
		{"number", object{"type": "default", "dimension": number, "outputName": "d", "outputType": "LONG"}, number},
		{"array", object{"type": "default", "dimension": "na", "outputName": "d", "outputType": "ARRAY<LONG>"}, "na"},
		{"substring", object{"type": "extraction", "dimension": single, "outputName": "d", "extractionFn": object{"type": "substring",
			"index": 0, "length": 1}},
			"SUBSTRING(" + single + ", 1, 1)"},
		{"upper", object{"type": "extraction", "dimension": single, "outputName": "d", "extractionFn": object{"type": "upper"}},
			"UPPER(" + single + ")"},
		{"strlen", object{"type": "extraction", "dimension": single, "outputName": "d", "outputType": "LONG", "extractionFn": object{
			"type": "strlen"}},
			"LENGTH(" + single + ")"},
		{"listFiltered", object{"type": "listFiltered", "delegate": object{"type": "default", "dimension": "m", "outputName": "d"},
			"values": []string{"a", "b"}},
			"MV_FILTER_ONLY(m, ARRAY['a', 'b'])"},
		{"virtual column", object{"type": "default", "dimension": "v", "outputName": "d", "outputType": "LONG"}, "n + 1"},
	}
}

// granularities are names and what SQL floors by.
var granularities = [][2]string{{"all", ""}, {"day", "P1D"}, {"month", "P1M"}, {"hour", "PT1H"}, {"week", "P1W"}, {"six_hour", "PT6H"}}

// nativeQuery is a native query, and SQL that gives the same rows.
type nativeQuery struct {
	kind, sql string
	body      object
	ordered   bool
	// rows takes the rows out of an answer.
	rows func(answer any) [][]any
	// cells name what the query has.
	cells []string
}

// choice is the random parts of one query.
type choice struct {
	table
	filter, aggregator, dimension part
	granularity                   [2]string
}

// query is a random query of a type. Its parts go round with at, so that each comes in turn.
func (x table) query(kind string, at int) nativeQuery {
	aggregators, dimensions := x.aggregators(), x.dimensions()
	c := choice{x, x.filter(at), aggregators[at%len(aggregators)], dimensions[at%len(dimensions)],
		granularities[x.r.IntN(len(granularities))]}
	q := nativeQuery{kind: kind, cells: []string{"filter " + c.filter.name}}
	q.body = object{
		"queryType": kind, "dataSource": "x", "intervals": []string{"2020-01-01/2030-01-01"}, "filter": c.filter.json,
		"virtualColumns": []any{object{"type": "expression", "name": "v", "expression": "n + 1", "outputType": "LONG"}},
		"context":        object{"skipEmptyBuckets": true},
	}
	where := " FROM x WHERE " + c.filter.sql
	switch kind {
	case "timeseries":
		c.timeseries(&q, where)
	case "topN":
		c.topN(&q, where)
	case "groupBy":
		c.groupBy(&q, where)
	case "scan":
		c.scan(&q, where)
	case "search":
		c.search(&q, where)
	case "timeBoundary":
		q.sql = "SELECT MIN(__time), MAX(__time)" + where + " HAVING COUNT(*) > 0"
		q.rows = each("result", func(r object) [][]any { return [][]any{{r["minTime"], r["maxTime"]}} })
	case "segmentMetadata":
		c.segmentMetadata(&q)
	}
	return q
}

// each takes the rows out of the objects of a list, or out of a member of each.
func each(member string, rows func(object) [][]any) func(any) [][]any {
	return func(answer any) (out [][]any) {
		list, _ := answer.([]any)
		for _, e := range list {
			o := e.(object)
			if member != "" {
				o = o[member].(object)
			}
			out = append(out, rows(o)...)
		}
		return out
	}
}

// inner is each over the lists in a member of each object.
func inner(member string, columns ...string) func(any) [][]any {
	return each("", func(o object) (rows [][]any) {
		list, _ := o[member].([]any)
		for _, e := range list {
			if row, ok := e.([]any); ok {
				rows = append(rows, row)
				continue
			}
			var row []any
			for _, c := range columns {
				row = append(row, e.(object)[c])
			}
			rows = append(rows, row)
		}
		return rows
	})
}

// bucketed puts the time of a bucket before the cells of its row.
func (c choice) bucketed(member string, columns ...string) func(any) [][]any {
	return each("", func(o object) [][]any {
		var row []any
		if c.granularity[1] != "" {
			row = append(row, o["timestamp"])
		}
		for _, name := range columns {
			row = append(row, o[member].(object)[name])
		}
		return [][]any{row}
	})
}

func (c choice) bucket() string { return "TIME_FLOOR(__time, '" + c.granularity[1] + "')" }

// counted are the aggregators of a query: a random one and the number of rows.
func (c choice) counted() []any {
	return []any{c.aggregator.json, object{"type": "count", "name": "b"}}
}

func (c choice) timeseries(q *nativeQuery, where string) {
	q.cells = append(q.cells, "aggregator "+c.aggregator.name, "granularity "+c.granularity[0])
	q.body["granularity"], q.body["aggregations"] = c.granularity[0], c.counted()
	q.body["postAggregations"] = []any{object{"type": "arithmetic", "name": "c", "fn": "+",
		"fields": []any{object{"type": "fieldAccess", "fieldName": "b"}, object{"type": "constant", "name": "one", "value": 1}}}}
	q.ordered = true
	q.sql = "SELECT " + c.aggregator.sql + ", COUNT(*), COUNT(*) + 1" + where + " HAVING COUNT(*) > 0"
	if c.granularity[1] != "" {
		q.sql = "SELECT " + c.bucket() + ", " + c.aggregator.sql + ", COUNT(*), COUNT(*) + 1" + where + " GROUP BY 1 ORDER BY 1"
	}
	q.rows = c.bucketed("result", "a", "b", "c")
}

func (c choice) topN(q *nativeQuery, where string) {
	q.cells = append(q.cells, "aggregator "+c.aggregator.name, "dimension "+c.dimension.name)
	limit := c.r.IntN(4) + 1
	having := ""
	if c.dimension.name == "listFiltered" { // a topN has no group for rows that have none of the values
		having = " HAVING " + c.dimension.sql + " IS NOT NULL"
	}
	q.body["granularity"], q.body["aggregations"], q.body["dimension"] = "all", c.counted(), c.dimension.json
	q.body["metric"], q.body["threshold"] = "b", limit
	q.sql = fmt.Sprintf("SELECT %s, %s, COUNT(*)%s GROUP BY 1%s ORDER BY 3 DESC, 1 NULLS FIRST LIMIT %d", c.dimension.sql,
		c.aggregator.sql, where,
		having, limit)
	q.ordered = true
	q.rows = inner("result", "d", "a", "b")
}

func (c choice) groupBy(q *nativeQuery, where string) {
	q.cells = append(q.cells, "aggregator "+c.aggregator.name, "dimension "+c.dimension.name, "granularity "+c.granularity[0])
	q.body["granularity"], q.body["aggregations"], q.body["dimensions"] = c.granularity[0], c.counted(), []any{c.dimension.json, "s"}
	keys, ordinals := []string{c.dimension.sql, "s"}, "1, 2"
	if c.granularity[1] != "" {
		keys, ordinals = append([]string{c.bucket()}, keys...), "1, 2, 3"
	}
	having := ""
	if c.r.IntN(3) == 0 {
		q.body["having"] = object{"type": "greaterThan", "aggregation": "b", "value": 1}
		having = " HAVING COUNT(*) > 1"
		q.cells = append(q.cells, "having")
	}
	q.sql = "SELECT " + strings.Join(keys, ", ") + ", " + c.aggregator.sql + ", COUNT(*)" + where + " GROUP BY " + ordinals + having
	q.rows = c.bucketed("event", "d", "s", "a", "b")
}

func (c choice) scan(q *nativeQuery, where string) {
	shown := []string{"id", "s", "t", "m", "n", "l", "q", "na", "v"}
	q.body["columns"], q.body["resultFormat"] = shown, "compactedList"
	q.sql = "SELECT id, s, t, m, n, l, q, na, n + 1" + where
	if c.r.IntN(2) == 0 {
		order := [][2]string{{"ascending", "ASC"}, {"descending", "DESC"}}[c.r.IntN(2)]
		limit := c.r.IntN(8) + 1
		q.ordered = true
		q.body["order"], q.body["limit"], q.body["columns"] = order[0], limit, append(shown, "__time")
		q.sql = fmt.Sprintf("SELECT id, s, t, m, n, l, q, na, n + 1, TIMESTAMP_TO_MILLIS(__time)%s ORDER BY __time %s LIMIT %d", where,
			order[1], limit)
		q.cells = append(q.cells, "order and limit")
	}
	q.rows = inner("events")
}

func (c choice) search(q *nativeQuery, where string) {
	word := c.pick("a", "b", "X")
	q.body["granularity"], q.body["searchDimensions"] = "all", []string{"s", "t"}
	q.body["query"] = object{"type": "contains", "value": word, "caseSensitive": true}
	one := func(column string) string {
		return fmt.Sprintf("SELECT '%s', %s, COUNT(*)%s AND %s LIKE '%%%s%%' GROUP BY 2", column, column, where, column, word)
	}
	q.sql = one("s") + " UNION ALL " + one("t")
	q.rows = inner("result", "dimension", "value", "count")
}

func (c choice) segmentMetadata(q *nativeQuery) {
	q.cells = []string{"columns"}
	delete(q.body, "filter")
	q.body["merge"], q.body["analysisTypes"] = true, []string{"minmax", "interval"}
	bounds := func(column string) string { // NULL is the lowest of the values
		return "CASE WHEN COUNT(*) = COUNT(" + column + ") THEN MIN(" + column + ") END, MAX(" + column + ")"
	}
	q.sql = "SELECT COUNT(*), " + bounds("s") + ", " + bounds("t") + " FROM x"
	q.rows = each("", func(o object) [][]any {
		columns := o["columns"].(object)
		s, t := columns["s"].(object), columns["t"].(object)
		return [][]any{{o["numRows"], s["minValue"], s["maxValue"], t["minValue"], t["maxValue"]}}
	})
}

// kinds are the types of native queries.
var kinds = []string{"timeseries", "topN", "groupBy", "scan", "search", "timeBoundary", "segmentMetadata"}

// TestNativeQueries compares random native queries with the same in SQL, over a table that is
// stored in a random way.
func TestNativeQueries(t *testing.T) {
	s := server.Start(t, server.Options{})
	var cells grammar.Table
	asked, empty := 0, 0
	rounds(t, "NativeQueries", 1, func(t *testing.T, seed uint64) {
		x := newTable(t, seed, 40)
		if len(x.Rows) == 0 {
			return
		}
		if err := s.Ingest(t.Context(), x.load(t, "REPLACE INTO x OVERWRITE ALL", x.Rows, x.layout()), nil); err != nil {
			t.Fatal(err)
		}
		for at := range 110 {
			for _, kind := range kinds {
				if kind == "segmentMetadata" && at > 3 {
					continue
				}
				q := x.query(kind, at)
				n, d := compareNative(t, s, q)
				if asked++; n == 0 {
					empty++
				}
				if d != "" {
					body, _ := json.Marshal(q.body)
					t.Errorf("seed %d: %s\n%s\n%s", seed, body, q.sql, d)
					if !*every {
						return
					}
					continue
				}
				for _, c := range q.cells {
					cells.Count(c, kind)
				}
			}
		}
	})
	t.Logf("%d native queries, %d without rows", asked, empty)
	document(t, "native", nativeTable(t, &cells))
}

// nativeTable checks that no cell is empty that makes sense, and prints the cells.
func nativeTable(t *testing.T, cells *grammar.Table) string {
	var x table
	x.r = newTable(t, 1, 1).r
	var rows []string
	add := func(prefix string, parts []part, in ...string) {
		for _, p := range parts {
			rows = append(rows, prefix+p.name)
			for _, kind := range in {
				if !cells.Has(prefix+p.name, kind) {
					t.Errorf("nobody made a query %s with the %s%s", kind, prefix, p.name)
				}
			}
		}
	}
	add("filter ", x.filters(), kinds[:6]...)
	add("aggregator ", x.aggregators(), kinds[:3]...)
	add("dimension ", x.dimensions(), "topN", "groupBy")
	for _, g := range granularities {
		add("granularity ", []part{{name: g[0]}}, "timeseries", "groupBy")
	}
	add("", []part{{name: "having"}}, "groupBy")
	add("", []part{{name: "order and limit"}}, "scan")
	add("", []part{{name: "columns"}}, "segmentMetadata")
	return cells.Grid("Part", rows, kinds)
}

// compareNative asks both. It returns how many rows SQL has, and what differs.
func compareNative(t *testing.T, s *server.Server, q nativeQuery) (n int, difference string) {
	t.Helper()
	want, err := s.Query(t.Context(), q.sql)
	if err != nil {
		return 0, err.Error()
	}
	body, err := json.Marshal(q.body)
	if err != nil {
		t.Fatal(err)
	}
	status, answer, err := s.Send(t.Context(), "router", http.MethodPost, "/service/v2", string(body))
	if err != nil {
		t.Fatal(err)
	}
	if status != http.StatusOK {
		return len(want), fmt.Sprintf("status %d: %s", status, answer)
	}
	var decoded any
	dec := json.NewDecoder(bytes.NewReader(answer))
	dec.UseNumber()
	if err := dec.Decode(&decoded); err != nil {
		return len(want), err.Error()
	}
	w, g := lines(want), lines(q.rows(decoded))
	if !q.ordered {
		slices.Sort(w)
		slices.Sort(g)
	}
	if !slices.Equal(w, g) {
		return len(want), fmt.Sprintf("SQL gives\n%s\nthe native query\n%s", strings.Join(w, "\n"), strings.Join(g, "\n"))
	}
	return len(want), ""
}

// lines are rows as text: numbers by their value, a list of one value as that, others as JSON.
func lines(rows [][]any) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		cells := make([]string, len(r))
		for c, v := range r {
			cells[c] = cellText(v)
		}
		out[i] = strings.Join(cells, " | ")
	}
	return out
}

func cellText(v any) string {
	switch x := v.(type) {
	case nil:
		return "NULL"
	case json.Number:
		if i, err := x.Int64(); err == nil {
			return fmt.Sprint(i)
		}
		f, _ := x.Float64()
		return fmt.Sprintf("%.9g", f)
	case []any:
		text, err := json.Marshal(x)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	return fmt.Sprint(v)
}
