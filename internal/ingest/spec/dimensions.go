package spec

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/vector"
)

// Dimensions is a dimensionsSpec.
type Dimensions struct {
	Explicit   []Dimension
	Exclusions []string
	// IncludeAll adds discovered columns to the explicit dimensions.
	IncludeAll bool
	// Discover gives discovered columns the type of their values. Otherwise they are strings.
	Discover bool
	// SortByTime says that segments are sorted by time first.
	SortByTime bool
}

// Dimension is a column of a schema.
type Dimension struct {
	// Type is string, long, float, double, json, auto or spatial.
	Type string
	Name string
	// MultiValue is SORTED_ARRAY, SORTED_SET or ARRAY.
	MultiValue string
	Bitmap     bool
	// Coordinates are the columns whose values form the point of a spatial dimension that has no value
	// of its own.
	Coordinates []string
	// CastTo is the type that the values of an auto dimension are cast to, "": they are not cast.
	CastTo string
}

type dimensionWire struct {
	Type       string `json:"type"`
	Name       string `json:"name"`
	MultiValue string `json:"multiValueHandling"`
	Bitmap     *bool  `json:"createBitmapIndex"`
	CastTo     string `json:"castToType,omitempty"`
	// Coordinates are the coordinate columns of a spatial dimension.
	Coordinates []string `json:"dims,omitempty"`
}

