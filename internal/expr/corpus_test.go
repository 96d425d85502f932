package expr_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/vector"
)

// corpusDir holds recorded answers of Druid, with the tables they are about.
const corpusDir = "../../../shared/golden/corpus"

type corpusEntry struct {
	ID       string          `json:"id"`
	SQL      string          `json:"sql"`
	Context  map[string]any  `json:"context"`
	SQLTypes []string        `json:"sqlTypes"`
	Rows     [][]any         `json:"rows"`
	Error    json.RawMessage `json:"error"`
	Spec     string          `json:"spec"`
}

func readCorpus(t *testing.T, topic string) []corpusEntry {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpusDir, topic+".jsonl"))
	if err != nil {
		t.Skipf("the recorded answers are not there: %v", err)
	}
	var out []corpusEntry
	for line := range bytes.Lines(data) {
		var e corpusEntry
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// corpusTable reads a table of the corpus as one batch; Encode says whether strings come with a
// dictionary.
func corpusTable(t *testing.T, name string, columns []expr.Column, encoded bool) *vector.Batch {
	t.Helper()
	file, err := os.Open(filepath.Join(corpusDir, "data", name+".json"))
	if err != nil {
		t.Skipf("the recorded tables are not there: %v", err)
	}
	defer file.Close()
	builders := make([]*vector.Builder, len(columns))
	for i, c := range columns {
		builders[i] = vector.NewBuilder(c.T.Runtime(), 64)
	}
	n := 0
	for in := bufio.NewScanner(file); in.Scan(); n++ {
		row := map[string]json.RawMessage{}
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		row["__time"] = row["t"]
		for i, c := range columns {
			builders[i].Append(corpusValue(t, c.T, row[c.Name]))
		}
	}
	b := &vector.Batch{N: n}
	for _, c := range builders {
		v := c.Build()
		if encoded && v.Type == vector.String {
			v = expr.Encode(v)
		}
		b.Cols = append(b.Cols, v)
	}
	return b
}

func corpusValue(t *testing.T, typ expr.Type, raw json.RawMessage) any {
	t.Helper()
	if raw == nil || string(raw) == "null" {
		return nil
	}
	if typ.Base == expr.Other {
		return string(expr.AppendNormalJSON(nil, string(raw)))
	}
	if typ.Base == expr.Array || typ.Multi {
		var list []json.RawMessage
		if raw[0] != '[' {
			list = []json.RawMessage{raw}
		} else if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatal(err)
		}
		out := []any{}
		for _, e := range list {
			out = append(out, corpusValue(t, typ.Elem(), e))
		}
		if typ.Multi { // the tables were stored with sorted values
			slices.SortFunc(out, func(a, b any) int {
				x, _ := a.(string)
				y, _ := b.(string)
				return cmp.Or(int(kernel.Bool(b == nil)-kernel.Bool(a == nil)), cmp.Compare(x, y))
			})
		}
		if typ.Multi && (len(out) == 0 || len(out) == 1 && out[0] == nil) {
			return nil
		}
		return out
	}
	text := string(raw)
	if raw[0] == '"' {
		text = jsontext.Text(text)
	}
	switch typ.Base {
	case expr.Timestamp:
		ms, ok := chrono.ParseTimestamp(text, nil)
		if !ok {
			t.Fatalf("no timestamp: %s", text)
		}
		return ms
	case expr.BigInt:
		n, ok := expr.ParseLong(text)
		if !ok {
			t.Fatalf("no number: %s", text)
		}
		return n
	case expr.Double:
		x, _ := expr.ParseDouble(text)
		return x
	case expr.Float:
		x, _ := expr.ParseDouble(text)
		return float32(x)
	}
	return text
}

func columnsOf(spec ...any) []expr.Column {
	var out []expr.Column
	for i := 0; i < len(spec); i += 2 {
		out = append(out, expr.Column{Index: i / 2, Name: spec[i].(string), T: spec[i+1].(expr.Type)})
	}
	return out
}

var cTypes = columnsOf("__time", expr.Of(expr.Timestamp).NotNull(), "id", expr.Of(expr.BigInt), "s", expr.Of(expr.Varchar), "s2",
	expr.Of(expr.Varchar), "ns", expr.Of(expr.Varchar),
	"tx", expr.Of(expr.Varchar), "l", expr.Of(expr.BigInt), "i", expr.Of(expr.BigInt), "d", expr.Of(expr.Double),
	"x", expr.Of(expr.Double), "f", expr.Of(expr.Float), "mv", expr.MultiString,
	"tm", expr.Of(expr.BigInt), "b", expr.Of(expr.BigInt), "j", expr.JSON, "jt", expr.Of(expr.Varchar), "ip", expr.Of(expr.Varchar))

