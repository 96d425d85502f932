package ingest

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/valyala/fastjson"
)

// jsonSchema is the type of schemas of a registry whose messages are JSON.
const jsonSchema = "JSON"

// jsonMessages decodes messages of JSON. They say by themselves what they have: their schema is not
// looked at.
type jsonMessages struct{ parsers sync.Pool }

func (d *jsonMessages) message(_ context.Context, data []byte) (*Object, error) {
	p, _ := d.parsers.Get().(*fastjson.Parser)
	if p == nil {
		p = &fastjson.Parser{}
	}
	defer d.parsers.Put(p)
	text := validUTF8(bytes.TrimSpace(data))
	v, err := p.ParseBytes(text)
	if err != nil {
		return nil, errors.New(strictReason(text))
	}
	if v.Type() != fastjson.TypeObject {
		return nil, errors.New("it is no JSON object")
	}
	o := v.GetObject()
	if o.Len() > maxFields {
		return nil, errors.New("it has too many fields")
	}
	object, ok := objectOf(o)
	if !ok {
		return nil, errors.New(strictReason(text))
	}
	return object, nil
}
