package native

import (
	"encoding/json"
	"unicode/utf8"
)

// Filter decides which rows are kept. The concrete filters are in this file.
type Filter interface{ filter() }

// FilterOf holds a filter of any type, or nil.
type FilterOf struct{ Filter }

// UnmarshalJSON implements json.Unmarshaler.
func (f *FilterOf) UnmarshalJSON(text []byte) error { return readText(text, f) }

func (f *FilterOf) read(d *document, m member) (err error) {
	if d.isNull(m) {
		return nil
	}
	f.Filter, err = decodeTyped(d, m, "type", "Filter", filterTypes)
	return err
}

var filterTypes = map[string]func() Filter{
	"and":                  func() Filter { return new(AndFilter) },
	"or":                   func() Filter { return new(OrFilter) },
	"not":                  func() Filter { return new(NotFilter) },
	"selector":             newSelector,
	"extraction":           newSelector,
	"equals":               func() Filter { return new(EqualsFilter) },
	"null":                 func() Filter { return new(NullFilter) },
	"in":                   func() Filter { return new(InFilter) },
	"inType":               func() Filter { return new(TypedInFilter) },
	"arrayContainsElement": func() Filter { return new(ContainsFilter) },
	"bound":                func() Filter { return new(BoundFilter) },
	"range":                func() Filter { return new(RangeFilter) },
	"like":                 func() Filter { return new(LikeFilter) },
	"bloom":                func() Filter { return new(BloomFilter) },
	"regex":                func() Filter { return new(RegexFilter) },
	"search":               func() Filter { return new(SearchFilter) },
	"interval":             func() Filter { return new(IntervalFilter) },
	"columnComparison":     func() Filter { return new(ColumnsFilter) },
	"spatial":              func() Filter { return new(SpatialFilter) },
	"expression":           func() Filter { return new(ExpressionFilter) },
	"isfalse":              func() Filter { return new(IsFalseFilter) },
	"istrue":               func() Filter { return new(IsTrueFilter) },
	"true":                 func() Filter { return new(TrueFilter) },
	"false":                func() Filter { return new(FalseFilter) },
}

// AndFilter is true if all of its fields are true, OrFilter if at least one is true.
type (
	AndFilter struct {
		Fields []FilterOf `json:"fields"`
	}
	OrFilter struct {
		Fields []FilterOf `json:"fields"`
	}
	// NotFilter, IsTrueFilter and IsFalseFilter are the negation and the tests in two-valued logic.
	NotFilter struct {
		Field FilterOf `json:"field"`
	}
	IsTrueFilter struct {
		Field FilterOf `json:"field"`
	}
	IsFalseFilter struct {
		Field FilterOf `json:"field"`
	}
	TrueFilter  struct{}
	FalseFilter struct{}
)

// SelectorFilter compares the string of a column. A null or empty Value means NULL.
type SelectorFilter struct {
	Dimension    string       `json:"dimension"`
	Value        Text         `json:"value"`
	ExtractionFn ExtractionOf `json:"extractionFn"`
}

// newSelector makes a selector that a query may say no value of: that means NULL.
func newSelector() Filter { return &SelectorFilter{Value: Text{Null: true}} }

// EqualsFilter compares a column with a value of MatchValueType.
type EqualsFilter struct {
	Column         string `json:"column"`
	MatchValueType string `json:"matchValueType"`
	MatchValue     Value  `json:"matchValue"`
}

// NullFilter is true where the column is NULL.
type NullFilter struct {
	Column string `json:"column"`
}

// InFilter is true if the string of a column is one of Values.
type InFilter struct {
	Dimension    string       `json:"dimension"`
	Values       []Text       `json:"values"`
	ExtractionFn ExtractionOf `json:"extractionFn"`
}

// TypedInFilter is an InFilter for values of a type.
type TypedInFilter struct {
	Column         string  `json:"column"`
	MatchValueType string  `json:"matchValueType"`
	SortedValues   []Value `json:"sortedValues"`
	Values         []Value `json:"values"`
}

