package ingest

import (
	"bytes"
	"context"
	"strconv"
	"unicode/utf8"

	"github.com/valyala/fastjson"

	"github.com/hengedb/henge/internal/ingest/evidence"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/relaxed"
)

// json surveys a file of JSON.
func (s *Surveyor) json(ctx context.Context, in *input) error {
	text, err := openChunks(ctx, &JSON{}, in)
	if err != nil {
		return err
	}
	defer func() { _ = text.close() }() // it was only read
	j := &jsonSurvey{Surveyor: s}
	return s.chunks(ctx, text, func(c chunk) error {
		j.chunk(c)
		return s.checkWidth()
	})
}

// jsonSurvey is the survey of a file of JSON.
type jsonSurvey struct {
	*Surveyor
	parser  fastjson.Parser
	scratch []byte
	at      int // the place among the columns where the next member is expected
}

func (j *jsonSurvey) chunk(c chunk) {
	if c.broken {
		j.begin()
		j.fail(recordTooLarge)
		j.end()
		return
	}
	data, valid := c.data, utf8.Valid(c.data)
	for len(data) > 0 {
		if n := betweenRecords(data); n > 0 {
			data = data[n:]
			continue
		}
		o, n, reason := parseObject(&j.parser, data)
		j.begin()
		var infinite *record.Object
		if reason != "" && bytes.Contains(data[:n], []byte("Infinity")) { // which the parser does not know
			p := relaxed.Parser{Features: relaxed.Features{NonNumbers: true}}
			if object, end, problem := p.Record(data); problem == nil {
				infinite, n = object, end
			}
		}
		switch {
		case infinite != nil:
			j.nonNumbers = true
			j.Surveyor.object(infinite)
		case reason != "":
			j.fail(reason)
		case o.Len() > record.MaxFields:
			j.fail("it has too many fields")
		default:
			if !valid && !utf8.Valid(data[:n]) {
				j.broken(record.ValidText(data[:n]))
			}
			if halfCharacter(data[:n]) {
				j.halves.Add(&j.Surveyor.Position, bytes.TrimSpace(data[:n]))
			}
			j.object(o)
		}
		j.end()
		data = data[n:]
	}
}

func (j *jsonSurvey) object(o *fastjson.Object) {
	j.at = 0
	o.Visit(func(key []byte, v *fastjson.Value) {
		if len(key) == 0 {
			j.unnamed.Add(&j.Surveyor.Position, nil)
			return
		}
		c := j.member(key)
		if c == nil {
			return
		}
		if c.last == j.Records+1 {
			j.repeated.Add(&j.Surveyor.Position, key)
			return
		}
		c.last = j.Records + 1
		if v.Type() == fastjson.TypeNull {
			return
		}
		j.present(c)
		j.value(c, &c.values, v)
	})
}

// member returns the column of a member: most records have the same ones in the same order. It is
// nil where there are too many.
func (j *jsonSurvey) member(key []byte) *surveyed {
	if j.at < len(j.columns) && j.columns[j.at].name == string(key) {
		j.at++
		return j.columns[j.at-1]
	}
	at, ok := j.index[string(key)]
	switch {
	case ok:
		j.at = at + 1
		return j.columns[at]
	case len(j.columns) > maxSurveyColumns+1:
		return nil
	}
	j.at = len(j.columns) + 1
	return j.column(string(key))
}

// value adds a value of a column, or of one of its lists, whose c is nil.
func (j *jsonSurvey) value(c *surveyed, into *evidence.Values, v *fastjson.Value) {
	s := j.Surveyor
	switch v.Type() {
	case fastjson.TypeString:
		text := v.GetStringBytes()
		into.Of[evidence.Text].Add(&s.Position, text)
		if c != nil {
			c.watch.Text(&s.Position, text)
		}
	case fastjson.TypeNumber:
		j.scratch = v.MarshalTo(j.scratch[:0])
		k := evidence.Double
		switch {
		case record.IsJSONNumber(j.scratch):
			k = evidence.ClassOfNumber(j.scratch)
		case !isNonNumber(j.scratch):
			s.fail("a number is malformed")
			return
		case c == nil:
			s.nonNumbers = true
			s.deepNonNumbers.Add(&s.Position, j.scratch)
		default:
			s.nonNumbers = true
		}
		into.Of[k].Add(&s.Position, j.scratch)
		if c != nil {
			c.watch.Number(&s.Position, j.scratch, k)
		}
	case fastjson.TypeTrue, fastjson.TypeFalse:
		word := booleans[v.Type() == fastjson.TypeTrue]
		into.Of[evidence.Bool].Add(&s.Position, word)
		if c != nil {
			c.watch.Text(&s.Position, word)
		}
	case fastjson.TypeObject:
		into.Objects.Add(&s.Position, nil)
		j.inside(into, v)
		if c != nil {
			c.watch.Text(&s.Position, nil)
		}
	case fastjson.TypeArray:
		j.list(c, into, v)
	}
}

func (j *jsonSurvey) list(c *surveyed, into *evidence.Values, v *fastjson.Value) {
	s := j.Surveyor
	into.Lists.Add(&s.Position, nil)
	if c != nil {
		c.watch.Text(&s.Position, nil)
	}
	list := v.GetArray()
	for _, e := range list {
		if t := e.Type(); t == fastjson.TypeArray || t == fastjson.TypeObject {
			into.Nested.Add(&s.Position, nil)
			j.inside(into, v)
			return
		}
	}
	if into.Elements == nil {
		into.Elements = &evidence.Values{}
	}
	for _, e := range list {
		j.value(nil, into.Elements, e)
	}
}

// inside looks for numbers deep in a value that are not kept as they are.
func (j *jsonSurvey) inside(into *evidence.Values, v *fastjson.Value) {
	switch v.Type() {
	case fastjson.TypeNumber:
		j.scratch = v.MarshalTo(j.scratch[:0])
		switch {
		case isNonNumber(j.scratch):
			j.nonNumbers = true
			j.deepNonNumbers.Add(&j.Surveyor.Position, j.scratch)
		case bytes.ContainsAny(j.scratch, ".eE") && evidence.ClassOfNumber(j.scratch) == evidence.Fine:
			into.DeepFine.Add(&j.Surveyor.Position, j.scratch)
		}
	case fastjson.TypeArray:
		for _, e := range v.GetArray() {
			j.inside(into, e)
		}
	case fastjson.TypeObject:
		v.GetObject().Visit(func(_ []byte, e *fastjson.Value) { j.inside(into, e) })
	}
}

// isNonNumber reports whether a number is none by the grammar of JSON, but one of those that
// programs write all the same.
func isNonNumber(raw []byte) bool {
	switch string(raw) {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	return false
}

// halfCharacter reports whether a record has the escape of one half of a pair of UTF-16 without the
// other.
func halfCharacter(record []byte) bool {
	for at := 0; ; {
		n := bytes.IndexByte(record[at:], '\\')
		if n < 0 || at+n+1 >= len(record) {
			return false
		}
		at += n
		first := surrogateAt(record, at)
		switch {
		case first == 0:
			at += 2
		case first < 0xdc00 && surrogateAt(record, at+6) >= 0xdc00:
			at += 12
		default:
			return true
		}
	}
}

// surrogateAt returns the half of a pair of UTF-16 whose escape stands at a place, 0 if there is
// none.
func surrogateAt(record []byte, at int) uint64 {
	if at+6 > len(record) || record[at] != '\\' || record[at+1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(record[at+2:at+6]), 16, 32)
	if err != nil || n < 0xd800 || n > 0xdfff {
		return 0
	}
	return n
}
