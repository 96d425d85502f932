// Package tables defines the columns of the tables over which tests bind statements: the tables of
// the recorded corpus, and two small ones.
//
// It does not define a catalog: package sql and the packages above it build one from Columns in
// their tests.
package tables

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// Now is the time at which statements are bound, in milliseconds.
const Now = 1_577_934_245_000

// texts are the tables. A column is a name and a type: s VARCHAR (also when nothing is said), l
// BIGINT, d DOUBLE, f FLOAT, m multi-value, j JSON, as, al, ad arrays, c:x COMPLEX<x>.
var texts = map[string]string{
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

// Names returns the names of the tables, sorted.
func Names() []string {
	var out []string
	for name := range texts {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Columns returns the columns of a table; nil: there is none of that name.
func Columns(table string) []plan.Column { return ColumnsOf(texts[table]) }

// ColumnsOf returns the columns that a text as those of the tables has.
func ColumnsOf(text string) []plan.Column {
	var out []plan.Column
	for part := range strings.FieldsSeq(text) {
		name, kind, _ := strings.Cut(part, ":")
		out = append(out, plan.Column{Name: name, Type: typeOf(name, kind)})
	}
	return out
}

func typeOf(name, kind string) expr.Type {
	if complexType, ok := strings.CutPrefix(kind, "c:"); ok {
		return expr.ComplexOf(complexType)
	}
	if name == plan.TimeColumn {
		return expr.Of(expr.Timestamp).NotNull()
	}
	switch kind {
	case "l":
		return expr.Of(expr.BigInt)
	case "d":
		return expr.Of(expr.Double)
	case "f":
		return expr.Of(expr.Float)
	case "m":
		return expr.MultiString
	case "j":
		return expr.JSON
	case "as":
		return expr.ArrayOf(expr.Of(expr.Varchar))
	case "al":
		return expr.ArrayOf(expr.Of(expr.BigInt))
	case "ad":
		return expr.ArrayOf(expr.Of(expr.Double))
	}
	return expr.Of(expr.Varchar)
}
