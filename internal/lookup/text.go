package lookup

import (
	"bytes"
	"encoding/json"
	"strings"
)

// String formats a container as in messages of Druid, because clients may search for them. See
// quirk Q011.
func (c Container) String() string {
	var b strings.Builder
	b.WriteString("LookupExtractorFactoryContainer{version='" + c.Version + "', lookupExtractorFactory=")
	dec := json.NewDecoder(bytes.NewReader(c.Factory))
	dec.UseNumber()
	writeValue(&b, dec, 0)
	b.WriteByte('}')
	return b.String()
}

// writeValue writes the next value of dec with its members in their order: {a=1, b=[x, y]}. What is
// too deep or too long is cut off.
func writeValue(b *strings.Builder, dec *json.Decoder, depth int) {
	token, err := dec.Token()
	if err != nil || depth > maxTextDepth || b.Len() > maxText {
		b.WriteString("...")
		return
	}
	switch v := token.(type) {
	case json.Delim:
		b.WriteByte(byte(v))
		for first := true; dec.More() && b.Len() <= maxText; first = false {
			if !first {
				b.WriteString(", ")
			}
			if v == '{' {
				name, err := dec.Token()
				if err != nil {
					return
				}
				b.WriteString(name.(string) + "=") // a member's name is a string, or the decoder fails
			}
			writeValue(b, dec, depth+1)
		}
		if _, err := dec.Token(); err != nil || b.Len() > maxText {
			b.WriteString("...")
		}
		b.WriteByte(byte(v) + 2) // the closing brace is two behind the opening one, for both kinds
	case string:
		b.WriteString(v)
	case json.Number:
		b.WriteString(v.String())
	case bool:
		if v {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	case nil:
		b.WriteString("null")
	}
}
