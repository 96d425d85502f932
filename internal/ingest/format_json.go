package ingest

import (
	"bytes"
	"encoding/json"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
	"github.com/valyala/fastjson"
)

// JSON is objects: one per line, spread over lines, following each other without a break, or as the elements of one array.
type JSON struct {
	KeepNullColumns         bool
	AssumeNewlineDelimited  bool
	UseJSONNodeReader       bool
	featureSpec, flattening json.RawMessage
}

type jsonWire struct {
	Type                   string          `json:"type"`
	FlattenSpec            json.RawMessage `json:"flattenSpec,omitempty"`
	FeatureSpec            json.RawMessage `json:"featureSpec,omitempty"`
	KeepNullColumns        bool            `json:"keepNullColumns"`
	AssumeNewlineDelimited bool            `json:"assumeNewlineDelimited"`
	UseJSONNodeReader      bool            `json:"useJsonNodeReader"`
}

func parseJSONFormat(text json.RawMessage) (Format, error) {
	var w jsonWire
	if err := decodeWire("inputFormat", text, &w); err != nil {
		return nil, err
	}
	var flatten struct {
		Fields []json.RawMessage `json:"fields"`
	}
	if w.FlattenSpec != nil {
		if err := decodeWire("flattenSpec", w.FlattenSpec, &flatten); err != nil {
			return nil, err
		}
		if len(flatten.Fields) > 0 {
			return nil, fault.Unsupported("Input format [json] with fields in [flattenSpec] is not supported yet; declare the nested column " +
				"as TYPE('COMPLEX<json>') and use JSON_VALUE")
		}
	}
	return &JSON{KeepNullColumns: w.KeepNullColumns, AssumeNewlineDelimited: w.AssumeNewlineDelimited, UseJSONNodeReader: w.UseJSONNodeReader,
		featureSpec: w.FeatureSpec, flattening: w.FlattenSpec}, nil
}

// Type returns "json".
func (f *JSON) Type() string { return "json" }

// MarshalJSON returns the wire form.
func (f *JSON) MarshalJSON() ([]byte, error) {
	return marshalPlain(jsonWire{"json", f.flattening, f.featureSpec, f.KeepNullColumns, f.AssumeNewlineDelimited, f.UseJSONNodeReader})
}

func (f *JSON) begin(head []byte) cutter {
	if startsArray(head) {
		return arrayCutter{}
	}
	return jsonCutter{}
}

func startsArray(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	return len(head) > 0 && head[0] == '['
}

func (*JSON) head() head { return head{} }

func (f *JSON) open(fields []Field, _ []string, opts *Options) (decoder, error) {
	d := &jsonDecoder{sink: newSink(fields, opts), byName: make(map[string]int, len(fields)), cells: make([]*fastjson.Value, len(fields))}
	for i, field := range fields {
		d.byName[field.Name] = i
	}
	return d, nil
}

// jsonDecoder decodes chunks of JSON values.
type jsonDecoder struct {
	*sink
	parser fastjson.Parser
	byName map[string]int
	cells  []*fastjson.Value // of the current row, by field; nil: missing
	// order remembers which field the i-th member of the record before was. Records mostly have the same members in the same order, so that a
	// comparison replaces a lookup.
	order []memberHint
}

type memberHint struct {
	name  string
	field int // -1: not wanted
}

func (d *jsonDecoder) decode(c chunk) decoded {
	d.reset()
	d.out.bytes = int64(len(c.data))
	if c.broken {
		d.out.records++
		d.fail(bytes.TrimRight(c.data, "\r\n"), 1, "the record is larger than a record may be")
		return d.finish()
	}
	text := validUTF8(c.data)
	line := int64(1)
	for len(text) > 0 && d.out.err == nil {
		// Between values: blanks, and in an array its brackets and commas.
		switch text[0] {
		case '\n':
			line++
			text = text[1:]
			continue
		case ' ', '\t', '\r', ',', ']':
			text = text[1:]
			continue
		case '[':
			if element := bytes.TrimLeft(text[1:], " \t\r\n"); len(element) == 0 || element[0] == '{' || element[0] == ']' {
				text = text[1:]
				continue
			}
		}
		n := d.value(text, line)
		line += int64(bytes.Count(text[:n], newline))
		text = text[n:]
	}
	return d.finish()
}

