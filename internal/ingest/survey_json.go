package ingest

import (
	"bytes"
	"context"
	"unicode/utf8"

	"github.com/valyala/fastjson"
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
		switch {
		case reason != "":
			j.fail(reason)
		case o.Len() > maxFields:
			j.fail("it has too many fields")
		default:
			if !valid && !utf8.Valid(data[:n]) {
				j.broken(validUTF8(data[:n]))
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
			j.unnamed.add(j.Surveyor, nil)
			return
		}
		c := j.member(key)
		if c == nil {
			return
		}
		if c.last == j.records+1 {
			j.repeated.add(j.Surveyor, key)
			return
		}
		c.last = j.records + 1
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
func (j *jsonSurvey) value(c *surveyed, into *values, v *fastjson.Value) {
	s := j.Surveyor
	switch v.Type() {
	case fastjson.TypeString:
		text := v.GetStringBytes()
		into.of[classText].add(s, text)
		if c != nil {
			c.watch.text(s, text)
		}
	case fastjson.TypeNumber:
		j.scratch = v.MarshalTo(j.scratch[:0])
		if !isJSONNumber(j.scratch) {
			s.fail("a number is malformed")
			return
		}
		k := classOfNumber(j.scratch)
		into.of[k].add(s, j.scratch)
		if c != nil {
			c.watch.number(s, j.scratch, k)
		}
	case fastjson.TypeTrue, fastjson.TypeFalse:
		word := booleans[v.Type() == fastjson.TypeTrue]
		into.of[classBool].add(s, word)
		if c != nil {
			c.watch.text(s, word)
		}
	case fastjson.TypeObject:
		into.objects.add(s, nil)
		j.inside(into, v)
		if c != nil {
			c.watch.text(s, nil)
		}
	case fastjson.TypeArray:
		j.list(c, into, v)
	}
}

func (j *jsonSurvey) list(c *surveyed, into *values, v *fastjson.Value) {
	s := j.Surveyor
	into.lists.add(s, nil)
	if c != nil {
		c.watch.text(s, nil)
	}
	list := v.GetArray()
	for _, e := range list {
		if t := e.Type(); t == fastjson.TypeArray || t == fastjson.TypeObject {
			into.nested.add(s, nil)
			j.inside(into, v)
			return
		}
	}
	if into.elements == nil {
		into.elements = &values{}
	}
	for _, e := range list {
		j.value(nil, into.elements, e)
	}
}

// inside looks for numbers deep in a value that are not kept as they are.
func (j *jsonSurvey) inside(into *values, v *fastjson.Value) {
	switch v.Type() {
	case fastjson.TypeNumber:
		j.scratch = v.MarshalTo(j.scratch[:0])
		if bytes.ContainsAny(j.scratch, ".eE") && classOfNumber(j.scratch) == classFine {
			into.deepFine.add(j.Surveyor, j.scratch)
		}
	case fastjson.TypeArray:
		for _, e := range v.GetArray() {
			j.inside(into, e)
		}
	case fastjson.TypeObject:
		v.GetObject().Visit(func(_ []byte, e *fastjson.Value) { j.inside(into, e) })
	}
}
