package ingest

import (
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// values is what was seen of the values of a column, or of the elements of its lists.
type values struct {
	of      [classes]Finding
	objects Finding
	lists   Finding
	nested  Finding // lists with lists or objects in them
	// elements are those of the lists without others in them; nil: there are none.
	elements *values
	// deepFine are fractions within objects that DOUBLE does not hold.
	deepFine Finding
	// decimals are how many digits fractions have behind the point, at least and at most, those of a
	// single zero aside; padded are those that end with a zero.
	least, most int
	padded      Finding
	// text says that the values are texts, which keep every character of numbers, too.
	text bool
}

const (
	typeText   = "VARCHAR"
	typeLong   = "BIGINT"
	typeDouble = "DOUBLE"
	typeFloat  = "FLOAT"
	typeJSON   = "TYPE('COMPLEX<json>')"
)

// number adds a number of a delimited file.
func (v *values) field(s *Surveyor, f []byte, n fieldNumber) {
	v.of[n.class].add(s, f)
	if n.decimals < 1 || n.decimals == 1 && f[len(f)-1] == '0' {
		return
	}
	if v.least == 0 || n.decimals < v.least {
		v.least = n.decimals
	}
	v.most = max(v.most, n.decimals)
	if n.padded {
		v.padded.add(s, f)
	}
}

// codes reports whether fractions are codes such as versions: 1.9 and 1.10 differ in how many
// digits they have, and a zero at their end counts.
func (v *values) codes() bool { return v.padded.Count > 0 && v.least != v.most }

func (v *values) sum(of ...class) (f Finding) {
	for _, c := range of {
		f = earliest(f, v.of[c])
	}
	return f
}

// earliest returns the sum of findings with the place of the one that is first.
func earliest(f, g Finding) Finding {
	switch {
	case f.Count == 0:
		return g
	case g.Count == 0:
		return f
	case g.at < f.at:
		f, g = g, f
	}
	f.Count += g.Count
	return f
}

func (v *values) scalars() int64 {
	n := int64(0)
	for i := range v.of {
		n += v.of[i].Count
	}
	return n
}

// numbers counts the values that are numbers.
func (v *values) numbers() int64 { return v.scalars() - v.of[classText].Count - v.of[classBool].Count }

// sqlType is the type that holds all values unchanged, as far as one does.
func (v *values) sqlType() string {
	switch {
	case v.objects.Count > 0 || v.nested.Count > 0:
		return typeJSON
	case v.lists.Count > 0 && v.scalars() > 0:
		return typeJSON
	case v.lists.Count > 0:
		of := v.elements
		if of == nil {
			return typeText + " ARRAY"
		}
		if kinds := btoi(of.of[classText].Count > 0) + btoi(of.of[classBool].Count > 0) + btoi(of.numbers() > 0); kinds > 1 {
			return typeJSON
		}
		if t := of.scalarType(); t != typeFloat {
			return t + " ARRAY"
		}
		return typeDouble + " ARRAY"
	}
	return v.scalarType()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (v *values) scalarType() string {
	has := func(c class) bool { return v.of[c].Count > 0 }
	switch {
	case has(classText) || has(classBool) || has(classHuge) || v.scalars() == 0:
		return typeText
	case has(classFine) && v.text:
		return typeText
	case has(classLong) && (has(classWhole) || has(classDouble) || has(classSingle) || has(classFine)):
		return typeText
	case v.text && v.codes():
		return typeText
	case has(classDouble) || has(classWhole) || has(classFine):
		return typeDouble
	case has(classSingle):
		if has(classInt) {
			return typeDouble
		}
		return typeFloat
	}
	return typeLong
}

// misfits are the values that a column of a type can't hold.
func (v *values) misfits(sqlType string) Finding {
	if element, list := strings.CutSuffix(sqlType, " ARRAY"); list {
		f := earliest(earliest(v.objects, v.nested), v.sum(everyClass...))
		if v.elements != nil {
			f = earliest(f, v.elements.misfits(element))
		}
		return f
	}
	others := earliest(v.objects, v.lists)
	switch sqlType {
	case typeLong:
		return earliest(others, v.sum(classDouble, classSingle, classHuge, classFine, classBool, classText))
	case typeDouble, typeFloat:
		return earliest(others, v.sum(classBool, classText))
	case typeText:
		return others
	}
	return Finding{}
}

var everyClass = []class{classInt, classLong, classWhole, classDouble, classSingle, classHuge, classFine, classBool, classText}

// rounded are the numbers that a column of a type holds with fewer digits than they have.
func (v *values) rounded(sqlType string) Finding {
	if element, list := strings.CutSuffix(sqlType, " ARRAY"); list {
		if v.elements == nil {
			return Finding{}
		}
		return v.elements.rounded(element)
	}
	switch sqlType {
	case typeDouble, typeFloat:
		return v.sum(classLong, classHuge, classFine)
	case typeLong:
		return Finding{}
	case typeText:
		if v.text {
			return Finding{}
		}
		return v.sum(classFine) // numbers of JSON become text by way of a double
	}
	f := earliest(v.deepFine, v.sum(classFine))
	if v.elements != nil {
		f = earliest(f, v.elements.sum(classFine))
	}
	return f
}

// parseColumnType reads the name of a type as a user writes it.
func parseColumnType(text string) (string, error) {
	base, list := strings.CutSuffix(strings.ToUpper(strings.TrimSpace(text)), " ARRAY")
	t := ""
	switch strings.TrimSpace(base) {
	case "VARCHAR", "TEXT", "STRING":
		t = typeText
	case "BIGINT", "LONG", "INTEGER", "INT":
		t = typeLong
	case "DOUBLE":
		t = typeDouble
	case "FLOAT", "REAL":
		t = typeFloat
	case "JSON", "COMPLEX<JSON>", "TYPE('COMPLEX<JSON>')":
		if !list {
			return typeJSON, nil
		}
	}
	switch {
	case t == "":
		return "", fault.InvalidInput("Type [%s] is unknown; known are VARCHAR, BIGINT, DOUBLE, FLOAT, JSON and arrays such as VARCHAR ARRAY", text)
	case list:
		t += " ARRAY"
	}
	return t, nil
}
