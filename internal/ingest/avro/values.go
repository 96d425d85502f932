package avro

import (
	"maps"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/avro"

	"github.com/hengedb/henge/internal/ingest/record"
)

// converter turns decoded values of Avro into those of Objects. Times stay the numbers that the
// file has, as Druid leaves them. See quirk Q013.
type converter struct {
	options Options
	root    *avro.SchemaNode
	named   map[string]*avro.SchemaNode
	// reading is set if records are read as another schema than theirs, and problem what is wrong with
	// the one at hand then.
	reading *reading
	problem string
}

func newConverter(s *avro.Schema, o Options) (*converter, error) {
	root := s.Root()
	return &converter{options: o, root: root, named: namedTypes(root)}, nil
}

// converter returns a converter of records that are read as another schema than theirs.
func (r *reading) converter(o Options) *converter {
	return &converter{options: o, root: r.root, named: namedTypes(r.root), reading: r}
}

func (c *converter) resolve(n *avro.SchemaNode) *avro.SchemaNode { return resolved(c.named, n) }

// value converts v, which is of type n.
func (c *converter) value(v any, n *avro.SchemaNode) any {
	n = c.resolve(n)
	if len(n.Branches) > 0 {
		return c.union(v, n)
	}
	switch v := v.(type) {
	case nil, bool, int64, float64, float32, string:
		return v
	case int32:
		return int64(v)
	case int:
		return int64(v)
	case []byte:
		if c.options.BinaryAsString {
			return string(v)
		}
		return v
	case [16]byte:
		return record.UUIDText(v[:])
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = c.value(e, n.Items)
		}
		return out
	case map[string]any:
		return c.members(v, n)
	case *big.Rat:
		return record.Digits(v.FloatString(n.Scale))
	case big.Rat:
		return record.Digits(v.FloatString(n.Scale))
	case time.Time:
		return timeNumber(v, n.LogicalType)
	case time.Duration:
		if n.LogicalType == "time-micros" {
			return v.Microseconds()
		}
		return v.Milliseconds()
	case avro.Duration:
		return strconv.Itoa(int(v.Months)) + " months " + strconv.Itoa(int(v.Days)) + " days " + strconv.Itoa(int(v.Milliseconds)) + " ms"
	}
	return nil
}

// members converts a record, in the order of its fields, or a map, in that of its keys.
func (c *converter) members(v map[string]any, n *avro.SchemaNode) *record.Object {
	o := &record.Object{Names: make([]string, 0, len(v)), Values: make([]any, 0, len(v))}
	if n.Type == "record" {
		for i := range n.Fields {
			f := &n.Fields[i]
			o.Add(f.Name, c.value(v[f.Name], &f.Type))
		}
		return o
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		o.Add(name, c.value(v[name], n.Values))
	}
	return o
}

func (c *converter) union(v any, n *avro.SchemaNode) any {
	var unasked []string
	if c.reading != nil {
		unasked = c.reading.unasked[n]
	}
	if v == nil {
		if slices.Contains(unasked, "null") {
			c.refuse("null", n)
		}
		return nil
	}
	var branch *avro.SchemaNode
	several := 0
	for i := range n.Branches {
		b := c.resolve(&n.Branches[i])
		if b.Type == "null" {
			continue
		}
		several++
		if branch == nil && c.fits(v, b) {
			branch = b
		}
	}
	if branch == nil {
		branch = &avro.SchemaNode{}
	}
	if slices.Contains(unasked, branch.Type) {
		c.refuse(branch.Type, n)
	}
	value := c.value(v, branch)
	if !c.options.UnionsByType || several < 2 || c.reading != nil && c.reading.whole[n] {
		return value
	}
	name := branch.Name
	if name == "" {
		name = branch.Type
	}
	return &record.Object{Names: []string{name}, Values: []any{value}}
}

// refuse notes a value of a type that the schema given does not take.
func (c *converter) refuse(found string, n *avro.SchemaNode) {
	if c.problem == "" {
		c.problem = "a value of type [" + found + "] was found where the schema has [" + c.resolve(&n.Branches[0]).Type + "]"
	}
}

// fits reports whether a decoded value may be of type n.
func (c *converter) fits(v any, n *avro.SchemaNode) bool {
	switch v := v.(type) {
	case bool:
		return n.Type == "boolean"
	case int32:
		return n.Type == "int"
	case int64:
		return n.Type == "long"
	case float32:
		return n.Type == "float"
	case float64:
		return n.Type == "double"
	case string:
		return n.Type == "string" || n.Type == "enum"
	case []byte:
		return n.Type == "bytes" || n.Type == "fixed"
	case []any:
		return n.Type == "array"
	case map[string]any:
		if n.Type == "map" {
			return true
		}
		if n.Type != "record" || len(n.Fields) != len(v) {
			return false
		}
		for i := range n.Fields {
			if _, ok := v[n.Fields[i].Name]; !ok {
				return false
			}
		}
		return true
	}
	return n.LogicalType != ""
}

// timeNumber returns the number that a time is stored as.
func timeNumber(t time.Time, logical string) any {
	switch logical {
	case "date":
		return record.FloorDiv(t.Unix(), 86400)
	case "timestamp-micros", "local-timestamp-micros":
		return t.UnixMicro()
	case "timestamp-nanos", "local-timestamp-nanos":
		return t.UnixNano()
	}
	return t.UnixMilli()
}
