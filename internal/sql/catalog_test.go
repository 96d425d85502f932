package sql

import (
	"context"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// testCatalog has the tables of the recorded corpus and a small one of spec/sql.md, appendix B.2. A
// column is a name and a type: s VARCHAR (also when nothing is said), l BIGINT, d DOUBLE, f FLOAT,
// m multi-value, j JSON, as, al, ad arrays, c:x COMPLEX<x>.
type testCatalog map[string]string

var tables = testCatalog{
	"c_types":    "__time id:l s s2 ns tx l:l i:l d:d x:d f:f mv:m tm:l b:l j:j jt ip",
	"c_dim":      "__time k n:l name w:d",
	"c_events":   "__time eid:l country device page user status:l bytes:l ms:d price:f tags:m ok:l",
	"c_arrays":   "__time id:l g sa:as la:al da:ad",
	"wikiticker": "__time channel cityName comment countryIsoCode countryName isAnonymous isMinor isNew isRobot isUnpatrolled metroCode:l namespace page regionIsoCode regionName user delta:l added:l deleted:l",
	"g_hours":    "__time channel countryName cnt:l added:l deleted:l",
	"g_types":    "__time l:l d:d f:f s mv:m al:al ad:ad as:as n:j u",
	"t":          "__time dim1 dim2 dim3:m cnt:l m1:f m2:d",
	"u":          "__time a b:l",
}

func (c testCatalog) Table(_ context.Context, schema Schema, name string) (*Table, error) {
	text, ok := c[name]
	if !ok || schema != SchemaData {
		return nil, nil
	}
	t := &Table{}
	for part := range strings.FieldsSeq(text) {
		name, kind, _ := strings.Cut(part, ":")
		typ := expr.Of(expr.Varchar)
		switch kind {
		case "l":
			typ = expr.Of(expr.BigInt)
		case "d":
			typ = expr.Of(expr.Double)
		case "f":
			typ = expr.Of(expr.Float)
		case "m":
			typ = expr.MultiString
		case "j":
			typ = expr.JSON
		case "as":
			typ = expr.ArrayOf(expr.Of(expr.Varchar))
		case "al":
			typ = expr.ArrayOf(expr.Of(expr.BigInt))
		case "ad":
			typ = expr.ArrayOf(expr.Of(expr.Double))
		}
		if name == plan.TimeColumn {
			typ = expr.Of(expr.Timestamp).NotNull()
		}
		if strings.HasPrefix(kind, "c:") {
			typ = expr.ComplexOf(kind[2:])
		}
		t.Columns = append(t.Columns, plan.Column{Name: name, Type: typ})
	}
	return t, nil
}

func (c testCatalog) Names(_ context.Context, schema Schema) []string {
	if schema != SchemaData {
		return nil
	}
	var out []string
	for name := range c {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// prepare prepares text over the test tables at a fixed time.
func prepare(text string, change ...func(*Request)) (*Statement, error) {
	r := Request{Text: text, Catalog: tables, Now: 1_577_934_245_000, Dialect: "druid"}
	for _, f := range change {
		f(&r)
	}
	return Prepare(context.Background(), r)
}
