package pg

import (
	"os"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/sql/pgtype"
)

// constants computes what the translator asks of the catalog in these tests.
func constants(x Expr) (any, pgtype.OID, bool) {
	switch x := x.(type) {
	case *Cast:
		c, ok := x.X.(*Const)
		if !ok || c.Kind != Text {
			return nil, 0, false
		}
		o := pgtype.Named(x.Type.Name)
		for range x.Type.Array {
			o = pgtype.ArrayOf(o)
		}
		v, err := pgtype.Parse(o, c.Text, nil)
		return v, o, err == nil
	case *Array:
		return pgtype.NewArray(pgtype.Int4, int64(1), int64(2)), 1007, len(Print(x)) > 0 && strings.Contains(Print(x), "generate_series")
	case *Call:
		return "ann", pgtype.NameType, x.Name == "current_user"
	}
	return nil, 0, false
}

func translated(t *testing.T, text string) *Translation {
	t.Helper()
	list, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	q, ok := list[0].Node.(*Select)
	if !ok {
		t.Fatalf("%s is a %T: %v", text, list[0].Node, list[0].Node.(*Native).Why)
	}
	return Translate(q.Query, Options{Constant: constants})
}

// TestTranslations compares with testdata/translations.txt: a query of PostgreSQL, and below it the
// same in the dialect of package sql.
func TestTranslations(t *testing.T) {
	script, err := os.ReadFile("testdata/translations.txt")
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(strings.TrimSpace(string(script)), "\n\n") {
		text, want, _ := strings.Cut(part, "\n")
		got := translated(t, text)
		if got.Err != nil || got.SQL != want {
			t.Errorf("%s\n got %s (%v)\nwant %s", text, got.SQL, got.Err, want)
		}
	}
}

func TestQueriesThatCantBeTranslated(t *testing.T) {
	for text, want := range map[string]string{
		"select from t": "SELECT without columns is not supported over datasources",
		"with recursive a as (select 1 union select 2) select * from a, t": "WITH RECURSIVE is not supported over datasources",
		"select * from t, unnest(a) with ordinality":                       "WITH ORDINALITY is not supported over datasources",
		"select * from t, foo(1)":                                          "function foo() in FROM is not supported over datasources",
		"select a::point from t":                                           "casts to type point are not supported over datasources",
		"select a::nope from t":                                            `type "nope" does not exist`,
		"select a > any(b) from t":                                         "> ANY and ALL take a list or a parameter over datasources",
		"select interval '1 day 1 hour' from t":                            "an interval of several units is supported behind + and - only",
		"select b'1' from t":                                               "bit strings are not supported over datasources",
		"select (a).b from t":                                              "fields of rows are not supported over datasources",
		"select a from t where __time > 'infinity'":                        "infinite times are not supported over datasources",
		"select a <-> b from t":                                            "operator <-> is not supported over datasources",
		"select !! a from t":                                               "operator !! is not supported over datasources",
		"select a[1:2] from t":                                             "slices of arrays are not supported over datasources",
		"select a -> b from t":                                             "-> takes a constant over datasources",
		"select '\\x00'::bytea from t":                                     "values of type bytea are not supported over datasources",
		"select a from t where __time > 'x'":                               `invalid input syntax for type timestamp with time zone: "x"`,
	} {
		if got := translated(t, text).Err; got == nil || got.Error() != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
}

func TestPlacesOfTranslations(t *testing.T) {
	text := "select  a,\n  \"nope\" from public.t"
	got := translated(t, text)
	at := strings.Index(got.SQL, `"nope"`)
	if in := got.Source(1, at+1); in != strings.Index(text, `"nope"`) {
		t.Errorf("place %d of %q", in, text)
	}
}

func TestListsOfParameters(t *testing.T) {
	list, err := Parse("select a from t where a = any($1) and b <> all($2) and c > $3")
	if err != nil {
		t.Fatal(err)
	}
	q := list[0].Node.(*Select).Query
	if got := Translate(q, Options{}); got.SQL != `SELECT "a" FROM "t" WHERE ("a" = ?) AND ("b" = ?) AND ("c" > ?)` || len(got.Lists) != 2 {
		t.Errorf("before the values are known: %s", got.SQL)
	}
	got := Translate(q, Options{Bound: true, Params: []any{pgtype.NewArray(pgtype.Text, "x", "y'"), pgtype.NewArray(pgtype.Int8), int64(1)}})
	if got.SQL != `SELECT "a" FROM "t" WHERE ("a" IN ('x', 'y''')) AND (TRUE) AND ("c" > ?)` || len(got.Params) != 1 {
		t.Errorf("with the values: %s", got.SQL)
	}
}
