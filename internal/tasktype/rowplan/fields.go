package rowplan

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Field is a field of the records to read.
type Field struct {
	Name string
	// Column is its name among the columns to read. A field that is read with several types has one
	// column per type.
	Column string
	Type   expr.Type
	// Physical is the type of its vectors.
	Physical vector.Type
	// Number is the numeric type that its values must have, for messages; "": any value is accepted.
	Number string
	// Single rejects records with several values.
	Single bool
}

func isCount(m spec.Metric) bool {
	var w struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(m.Wire, &w) == nil && w.Type == "count"
}

// Learns reports whether the columns of a schema, or their types, can be derived only from the
// records.
func Learns(s *spec.DataSchema) bool {
	d := &s.Dimensions
	if len(d.Explicit) == 0 || d.IncludeAll || len(s.Transforms) > 0 || s.Filter != nil {
		return true
	}
	types := map[string]expr.Base{}
	for _, e := range d.Explicit {
		if e.Type == "auto" && e.CastTo == "" {
			return true
		}
		types[e.Name] = (&spec.Columns{}).ColumnType(e).Base
	}
	for _, e := range d.Explicit {
		for _, name := range e.Coordinates {
			if _, used := types[name]; used {
				return true
			}
			types[name] = expr.Varchar
		}
	}
	for _, m := range s.Metrics {
		if isCount(m) {
			continue
		}
		name, typ, ok := m.Number()
		if old, used := types[name]; !ok || used && old != typ {
			return true
		}
		types[name] = typ
	}
	return false
}

// Choose decides which fields are read and with which types, and returns the dimensions.
func (p *Plan) Choose() ([]spec.Dimension, error) {
	s := p.Schema
	p.Columns.Name(p.Format)
	for _, m := range s.Metrics {
		p.Columns.Exclude(native.MetricFields(m.Wire)...)
	}
	_, dimensions := p.Columns.List()
	d := &s.Dimensions
	open := len(d.Explicit) == 0 || d.IncludeAll
	if p.Columns.Shape().Full() && open || len(dimensions)+len(s.Metrics) > spec.MaxColumns {
		return nil, fault.InvalidInput("The records have more than [%d] fields. "+
			"Name those that are wanted in [dimensions] of the [dimensionsSpec]", spec.MaxColumns)
	}
	u := p.fieldUses(dimensions)
	p.Numbers, p.Singles = map[string]map[expr.Base]string{}, map[string]expr.Type{}
	for _, name := range u.names {
		of := u.of[name]
		p.addField(name, name, of.typ, of.strict[of.typ])
		for _, t := range of.numbers {
			column := name
			if t != of.typ {
				column = numberColumn(name, t)
				p.addField(name, column, t, of.strict[t])
			}
			if p.Numbers[name] == nil {
				p.Numbers[name] = map[expr.Base]string{}
			}
			p.Numbers[name][t.Base] = column
		}
		if t := of.typ; t.Multi || t.Base == expr.Array || t == expr.JSON || t.IsCharacter() {
			p.Singles[name] = p.Columns.SingleType(name)
		}
	}
	return dimensions, nil
}

// numberColumn names the column of a field that is read as a number of a type beside the column of
// its name.
func numberColumn(field string, t expr.Type) string {
	return "\x00" + strings.ToLower(t.Runtime().String()) + " " + field
}

func (p *Plan) addField(name, column string, t expr.Type, strict bool) {
	f := Field{Name: name, Column: column, Type: t, Physical: t.Runtime(), Single: p.ranged(name)}
	if strict {
		f.Number = strings.ToLower(f.Physical.String())
	}
	p.Fields = append(p.Fields, f)
}

// fieldUse is what a field is read as.
type fieldUse struct {
	// typ is that of the column of its name: what expressions see, else what a dimension or a
	// metric takes.
	typ expr.Type
	// numbers are the types of numbers that dimensions and metrics take of it. Of those that are
	// strict a value that is no number is an error of the record.
	numbers []expr.Type
	strict  map[expr.Type]bool
}

// fieldUses are the fields that are read, in the order in which they are found.
type fieldUses struct {
	names []string
	of    map[string]*fieldUse
}

func (u *fieldUses) use(name string, t expr.Type) *fieldUse {
	of := u.of[name]
	if of == nil {
		of = &fieldUse{typ: t, strict: map[expr.Type]bool{}}
		u.of[name], u.names = of, append(u.names, name)
	}
	return of
}

// number notes that a field is taken as a number.
func (u *fieldUses) number(name string, t expr.Type, strict bool) {
	of := u.use(name, t)
	if !slices.Contains(of.numbers, t) {
		of.numbers = append(of.numbers, t)
	}
	of.strict[t] = of.strict[t] || strict
}

