package slt

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
)

// Engine loads tables and answers statements. It is used from one goroutine.
type Engine interface {
	Load(ctx context.Context, l *Load) error
	Tombstone(ctx context.Context, t *Tombstone) error
	Lookup(ctx context.Context, l *Lookup) error
	// Query runs a statement. Errors that users see are fault.Errors.
	Query(ctx context.Context, s *Statement) (*Answer, error)
}

// Answer is the rows of a statement. Values are as encoding/json decodes the array result format,
// numbers as json.Number.
type Answer struct {
	Columns  []string
	SQLTypes []string
	Rows     [][]any
}

// Letter returns the letter of a SQL type as result headers name it.
//
//	I  whole number    T  text        P  timestamp   A  array                 N  the type of NULL
//	R  real number     B  boolean     D  date        J  json, other complex   ?  anything else
func Letter(sqlType string) byte {
	switch sqlType {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT":
		return 'I'
	case "FLOAT", "REAL", "DOUBLE", "DECIMAL":
		return 'R'
	case "CHAR", "VARCHAR":
		return 'T'
	case "BOOLEAN":
		return 'B'
	case "TIMESTAMP":
		return 'P'
	case "DATE":
		return 'D'
	case "ARRAY":
		return 'A'
	case "OTHER":
		return 'J'
	case "NULL":
		return 'N'
	}
	return '?'
}

// Letters returns the letters of all columns.
func (a *Answer) Letters() string {
	b := make([]byte, len(a.SQLTypes))
	for i, t := range a.SQLTypes {
		b[i] = Letter(t)
	}
	return string(b)
}

const between = " | "

// lines returns the rows as scripts show them.
func (a *Answer) lines(sorted, header bool) []string {
	out := make([]string, 0, len(a.Rows)+1)
	for _, row := range a.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = cell(v)
		}
		out = append(out, strings.Join(cells, between))
	}
	if sorted {
		sort.Strings(out)
	}
	if header {
		names := make([]string, len(a.Columns))
		for i, c := range a.Columns {
			names[i] = cell(c)
		}
		out = append([]string{strings.Join(names, between)}, out...)
	}
	return out
}

func cell(v any) string {
	switch x := v.(type) {
	case nil:
		return "NULL"
	case bool:
		return strconv.FormatBool(x)
	case json.Number:
		return x.String()
	case string:
		if plain(x) {
			return x
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// plain reports whether text can't be misread without quotes.
func plain(s string) bool {
	if s == "" || s == "NULL" || s == "----" || s[0] == '"' || strings.TrimSpace(s) != s || strings.Contains(s, "|") {
		return false
	}
	for _, r := range s {
		if r < ' ' || r == 0xFFFD {
			return false
		}
	}
	return true
}

// sameLine compares two rows, with real numbers to twelve digits.
func sameLine(want, got, letters string) bool {
	if want == got {
		return true
	}
	if !strings.ContainsAny(letters, "RA") {
		return false
	}
	w, g := strings.Split(want, between), strings.Split(got, between)
	if len(w) != len(g) || len(w) != len(letters) {
		return false
	}
	for i := range w {
		switch {
		case w[i] == g[i]:
		case letters[i] == 'R' && near(w[i], g[i]):
		case letters[i] == 'A' && nearList(w[i], g[i]):
		default:
			return false
		}
	}
	return true
}

func near(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && math.Signbit(x) == math.Signbit(y) && math.Abs(x-y) <= 1e-12*math.Max(math.Abs(x), math.Abs(y))
}

func nearList(a, b string) bool {
	x, y := strings.Split(strings.Trim(a, "[]"), ","), strings.Split(strings.Trim(b, "[]"), ",")
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] && !near(x[i], y[i]) {
			return false
		}
	}
	return true
}
