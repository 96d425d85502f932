// Package corpus compares the results of a running server with the recorded results of Apache Druid
// for thousands of SQL statements, one statement per line.
//
// The central types are Record, one recorded statement, and Compare, which defines the permitted
// differences: numbers are compared to nine digits, JSON text as JSON, errors by status, category
// and code. The tests that use it list the statements that are not supported yet.
package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/hengedb/henge/internal/testkit/golden"
)

// Record is a statement with its recorded answer: columns and rows, or an error.
type Record struct {
	ID         string            `json:"id"`
	SQL        string            `json:"sql"`
	Context    map[string]any    `json:"context"`
	Parameters json.RawMessage   `json:"parameters"`
	Columns    []string          `json:"columns"`
	Types      []*string         `json:"types"`
	SQLTypes   []string          `json:"sqlTypes"`
	Rows       []json.RawMessage `json:"rows"`
	Error      *RecordedError    `json:"error"`
	Unordered  bool              `json:"unordered"`
	// Spec, when set, says that the specification wants another answer than the recorded one.
	Spec string `json:"spec"`
	// Topic is the name of the file without its ending.
	Topic string `json:"-"`
}

// RecordedError is what Druid answered instead of rows.
type RecordedError struct {
	Status    int             `json:"status"`
	Body      json.RawMessage `json:"body"`
	Truncated bool            `json:"truncated"`
}

