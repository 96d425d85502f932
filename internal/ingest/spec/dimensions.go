package spec

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
)

// Dimensions is a dimensionsSpec.
type Dimensions struct {
	Explicit   []Dimension
	Exclusions []string
	// IncludeAll adds what is discovered to the explicit dimensions.
	IncludeAll bool
	// Discover gives discovered columns the type of their values; else they are strings.
	Discover bool
	// SortByTime says that segments are ordered by time first.
	SortByTime bool
}

// Dimension is a column of a schema.
type Dimension struct {
	// Type is string, long, float, double, json or auto.
	Type string
	Name string
	// MultiValue is SORTED_ARRAY, SORTED_SET or ARRAY.
	MultiValue string
	Bitmap     bool
	// CastTo is the type that an auto dimension is held to, "": what its values are.
	CastTo string
}

type dimensionWire struct {
	Type       string `json:"type"`
	Name       string `json:"name"`
	MultiValue string `json:"multiValueHandling"`
	Bitmap     *bool  `json:"createBitmapIndex"`
	CastTo     string `json:"castToType,omitempty"`
}

// UnmarshalJSON reads a dimension: a name or an object.
func (d *Dimension) UnmarshalJSON(text []byte) error {
	w := dimensionWire{Type: "string"}
	if json.Unmarshal(text, &w.Name) != nil {
		if err := json.Unmarshal(text, &w); err != nil {
			return err
		}
	}
	*d = Dimension{Type: strings.ToLower(w.Type), Name: w.Name, MultiValue: strings.ToUpper(w.MultiValue), CastTo: w.CastTo}
	switch d.Type {
	case "string", "json", "auto":
		d.Bitmap = true
	case "long", "float", "double":
	default:
		return fault.InvalidInput("Dimension [%s] has type [%s]; known are [string, long, float, double, json, auto]", w.Name, w.Type)
	}
	if w.Bitmap != nil {
		d.Bitmap = *w.Bitmap
	}
	switch d.MultiValue {
	case "":
		d.MultiValue = "SORTED_ARRAY"
	case "SORTED_ARRAY", "SORTED_SET", "ARRAY":
	default:
		return fault.InvalidInput("Dimension [%s] has multiValueHandling [%s]; known are [SORTED_ARRAY, SORTED_SET, ARRAY]", w.Name, w.MultiValue)
	}
	return nil
}

// MarshalJSON returns the dimension with all its members.
func (d Dimension) MarshalJSON() ([]byte, error) {
	return json.Marshal(dimensionWire{d.Type, d.Name, d.MultiValue, &d.Bitmap, d.CastTo})
}

func parseDimensions(text json.RawMessage) (Dimensions, error) {
	w := struct {
		Dimensions []Dimension       `json:"dimensions"`
		Exclusions []string          `json:"dimensionExclusions"`
		Spatial    []json.RawMessage `json:"spatialDimensions"`
		IncludeAll bool              `json:"includeAllDimensions"`
		Discover   bool              `json:"useSchemaDiscovery"`
		SortByTime *bool             `json:"forceSegmentSortByTime"`
	}{}
	if err := decode("dimensionsSpec", text, &w); err != nil {
		return Dimensions{}, err
	}
	d := Dimensions{Explicit: w.Dimensions, Exclusions: w.Exclusions, IncludeAll: w.IncludeAll, Discover: w.Discover, SortByTime: true}
	if w.SortByTime != nil {
		d.SortByTime = *w.SortByTime
	}
	if len(w.Spatial) > 0 {
		return d, fault.Unsupported("[spatialDimensions] are not supported")
	}
	for _, e := range d.Explicit {
		if slices.Contains(d.Exclusions, e.Name) {
			return d, fault.InvalidInput("dimensions and dimensions exclusions cannot overlap: [%s] is in both", e.Name)
		}
	}
	if d.Discover && !d.IncludeAll {
		d.IncludeAll = true
	}
	return d, nil
}

