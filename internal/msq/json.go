package msq

import (
	"bytes"
	"encoding/json"

	"github.com/hengedb/henge/internal/jsontext"
)

// objectBuilder writes a JSON object whose members keep their order, which clients of reports see.
type objectBuilder struct {
	buf bytes.Buffer
	err error
}

// add appends a member.
func (b *objectBuilder) add(name string, value any) {
	if b.err != nil {
		return
	}
	if b.buf.Len() == 0 {
		b.buf.WriteByte('{')
	} else {
		b.buf.WriteByte(',')
	}
	key, err := json.Marshal(name)
	if err == nil {
		b.buf.Write(key)
		b.buf.WriteByte(':')
		key, err = jsontext.Marshal(value)
		b.buf.Write(key)
	}
	b.err = err
}

// optional appends a member if it is there.
func (b *objectBuilder) optional(there bool, name string, value any) {
	if there {
		b.add(name, value)
	}
}

func (b *objectBuilder) done() ([]byte, error) {
	if b.err != nil {
		return nil, b.err
	}
	if b.buf.Len() == 0 {
		return []byte("{}"), nil
	}
	b.buf.WriteByte('}')
	return b.buf.Bytes(), nil
}
