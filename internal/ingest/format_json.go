package ingest

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/valyala/fastjson"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/relaxed"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/vector"
)

// JSON is the format of JSON objects: one per line, spread over lines, concatenated, or as the
// elements of one array.
type JSON struct {
	KeepNullColumns        bool
	AssumeNewlineDelimited bool
	UseJSONNodeReader      bool
	featureSpec            json.RawMessage
	features               relaxed.Features
	flat                   *flattening
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
	if err := wire.Decode("inputFormat", text, &w); err != nil {
		return nil, err
	}
	if w.AssumeNewlineDelimited && w.UseJSONNodeReader {
		return nil, wire.Invalid("inputFormat", "'useJsonNodeReader' can't be true where 'assumeNewlineDelimited' is")
	}
	features, err := relaxed.ParseFeatures(w.FeatureSpec)
	if err != nil {
		return nil, err
	}
	flat, err := parseFlattening("json", w.FlattenSpec)
	if err != nil {
		return nil, err
	}
	return &JSON{KeepNullColumns: w.KeepNullColumns, AssumeNewlineDelimited: w.AssumeNewlineDelimited, UseJSONNodeReader: w.UseJSONNodeReader,
		featureSpec: w.FeatureSpec, features: features, flat: flat}, nil
}

// Type returns "json".
func (f *JSON) Type() string { return "json" }

// MarshalJSON returns the JSON form.
func (f *JSON) MarshalJSON() ([]byte, error) {
	return jsontext.Marshal(jsonWire{
		"json", f.flattening().wire, f.featureSpec, f.KeepNullColumns, f.AssumeNewlineDelimited, f.UseJSONNodeReader,
	})
}

func (f *JSON) flattening() *flattening {
	if f.flat == nil {
		return &flattening{discover: true}
	}
	return f.flat
}

func (f *JSON) begin(head []byte) cutter {
	switch {
	case f.relaxed():
		return relaxedCutter{f.features}
	case startsArray(head):
		return arrayCutter{}
	}
	return jsonCutter{}
}

// relaxed reports whether records may be in another grammar than JSON's.
func (f *JSON) relaxed() bool { return f.features != relaxed.Features{} }

func startsArray(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	return len(head) > 0 && head[0] == '['
}

func (*JSON) head() head { return head{} }

func (f *JSON) open(fields []Field, _ []string, opts *Options) (decoder, error) {
	if flat := f.flattening(); flat.needed() || f.relaxed() {
		return newObjectColumns(f.objects(nil), flat, fields, opts), nil
	}
	d := &jsonDecoder{sink: newSink(fields, opts), scan: newJSONScanner(fields)}
	if opts.Shape != nil {
		d.scan.learn(opts.Shape)
	}
	return d, nil
}

// jsonDecoder decodes chunks of JSON values: plain records through the scanner, all others through
// the parser.
type jsonDecoder struct {
	*sink
	scan   *jsonScanner
	parser fastjson.Parser
	cells  []*fastjson.Value // of the current row, by field; nil: missing
}

func (d *jsonDecoder) add(c chunk) {
	if c.broken {
		d.out.records++
		d.fail(bytes.TrimRight(c.data, "\r\n"), 1, recordTooLarge)
		return
	}
	text := c.data
	line := int64(1)
	for len(text) > 0 && d.out.err == nil && !d.ended {
		if n := betweenRecords(text); n > 0 {
			if text[0] == '\n' {
				line++
			}
			text = text[n:]
			continue
		}
		if text[0] == '{' {
			if n := d.scan.record(text); n > 0 {
				d.out.records++
				d.plainRow(text[:n], line)
				text = text[n:]
				continue
			}
		}
		n := d.value(text, line)
		line += int64(bytes.Count(text[:n], newline))
		text = text[n:]
	}
}

// plainRow appends the row that the scanner found, which is text.
func (d *jsonDecoder) plainRow(text []byte, line int64) {
	for f, c := range d.columns {
		t := &d.scan.cells[f]
		switch {
		case c.whole && t.kind == jsonNumber && t.number.Integer:
			c.long(t.number.Long)
		case t.kind <= jsonNull:
			c.null()
		case t.kind == jsonList:
			for i := t.from; i < t.to; i++ {
				d.token(f, c.child, &d.scan.elems[i], text)
			}
			c.endList()
		case c.typ.Kind == vector.KindList:
			d.token(f, c.child, t, text)
			c.endList()
		case t.kind == jsonNested:
			d.cell(f, c, d.parsed(text[t.from:t.to]))
		default:
			d.token(f, c, t, text)
		}
	}
	if f := d.flawed(); f != 0 {
		o, _ := record.ObjectOf(d.parsed(text).GetObject())
		d.endFlawed(f, o, o, text, line)
		return
	}
	if d.scan.novel {
		d.shape.json(d.parsed(text).GetObject())
		d.scan.recall(d.shape)
	}
	d.endRow(true)
}

