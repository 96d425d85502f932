package evidence

import (
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Values describes the values of a column, or the elements of its lists.
type Values struct {
	Of      [classes]Finding
	Objects Finding
	Lists   Finding
	Nested  Finding // lists with lists or objects in them
	// Elements describes the elements of flat lists; nil: there are no lists.
	Elements *Values
	// DeepFine are fractions within objects that DOUBLE can't represent exactly.
	DeepFine Finding
	// decimals are how many digits fractions have behind the point, at least and at most, those of a
	// single zero aside; padded are those that end with a zero.
	least, most int
	Padded      Finding
	// Text says that the values are strings, which also preserve every character of numbers.
	Text bool
}

const (
	TypeText   = "VARCHAR"
	TypeLong   = "BIGINT"
	TypeDouble = "DOUBLE"
	TypeFloat  = "FLOAT"
	TypeJSON   = "TYPE('COMPLEX<json>')"
)

// number adds a number of a delimited file.
func (v *Values) Field(s *Position, f []byte, n FieldNumber) {
	v.Of[n.Class].Add(s, f)
	if n.decimals < 1 || n.decimals == 1 && f[len(f)-1] == '0' {
		return
	}
	if v.least == 0 || n.decimals < v.least {
		v.least = n.decimals
	}
	v.most = max(v.most, n.decimals)
	if n.padded {
		v.Padded.Add(s, f)
	}
}

// Codes reports whether fractions are codes such as versions. 1.9 and 1.10 have a different number
// of digits, and a trailing zero is significant.
func (v *Values) Codes() bool { return v.Padded.Count > 0 && v.least != v.most }

func (v *Values) Sum(of ...Class) (f Finding) {
	for _, c := range of {
		f = Earliest(f, v.Of[c])
	}
	return f
}

// Earliest returns the sum of two findings with the earlier of the two positions.
func Earliest(f, g Finding) Finding {
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

func (v *Values) Scalars() int64 {
	n := int64(0)
	for i := range v.Of {
		n += v.Of[i].Count
	}
	return n
}

// Numbers returns the number of values that are numbers.
func (v *Values) Numbers() int64 { return v.Scalars() - v.Of[Text].Count - v.Of[Bool].Count }

// SqlType returns the type that represents all values unchanged, if possible.
func (v *Values) SqlType() string {
	switch {
	case v.Objects.Count > 0 || v.Nested.Count > 0:
		return TypeJSON
	case v.Lists.Count > 0 && v.Scalars() > 0:
		return TypeJSON
	case v.Lists.Count > 0:
		of := v.Elements
		if of == nil {
			return TypeText + " ARRAY"
		}
		if kinds := btoi(of.Of[Text].Count > 0) + btoi(of.Of[Bool].Count > 0) + btoi(of.Numbers() > 0); kinds > 1 {
			return TypeJSON
		}
		if t := of.scalarType(); t != TypeFloat {
			return t + " ARRAY"
		}
		return TypeDouble + " ARRAY"
	}
	return v.scalarType()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (v *Values) scalarType() string {
	has := func(c Class) bool { return v.Of[c].Count > 0 }
	switch {
	case has(Text) || has(Bool) || has(Huge) || v.Scalars() == 0:
		return TypeText
	case has(Fine) && v.Text:
		return TypeText
	case has(Long) && (has(Whole) || has(Double) || has(Single) || has(Fine)):
		return TypeText
	case v.Text && v.Codes():
		return TypeText
	case has(Double) || has(Whole) || has(Fine):
		return TypeDouble
	case has(Single):
		if has(Int) {
			return TypeDouble
		}
		return TypeFloat
	}
	return TypeLong
}

// Misfits returns the values that a column of a type can't represent.
func (v *Values) Misfits(sqlType string) Finding {
	if element, list := strings.CutSuffix(sqlType, " ARRAY"); list {
		f := Earliest(Earliest(v.Objects, v.Nested), v.Sum(everyClass...))
		if v.Elements != nil {
			f = Earliest(f, v.Elements.Misfits(element))
		}
		return f
	}
	others := Earliest(v.Objects, v.Lists)
	switch sqlType {
	case TypeLong:
		return Earliest(others, v.Sum(Double, Single, Huge, Fine, Bool, Text))
	case TypeDouble, TypeFloat:
		return Earliest(others, v.Sum(Bool, Text))
	case TypeText:
		return others
	}
	return Finding{}
}

var everyClass = []Class{Int, Long, Whole, Double, Single, Huge, Fine, Bool, Text}

// Rounded returns the numbers that lose digits in a column of a type.
func (v *Values) Rounded(sqlType string) Finding {
	if element, list := strings.CutSuffix(sqlType, " ARRAY"); list {
		if v.Elements == nil {
			return Finding{}
		}
		return v.Elements.Rounded(element)
	}
	switch sqlType {
	case TypeDouble, TypeFloat:
		return v.Sum(Long, Huge, Fine)
	case TypeLong:
		return Finding{}
	case TypeText:
		if v.Text {
			return Finding{}
		}
		return v.Sum(Fine) // numbers of JSON become text by way of a double
	}
	f := Earliest(v.DeepFine, v.Sum(Fine))
	if v.Elements != nil {
		f = Earliest(f, v.Elements.Sum(Fine))
	}
	return f
}

// ParseColumnType parses the name of a type as users write it.
func ParseColumnType(text string) (string, error) {
	base, list := strings.CutSuffix(strings.ToUpper(strings.TrimSpace(text)), " ARRAY")
	t := ""
	switch strings.TrimSpace(base) {
	case "VARCHAR", "TEXT", "STRING":
		t = TypeText
	case "BIGINT", "LONG", "INTEGER", "INT":
		t = TypeLong
	case "DOUBLE":
		t = TypeDouble
	case "FLOAT", "REAL":
		t = TypeFloat
	case "JSON", "COMPLEX<JSON>", "TYPE('COMPLEX<JSON>')":
		if !list {
			return TypeJSON, nil
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
