package ingest

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/jsonpath"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/jsontext"
)

// flattening is a flattenSpec: what the columns of a nested record are.
type flattening struct {
	// wire has all members; nil: there is no flattenSpec.
	wire json.RawMessage
	// discover adds the values at the root to the fields.
	discover bool
	fields   []flattenField
}

// flattenField is a column made of something within a record. Eval returns nil for what is not
// there.
type flattenField struct {
	name string
	eval func(*record.Object) any
}

type flattenFieldWire struct {
	Type  string   `json:"type"`
	Name  string   `json:"name"`
	Expr  string   `json:"expr"`
	Nodes []string `json:"nodes"`
}

// maxFlattenFields bounds a flattenSpec.
const maxFlattenFields = 10_000

// parseFlattening reads a flattenSpec; text may be absent. The format names itself in faults.
func parseFlattening(format string, text json.RawMessage) (*flattening, error) {
	f := &flattening{discover: true}
	if len(text) == 0 || string(text) == "null" {
		return f, nil
	}
	var w struct {
		UseFieldDiscovery *bool             `json:"useFieldDiscovery"`
		Fields            []json.RawMessage `json:"fields"`
	}
	if err := wire.Decode("flattenSpec", text, &w); err != nil {
		return nil, err
	}
	if w.UseFieldDiscovery != nil {
		f.discover = *w.UseFieldDiscovery
	}
	if len(w.Fields) > maxFlattenFields {
		return nil, wire.Invalid("flattenSpec", "there are more than %d fields", maxFlattenFields)
	}
	seen := map[string]bool{}
	shown := make([]flattenFieldWire, len(w.Fields))
	for i, raw := range w.Fields {
		field, err := parseFlattenField(format, raw, &shown[i])
		if err != nil {
			return nil, err
		}
		if seen[field.name] {
			return nil, wire.Invalid("flattenSpec", "Cannot have duplicate field definition: %s", field.name)
		}
		seen[field.name] = true
		f.fields = append(f.fields, field)
	}
	var err error
	f.wire, err = jsontext.Marshal(struct {
		UseFieldDiscovery bool               `json:"useFieldDiscovery"`
		Fields            []flattenFieldWire `json:"fields"`
	}{f.discover, shown})
	return f, err
}

// parseFlattenField reads a field; shown becomes its wire form with all members.
func parseFlattenField(format string, raw json.RawMessage, shown *flattenFieldWire) (flattenField, error) {
	var w flattenFieldWire
	if err := json.Unmarshal(raw, &w.Name); err == nil {
		w.Type = "root"
	} else if err := wire.Decode("flattenSpec", raw, &w); err != nil {
		return flattenField{}, err
	}
	if w.Name == "" {
		return flattenField{}, wire.Invalid("flattenSpec", "a field has no 'name'")
	}
	w.Type = strings.ToLower(w.Type)
	if w.Expr == "" {
		if w.Type == "path" || w.Type == "jq" {
			return flattenField{}, wire.Invalid("flattenSpec", "field '%s' of type '%s' has no 'expr'", w.Name, w.Type)
		}
		w.Expr = w.Name
	}
	*shown = w
	switch w.Type {
	case "root":
		return flattenField{w.Name, func(o *record.Object) any { v, _ := o.Get(w.Expr); return v }}, nil
	case "path":
		p, err := jsonpath.Compile(w.Expr)
		if err != nil {
			return flattenField{}, err
		}
		return flattenField{w.Name, func(o *record.Object) any { return p.Eval(o) }}, nil
	case "jq":
		if format != "json" {
			return flattenField{}, fault.InvalidInput("Field [%s] of [flattenSpec] has type [jq], which only format [json] has; use type [path]", w.Name)
		}
		return compileJQ(w)
	case "tree":
		if len(w.Nodes) == 0 {
			return flattenField{}, wire.Invalid("flattenSpec", "field '%s' of type 'tree' has no 'nodes'", w.Name)
		}
		return flattenField{w.Name, func(o *record.Object) any { return walkTree(o, w.Nodes) }}, nil
	}
	return flattenField{}, wire.UnknownType("flattenSpec", w.Type, []string{"jq", "path", "root", "tree"})
}

func walkTree(o *record.Object, nodes []string) any {
	var v any = o
	for _, n := range nodes {
		o, ok := v.(*record.Object)
		if !ok {
			return nil
		}
		v, _ = o.Get(n)
	}
	return v
}

// jqTime is how long a jq expression may take for one record: the language has loops. A machine
// with much to do must not make a short one fail.
const jqTime = 2 * time.Second