// token appends a token as one value.
func (d *jsonDecoder) token(f int, c *column, t *jsonToken, text []byte) {
	switch t.kind {
	case jsonText:
		if c.typ.Kind == vector.KindString {
			c.str(text[t.from:t.to])
			return
		}
		d.textScalar(f, c, text[t.from:t.to])
	case jsonNumber:
		d.number(f, c, text[t.from:t.to], t.number)
	case jsonTrue, jsonFalse:
		d.boolean(c, t.kind == jsonTrue)
	case jsonEscaped, jsonNested:
		d.scalar(f, c, d.parsed(text[t.from:t.to]))
	default:
		c.null()
	}
}

// parsed returns a value that the scanner has found to be well-formed. It is valid until the parser
// is used again.
func (d *jsonDecoder) parsed(text []byte) *fastjson.Value {
	v, err := d.parser.ParseBytes(text)
	if err != nil {
		d.out.err = fault.Defensive("A value that was scanned can't be parsed").WithCause(err)
		return nil
	}
	return v
}

// value parses the record at the head of text and returns where the next one may begin.
func (d *jsonDecoder) value(text []byte, line int64) int {
	d.out.records++
	o, end, reason := parseObject(&d.parser, text)
	if reason == "" {
		reason = d.row(o, bytes.TrimRight(text[:end], "\r"), line)
	}
	if reason != "" {
		d.fail(bytes.TrimRight(text[:end], "\r"), line, reason)
	}
	return end
}

// parseObject parses the record at the head of text. It returns where the next one may begin and,
// if this one is none, why.
func parseObject(parser *fastjson.Parser, text []byte) (o *fastjson.Object, end int, reason string) {
	lineEnd := bytes.IndexByte(text, '\n')
	if lineEnd < 0 {
		lineEnd = len(text)
	}
	v, err := parser.ParseBytes(text[:lineEnd])
	end = lineEnd
	if err != nil {
		// Not one value on one line: several on the line, or one over several lines.
		if end = valueEnd(text); end > 0 {
			v, err = parser.ParseBytes(text[:end])
		}
	}
	if err != nil {
		return nil, lineEnd, relaxed.StrictReason(text)
	}
	if v.Type() != fastjson.TypeObject {
		return nil, end, "it is not a JSON object"
	}
	return v.GetObject(), end, ""
}

// betweenRecords returns how many bytes at the head of text are not the start of a record: blanks,
// and in an array its brackets and commas.
func betweenRecords(text []byte) int {
	switch text[0] {
	case '\n', ' ', '\t', '\r', ',', ']':
		return 1
	case '[':
		if element := bytes.TrimLeft(text[1:], " \t\r\n"); len(element) == 0 || element[0] == '{' || element[0] == ']' {
			return 1
		}
	}
	return 0
}

// Next appends a parsed row, whose text begins at a line, and returns why it does not count, or "".
func (d *jsonDecoder) row(o *fastjson.Object, text []byte, line int64) (reason string) {
	d.cells = slices.Grow(d.cells[:0], len(d.fields))[:len(d.fields)]
	clear(d.cells)
	members := 0
	o.Visit(func(key []byte, v *fastjson.Value) {
		members++
		if m := d.scan.names[string(key)]; m != nil && m.field >= 0 {
			d.cells[m.field] = v // of members with the same name the last counts
		}
	})
	if members > record.MaxFields {
		reason = "it has too many fields"
	}
	for _, t := range d.twins {
		d.cells[t.field] = d.cells[t.of]
	}
	for f, c := range d.columns {
		if !d.cell(f, c, d.cells[f]) && reason == "" {
			reason = relaxed.StrictReason(text)
		}
	}
	if f := d.flawed(); f != 0 && reason == "" {
		object, _ := record.ObjectOf(o)
		d.endFlawed(f, object, object, text, line)
		return ""
	}
	if d.shape != nil && reason == "" {
		d.shape.json(o)
	}
	d.endRow(reason == "")
	return reason
}

// cell appends v, the value of field f, to c and reports whether it is well-formed.
func (d *jsonDecoder) cell(f int, c *column, v *fastjson.Value) bool {
	if v == nil || v.Type() == fastjson.TypeNull {
		c.null()
		return true
	}
	if c.typ.Kind == vector.KindList {
		ok := true
		if v.Type() == fastjson.TypeArray {
			for _, e := range v.GetArray() {
				ok = d.scalar(f, c.child, e) && ok
			}
		} else {
			ok = d.scalar(f, c.child, v)
		}
		c.endList()
		return ok
	}
	if v.Type() == fastjson.TypeArray && c.typ.Kind == vector.KindString {
		// A list in a column that holds one value: one element is that value, none is null.
		switch list := v.GetArray(); len(list) {
		case 0:
			c.null()
			return true
		case 1:
			v = list[0]
		default:
			d.several(f)
			c.null()
			return true
		}
	}
	return d.scalar(f, c, v)
}