var cArrays = columnsOf("__time", expr.Of(expr.Timestamp).NotNull(), "id", expr.Of(expr.BigInt), "sa",
	expr.ArrayOf(expr.Of(expr.Varchar)), "la", expr.ArrayOf(expr.Of(expr.BigInt)),
	"da", expr.ArrayOf(expr.Of(expr.Double)))

var (
	constantQuery = regexp.MustCompile(`(?s)^SELECT (.*)$`)
	columnQuery   = regexp.MustCompile(`(?s)^SELECT id, (.*) AS r FROM (c_types|c_arrays)( WHERE id <= 16)? ORDER BY __time$`)
	filterQuery   = regexp.MustCompile(`(?s)^SELECT id FROM (c_types|c_arrays) WHERE (.*) ORDER BY __time$`)
	oneRowQuery   = regexp.MustCompile(`(?s)^SELECT (.*) AS r FROM (c_types) WHERE id = 1$`)
)

// refusedForItself matches errors that say something about Druid only: an answer is as good.
var refusedForItself = regexp.MustCompile(
	`"status": ?5|UNSUPPORTED|Calcite assertion|Cannot handle literal|unsupported value|ArrayList|Cannot coerce field`)

// unlikeRecorded is how many answers of a topic may differ from the recorded ones. They are those
// where the specification asks for something else without the corpus saying so: TRUE and FALSE as
// text, three-valued logic, NULL for NULL arguments, DATE where the recorded release wants a
// TIMESTAMP, booleans in arithmetic, whole numbers kept by FLOOR, FLOOR at a change of the clock,
// casts that were refused, and arrays in JSON_VALUE. HENGE_CORPUS=topic lists them.
var unlikeRecorded = map[string]int{
	"numeric": 15, "operators": 43, "strings": 22, "time": 126, "zones": 5, "casts": 158, "nulls": 53, "regexp": 5, "ip": 3,
	"precedence": 1, "multivalue": 89, "json": 36,
}

func TestRecordedAnswers(t *testing.T) {
	tables := map[string][]expr.Column{"c_types": cTypes, "c_arrays": cArrays}
	for _, encoded := range []bool{false, true} {
		batches := map[string]*vector.Batch{
			"c_types":  corpusTable(t, "c_types", cTypes, encoded),
			"c_arrays": corpusTable(t, "c_arrays", cArrays, encoded),
		}
		for topic, allowed := range unlikeRecorded {
			same, unlike := 0, 0
			for _, entry := range readCorpus(t, topic) {
				got, ran := runEntry(entry, tables, batches)
				switch {
				case !ran:
				case got == "":
					same++
				default:
					unlike++
					if os.Getenv("HENGE_CORPUS") == topic {
						t.Logf("%s: %s", entry.SQL, got)
					}
				}
			}
			if unlike > allowed || same == 0 {
				t.Errorf("%s: %d answers differ from the recorded ones, at most %d may; %d are the same", topic, unlike, allowed, same)
			}
		}
	}
}

// runEntry evaluates a statement of the corpus if it is about one expression. got is empty if the
// answer is as recorded.
func runEntry(entry corpusEntry, tables map[string][]expr.Column, batches map[string]*vector.Batch) (got string, ran bool) {
	if entry.Spec != "" || strings.Contains(entry.SQL, "GROUP BY") {
		return "", false
	}
	ctx := &expr.Context{}
	if name, ok := entry.Context["sqlTimeZone"].(string); ok {
		zone, err := chrono.LoadZone(name)
		if err != nil {
			return "", false
		}
		ctx.Zone = zone
	}
	if s, ok := entry.Context["sqlCurrentTimestamp"].(string); ok {
		ctx.Now, _ = chrono.ParseTimestamp(s, nil)
	} else if regexp.MustCompile(`CURRENT_|LOCALTIME|NOW\(`).MatchString(entry.SQL) {
		return "", false
	}
	text, table, isFilter := "", "", false
	if m := columnQuery.FindStringSubmatch(entry.SQL); m != nil {
		text, table = m[1], m[2]
	} else if m := filterQuery.FindStringSubmatch(entry.SQL); m != nil {
		text, table, isFilter = m[2], m[1], true
	} else if m := oneRowQuery.FindStringSubmatch(entry.SQL); m != nil {
		text, table = m[1], m[2]
	} else if strings.Contains(entry.SQL, " FROM c_") || strings.Contains(entry.SQL, "VALUES") || strings.Contains(entry.SQL, "UNNEST") {
		return "", false
	} else if m := constantQuery.FindStringSubmatch(entry.SQL); m != nil {
		text = m[1]
	} else {
		return "", false
	}
	e, err := parseSQL(text, tables[table], ctx.Zone)
	if _, unread := errors.AsType[errUnread](err); unread {
		return "", false
	}
	failed := entry.Error != nil
	if bytes.Contains(entry.Error, []byte("No match found for function signature")) && !isNoMatch(err) {
		return "", false // a function that the release the answers are from does not have
	}
	unplanned := failed && refusedForItself.Match(entry.Error)
	if err == nil {
		e, err = expr.Fold(e, ctx)
	}
	var rows []any
	if err == nil {
		rows, err = evaluateRows(e, ctx, batches[table], isFilter)
	}
	switch {
	case err != nil && failed:
		return "", true
	case err != nil:
		return "error: " + err.Error(), true
	case unplanned:
		return "", true
	case failed:
		return fmt.Sprintf("answered %.80v instead of the error %.200s", rows, entry.Error), true
	}
	want := entry.Rows
	if len(want) < len(rows) && !isFilter {
		rows = rows[:len(want)]
	}
	if len(want) != len(rows) {
		return fmt.Sprintf("%d rows, recorded are %d: %.150v", len(rows), len(want), want), true
	}
	typ := entry.SQLTypes[len(entry.SQLTypes)-1]
	if base := e.Type().Base.String(); !isFilter && base != typ && !(base == "BIGINT" && typ == "INTEGER") {
		return fmt.Sprintf("type %s, recorded is %s", base, typ), true
	}
	for i := range want {
		cell := want[i][len(want[i])-1]
		if !sameCell(rows[i], cell, typ) {
			return fmt.Sprintf("row %d is %.120v, recorded is %.120v", i+1, rows[i], cell), true
		}
	}
	return "", true
}

