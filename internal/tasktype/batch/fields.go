package batch

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

// field is a field of the records that is read.
type field struct {
	name string
	typ  expr.Type
	// physical is the type of its vectors.
	physical vector.Type
	// number names the type of number that its values must be, for messages; "": they may be anything.
	number string
	// single refuses records with several values.
	single bool
}

// sketched reports whether a sketch of numbers is made of a field.
func sketched(s *spec.DataSchema, name string) bool {
	return slices.ContainsFunc(s.Metrics, func(m spec.Metric) bool {
		var w struct {
			Type      string `json:"type"`
			FieldName string `json:"fieldName"`
		}
		if json.Unmarshal(m.Wire, &w) != nil || w.FieldName != name {
			return false
		}
		return w.Type == "quantilesDoublesSketch" || w.Type == "KllDoublesSketch" || w.Type == "KllFloatsSketch"
	})
}

func isCount(m spec.Metric) bool {
	var w struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(m.Wire, &w) == nil && w.Type == "count"
}

// learns reports whether the columns of a schema, or their types, follow from the records only.
func learns(s *spec.DataSchema) bool {
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

// chooseFields decides which fields are read and as what, and returns the dimensions.
func (l *load) chooseFields() ([]spec.Dimension, error) {
	s := l.spec.Schema
	l.columns.Name(l.spec.FormatText)
	for _, m := range s.Metrics {
		l.columns.Exclude(native.MetricFields(m.Wire)...)
	}
	_, dimensions := l.columns.List()
	if len(dimensions)+len(s.Metrics) > maxColumns {
		return nil, fault.InvalidInput("The records have [%d] fields; a datasource has at most [%d] columns", len(dimensions), maxColumns)
	}
	made := s.Made()
	words := mentioned(s)
	uses := map[string][]expr.Type{}
	var names []string
	use := func(name string, t expr.Type) {
		if _, known := uses[name]; !known {
			names = append(names, name)
		}
		if !slices.Contains(uses[name], t) {
			uses[name] = append(uses[name], t)
		}
	}
	for _, d := range dimensions {
		if !made[d.Name] && d.Name != plan.TimeColumn {
			use(d.Name, l.dimensionType(d))
		}
		for _, name := range d.Coordinates {
			if !made[name] && name != plan.TimeColumn {
				use(name, expr.Of(expr.Varchar))
			}
		}
	}
	for _, m := range s.Metrics {
		if name, typ, ok := m.Number(); ok && !made[name] && name != plan.TimeColumn {
			use(name, expr.Of(typ))
		}
	}
	for _, name := range l.columns.Fields() {
		if name == plan.TimeColumn || !words(name) {
			continue
		}
		if t := l.inputType(name, dimensions); t.IsCharacter() && !t.Multi && sketched(s, name) && l.columns.Numerals(name) {
			use(name, expr.Of(expr.Double))
		} else {
			use(name, t)
		}
	}
	for _, name := range names {
		f := field{name: name, typ: l.columns.TypeOf(name)}
		switch {
		case len(uses[name]) == 1:
			f.typ = uses[name][0]
		case sketched(s, name) && l.columns.Numerals(name):
			f.typ = expr.Of(expr.Double)
		}
		for _, t := range uses[name] {
			if n := t.Runtime(); n.IsNumeric() && !made[name] {
				f.number = strings.ToLower(n.String())
			}
		}
		f.single, f.physical = l.ranged(name), f.typ.Runtime()
		l.fields = append(l.fields, f)
	}
	return dimensions, nil
}

// inputType returns the type in which transforms, filters and aggregators see a field: lists of an auto dimension are arrays, other lists
// multi-value.
func (l *load) inputType(name string, dimensions []spec.Dimension) expr.Type {
	t := l.columns.TypeOf(name)
	if i := slices.IndexFunc(dimensions, func(d spec.Dimension) bool { return d.Name == name && d.Type == "auto" && d.CastTo == "" }); i >= 0 && t.Multi {
		return l.columns.ColumnType(dimensions[i])
	}
	return t
}

// maxColumns bounds the columns of a datasource.
const maxColumns = 2000

// mentioned returns a function that reports whether transforms, the filter or aggregators that compute may speak of a field. Saying so of one
// too many costs only time.
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

// dimensionType is the type of a dimension by its declaration and what the records have: those that segments get ranges of have one value.
func (l *load) dimensionType(d spec.Dimension) expr.Type {
	t := l.columns.ColumnType(d)
	if t.Multi && l.ranged(d.Name) {
		return expr.Of(expr.Varchar)
	}
	return t
}

// ranged reports whether segments get ranges of a dimension.
func (l *load) ranged(name string) bool {
	p := l.spec.Tuning.Given()
	return (p.Type == "range" || p.Type == "single_dim") && slices.Contains(p.Dimensions, name)
}

// typeOf returns the type that a dimension is stored as; columns are those that it is made of.
func (l *load) typeOf(d spec.Dimension, columns []plan.Column) expr.Type {
	t := l.dimensionType(d)
	made := l.spec.Schema.Made()[d.Name]
	if d.Type != "auto" || d.CastTo != "" || !made && slices.Contains(l.columns.Fields(), d.Name) {
		return t
	}
	for _, c := range columns {
		if c.Name == d.Name { // made by a transform, perhaps of a field of the same name
			return expr.FromRuntime(c.Type.Runtime(), false)
		}
	}
	return t
}
