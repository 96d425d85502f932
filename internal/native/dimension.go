package native

import (
	"slices"
	"strings"
)

// Dimension is what a query groups by. The concrete dimensions are in this file.
type Dimension interface {
	// output returns the name of the result's column.
	output() string
}

// DimensionOf holds a dimension. In JSON, a bare name is the column of that name.
type DimensionOf struct{ Dimension }

// UnmarshalJSON implements json.Unmarshaler.
func (of *DimensionOf) UnmarshalJSON(text []byte) error { return readText(text, of) }

func (of *DimensionOf) read(d *document, m member) (err error) {
	if d.isNull(m) {
		return nil
	}
	if d.opens(m, '"') {
		c := &ColumnDimension{}
		of.Dimension = c
		return d.fill(m, &c.Dimension)
	}
	// A dimension without a type, or of one that nobody knows, is a column.
	if !hasType(d, m, dimensionTypes) {
		var c plainDimension
		if err := d.fill(m, &c); err != nil {
			return explainJSON(err)
		}
		if c.Dimension == "" {
			return invalid("Dimension of type [default] needs [dimension]")
		}
		of.Dimension = &ColumnDimension{Dimension: c.Dimension, OutputName: c.OutputName, OutputType: c.OutputType}
		return nil
	}
	of.Dimension, err = decodeTyped(d, m, "type", "Dimension", dimensionTypes)
	return err
}

var dimensionTypes = map[string]func() Dimension{
	"default":        func() Dimension { return new(ColumnDimension) },
	"extraction":     func() Dimension { return new(ColumnDimension) },
	"lookup":         func() Dimension { return new(LookupDimension) },
	"listFiltered":   func() Dimension { return new(ListFilteredDimension) },
	"regexFiltered":  func() Dimension { return new(RegexFilteredDimension) },
	"prefixFiltered": func() Dimension { return new(PrefixFilteredDimension) },
}

// ColumnDimension is a column, optionally transformed by an extraction function, and converted to
// OutputType (default STRING).
type ColumnDimension struct {
	Dimension    string       `json:"dimension"`
	OutputName   *string      `json:"outputName"`
	OutputType   TypeName     `json:"outputType"`
	ExtractionFn ExtractionOf `json:"extractionFn"`
}

// plainDimension is what is read of a dimension without a type: it has no extraction function,
// whatever is there.
type plainDimension struct {
	Dimension  string   `json:"dimension"`
	OutputName *string  `json:"outputName"`
	OutputType TypeName `json:"outputType"`
}

// LookupDimension is a column mapped through a lookup table of strings.
type LookupDimension struct {
	Dimension               string  `json:"dimension"`
	OutputName              *string `json:"outputName"`
	Name                    string  `json:"name"`
	Lookup                  *MapOf  `json:"lookup"`
	RetainMissingValue      Flag    `json:"retainMissingValue"`
	ReplaceMissingValueWith *string `json:"replaceMissingValueWith"`
}

// ListFilteredDimension keeps the listed values of a multi-value column, or all other values if
// IsWhitelist is false.
type ListFilteredDimension struct {
	Delegate    DimensionOf `json:"delegate"`
	Values      []Text      `json:"values"`
	IsWhitelist *Flag       `json:"isWhitelist"`
}

// keepsListed reports whether the listed values are those that stay.
func (d *ListFilteredDimension) keepsListed() bool {
	return d.IsWhitelist == nil || bool(*d.IsWhitelist)
}

// keepsNull reports whether NULL is a value that stays.
func (d *ListFilteredDimension) keepsNull() bool {
	return slices.ContainsFunc(d.Values, func(v Text) bool { return v.Null }) == d.keepsListed()
}

// RegexFilteredDimension keeps the values of a multi-value column that match Pattern.
type RegexFilteredDimension struct {
	Delegate DimensionOf `json:"delegate"`
	Pattern  string      `json:"pattern"`
}

// PrefixFilteredDimension keeps the values of a multi-value column that begin with Prefix.
type PrefixFilteredDimension struct {
	Delegate DimensionOf `json:"delegate"`
	Prefix   string      `json:"prefix"`
}

func (d *ColumnDimension) output() string {
	if d.OutputName != nil {
		return *d.OutputName
	}
	return d.Dimension
}

func (d *LookupDimension) output() string {
	if d.OutputName != nil {
		return *d.OutputName
	}
	return d.Dimension
}

func (d *ListFilteredDimension) output() string   { return d.Delegate.name() }
func (d *RegexFilteredDimension) output() string  { return d.Delegate.name() }
func (d *PrefixFilteredDimension) output() string { return d.Delegate.name() }

// name returns the output name, also where there is no dimension: that is found later.
func (of DimensionOf) name() string {
	if of.Dimension == nil {
		return ""
	}
	return of.Dimension.output()
}

// naturalOrder is the order of the dimension's values: that of numbers for one that gives numbers.
func (of DimensionOf) naturalOrder() OrderingOf {
	if c, ok := of.Dimension.(*ColumnDimension); ok && c.OutputType != "" && !strings.EqualFold(string(c.OutputType), "STRING") {
		return "numeric"
	}
	return "lexicographic"
}
