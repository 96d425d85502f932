package grammar_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/engine"
	"github.com/hengedb/henge/internal/testkit/grammar"
	"github.com/hengedb/henge/internal/testkit/slt"
)

// TestFormats reads results of every type through every result format, with every header, and
// compares them: with one another, and their
// types with those of the other formats.
func TestFormats(t *testing.T) {
	rounds(t, "Formats", func(w *world, note func(string, string)) {
		e := engine.Serve(t, engine.Options{SegmentRows: w.options.SegmentRows})
		for name, table := range w.tables {
			if err := e.Load(t.Context(), &slt.Load{DataSource: name, Version: "1", Table: *table}); err != nil {
				t.Fatal(err)
			}
		}
		r := w.random
		for range 12 {
			items := []string{"t.id"}
			for range r.IntN(4) + 1 {
				of := grammar.Types[r.IntN(len(grammar.Types)-1)]
				items = append(items, w.maker.Value(of))
			}
			sql := "SELECT " + strings.Join(items, ", ") + " FROM t" + []string{"", " WHERE t.n > 2", " WHERE FALSE"}[min(2,
				r.IntN(8))] + " ORDER BY t.id"
			context := map[string]any{"sqlStringifyArrays": r.IntN(2) == 0}
			var base *answer
			for _, format := range []string{"array", "object", "arrayLines", "objectLines", "csv"} {
				for headers := range 5 {
					got, err := request(t, e, sql, format, headers, context)
					if err != nil {
						note(format, fmt.Sprintf("%s\n%s, headers %d: %v", sql, format, headers, err))
						continue
					}
					w.asked++
					if base == nil {
						base, err = request(t, e, sql, "array", 4, context)
						if err != nil {
							t.Fatal(err)
						}
					}
					if d := base.differs(got); d != "" {
						note(format, fmt.Sprintf("%s\n%s, headers %d, %v: %s", sql, format, headers, context, d))
					}
				}
			}
		}
	})
}

// answer is a result as text. What a format does not have is nil.
type answer struct {
	names, types, sqlTypes []string
	rows                   [][]string
	// csv says that NULL and an empty text are the same.
	csv bool
}

// the headers that are asked for, by number.
const (
	noHeader = iota
	header
	typesHeader
	sqlTypesHeader
	bothHeaders
)

func request(t *testing.T, e engine.Served, sql, format string, headers int, context map[string]any) (*answer, error) {
	body, err := json.Marshal(map[string]any{"query": sql, "resultFormat": format, "header": headers != noHeader,
		"typesHeader": headers == typesHeader || headers == bothHeaders, "sqlTypesHeader": headers == sqlTypesHeader || headers == bothHeaders,
		"context": context})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.Base+"/service/v2/sql", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	lines, err := records(format, text)
	if err != nil {
		return nil, fmt.Errorf("%w in %s", err, text)
	}
	return readAnswer(lines, strings.HasPrefix(format, "object"), format == "csv", headers)
}

// records cuts an answer into rows: JSON, or for csv the JSON of a list of texts.
func records(format string, text []byte) (out []json.RawMessage, err error) {
	switch format {
	case "array", "object":
		return out, json.Unmarshal(text, &out)
	case "csv":
		body, found := bytes.CutSuffix(text, []byte("\n\n"))
		if !found {
			if string(text) == "\n" {
				return nil, nil
			}
			return nil, fmt.Errorf("no empty line at the end")
		}
		rows, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
		for _, r := range rows {
			line, err := json.Marshal(r)
			if err != nil {
				return nil, err
			}
			out = append(out, line)
		}
		return out, err
	}
	body, found := bytes.CutSuffix(text, []byte("\n"))
	if !found {
		return nil, fmt.Errorf("no empty line at the end")
	}
	for line := range bytes.Lines(body) {
		if len(line) > 1 { // an answer without rows has two empty lines
			out = append(out, bytes.TrimSuffix(line, []byte("\n")))
		}
	}
	return out, nil
}

// readAnswer takes the headers off the rows.
func readAnswer(lines []json.RawMessage, objects, csv bool, headers int) (*answer, error) {
	a := &answer{csv: csv}
	var rows [][]json.RawMessage
	for _, l := range lines {
		names, cells, err := cellsOf(l, objects)
		if err != nil {
			return nil, err
		}
		if objects {
			a.names = names
		}
		rows = append(rows, cells)
	}
	if objects && headers != noHeader {
		if len(rows) == 0 {
			return nil, fmt.Errorf("no header")
		}
		for _, c := range rows[0] {
			var of struct{ Type, SQLType *string }
			if err := json.Unmarshal(c, &of); err != nil {
				return nil, err
			}
			if of.Type != nil {
				a.types = append(a.types, *of.Type)
			}
			if of.SQLType != nil {
				a.sqlTypes = append(a.sqlTypes, *of.SQLType)
			}
		}
		rows = rows[1:]
	}
	if !objects {
		for _, into := range []struct {
			to    *[]string
			there bool
		}{
			{&a.names, headers != noHeader}, {&a.types, headers == typesHeader || headers == bothHeaders}, {&a.sqlTypes,
				headers == sqlTypesHeader || headers == bothHeaders},
		} {
			if into.there {
				if len(rows) == 0 {
					return nil, fmt.Errorf("a header is missing")
				}
				*into.to, rows = texts(rows[0]), rows[1:]
			}
		}
	}
	for _, r := range rows {
		a.rows = append(a.rows, texts(r))
	}
	return a, nil
}

// cellsOf reads a row: an array, or an object in the order of its members.
func cellsOf(line json.RawMessage, object bool) (names []string, cells []json.RawMessage, err error) {
	if !object {
		return nil, cells, json.Unmarshal(line, &cells)
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	if _, err := dec.Token(); err != nil {
		return nil, nil, err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		var cell json.RawMessage
		if err := dec.Decode(&cell); err != nil {
			return nil, nil, err
		}
		names, cells = append(names, name.(string)), append(cells, cell)
	}
	return names, cells, nil
}

// texts are cells as csv has them, NULL as \N.
func texts(cells []json.RawMessage) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		switch {
		case string(c) == "null":
			out[i] = `\N`
		case c[0] == '"':
			if err := json.Unmarshal(c, &out[i]); err != nil {
				out[i] = string(c)
			}
		default:
			out[i] = string(c)
		}
	}
	return out
}

// differs tells how another answer differs from a, which has all headers.
func (a *answer) differs(b *answer) string {
	for _, h := range []struct {
		what       string
		want, have []string
	}{{"names", a.names, b.names}, {"types", a.types, b.types}, {"SQL types", a.sqlTypes, b.sqlTypes}} {
		if h.have != nil && strings.Join(h.want, "|") != strings.Join(h.have, "|") {
			return fmt.Sprintf("%s %q, want %q", h.what, h.have, h.want)
		}
	}
	if len(a.rows) != len(b.rows) {
		return fmt.Sprintf("%d rows, want %d", len(b.rows), len(a.rows))
	}
	for i, row := range a.rows {
		for c, want := range row {
			if b.csv && want == `\N` {
				want = ""
			}
			if len(b.rows[i]) != len(row) || b.rows[i][c] != want {
				return fmt.Sprintf("row %d is %q, want %q", i, b.rows[i], row)
			}
		}
	}
	return ""
}
