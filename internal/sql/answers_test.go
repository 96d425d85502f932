package sql

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// leastAnswered is how many recorded statements give the recorded rows when their plans run over
// the corpus's tables held in memory. What is missing is nearly all marked as differing from the
// specification, or an accident of the recorded release. It only grows.
const leastAnswered = 10_090

// Plans as they are bound and optimized give the recorded answers, and optimizing changes no
// answer.
func TestCorpusAnswers(t *testing.T) {
	records := readCorpus(t)
	data := map[string]*table{}
	for _, name := range []string{"c_types", "c_dim", "c_events", "c_arrays"} {
		data[name] = loadTable(t, name)
	}
	var off []string
	for _, name := range plan.RuleNames() {
		if name != "fold_constants" { // which casts constants by rules of its own
			off = append(off, name)
		}
	}
	answered, total := 0, 0
	for i, r := range records {
		topic, _, _ := strings.Cut(r.ID, "-")
		if r.Error != nil || strings.HasPrefix(topic, "sketch") || topic == "metadata" || strings.HasPrefix(strings.ToUpper(r.SQL), "EXPLAIN") ||
			strings.Contains(r.SQL, "CURRENT_") || strings.Contains(r.SQL, "INFORMATION_SCHEMA") {
			continue
		}
		s, err := r.prepare()
		if err != nil {
			continue // TestCorpusBinds counts these
		}
		total++
		got, err := data2rows(s, data, nil)
		if err != nil {
			t.Logf("%s: %v", r.SQL, err)
			continue
		}
		ordered := strings.Contains(strings.ToUpper(r.SQL), "ORDER BY") && !r.Unordered
		var want []any
		decode(r.RawRows, &want)
		if sameRows(got, want, ordered) {
			answered++
		} else if testing.Verbose() && r.Spec == "" {
			t.Logf("%s %v\n  got  %.300v\n  want %.300v", r.SQL, r.Context, got, want)
		}
		if i%4 != 0 || strings.Contains(r.SQL, "LIMIT") && !ordered {
			continue // a quarter is enough here, and any rows may be within an unordered limit
		}
		plainly, err := data2rows(s, data, off)
		if err != nil || !sameRows(got, plainly, ordered) {
			t.Errorf("%s: with rules off it gives %.300v %v, with them %.300v", r.SQL, plainly, err, got)
		}
	}
	t.Logf("%d of %d statements answered alike", answered, total)
	if answered < leastAnswered {
		t.Errorf("only %d statements give the recorded rows, %d did before", answered, leastAnswered)
	}
}

type table struct {
	cols []plan.Column
	rows *vector.Batch
}