// Load reads all topics of a folder but those that skip names.
func Load(dir string, skip func(topic string) bool) ([]*Record, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var out []*Record
	for _, file := range files {
		topic := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		if skip != nil && skip(topic) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(make([]byte, 1<<20), 1<<28)
		for lines.Scan() {
			r := &Record{Topic: topic}
			dec := json.NewDecoder(bytes.NewReader(lines.Bytes()))
			dec.UseNumber()
			if err := dec.Decode(r); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			out = append(out, r)
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return out, nil
}

// Body returns the request that the recording was made with.
func (r *Record) Body() ([]byte, error) {
	context := map[string]any{"timeout": 10000}
	maps.Copy(context, r.Context)
	body := map[string]any{
		"query": r.SQL, "context": context, "resultFormat": "array", "header": true, "typesHeader": true, "sqlTypesHeader": true,
	}
	if len(r.Parameters) > 0 {
		body["parameters"] = r.Parameters
	}
	return json.Marshal(body)
}

// Compare tells how an answer departs from the recording, "" if it fits. Records with a Spec note
// fit any answer that is no failure of the server.
func (r *Record) Compare(status int, body []byte) string {
	if r.Spec != "" {
		if status >= 500 && status != 501 && status != 504 {
			return refusal(status, body)
		}
		return ""
	}
	if r.Error != nil {
		return r.compareError(status, body)
	}
	if status != 200 {
		return refusal(status, body)
	}
	rows, err := decodeRows(body)
	if err != nil {
		return fmt.Sprintf("%v: %.200s", err, body)
	}
	if len(rows) < 3 {
		return "header rows are missing"
	}
	if n := len(r.Columns); len(rows[0]) != n || len(rows[1]) != n || len(rows[2]) != n {
		return fmt.Sprintf("columns %v, want %v", rows[0], r.Columns)
	}
	for i, c := range r.Columns {
		if rows[0][i] != any(c) {
			return fmt.Sprintf("columns %v, want %v", rows[0], r.Columns)
		}
	}
	for i, t := range r.SQLTypes {
		if rows[2][i] != any(t) {
			return fmt.Sprintf("SQL types %v, want %v", rows[2], r.SQLTypes)
		}
	}
	for i, t := range r.Types {
		var want any
		if t != nil {
			want = *t
		}
		if rows[1][i] != want {
			return fmt.Sprintf("runtime types %v, want %v at %d", rows[1], want, i)
		}
	}
	return r.compareRows(rows[3:])
}

func (r *Record) compareRows(got [][]any) string {
	if len(got) != len(r.Rows) {
		return fmt.Sprintf("%d rows, want %d", len(got), len(r.Rows))
	}
	want := make([][]any, len(r.Rows))
	for i, raw := range r.Rows {
		row, err := decodeRow(raw)
		if err != nil {
			return "the recording can't be read: " + err.Error()
		}
		want[i] = row
	}
	if r.Unordered {
		sortRows(want)
		sortRows(got)
	}
	for i := range want {
		if len(want[i]) != len(got[i]) {
			return fmt.Sprintf("row %d has %d values, want %d", i, len(got[i]), len(want[i]))
		}
		for j := range want[i] {
			if !equal(want[i][j], got[i][j]) {
				return fmt.Sprintf("row %d column %d: %s, want %s", i, j, show(got[i][j]), show(want[i][j]))
			}
		}
	}
	return ""
}

func (r *Record) compareError(status int, body []byte) string {
	if r.Error.Truncated {
		return ""
	}
	var want, got struct {
		Category  string `json:"category"`
		ErrorCode string `json:"errorCode"`
	}
	_ = json.Unmarshal(r.Error.Body, &want) // an error without these members asks for none
	if r.Error.Status >= 500 || want.ErrorCode == "general" || want.Category == "UNSUPPORTED" {
		if status == 200 || status == 400 || status == 501 {
			return ""
		}
		return refusal(status, body)
	}
	if status != r.Error.Status {
		return fmt.Sprintf("status %d, want %s", status, refusal(r.Error.Status, r.Error.Body))
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return fmt.Sprintf("the error is no JSON: %.200s", body)
	}
	if want.Category != "" && want.Category != got.Category || want.ErrorCode != "" && want.ErrorCode != got.ErrorCode {
		return fmt.Sprintf("error %s/%s, want %s/%s", got.Category, got.ErrorCode, want.Category, want.ErrorCode)
	}
	return ""
}

// refusal shows status, code and message of an error.
func refusal(status int, body []byte) string {
	var e struct {
		ErrorCode    string `json:"errorCode"`
		ErrorMessage string `json:"errorMessage"`
	}
	if json.Unmarshal(body, &e) != nil || e.ErrorCode == "" {
		return fmt.Sprintf("status %d: %.300s", status, body)
	}
	return fmt.Sprintf("status %d %s: %.400s", status, e.ErrorCode, e.ErrorMessage)
}

func decodeRows(body []byte) ([][]any, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, err
	}
	rows := make([][]any, len(raw))
	for i := range raw {
		row, err := decodeRow(raw[i])
		if err != nil {
			return nil, err
		}
		rows[i] = row
	}
	return rows, nil
}

func decodeRow(raw []byte) ([]any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var row []any
	err := dec.Decode(&row)
	return row, err
}

func equal(want, got any) bool {
	switch w := want.(type) {
	case json.Number:
		g, ok := got.(json.Number)
		return ok && golden.EqualNumbers(w.String(), g.String())
	case string:
		g, ok := got.(string)
		if !ok || w == g {
			return ok
		}
		if strings.HasPrefix(w, "[") || strings.HasPrefix(w, "{") {
			wv, wErr := decodeAny(w)
			gv, gErr := decodeAny(g)
			return wErr == nil && gErr == nil && equal(wv, gv)
		}
		return false
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for i := range w {
			if !equal(w[i], g[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for k := range w {
			if x, ok := g[k]; !ok || !equal(w[k], x) {
				return false
			}
		}
		return true
	}
	return want == got
}

func decodeAny(s string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// sortRows orders rows by a text in which doubles are rounded, so that equal sets end up in the
// same order.
func sortRows(rows [][]any) {
	keys := make(map[*any]string, len(rows))
	key := func(row []any) string {
		if len(row) == 0 {
			return ""
		}
		if k, ok := keys[&row[0]]; ok {
			return k
		}
		var b strings.Builder
		for _, v := range row {
			if n, ok := v.(json.Number); ok && strings.ContainsAny(n.String(), ".eE") {
				f, _ := n.Float64() // a JSON number
				fmt.Fprintf(&b, "%.8g|", f)
				continue
			}
			b.WriteString(show(v) + "|")
		}
		keys[&row[0]] = b.String()
		return b.String()
	}
	sort.SliceStable(rows, func(i, j int) bool { return key(rows[i]) < key(rows[j]) })
}

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(b) > 200 {
		return string(b[:200]) + "..."
	}
	return string(b)
}