// scalar appends v as one value and reports whether it is well-formed.
func (d *jsonDecoder) scalar(f int, c *column, v *fastjson.Value) bool {
	if v == nil || v.Type() == fastjson.TypeNull {
		c.null()
		return true
	}
	if c.typ.Kind == vector.KindComplex {
		d.scratch = record.AppendParsed(d.scratch[:0], v)
		d.str(f, c, d.scratch)
		return true
	}
	switch v.Type() {
	case fastjson.TypeString:
		d.textScalar(f, c, v.GetStringBytes())
	case fastjson.TypeNumber:
		d.scratch = v.MarshalTo(d.scratch[:0])
		n, ok := record.ParseJSONNumber(d.scratch)
		if !ok {
			c.null()
			return false
		}
		d.number(f, c, d.scratch, n)
	case fastjson.TypeTrue, fastjson.TypeFalse:
		d.boolean(c, v.Type() == fastjson.TypeTrue)
	default:
		if c.typ.Kind == vector.KindString {
			d.scratch = record.AppendParsedText(d.scratch[:0], v)
			d.str(f, c, d.scratch)
		} else {
			c.misfit()
		}
	}
	return true
}

var booleans = map[bool][]byte{true: []byte("true"), false: []byte("false")}

func (d *jsonDecoder) boolean(c *column, yes bool) {
	switch {
	case !c.typ.IsNumeric():
		c.str(booleans[yes])
	case c.when != nil:
		c.numeral(booleans[yes])
	case yes:
		c.number(record.Number{Integer: true, Long: 1})
	default:
		c.number(record.Number{Integer: true})
	}
}

// Number appends a number that is written as raw and is n.
func (d *jsonDecoder) number(f int, c *column, raw []byte, n record.Number) {
	switch {
	case c.typ.IsNumeric():
		c.number(n)
	case c.typ.Kind == vector.KindComplex:
		d.scratch = expr.AppendJSONNumber(d.scratch[:0], string(raw))
		c.str(d.scratch)
	case n.Integer || !bytes.ContainsAny(raw, ".eE"):
		// Whole numbers keep their digits, however many they are.
		if string(raw) == "-0" {
			raw = raw[1:]
		}
		c.str(raw)
	default:
		d.scratch = expr.AppendDouble(d.scratch[:0], n.Double)
		c.str(d.scratch)
	}
}

func (f *JSON) objects([]string) objectDecoder {
	if f.relaxed() {
		return &relaxedObjects{relaxed.Parser{Features: f.features}}
	}
	return &jsonObjects{}
}

// jsonObjects makes objects of chunks of JSON values.
type jsonObjects struct{ parser fastjson.Parser }

func (d *jsonObjects) objects(c chunk, emit func(Record)) {
	if c.broken {
		emit(Record{Text: bytes.TrimRight(c.data, "\r\n"), Line: 1, Reason: recordTooLarge})
		return
	}
	text, line := c.data, int64(1)
	for len(text) > 0 {
		if n := betweenRecords(text); n > 0 {
			if text[0] == '\n' {
				line++
			}
			text = text[n:]
			continue
		}
		o, n, reason := parseObject(&d.parser, text)
		r := Record{Text: bytes.TrimRight(text[:n], "\r"), Line: line, Reason: reason}
		if reason == "" {
			if o.Len() > record.MaxFields {
				r.Reason = "it has too many fields"
			} else if object, ok := record.ObjectOf(o); ok {
				r.Object = object
			} else {
				r.Reason = relaxed.StrictReason(text)
			}
		}
		line += int64(bytes.Count(text[:n], newline))
		text = text[n:]
		emit(r)
	}
}

// relaxedCutter cuts between the values of a text in relaxed grammar. Text begins between values.
type relaxedCutter struct{ features relaxed.Features }

func (c relaxedCutter) last(text []byte) int {
	p, end := &relaxed.Parser{Features: c.features}, 0
	for {
		from := end + p.Between(text[end:])
		if from >= len(text) {
			return end
		}
		_, n, problem := p.Record(text[from:])
		if problem != nil {
			if from+problem.At() >= len(text) { // more of it may come
				return end
			}
			if n = lineEnd(text[from:]); n == 0 {
				return end
			}
		}
		end = from + n
	}
}

func (relaxedCutter) first([]byte) (key, end int) { return -1, -1 }

func (c relaxedCutter) unify(text []byte) {
	if !c.features.ControlCharacters { // with it they may be data
		unifyLines(text)
	}
}

// relaxedObjects makes objects of chunks of JSON values in relaxed grammar.
type relaxedObjects struct{ parser relaxed.Parser }

func (d *relaxedObjects) objects(c chunk, emit func(Record)) {
	if c.broken {
		emit(Record{Text: bytes.TrimRight(c.data, "\r\n"), Line: 1, Reason: recordTooLarge})
		return
	}
	text, line := c.data, int64(1)
	skip := func(n int) {
		line += int64(bytes.Count(text[:n], newline))
		text = text[n:]
	}
	for {
		skip(d.parser.Between(text))
		if len(text) == 0 {
			return
		}
		r := Record{Line: line}
		o, n, problem := d.parser.Record(text)
		if problem != nil {
			if n = bytes.IndexByte(text, '\n'); n < 0 {
				n = len(text)
			}
			r.Reason = problem.Error()
		} else {
			r.Object = o
		}
		r.Text = bytes.TrimRight(text[:n], "\r")
		skip(n)
		emit(r)
	}
}
