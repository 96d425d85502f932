package expr_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

type mapping map[string]string

func (m mapping) Get(key string) (string, bool) { v, ok := m[key]; return v, ok }

func countries(name string) (expr.Mapping, error) {
	if name != "country" {
		return (&expr.Context{}).Lookup(name)
	}
	return mapping{"de": "Germany", "": "nowhere"}, nil
}

func TestLookup(t *testing.T) {
	ctx := &expr.Context{Lookups: countries}
	keys := vector.NewBuilder(vector.String, 4)
	for _, v := range []any{"de", "xx", nil, ""} {
		keys.Append(v)
	}
	batch := &vector.Batch{N: 4, Cols: []*vector.Vector{keys.Build()}}
	columns := []expr.Column{{Index: 0, Name: "c", T: expr.Of(expr.Varchar).OrNull(true)}}
	for _, c := range []struct {
		sql  string
		want []any
	}{
		{"LOOKUP(c, 'country')", []any{"Germany", nil, nil, "nowhere"}},
		{"LOOKUP(c, 'country', 'other')", []any{"Germany", "other", "other", "nowhere"}},
		{"LOOKUP(c, 'country', NULL)", []any{"Germany", nil, nil, "nowhere"}},
		{"LOOKUP('de', 'country')", []any{"Germany", "Germany", "Germany", "Germany"}},
	} {
		e, err := parseSQL(c.sql, columns, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.sql, err)
		}
		if e, err = expr.Fold(e, ctx); err != nil {
			t.Fatalf("%s: %v", c.sql, err)
		}
		p, err := expr.Compile(e, ctx)
		if err != nil {
			t.Fatalf("%s: %v", c.sql, err)
		}
		v, err := p.Eval(batch)
		if err != nil {
			t.Fatalf("%s: %v", c.sql, err)
		}
		var got []any
		for i := range batch.N {
			got = append(got, v.ValueAt(i))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.sql, diff)
		}
	}
}

func TestUnknownLookups(t *testing.T) {
	columns := []expr.Column{{Index: 0, Name: "c", T: expr.Of(expr.Varchar)}}
	for sql, want := range map[string]string{
		"LOOKUP(c, 'nope')":        "Lookup [nope] not found",
		"LOOKUP(c, '')":            "Lookup [] not found",
		"LOOKUP(c, c)":             "Argument to function 'LOOKUP' must be a literal",
		"LOOKUP(c, 'country', c)":  "Argument to function 'LOOKUP' must be a literal",
		"LOOKUP(1, 'country')":     "Cannot apply 'LOOKUP' to arguments of type",
		"LOOKUP(c, 'country', 1)":  "Cannot apply 'LOOKUP' to arguments of type",
		"LOOKUP(c)":                "Was expecting 2 arguments",
		"LOOKUP(NULL, 'country')":  "Illegal use of 'NULL'",
		"LOOKUP(c, NULL)":          "Illegal use of 'NULL'",
		"LOOKUP('a', 'nope')":      "Lookup [nope] not found",
		"UPPER(LOOKUP(c, 'nope'))": "Lookup [nope] not found",
	} {
		e, err := parseSQL(sql, columns, nil)
		if err == nil {
			if e, err = expr.Fold(e, &expr.Context{Lookups: countries}); err == nil {
				_, err = expr.Compile(e, &expr.Context{Lookups: countries})
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", sql, err, want)
		}
	}
}