func compileJQ(w flattenFieldWire) (flattenField, error) {
	query, err := gojq.Parse(w.Expr)
	if err != nil {
		return flattenField{}, wire.Invalid("flattenSpec", "the jq expression of field '%s' is not valid: %s", w.Name, err)
	}
	// Without environment, modules and input: an expression sees its record only.
	code, err := gojq.Compile(query)
	if err != nil {
		return flattenField{}, wire.Invalid("flattenSpec", "the jq expression of field '%s' is not valid: %s", w.Name, err)
	}
	if steps, ok := jqSteps(query); ok {
		return flattenField{w.Name, func(o *record.Object) any { return walkJQ(o, steps) }}, nil
	}
	return flattenField{w.Name, func(o *record.Object) any {
		ctx, cancel := context.WithTimeout(context.Background(), jqTime)
		defer cancel()
		v, ok := code.RunWithContext(ctx, plainOf(o)).Next() // the first result counts
		if _, failed := v.(error); !ok || failed {
			return nil
		}
		return fromPlain(v)
	}}, nil
}

// jqSteps returns the names and places that lead to the value of a jq expression which is only a
// path, as .a.b[0] is; false: it computes. Such a value stays as it is in the record, with its
// members in their order, which gojq does not keep.
func jqSteps(query *gojq.Query) (steps []any, ok bool) {
	if query.Op != 0 || query.Left != nil || len(query.FuncDefs) > 0 || query.Term == nil {
		return nil, false
	}
	add := func(i *gojq.Index) bool {
		switch {
		case i == nil || i.IsSlice || i.Str != nil && i.Str.Queries != nil:
			return false
		case i.Name != "":
			steps = append(steps, i.Name)
		case i.Str != nil:
			steps = append(steps, i.Str.Str)
		default:
			at, err := strconv.Atoi(i.Start.String())
			if err != nil {
				return false
			}
			steps = append(steps, at)
		}
		return true
	}
	switch t := query.Term; t.Type {
	case gojq.TermTypeIdentity:
	case gojq.TermTypeIndex:
		if !add(t.Index) {
			return nil, false
		}
	default:
		return nil, false
	}
	for _, suffix := range query.Term.SuffixList {
		if suffix.Iter || suffix.Optional || !add(suffix.Index) {
			return nil, false
		}
	}
	return steps, true
}

// walkJQ follows steps; what is not there, or not of the kind that a step wants, is nil.
func walkJQ(v any, steps []any) any {
	for _, step := range steps {
		switch at := step.(type) {
		case string:
			o, ok := v.(*record.Object)
			if !ok {
				return nil
			}
			v, _ = o.Get(at)
		case int:
			list, ok := v.([]any)
			if at < 0 {
				at += len(list)
			}
			if !ok || at < 0 || at >= len(list) {
				return nil
			}
			v = list[at]
		}
	}
	return v
}

// plainOf converts to what gojq takes.
func plainOf(v any) any {
	switch v := v.(type) {
	case *record.Object:
		m := make(map[string]any, len(v.Names))
		for i, name := range v.Names {
			m[name] = plainOf(v.Values[i])
		}
		return m
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plainOf(e)
		}
		return out
	case int64:
		return int(v)
	case float32:
		return float64(v)
	case record.Digits:
		return json.Number(v)
	case []byte:
		return string(record.AppendText(nil, v))
	}
	return v
}

func fromPlain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		o := &record.Object{}
		for _, name := range slices.Sorted(maps.Keys(v)) { // gojq keeps no order
			o.Add(name, fromPlain(v[name]))
		}
		return o
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = fromPlain(e)
		}
		return out
	case int:
		return int64(v)
	case json.Number:
		return record.Digits(v)
	case nil, bool, float64, string:
		return v
	}
	if s, ok := v.(interface{ String() string }); ok { // *big.Int
		return record.Digits(s.String())
	}
	return nil
}

// flatten returns the columns of a record: the fields, then, when they are discovered, the values
// at the root that are scalars or lists of scalars; with nested all of them.
func (f *flattening) flatten(o *record.Object, nested bool) *record.Object {
	if len(f.fields) == 0 && f.discover && nested {
		return o
	}
	out := &record.Object{}
	for _, field := range f.fields {
		out.Add(field.name, field.eval(o))
	}
	if !f.discover {
		return out
	}
	for i, name := range o.Names {
		if _, taken := out.Get(name); taken {
			continue
		}
		if nested || isFlat(o.Values[i]) {
			out.Add(name, o.Values[i])
		}
	}
	return out
}

// reach returns the columns that may be asked for by name: the fields, and all that is at the root,
// also where it isn't discovered.
func (f *flattening) reach(o *record.Object) *record.Object {
	if f.discover {
		return f.flatten(o, true)
	}
	all := *f
	all.discover = true
	return all.flatten(o, true)
}

func isFlat(v any) bool {
	switch v := v.(type) {
	case *record.Object:
		return false
	case []any:
		for _, e := range v {
			switch e.(type) {
			case *record.Object, []any:
				return false
			}
		}
	}
	return true
}

// needed reports whether records must be made objects to find their columns.
func (f *flattening) needed() bool { return len(f.fields) > 0 }