// ContainsFilter is true if the list in a column contains an element: a value of
// ElementMatchValueType, or NULL.
type ContainsFilter struct {
	Column                string `json:"column"`
	ElementMatchValueType string `json:"elementMatchValueType"`
	ElementMatchValue     Value  `json:"elementMatchValue"`
}

// BoundFilter compares the string of a column in one of the string orders.
type BoundFilter struct {
	Dimension    string       `json:"dimension"`
	Lower        *Text        `json:"lower"`
	Upper        *Text        `json:"upper"`
	LowerStrict  Flag         `json:"lowerStrict"`
	UpperStrict  Flag         `json:"upperStrict"`
	AlphaNumeric Flag         `json:"alphaNumeric"`
	Ordering     OrderingOf   `json:"ordering"`
	ExtractionFn ExtractionOf `json:"extractionFn"`
}

// RangeFilter compares a column with values of MatchValueType.
type RangeFilter struct {
	Column         string `json:"column"`
	MatchValueType string `json:"matchValueType"`
	Lower          Value  `json:"lower"`
	Upper          Value  `json:"upper"`
	LowerOpen      Flag   `json:"lowerOpen"`
	UpperOpen      Flag   `json:"upperOpen"`
}

// LikeFilter is the LIKE of SQL.
type LikeFilter struct {
	Dimension    string       `json:"dimension"`
	Pattern      string       `json:"pattern"`
	Escape       *string      `json:"escape"`
	ExtractionFn ExtractionOf `json:"extractionFn"`
}

func (f *LikeFilter) check() error {
	if f.Escape != nil && utf8.RuneCountInString(*f.Escape) != 1 {
		return invalid("Escape must be null or a single character, but is [%s]", *f.Escape)
	}
	return nil
}

// RegexFilter is true if Pattern, in Java's syntax, is found in the string of the column.
type RegexFilter struct {
	Dimension    string       `json:"dimension"`
	Pattern      string       `json:"pattern"`
	ExtractionFn ExtractionOf `json:"extractionFn"`
}

// SearchFilter searches for text in the string of a column.
type SearchFilter struct {
	Dimension    string        `json:"dimension"`
	Query        SearchQueryOf `json:"query"`
	ExtractionFn ExtractionOf  `json:"extractionFn"`
}

// IntervalFilter is true if one of the intervals contains the column, in milliseconds, or the
// number that is computed from the column.
type IntervalFilter struct {
	Dimension    string       `json:"dimension"`
	Intervals    Intervals    `json:"intervals"`
	ExtractionFn ExtractionOf `json:"extractionFn"`
}

// ColumnsFilter is true if all columns have the same string.
type ColumnsFilter struct {
	Dimensions []DimensionOf `json:"dimensions"`
}

// SpatialFilter is true if the point in a column is within a bound.
type SpatialFilter struct {
	Dimension string          `json:"dimension"`
	Bound     json.RawMessage `json:"bound"`
}

// ExpressionFilter is true if its expression is true.
type ExpressionFilter struct {
	Expression string `json:"expression"`
}

func (*AndFilter) filter()        {}
func (*OrFilter) filter()         {}
func (*NotFilter) filter()        {}
func (*IsTrueFilter) filter()     {}
func (*IsFalseFilter) filter()    {}
func (*TrueFilter) filter()       {}
func (*FalseFilter) filter()      {}
func (*SelectorFilter) filter()   {}
func (*EqualsFilter) filter()     {}
func (*NullFilter) filter()       {}
func (*InFilter) filter()         {}
func (*TypedInFilter) filter()    {}
func (*ContainsFilter) filter()   {}
func (*BoundFilter) filter()      {}
func (*RangeFilter) filter()      {}
func (*LikeFilter) filter()       {}
func (*RegexFilter) filter()      {}
func (*SearchFilter) filter()     {}
func (*IntervalFilter) filter()   {}
func (*ColumnsFilter) filter()    {}
func (*SpatialFilter) filter()    {}
func (*ExpressionFilter) filter() {}