// UnmarshalJSON parses a dimension: a name or an object.
func (d *Dimension) UnmarshalJSON(text []byte) error {
	w := dimensionWire{Type: "string"}
	if json.Unmarshal(text, &w.Name) != nil {
		if err := jsontext.Read(text, &w); err != nil {
			return err
		}
	}
	*d = Dimension{Type: strings.ToLower(w.Type), Name: w.Name, MultiValue: strings.ToUpper(w.MultiValue), CastTo: w.CastTo}
	switch d.Type {
	case "string", "json", "auto":
		d.Bitmap = true
	case "spatial":
		d.Bitmap, d.Coordinates = true, w.Coordinates
	case "long", "float", "double":
	default: // quirk Q012: a type that is not known is the default one, as in Druid
		d.Type, d.Bitmap = "string", true
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
	return json.Marshal(dimensionWire{d.Type, d.Name, d.MultiValue, &d.Bitmap, d.CastTo, d.Coordinates})
}

func parseDimensions(text json.RawMessage) (Dimensions, error) {
	w := struct {
		Dimensions []Dimension `json:"dimensions"`
		Exclusions []string    `json:"dimensionExclusions"`
		Spatial    []struct {
			Name string   `json:"dimName"`
			Dims []string `json:"dims"`
		} `json:"spatialDimensions"`
		IncludeAll bool  `json:"includeAllDimensions"`
		Discover   bool  `json:"useSchemaDiscovery"`
		SortByTime *bool `json:"forceSegmentSortByTime"`
	}{}
	if err := decode("dimensionsSpec", text, &w); err != nil {
		return Dimensions{}, err
	}
	d := Dimensions{Explicit: w.Dimensions, Exclusions: w.Exclusions, IncludeAll: w.IncludeAll, Discover: w.Discover, SortByTime: true}
	if w.SortByTime != nil {
		d.SortByTime = *w.SortByTime
	}
	for _, p := range w.Spatial { // the older form of the type
		d.Explicit = append(d.Explicit, Dimension{Type: "spatial", Name: p.Name, MultiValue: "SORTED_ARRAY", Bitmap: true, Coordinates: p.Dims})
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

// Spatial returns the spatial dimensions with their coordinate columns; nil: there are none.
func (d *Dimensions) Spatial() map[string][]string { return SpatialOf(d.Explicit) }

// SpatialOf is like Dimensions.Spatial, for a list.
func SpatialOf(dimensions []Dimension) map[string][]string {
	var out map[string][]string
	for _, e := range dimensions {
		if e.Type == "spatial" {
			if out == nil {
				out = map[string][]string{}
			}
			out[e.Name] = e.Coordinates
		}
	}
	return out
}

// Made returns the names of the columns that transforms compute, as far as the transforms can be
// parsed. Fields with these names are not visible.
func (s *DataSchema) Made() map[string]bool {
	made := map[string]bool{}
	for _, text := range s.Transforms {
		var w struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(text, &w) == nil {
			made[w.Name] = true
		}
	}
	return made
}

// Columns determines the dimensions of rows: the explicit ones and, if the schema is open, the
// other fields of the records. It tracks the types of the values of all fields. It is used by one
// goroutine.
type Columns struct {
	schema   *DataSchema
	shape    ingest.Shape
	excluded map[string]bool
	named    map[string]bool
	// closed: only the named fields are found.
	closed bool
	// sparse: the format drops fields that are null, so that those which always are aren't found.
	sparse bool
}

// NewColumns returns Columns without records.
func (s *DataSchema) NewColumns() *Columns {
	c := &Columns{schema: s, excluded: map[string]bool{s.Time.Column: true, TimeColumn: true}}
	for _, name := range s.Dimensions.Exclusions {
		c.excluded[name] = true
	}
	for _, names := range s.Dimensions.Spatial() {
		for _, name := range names { // they become points
			c.excluded[name] = true
		}
	}
	for _, m := range s.Metrics {
		c.excluded[m.Name] = true
		for _, name := range m.Inputs {
			c.excluded[name] = true
		}
	}
	return c
}

// Exclude excludes fields that are not dimensions, although the schema does not list them as
// exclusions.
func (c *Columns) Exclude(names ...string) {
	for _, name := range names {
		c.excluded[name] = true
	}
}

// formatWire is what a format says about the fields that are found.
type formatWire struct {
	Type    string `json:"type"`
	Keep    *bool  `json:"keepNullColumns"`
	Flatten *struct {
		Discover *bool             `json:"useFieldDiscovery"`
		Fields   []json.RawMessage `json:"fields"`
	} `json:"flattenSpec"`
}

// DropsNulls reports whether a format omits fields that are null in a record, as JSON without a
// flattenSpec does unless it is configured to keep them.
func DropsNulls(format json.RawMessage) bool {
	var w formatWire
	// What is wrong with it is said where it is read.
	return json.Unmarshal(format, &w) == nil && w.dropsNulls()
}

func (w *formatWire) dropsNulls() bool {
	switch {
	case w.Type != "json":
		return false
	case w.Keep != nil:
		return !*w.Keep
	}
	return w.Flatten == nil
}

// Name registers the fields that the flattenSpec of a format names. They are dimensions even if
// their values are nested. Fields that the format drops are not registered.
func (c *Columns) Name(format json.RawMessage) {
	var w formatWire
	if json.Unmarshal(format, &w) != nil {
		return // what is wrong with it is said where it is read
	}
	c.sparse = w.dropsNulls()
	c.named = map[string]bool{}
	if w.Flatten == nil {
		return
	}
	c.closed = w.Flatten.Discover != nil && !*w.Flatten.Discover
	for _, raw := range w.Flatten.Fields {
		var name string
		field := struct {
			Name *string `json:"name"`
		}{&name}
		if json.Unmarshal(raw, &name) == nil || json.Unmarshal(raw, &field) == nil {
			c.named[name] = true
		}
	}
}

// Add learns from a record that became a row, after the flattenSpec.
func (c *Columns) Add(o *record.Object) { c.shape.Add(o) }

// Shape returns the shape learned so far. The caller may add to it.
func (c *Columns) Shape() *ingest.Shape { return &c.shape }

// Merge adds what other has learned from records that come after the records of c.
func (c *Columns) Merge(other *Columns) { c.shape.Merge(&other.shape) }

// Fields returns the names of all fields, in the order of their first occurrence.
func (c *Columns) Fields() []string { return c.shape.Names() }

// SomeNumbers reports whether values of a field are numbers, or strings of which the first is a
// number, as in untyped formats. Otherwise the strings of the field are sketches.
func (c *Columns) SomeNumbers(name string) bool {
	k := c.shape.Of(name)
	return k != nil && (k.Longs+k.Doubles+k.Booleans+k.Numerals > 0 || k.Texts == 0)
}

// SingleType returns the type of the scalar values of a field, or the type of the elements of its
// lists if it has no scalar values. For a mix of numbers and strings it is DOUBLE, the type of the
// numbers.
func (c *Columns) SingleType(name string) expr.Type {
	k := c.shape.Of(name)
	if k != nil && k.Scalars() == 0 && k.Elements != nil {
		k = k.Elements
	}
	switch {
	case k == nil || k.Texts > 0 && k.Longs+k.Doubles == 0:
	case k.Texts > 0:
		return expr.Of(expr.Double)
	case k.Doubles > 0:
		return expr.Of(expr.Double)
	case k.Longs+k.Booleans > 0:
		return expr.Of(expr.BigInt)
	}
	return expr.Of(expr.Varchar)
}

// TypeOf returns the type in which expressions process the values of a field: a numeric type,
// string, multi-value string for lists, or JSON for nested values.
func (c *Columns) TypeOf(name string) expr.Type {
	k := c.shape.Of(name)
	switch {
	case k == nil:
		return expr.Of(expr.Varchar)
	case k.Objects > 0 || k.Elements != nil && (k.Elements.Objects > 0 || k.Elements.Lists > 0):
		return expr.JSON
	case k.Lists > 0:
		return expr.MultiString
	case k.Texts > 0:
		return expr.Of(expr.Varchar)
	case k.Doubles > 0:
		return expr.Of(expr.Double)
	case k.Longs+k.Booleans > 0:
		return expr.Of(expr.BigInt)
	}
	return expr.Of(expr.Varchar)
}

// onlyNested reports whether all values were objects, or lists with objects or lists in them:
// strings are not discovered of them.
func onlyNested(k *ingest.Kinds) bool {
	return k.Scalars() == 0 && k.Flat == 0 && k.Objects+k.Lists > 0
}

// isEmpty reports whether the values of a field, or the elements of its lists, were null in all
// records.
func isEmpty(k *ingest.Kinds) bool { return k != nil && k.Scalars()+k.Lists+k.Objects == 0 }

// discovered returns the dimension of a field by the values it had.
func discovered(name string, k *ingest.Kinds) Dimension {
	d := Dimension{Name: name, MultiValue: "SORTED_ARRAY", Type: "auto", Bitmap: true}
	numbers := k.Longs + k.Doubles + k.Booleans
	switch {
	case k.Objects > 0 || k.Lists > 0 || numbers > 0 && k.Texts > 0:
	case k.Doubles > 0:
		d.Type, d.Bitmap = "double", false
	case numbers > 0:
		d.Type, d.Bitmap = "long", false
	default:
		d.Type = "string"
	}
	return d
}

// List returns the dimensions of the records so far. logical has the types of the values, physical
// the storage types.
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
	for _, name := range c.shape.Names() {
		k := c.shape.Of(name)
		if explicit[name] || c.excluded[name] || !c.finds(name, k) {
			continue
		}
		if !d.Discover {
			e := Dimension{Type: "string", Name: name, MultiValue: "SORTED_ARRAY", Bitmap: true}
			logical, physical = append(logical, e), append(physical, e)
			continue
		}
		logical = append(logical, discovered(name, k))
		physical = append(physical, Dimension{Type: "auto", Name: name, MultiValue: "SORTED_ARRAY", Bitmap: true})
	}
	return logical, physical
}

// finds reports whether a field that had values of these kinds is a dimension without being asked
// for.
func (c *Columns) finds(name string, k *ingest.Kinds) bool {
	switch {
	case name == "" || c.closed && !c.named[name]:
		return false
	case c.schema.Dimensions.Discover || c.named[name]:
		return true
	}
	return !onlyNested(k) && !(c.sparse && isEmpty(k))
}

// FixedType returns the type of the dimension's column. ok is false if the type depends on values.
func (d Dimension) FixedType() (t expr.Type, ok bool) {
	switch d.Type {
	case "long":
		return expr.Of(expr.BigInt), true
	case "float":
		return expr.Of(expr.Float), true
	case "double":
		return expr.Of(expr.Double), true
	case "json":
		return expr.JSON, true
	case "spatial":
		return expr.Of(expr.Varchar), true
	}
	return expr.Type{}, false
}

// ColumnType returns the type of the column of a dimension. For an auto dimension, it follows from
// the values so far.
func (c *Columns) ColumnType(d Dimension) expr.Type {
	if t, ok := d.FixedType(); ok {
		return t
	}
	if d.Type == "auto" {
		if t, err := vector.ParseType(d.CastTo); err == nil {
			return expr.FromRuntime(t, false)
		}
		k := c.shape.Of(d.Name)
		if k == nil {
			return expr.Of(expr.Varchar)
		}
		return columnType(k)
	}
	return expr.MultiString
}

// StoredType returns the type of the column in segments. If the values have several types, for
// which ColumnType returns JSON, StoredType returns the type that represents all of them. A json
// dimension is shown with the single type of its values, if they are neither lists nor objects.
func (c *Columns) StoredType(d Dimension) expr.Type {
	t, k := c.ColumnType(d), c.shape.Of(d.Name)
	switch {
	case k != nil && d.Type == "auto" && d.CastTo == "" && isEmpty(k.Elements) && k.Scalars()+k.Objects == 0:
		return expr.JSON // lists of nothing
	case k == nil || t.Runtime() != vector.JSON:
		return t
	case d.Type == "json":
		return simpleType(k)
	case d.Type != "auto":
		return t
	}
	all := *k
	if e := k.Elements; e != nil {
		if e.Objects+e.Lists > 0 {
			return t
		}
		all.Doubles, all.Texts = all.Doubles+e.Doubles, all.Texts+e.Texts
	}
	stored := expr.Of(expr.BigInt)
	switch {
	case all.Objects > 0:
		return t
	case all.Texts > 0:
		stored = expr.Of(expr.Varchar)
	case all.Doubles > 0:
		stored = expr.Of(expr.Double)
	}
	if k.Lists > 0 {
		return expr.ArrayOf(stored)
	}
	return stored
}

// simpleType is the type of values that are all of one simple kind, else JSON.
func simpleType(k *ingest.Kinds) expr.Type {
	all := k.Scalars() + k.Lists + k.Objects
	if all == 0 {
		return expr.JSON
	}
	switch all {
	case k.Longs:
		return expr.Of(expr.BigInt)
	case k.Doubles:
		return expr.Of(expr.Double)
	case k.Texts + k.Booleans:
		return expr.Of(expr.Varchar)
	}
	return expr.JSON
}

// columnType is the type of a column of values of these kinds.
func columnType(k *ingest.Kinds) expr.Type {
	numbers := k.Longs + k.Doubles + k.Booleans
	switch {
	case k.Objects > 0, k.Lists > 0 && numbers+k.Texts > 0, numbers > 0 && k.Texts > 0:
		return expr.JSON
	case k.Lists > 0:
		switch e := k.Elements; {
		case e.Objects+e.Lists > 0, e.Texts > 0 && e.Longs+e.Doubles+e.Booleans > 0:
			return expr.JSON
		case e.Texts > 0:
			return expr.ArrayOf(expr.Of(expr.Varchar))
		case e.Doubles > 0:
			return expr.ArrayOf(expr.Of(expr.Double))
		}
		return expr.ArrayOf(expr.Of(expr.BigInt)) // also of nothing, and of nothing but NULLs
	case k.Texts > 0:
		return expr.Of(expr.Varchar)
	case k.Doubles > 0:
		return expr.Of(expr.Double)
	case numbers > 0:
		return expr.Of(expr.BigInt)
	}
	return expr.Of(expr.Varchar)
}