// value decodes the record at the head of text and returns where the next one may begin.
func (d *jsonDecoder) value(text []byte, line int64) int {
	d.out.records++
	lineEnd := bytes.IndexByte(text, '\n')
	if lineEnd < 0 {
		lineEnd = len(text)
	}
	v, err := d.parser.ParseBytes(text[:lineEnd])
	end := lineEnd
	if err != nil {
		// Not one value on one line: several on the line, or one over several lines.
		if end = valueEnd(text); end > 0 {
			v, err = d.parser.ParseBytes(text[:end])
		}
	}
	if err != nil {
		d.fail(bytes.TrimRight(text[:lineEnd], "\r"), line, err.Error())
		return lineEnd
	}
	if v.Type() != fastjson.TypeObject {
		d.fail(bytes.TrimRight(text[:end], "\r"), line, "it is no JSON object")
		return end
	}
	if reason := d.row(v.GetObject()); reason != "" {
		d.fail(bytes.TrimRight(text[:end], "\r"), line, reason)
	}
	return end
}

// row appends a row and returns why it does not count, or "".
func (d *jsonDecoder) row(o *fastjson.Object) (reason string) {
	clear(d.cells)
	i := 0
	o.Visit(func(key []byte, v *fastjson.Value) {
		if i == len(d.order) && i < maxFields {
			d.order = append(d.order, memberHint{field: -2})
		}
		if i < len(d.order) {
			h := &d.order[i]
			if h.field == -2 || h.name != string(key) {
				h.name, h.field = string(key), -1
				if f, ok := d.byName[h.name]; ok {
					h.field = f
				}
			}
			if h.field >= 0 {
				d.cells[h.field] = v // of members with the same name the last counts
			}
		}
		i++
	})
	if i > maxFields {
		reason = "it has too many fields"
	}
	for c := range d.fields {
		t := d.fields[c].Type
		if !d.cell(c, d.builders[c], t, d.cells[c]) && reason == "" {
			reason = "a number is malformed"
		}
	}
	d.endRow(reason == "")
	return reason
}

// cell appends v to builder b of type t and reports whether it is well-formed.
func (d *jsonDecoder) cell(c int, b *vector.Builder, t vector.Type, v *fastjson.Value) bool {
	if v == nil || v.Type() == fastjson.TypeNull {
		b.AppendNull()
		return true
	}
	if t.Kind == vector.KindList {
		ok := true
		if v.Type() == fastjson.TypeArray {
			for _, e := range v.GetArray() {
				ok = d.scalar(c, b.Child(), t.Elem(), e) && ok
			}
		} else {
			ok = d.scalar(c, b.Child(), t.Elem(), v)
		}
		b.AppendList()
		return ok
	}
	if v.Type() == fastjson.TypeArray && t.Kind == vector.KindString {
		// A list in a column that holds one value: one element is that value, none is null.
		switch list := v.GetArray(); len(list) {
		case 0:
			b.AppendNull()
			return true
		case 1:
			v = list[0]
		default:
			if d.out.err == nil {
				d.out.err = multiValueFault(d.fields[c].Name)
			}
			b.AppendNull()
			return true
		}
	}
	return d.scalar(c, b, t, v)
}

// scalar appends v as one value.
func (d *jsonDecoder) scalar(c int, b *vector.Builder, t vector.Type, v *fastjson.Value) bool {
	kind := v.Type()
	if kind == fastjson.TypeNull {
		b.AppendNull()
		return true
	}
	if t.Kind == vector.KindComplex {
		d.scratch = appendJSON(d.scratch[:0], v)
		d.str(c, b, d.scratch)
		return true
	}
	switch kind {
	case fastjson.TypeString:
		d.textScalar(c, b, t, v.GetStringBytes())
	case fastjson.TypeNumber:
		d.scratch = v.MarshalTo(d.scratch[:0])
		return d.number(c, b, t)
	case fastjson.TypeTrue, fastjson.TypeFalse:
		yes := kind == fastjson.TypeTrue
		switch {
		case t.Kind == vector.KindString && yes:
			b.AppendString("true")
		case t.Kind == vector.KindString:
			b.AppendString("false")
		case yes:
			num(b, t.Kind, number{integer: true, long: 1})
		default:
			num(b, t.Kind, number{integer: true})
		}
	default:
		if t.Kind == vector.KindString {
			d.scratch = appendJSON(d.scratch[:0], v)
			d.str(c, b, d.scratch)
		} else {
			b.AppendNull()
		}
	}
	return true
}

// number appends the number whose raw text is in scratch.
func (d *jsonDecoder) number(c int, b *vector.Builder, t vector.Type) bool {
	n, ok := parseJSONNumber(d.scratch)
	switch {
	case !ok:
		b.AppendNull()
	case t.Kind != vector.KindString:
		num(b, t.Kind, n)
	case n.integer || !bytes.ContainsAny(d.scratch, ".eE"):
		// Whole numbers keep their digits, however many they are.
		if string(d.scratch) == "-0" {
			d.scratch = append(d.scratch[:0], '0')
		}
		d.str(c, b, d.scratch)
	default:
		d.scratch = expr.AppendDouble(d.scratch[:0], n.double)
		d.str(c, b, d.scratch)
	}
	return ok
}
