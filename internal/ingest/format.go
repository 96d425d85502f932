package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/ingest/wire"
)

// Format defines how the bytes of an entity are decoded. A format is split into records without
// decoding them (JSON, Delimited, Lines, Regex), or is read as files (Parquet, ORC, AvroFile) or
// messages (avro_stream, protobuf) with a decoder of its own; there are no other implementations. A
// Format is immutable, validated when it is parsed and safe for use by many goroutines.
type Format interface {
	// Type returns the type id of the wire form.
	Type() string
	// quirk Q014: MarshalJSON returns the wire form with the defaults that Druid shows.
	json.Marshaler
	// flattening returns the flattenSpec; nil: records are flat.
	flattening() *flattening
}

// textFormat is a format whose entities are runs of records of text.
type textFormat interface {
	Format
	// Begin looks at the first bytes of an entity and says how to cut it.
	begin(head []byte) cutter
	// open returns what decodes chunks into columns, given the header that was found.
	open(fields []Field, header []string, opts *Options) (decoder, error)
	// Objects returns what decodes chunks into objects.
	objects(header []string) objectDecoder
	// head returns what to take off the start of an entity before its data.
	head() head
}

// fileFormat is a format whose entities have a structure of their own.
type fileFormat interface {
	Format
	// openObjects starts reading the records that belong to the split.
	openObjects(ctx context.Context, in *input) (objectReader, error)
}

// columnFormat is a fileFormat that is stored by columns.
type columnFormat interface {
	fileFormat
	// openColumns starts reading the columns of the records that belong to the split.
	openColumns(ctx context.Context, in *input, fields []Field) (producer, error)
	// cuts reports whether the entity has parts that can be read apart.
	cuts(ctx context.Context, in *input) (bool, error)
}

// head is the rows before the data of an entity.
type head struct {
	skip  int  // lines to drop
	names bool // whether a row of names follows
	split func(text []byte) *splitter
}

// take removes the rows from c, the next chunk of the entity, and returns the names. It reports
// false when rows are still missing.
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
		for i := range s.fields {
			name := strings.TrimSpace(string(s.field(i)))
			if name == "" {
				name = "column_" + strconv.Itoa(i+1)
			}
			names = append(names, name)
		}
		return names, true
	}
	return nil, false
}

// Duplicates returns which names occur more than once, or "". A row could store only one of two
// columns with the same name.
func Duplicates(names []string) string {
	seen, twice := make(map[string]bool, len(names)), []string(nil)
	for _, name := range names {
		if seen[name] && !slices.Contains(twice, name) {
			twice = append(twice, name)
		}
		seen[name] = true
	}
	if twice == nil {
		return ""
	}
	return "Duplicate column entries found : [" + strings.Join(twice, ", ") + "]"
}

// decoder turns chunks, or messages, into batches. It belongs to one goroutine.
type decoder interface {
	// Begin starts with text of so many bytes, which add is given piece by piece; finish returns what
	// it became. Pieces end with records.
	begin(bytes int)
	add(c chunk)
	finish() decoded
	// Rows is what collects the cells.
	rows() *sink
}

// decodeChunk decodes a chunk by itself.
func decodeChunk(d decoder, c chunk) decoded {
	d.begin(len(c.data))
	d.add(c)
	return d.finish()
}

// objectDecoder turns chunks into objects. It belongs to one goroutine. Places of records are
// relative to the chunk.
type objectDecoder interface {
	objects(c chunk, emit func(Record))
}

// formats are all formats, by their type ids.
var formats = map[string]func(text json.RawMessage) (Format, error){
	"arrow":       parseArrow,
	"avro_ocf":    parseAvroFile,
	"avro_stream": parseAvroStream,
	"csv":         func(text json.RawMessage) (Format, error) { return parseDelimited("csv", text) },
	"json":        parseJSONFormat,
	"lines":       func(json.RawMessage) (Format, error) { return Lines{}, nil },
	"orc":         parseORC,
	"parquet":     parseParquet,
	"protobuf":    parseProtobuf,
	"regex":       parseRegex,
	"tsv":         func(text json.RawMessage) (Format, error) { return parseDelimited("tsv", text) },
}

// envelopes are the formats that have another one in them, which is looked up in formats.
var envelopes = []string{"kafka", "kinesis"}

// FormatTypes returns the type ids that ParseFormat accepts, sorted, as error messages list them.
func FormatTypes() []string {
	return slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(formats)), envelopes)))
}

// ParseFormat parses the JSON form of an input format.
func ParseFormat(text json.RawMessage) (Format, error) {
	kind, err := wire.TypeOf("inputFormat", text)
	if err != nil {
		return nil, err
	}
	if slices.Contains(envelopes, kind) {
		return parseEnvelope(kind, text)
	}
	if parse := formats[kind]; parse != nil {
		return parse(text)
	}
	return nil, wire.UnknownType("inputFormat", kind, FormatTypes())
}
