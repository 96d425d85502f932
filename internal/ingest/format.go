package ingest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Format says what the bytes of an entity mean. The concrete formats are JSON and Delimited; nothing else implements it. A Format is
// immutable, validated when it is parsed and safe for use by many goroutines.
type Format interface {
	// Type returns the type id of the wire form.
	Type() string
	// MarshalJSON returns the wire form with the defaults that the reference shows.
	json.Marshaler

	// begin looks at the first bytes of an entity and says how to cut it.
	begin(head []byte) cutter
	// open returns what decodes chunks, given the header that was found.
	open(fields []Field, header []string, opts *Options) (decoder, error)
	// head returns what to take off the start of an entity before its data.
	head() head
}

// head is the rows before the data of an entity.
type head struct {
	skip  int  // lines to drop
	names bool // whether a row of names follows
	split func(text []byte) *splitter
}

// take removes the rows from c, the next chunk of the entity, and returns the names. It reports false when rows are still missing.
func (h *head) take(c *chunk) (names []string, complete bool) {
	if h.skip == 0 && !h.names {
		return nil, true
	}
	s := h.split(c.data)
	defer func() {
		c.line += int64(bytes.Count(c.data[:s.at], newline))
		c.data = c.data[s.at:]
	}()
	for ; h.skip > 0; h.skip-- {
		if s.at == len(s.text) {
			return nil, false
		}
		s.skipLine()
	}
	if !h.names {
		return nil, true
	}
	for s.next() {
		if s.blank() {
			continue
		}
		for i, field := range s.fields {
			name := strings.TrimSpace(string(validUTF8(field)))
			if name == "" {
				name = "column_" + strconv.Itoa(i+1)
			}
			names = append(names, name)
		}
		return names, true
	}
	return nil, false
}

// decoder turns chunks into batches. It belongs to one goroutine.
type decoder interface {
	decode(c chunk) decoded
}

// formatTypes are the type ids that ParseFormat knows, as error messages list them.
var formatTypes = []string{"csv", "json", "lines", "tsv"}

// ParseFormat reads the wire form of an input format.
func ParseFormat(text json.RawMessage) (Format, error) {
	kind, err := typeOf("inputFormat", text)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "json":
		return parseJSONFormat(text)
	case "csv", "tsv":
		return parseDelimited(kind, text)
	case "lines":
		return Lines{}, nil
	}
	return nil, unknownType("inputFormat", kind, formatTypes)
}