func isNoMatch(err error) bool { return err != nil && strings.Contains(err.Error(), "No match found") }

func evaluateRows(e expr.Expr, ctx *expr.Context, b *vector.Batch, isFilter bool) ([]any, error) {
	p, err := expr.Compile(e, ctx)
	if err != nil {
		return nil, err
	}
	if b == nil {
		b = &vector.Batch{N: 1}
	}
	var out []any
	if isFilter {
		sel, err := p.Filter(b)
		for _, r := range sel {
			out = append(out, strconv.FormatInt(b.Cols[1].LongAt(int(r)), 10))
		}
		return out, err
	}
	v, err := p.Eval(b)
	if err != nil {
		return nil, err
	}
	for i := range v.Len {
		out = append(out, showCell(v, i, e.Type(), ctx.Zone))
	}
	return out, nil
}

// showCell renders a value as a result shows it: nil, or the text of the JSON value.
func showCell(v *vector.Vector, i int, t expr.Type, zone *chrono.Zone) any {
	if v.IsNull(i) {
		return nil
	}
	switch {
	case t.Multi:
		lo, hi := v.ListAt(i)
		if hi-lo == 1 {
			if v.Child.IsNull(lo) {
				return nil
			}
			return showCell(v.Child, lo, t.Elem(), zone)
		}
		return string(expr.WriteMultiValue(nil, v, i))
	case t.Base == expr.Boolean:
		return expr.BoolText(v.LongAt(i))
	case t.IsTime():
		return chrono.FormatMillis(v.LongAt(i), zone)
	case t.Base == expr.Array:
		return string(expr.JSONWriter(t)(nil, v, i))
	case t.Base == expr.Float:
		return string(expr.AppendFloat(nil, v.Floats[0:][index(v, i)]))
	case t.Runtime() == vector.Double:
		return vector.DoubleText(v.DoubleAt(i))
	case t.Runtime() == vector.Long:
		return strconv.FormatInt(v.LongAt(i), 10)
	}
	return v.StringAt(i)
}

func index(v *vector.Vector, i int) int {
	if v.Const {
		return 0
	}
	return i
}

func sameCell(got, want any, typ string) bool {
	if want == nil || got == nil {
		if (want == nil) == (got == nil) {
			return true
		}
		// Druid folds a constant condition that is NULL to false, and a constant instant to 1970.
		return got == nil && (want == false || want == "1970-01-01T00:00:00.000Z")
	}
	text := got.(string)
	switch w := want.(type) {
	case json.Number:
		x, err := strconv.ParseFloat(text, 64)
		y, _ := w.Float64()
		if typ == "INTEGER" || typ == "BIGINT" {
			n, _ := strconv.ParseInt(text, 10, 64)
			m, err := strconv.ParseInt(w.String(), 10, 64)
			return err == nil && (n == m || typ == "INTEGER" && int32(n) == int32(m))
		}
		tolerance := 1e-9
		if typ == "FLOAT" {
			tolerance = 1e-7
		}
		return err == nil && (x == y || math.Abs(x-y) <= tolerance*math.Abs(y) || math.IsInf(y, 0))
	case bool:
		return text == strconv.FormatBool(w)
	case string:
		if typ == "CHAR" {
			return strings.TrimRight(text, " ") == strings.TrimRight(w, " ")
		}
		if typ == "TIMESTAMP" || typ == "DATE" {
			return text == w
		}
		if text == w {
			return true
		}
		var a, b any
		if json.Unmarshal([]byte(text), &a) == nil && json.Unmarshal([]byte(w), &b) == nil {
			return fmt.Sprint(a) == fmt.Sprint(b)
		}
	}
	return false
}