// loadTable reads a table's JSON lines as the recorded ingestion did: values of multi-value strings
// are sorted.
func loadTable(t *testing.T, name string) *table {
	def, err := tables.Table(context.Background(), SchemaData, name)
	if err != nil || def == nil {
		t.Fatal(name, err)
	}
	data, err := os.ReadFile(filepath.Join(corpusDir, "data", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	builders := make([]*vector.Builder, len(def.Columns))
	for i, c := range def.Columns {
		builders[i] = vector.NewBuilder(c.Type.Runtime(), 0)
	}
	n := 0
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<24)
	for ; lines.Scan(); n++ {
		var row map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		for i, c := range def.Columns {
			if c.Name == plan.TimeColumn {
				var text string
				decode(row["t"], &text)
				ms, _ := chrono.ParseISO(text)
				builders[i].AppendLong(ms)
				continue
			}
			builders[i].Append(stored(row[c.Name], c.Type))
		}
	}
	out := &table{cols: def.Columns, rows: &vector.Batch{N: n}}
	for _, b := range builders {
		out.rows.Cols = append(out.rows.Cols, b.Build())
	}
	return out
}

func decode(raw []byte, into any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(into) // what is no value stays empty
}

// stored returns a JSON value as a column of type t holds it.
func stored(raw json.RawMessage, t expr.Type) any {
	if t.Base == expr.Other {
		if raw == nil || string(raw) == "null" {
			return nil
		}
		return string(raw)
	}
	var v any
	decode(raw, &v)
	if v == nil {
		return nil
	}
	if t.Base == expr.Array || t.Multi {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		out := make([]any, len(list))
		for i, e := range list {
			out[i] = scalar(e, t.Elem())
		}
		if t.Multi {
			slices.SortFunc(out, func(a, b any) int {
				return strings.Compare(fmt.Sprintf("%v%v", a != nil, a), fmt.Sprintf("%v%v", b != nil, b))
			})
			if len(out) == 0 || len(out) == 1 && out[0] == nil {
				return nil
			}
		}
		return out
	}
	return scalar(v, t)
}

func scalar(v any, t expr.Type) any {
	if v == nil {
		return nil
	}
	text := fmt.Sprint(v)
	switch t.Runtime().Kind {
	case vector.KindLong:
		if n, ok := expr.ParseLong(text); ok {
			return n
		}
		return nil
	case vector.KindDouble:
		f, _ := strconv.ParseFloat(text, 64)
		return f
	case vector.KindFloat:
		f, _ := strconv.ParseFloat(text, 64)
		return float32(f)
	}
	return text
}

// data2rows runs a statement's plan over tables in memory. Values come as the array format writes
// them.
func data2rows(s *Statement, data map[string]*table, off []string) ([]any, error) {
	env := expr.Context{Zone: s.Zone, Now: s.Now}
	n := inMemory(plan.Optimize(s.Plan, plan.Options{Context: env, Off: off}), data)
	op, err := exec.Build(context.Background(), n, &exec.Env{Expr: &env, Budget: budget.Root(1 << 30), Threads: 2})
	if err != nil {
		return nil, err
	}
	defer op.Close()
	rows := []any{}
	arrays := s.Context["sqlStringifyArrays"] == false
	err = exec.Protect(func() error {
		return exec.Drain(context.Background(), op, func(b *vector.Batch) error {
			b = b.Compact()
			for i := range b.N {
				row := make([]any, len(b.Cols))
				for c, v := range b.Cols {
					row[c] = shown(v.ValueAt(i), s.Columns[c].Type, s.Zone, arrays)
				}
				rows = append(rows, row)
			}
			return nil
		})
	})
	return rows, err
}

// inMemory replaces scans by the rows they would give.
func inMemory(n plan.Node, data map[string]*table) plan.Node {
	scan, ok := n.(*plan.Scan)
	if !ok {
		var in []plan.Node
		for _, c := range n.Inputs() {
			in = append(in, inMemory(c, data))
		}
		if in == nil {
			return n
		}
		return plan.WithInputs(n, in)
	}
	t := data[scan.DataSource]
	b := &vector.Batch{N: t.rows.N}
	for _, c := range scan.Out {
		i := slices.IndexFunc(t.cols, func(have plan.Column) bool { return have.Name == c.Name })
		b.Cols = append(b.Cols, t.rows.Cols[i])
	}
	if scan.Intervals != nil {
		b.Sel = []uint32{}
		for r := range b.N {
			inside := func(iv chrono.Interval) bool { return iv.ContainsInstant(t.rows.Cols[0].LongAt(r)) }
			if slices.ContainsFunc(scan.Intervals, inside) {
				b.Sel = append(b.Sel, uint32(r))
			}
		}
		b = b.Compact()
	}
	inline := &plan.Inline{Out: scan.Out, Rows: b}
	if scan.Filter == nil {
		return inline
	}
	return &plan.Filter{Input: inline, Cond: scan.Filter}
}

// shown returns a value as JSON results show it, to be compared with recorded ones.
func shown(v any, t expr.Type, zone *chrono.Zone, arrays bool) any {
	switch x := v.(type) {
	case int64:
		switch {
		case t.Base == expr.Boolean:
			return x > 0
		case t.IsTime():
			return chrono.FormatMillis(x, zone)
		}
		return json.Number(strconv.FormatInt(x, 10))
	case float64:
		return double(x, string(expr.AppendDouble(nil, x)))
	case float32:
		return double(float64(x), string(expr.AppendFloat(nil, x)))
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = shown(e, t.Elem(), zone, true)
			if b, ok := out[i].(bool); ok { // inside arrays booleans and times are numbers
				out[i] = json.Number(strconv.Itoa(map[bool]int{true: 1}[b]))
			} else if t.Elem().IsTime() && e != nil {
				out[i] = json.Number(fmt.Sprint(e))
			}
		}
		if t.Multi && len(out) == 1 {
			return out[0]
		}
		if text, err := json.Marshal(out); err == nil && !arrays {
			return string(text)
		}
		return out
	}
	return v
}

func double(x float64, text string) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return text
	}
	return json.Number(text)
}

// sameRows compares rows: numbers to eight digits, text that is JSON by its value, in any order
// unless ordered.
func sameRows(a, b []any, ordered bool) bool {
	x, y := normal(a).([]any), normal(b).([]any)
	if !ordered {
		for _, l := range [][]any{x, y} {
			slices.SortFunc(l, func(p, q any) int { return strings.Compare(fmt.Sprint(p), fmt.Sprint(q)) })
		}
	}
	return reflect.DeepEqual(x, y)
}

func normal(v any) any {
	switch x := v.(type) {
	case json.Number:
		f, err := x.Float64()
		if n, isInt := x.Int64(); isInt == nil && (n > 1<<53 || n < -1<<53) {
			return n
		}
		if err != nil || f == 0 {
			return 0.0
		}
		f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'e', 8, 64), 64)
		return f
	case string:
		if len(x) > 0 && (x[0] == '[' || x[0] == '{') {
			var inner any
			decode([]byte(x), &inner)
			if inner != nil {
				return normal(inner)
			}
		}
		return x
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = normal(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = normal(e)
		}
		return out
	}
	return v
}
