package ingest

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/hengedb/henge/internal/fault"
)

// flattening is a flattenSpec: what the columns of a nested record are.
type flattening struct {
	wire json.RawMessage
	// discover adds the values at the root to the fields.
	discover bool
	fields   []flattenField
}

// flattenField is a column made of something within a record. Eval returns nil for what is not there.
type flattenField struct {
	name string
	eval func(*Object) any
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
	f.wire = text
	var w struct {
		UseFieldDiscovery *bool             `json:"useFieldDiscovery"`
		Fields            []json.RawMessage `json:"fields"`
	}
	if err := decodeWire("flattenSpec", text, &w); err != nil {
		return nil, err
	}
	if w.UseFieldDiscovery != nil {
		f.discover = *w.UseFieldDiscovery
	}
	if len(w.Fields) > maxFlattenFields {
		return nil, invalidField("flattenSpec", "there are more than %d fields", maxFlattenFields)
	}
	seen := map[string]bool{}
	for _, raw := range w.Fields {
		field, err := parseFlattenField(format, raw)
		if err != nil {
			return nil, err
		}
		if seen[field.name] {
			return nil, invalidField("flattenSpec", "Cannot have duplicate field definition: %s", field.name)
		}
		seen[field.name] = true
		f.fields = append(f.fields, field)
	}
	return f, nil
}

func parseFlattenField(format string, raw json.RawMessage) (flattenField, error) {
	var w flattenFieldWire
	if err := json.Unmarshal(raw, &w.Name); err == nil {
		w.Type = "root"
	} else if err := decodeWire("flattenSpec", raw, &w); err != nil {
		return flattenField{}, err
	}
	if w.Name == "" {
		return flattenField{}, invalidField("flattenSpec", "a field has no 'name'")
	}
	if w.Expr == "" {
		w.Expr = w.Name
	}
	switch strings.ToLower(w.Type) {
	case "root":
		return flattenField{w.Name, func(o *Object) any { v, _ := o.Get(w.Expr); return v }}, nil
	case "path":
		p, err := compileJSONPath(w.Expr)
		if err != nil {
			return flattenField{}, err
		}
		return flattenField{w.Name, func(o *Object) any { return p.eval(o) }}, nil
	case "jq":
		if format != "json" {
			return flattenField{}, fault.InvalidInput("Field [%s] of [flattenSpec] has type [jq], which only format [json] has; use type [path]", w.Name)
		}
		return compileJQ(w)
	case "tree":
		if len(w.Nodes) == 0 {
			return flattenField{}, invalidField("flattenSpec", "field '%s' of type 'tree' has no 'nodes'", w.Name)
		}
		return flattenField{w.Name, func(o *Object) any { return walkTree(o, w.Nodes) }}, nil
	}
	return flattenField{}, unknownType("flattenSpec", w.Type, []string{"jq", "path", "root", "tree"})
}

func walkTree(o *Object, nodes []string) any {
	var v any = o
	for _, n := range nodes {
		o, ok := v.(*Object)
		if !ok {
			return nil
		}
		v, _ = o.Get(n)
	}
	return v
}

// jqTime is how long a jq expression may take for one record: the language has loops. A machine with much to do must not make a short one fail.
const jqTime = 2 * time.Second

func compileJQ(w flattenFieldWire) (flattenField, error) {
	query, err := gojq.Parse(w.Expr)
	if err != nil {
		return flattenField{}, invalidField("flattenSpec", "the jq expression of field '%s' is not valid: %s", w.Name, err)
	}
	// Without environment, modules and input: an expression sees its record only.
	code, err := gojq.Compile(query)
	if err != nil {
		return flattenField{}, invalidField("flattenSpec", "the jq expression of field '%s' is not valid: %s", w.Name, err)
	}
	return flattenField{w.Name, func(o *Object) any {
		ctx, cancel := context.WithTimeout(context.Background(), jqTime)
		defer cancel()
		v, ok := code.RunWithContext(ctx, plainOf(o)).Next() // the first result counts
		if _, failed := v.(error); !ok || failed {
			return nil
		}
		return fromPlain(v)
	}}, nil
}

// plainOf converts to what gojq takes.
func plainOf(v any) any {
	switch v := v.(type) {
	case *Object:
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
	case Digits:
		return json.Number(v)
	case []byte:
		return string(AppendText(nil, v))
	}
	return v
}

func fromPlain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		o := &Object{}
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
		return Digits(v)
	case nil, bool, float64, string:
		return v
	}
	if s, ok := v.(interface{ String() string }); ok { // *big.Int
		return Digits(s.String())
	}
	return nil
}

// flatten returns the columns of a record: the fields, then, when they are discovered, the values at the root that are scalars or lists of
// scalars; with nested all of them.
func (f *flattening) flatten(o *Object, nested bool) *Object {
	if len(f.fields) == 0 && f.discover && nested {
		return o
	}
	out := &Object{}
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

func isFlat(v any) bool {
	switch v := v.(type) {
	case *Object:
		return false
	case []any:
		for _, e := range v {
			switch e.(type) {
			case *Object, []any:
				return false
			}
		}
	}
	return true
}

// needed reports whether records must be made objects to find their columns.
func (f *flattening) needed() bool { return len(f.fields) > 0 || !f.discover }