// Columns finds the dimensions of rows: the explicit ones and, if the schema leaves them open, what the records have beside. It learns the types of
// all fields on the way. It is used by one goroutine.
type Columns struct {
	schema   *DataSchema
	names    []string
	index    map[string]int
	seen     []observed
	excluded map[string]bool
}

// observed counts the values of a field by kind.
type observed struct {
	longs, doubles, texts, lists, objects, booleans int
	// numerals counts the texts that are numbers.
	numerals int
	elements *observed
}

// NewColumns starts without records.
func (s *DataSchema) NewColumns() *Columns {
	c := &Columns{schema: s, index: map[string]int{}, excluded: map[string]bool{s.Time.Column: true, TimeColumn: true}}
	for _, name := range s.Dimensions.Exclusions {
		c.excluded[name] = true
	}
	for _, m := range s.Metrics {
		c.excluded[m.Name] = true
		for _, name := range m.Inputs {
			c.excluded[name] = true
		}
	}
	return c
}

// Add learns from a record that became a row, as the format flattened it.
func (c *Columns) Add(o *ingest.Object) {
	for i, name := range o.Names {
		at, ok := c.index[name]
		if !ok {
			if len(c.names) >= maxFields {
				continue
			}
			at = len(c.names)
			c.index[name] = at
			c.names, c.seen = append(c.names, name), append(c.seen, observed{})
		}
		c.seen[at].add(o.Values[i])
	}
}

// Merge adds what other columns have learnt from records that come after those of c.
func (c *Columns) Merge(other *Columns) {
	for i, name := range other.names {
		at, ok := c.index[name]
		if !ok {
			if len(c.names) >= maxFields {
				continue
			}
			at = len(c.names)
			c.index[name] = at
			c.names, c.seen = append(c.names, name), append(c.seen, observed{})
		}
		c.seen[at].merge(&other.seen[i])
	}
}

func (o *observed) merge(p *observed) {
	o.longs, o.doubles, o.texts = o.longs+p.longs, o.doubles+p.doubles, o.texts+p.texts
	o.numerals += p.numerals
	o.lists, o.objects, o.booleans = o.lists+p.lists, o.objects+p.objects, o.booleans+p.booleans
	if p.elements != nil {
		if o.elements == nil {
			o.elements = &observed{}
		}
		o.elements.merge(p.elements)
	}
}

// maxFields bounds the fields whose types are learnt: hostile records must not fill memory with names.
const maxFields = 20_000

func (o *observed) add(v any) {
	switch v := v.(type) {
	case int64:
		o.longs++
	case float64, float32, ingest.Digits:
		o.doubles++
	case bool:
		o.booleans++
	case string:
		o.texts++
		if o.numerals == o.texts-1 { // it matters only whether all are
			if _, _, _, ok := ingest.NumberOf(v); ok {
				o.numerals++
			}
		}
	case []byte:
		o.texts++
	case []any:
		o.lists++
		if o.elements == nil {
			o.elements = &observed{}
		}
		for _, e := range v {
			o.elements.add(e)
		}
	case *ingest.Object:
		o.objects++
	}
}

// Fields returns the names of all fields met, in the order in which they were.
func (c *Columns) Fields() []string { return c.names }

// Numerals reports whether the values of a field are numbers, also where they are texts, as all are in formats without types.
func (c *Columns) Numerals(name string) bool {
	at, ok := c.index[name]
	if !ok {
		return false
	}
	o := &c.seen[at]
	return o.texts == o.numerals && o.lists+o.objects == 0
}

// TypeOf returns the type in which the values of a field can be computed with: numbers, text, multi-value text for lists, JSON for what is nested.
func (c *Columns) TypeOf(name string) expr.Type {
	at, ok := c.index[name]
	if !ok {
		return expr.Of(expr.Varchar)
	}
	return c.seen[at].value()
}