// fieldUses decides which fields are read and as what.
func (p *Plan) fieldUses(dimensions []spec.Dimension) *fieldUses {
	s := p.Schema
	made, words := s.Made(), mentioned(s)
	u := &fieldUses{of: map[string]*fieldUse{}}
	wanted := func(name string) bool { return !made[name] && name != plan.TimeColumn }
	for _, d := range dimensions {
		switch t := p.dimensionType(d); {
		case !wanted(d.Name):
		case t.IsNumeric():
			u.number(d.Name, t, true)
		default:
			u.use(d.Name, t)
		}
		for _, name := range d.Coordinates {
			if wanted(name) {
				u.use(name, expr.Of(expr.Varchar))
			}
		}
	}
	for _, m := range s.Metrics {
		for _, n := range m.Numbers() {
			if wanted(n.Field) && (!n.Sketch || p.Columns.SomeNumbers(n.Field)) {
				u.number(n.Field, expr.Of(n.Type), !n.Filtered)
			}
		}
	}
	for _, name := range p.Columns.Fields() {
		if name != plan.TimeColumn && words(name) {
			t := p.inputType(name, dimensions)
			u.use(name, t).typ = t
		}
	}
	return u
}

// inputType returns the type in which transforms, filters and aggregators see a field: lists of an
// auto dimension are arrays, other lists multi-value.
func (p *Plan) inputType(name string, dimensions []spec.Dimension) expr.Type {
	t := p.Columns.TypeOf(name)
	auto := func(d spec.Dimension) bool { return d.Name == name && d.Type == "auto" && d.CastTo == "" }
	if i := slices.IndexFunc(dimensions, auto); i >= 0 && t.Multi {
		return p.Columns.ColumnType(dimensions[i])
	}
	return t
}

// mentioned returns a function that reports whether transforms, the filter or aggregators that
// compute may speak of a field. Saying so of one too many costs only time.
func mentioned(s *spec.DataSchema) func(name string) bool {
	var texts []string
	add := func(raw json.RawMessage) {
		var v any
		if json.Unmarshal(raw, &v) == nil {
			texts = collect(texts, v, 0)
		}
	}
	for _, t := range s.Transforms {
		add(t)
	}
	add(s.Filter)
	for _, m := range s.Metrics {
		if _, _, simple := m.Number(); !simple && !isCount(m) {
			add(m.Wire)
		}
	}
	return func(name string) bool {
		if len(texts) == 0 {
			return false
		}
		if name == "" {
			return true
		}
		for _, r := range name {
			if r < ' ' || r == '"' || r == '\'' || r == '\\' || r > '~' {
				return true // an expression may write it in another way
			}
		}
		return slices.ContainsFunc(texts, func(t string) bool { return hasWord(t, name) })
	}
}

// hasWord reports whether name occurs in text, not as a part of a longer word.
func hasWord(text, name string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		lo, hi := from+i, from+i+len(name)
		if (lo == 0 || !wordByte(text[lo-1])) && (hi == len(text) || !wordByte(text[hi])) {
			return true
		}
		from = lo + 1
	}
}

func wordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
}

// collect appends the texts within a JSON value, names of members too.
func collect(texts []string, v any, depth int) []string {
	switch v := v.(type) {
	case string:
		texts = append(texts, v)
	case []any:
		for _, e := range v {
			texts = collect(texts, e, depth+1)
		}
	case map[string]any:
		for _, e := range v {
			texts = collect(texts, e, depth+1)
		}
	}
	return texts
}

// dimensionType is the type of a dimension by its declaration and what the records have: those that
// segments get ranges of have one value.
func (p *Plan) dimensionType(d spec.Dimension) expr.Type {
	t := p.Columns.ColumnType(d)
	if t.Multi && p.ranged(d.Name) {
		return expr.Of(expr.Varchar)
	}
	return t
}

// ranged reports whether segments get ranges of a dimension.
func (p *Plan) ranged(name string) bool { return slices.Contains(p.Ranged, name) }

// typeOf returns the type that a dimension is stored as; columns are those that it is made of.
func (p *Plan) typeOf(d spec.Dimension, columns []plan.Column) expr.Type {
	t := p.dimensionType(d)
	made := p.Schema.Made()[d.Name]
	if d.Type != "auto" || d.CastTo != "" || !made && slices.Contains(p.Columns.Fields(), d.Name) {
		return t
	}
	for _, c := range columns {
		if c.Name == d.Name { // made by a transform, perhaps of a field of the same name
			return expr.FromRuntime(c.Type.Runtime(), false)
		}
	}
	return t
}