func (o *observed) value() expr.Type {
	switch {
	case o.objects > 0 || o.elements != nil && (o.elements.objects > 0 || o.elements.lists > 0):
		return expr.JSON
	case o.lists > 0:
		return expr.MultiString
	case o.texts > 0:
		return expr.Of(expr.Varchar)
	case o.doubles > 0:
		return expr.Of(expr.Double)
	case o.longs+o.booleans > 0:
		return expr.Of(expr.BigInt)
	}
	return expr.Of(expr.Varchar)
}

// onlyNested reports whether all values were objects, or lists of such: strings are not discovered of them.
func (o *observed) onlyNested() bool {
	if o.longs+o.doubles+o.texts+o.booleans > 0 {
		return false
	}
	return o.objects > 0 && o.lists == 0 || o.elements != nil && o.elements.onlyNested()
}

// discovered returns the dimension of a field by the values it had.
func (o *observed) discovered(name string) Dimension {
	d := Dimension{Name: name, MultiValue: "SORTED_ARRAY", Type: "auto", Bitmap: true}
	numbers := o.longs + o.doubles + o.booleans
	switch {
	case o.objects > 0 || o.lists > 0 || numbers > 0 && o.texts > 0:
	case o.doubles > 0:
		d.Type, d.Bitmap = "double", false
	case numbers > 0:
		d.Type, d.Bitmap = "long", false
	default:
		d.Type = "string"
	}
	return d
}

// List returns the dimensions of the records so far. Logical have the types that values were found to be of, physical are what they are stored as.
func (c *Columns) List() (logical, physical []Dimension) {
	d := &c.schema.Dimensions
	explicit := map[string]bool{}
	for _, e := range d.Explicit {
		explicit[e.Name] = true
		logical, physical = append(logical, e), append(physical, e)
	}
	if len(d.Explicit) > 0 && !d.IncludeAll {
		return logical, physical
	}
	for i, name := range c.names {
		if explicit[name] || c.excluded[name] || !d.Discover && c.seen[i].onlyNested() {
			continue
		}
		if !d.Discover {
			e := Dimension{Type: "string", Name: name, MultiValue: "SORTED_ARRAY", Bitmap: true}
			logical, physical = append(logical, e), append(physical, e)
			continue
		}
		logical = append(logical, c.seen[i].discovered(name))
		physical = append(physical, Dimension{Type: "auto", Name: name, MultiValue: "SORTED_ARRAY", Bitmap: true})
	}
	return logical, physical
}

// ColumnType returns the type that a dimension's column has: for auto ones by the values met.
func (c *Columns) ColumnType(d Dimension) expr.Type {
	switch d.Type {
	case "long":
		return expr.Of(expr.BigInt)
	case "float":
		return expr.Of(expr.Float)
	case "double":
		return expr.Of(expr.Double)
	case "json":
		return expr.JSON
	case "auto":
		if t, ok := expr.ParseTypeName(d.CastTo); ok && d.CastTo != "" {
			return t
		}
		at, ok := c.index[d.Name]
		if !ok {
			return expr.Of(expr.Varchar)
		}
		return c.seen[at].column()
	}
	return expr.MultiString
}

func (o *observed) column() expr.Type {
	numbers := o.longs + o.doubles + o.booleans
	switch {
	case o.objects > 0, o.lists > 0 && numbers+o.texts > 0, numbers > 0 && o.texts > 0:
		return expr.JSON
	case o.lists > 0:
		if e := o.elements.column(); e.Base != expr.Other && e.Base != expr.Array {
			return expr.ArrayOf(e)
		}
		return expr.JSON
	case o.texts > 0:
		return expr.Of(expr.Varchar)
	case o.doubles > 0:
		return expr.Of(expr.Double)
	case numbers > 0:
		return expr.Of(expr.BigInt)
	}
	return expr.Of(expr.Varchar)
}
