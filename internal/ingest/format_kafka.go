package ingest

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/wire"
	"github.com/hengedb/henge/internal/stream"
)

// Envelope is the format of stream records with their metadata: types "kafka" and "kinesis". The
// values have a format of their own. A field of the value takes precedence over metadata of the
// same name. A record without a value becomes a row of the metadata.
type Envelope struct {
	kind string
	wire json.RawMessage
	// Value is the format of values, key the format of keys; nil: keys are not read.
	Value, key Format
	// headers decodes the values of headers; nil: headers are no columns.
	headers func([]byte) string
	names   envelopeNames
}

// envelopeNames are the columns of what the stream says; "": there is none.
type envelopeNames struct{ key, time, topic, partition, offset, header string }

type envelopeWire struct {
	Value   json.RawMessage `json:"valueFormat"`
	Key     json.RawMessage `json:"keyFormat"`
	Headers *struct {
		Type     string `json:"type"`
		Encoding string `json:"encoding"`
	} `json:"headerFormat"`
	HeaderPrefix  *string `json:"headerColumnPrefix"`
	KeyName       *string `json:"keyColumnName"`
	TimeName      *string `json:"timestampColumnName"`
	TopicName     *string `json:"topicColumnName"`
	PartitionName *string `json:"partitionColumnName"`
	OffsetName    *string `json:"offsetColumnName"`
	// PartitionKeyName is the column of the partition key of Kinesis.
	PartitionKeyName *string `json:"partitionKeyColumnName"`
}

func parseEnvelope(kind string, text json.RawMessage) (Format, error) {
	var w envelopeWire
	if err := wire.Decode("inputFormat", text, &w); err != nil {
		return nil, err
	}
	f := &Envelope{kind: kind, wire: text}
	or := func(given *string, name string) string {
		if given != nil {
			return *given
		}
		return name
	}
	if kind == "kinesis" {
		f.names = envelopeNames{key: or(w.PartitionKeyName, "kinesis.partitionKey"), time: or(w.TimeName, "kinesis.timestamp")}
	} else {
		f.names = envelopeNames{key: or(w.KeyName, "kafka.key"), time: or(w.TimeName, "kafka.timestamp"),
			topic: or(w.TopicName, "kafka.topic"), partition: or(w.PartitionName, "kafka.partition"),
			offset: or(w.OffsetName, "kafka.offset"), header: or(w.HeaderPrefix, "kafka.header.")}
	}
	var err error
	if !wire.Given(w.Value) {
		return nil, wire.Invalid("inputFormat", "a format of type '%s' needs 'valueFormat'", kind)
	}
	if f.Value, err = parseWithin(kind, "valueFormat", w.Value); err != nil {
		return nil, err
	}
	if kind == "kafka" && wire.Given(w.Key) {
		if f.key, err = parseWithin(kind, "keyFormat", w.Key); err != nil {
			return nil, err
		}
	}
	if w.Headers != nil && kind == "kafka" {
		if w.Headers.Type != "string" {
			return nil, wire.UnknownType("headerFormat", w.Headers.Type, []string{"string"})
		}
		if f.headers, err = headerDecoder(w.Headers.Encoding); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// parseWithin reads a format of parts of a record.
func parseWithin(kind, member string, text json.RawMessage) (Format, error) {
	f, err := ParseFormat(text)
	if err != nil {
		return nil, err
	}
	if _, again := f.(*Envelope); again {
		return nil, wire.Invalid("inputFormat", "'%s' of a format of type '%s' can't be of type '%s'", member, kind, f.Type())
	}
	return f, nil
}

// headerEncodings decode the values of headers.
var headerEncodings = map[string]func([]byte) string{
	"ISO-8859-1": latinText, "US-ASCII": asciiText, "UTF-8": func(b []byte) string { return string(record.ValidText(b)) },
	"UTF-16":   utf16Text,
	"UTF-16BE": func(b []byte) string { return pairsText(b, binary.BigEndian) },
	"UTF-16LE": func(b []byte) string { return pairsText(b, binary.LittleEndian) },
}

func headerDecoder(name string) (func([]byte) string, error) {
	if name == "" {
		name = "UTF-8"
	}
	decode := headerEncodings[strings.ToUpper(name)]
	if decode == nil {
		known := strings.Join(slices.Sorted(maps.Keys(headerEncodings)), ", ")
		return nil, wire.Invalid("headerFormat", "encoding '%s' is unknown; known are %s", name, known)
	}
	return decode, nil
}

// latinText reads each byte as the character of its number.
func latinText(b []byte) string {
	out := make([]rune, len(b))
	for i, c := range b {
		out[i] = rune(c)
	}
	return string(out)
}

// utf16Text reads UTF-16 in the order of bytes that its mark says, else the greater byte first.
func utf16Text(b []byte) string {
	if len(b) >= 2 && b[0] == 0xFF && b[1] == 0xFE {
		return pairsText(b[2:], binary.LittleEndian)
	}
	if len(b) >= 2 && b[0] == 0xFE && b[1] == 0xFF {
		b = b[2:]
	}
	return pairsText(b, binary.BigEndian)
}

// pairsText reads UTF-16. Half a character at the end becomes U+FFFD, as what is none does.
func pairsText(b []byte, order binary.ByteOrder) string {
	units := make([]uint16, 0, len(b)/2+1)
	for ; len(b) >= 2; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	if len(b) == 1 {
		units = append(units, 0xFFFD)
	}
	return string(utf16.Decode(units))
}

// asciiText replaces each byte that is no ASCII by U+FFFD.
func asciiText(b []byte) string {
	out := []rune(latinText(b))
	for i, r := range out {
		if r >= utf8.RuneSelf {
			out[i] = utf8.RuneError
		}
	}
	return string(out)
}

// Type returns "kafka" or "kinesis".
func (f *Envelope) Type() string { return f.kind }

// MarshalJSON returns the JSON form.
func (f *Envelope) MarshalJSON() ([]byte, error) { return f.wire, nil }

func (f *Envelope) flattening() *flattening { return f.Value.flattening() }

// noFile is for who wants to read anything but a stream.
func (f *Envelope) noFile() error {
	return wire.Invalid("inputFormat", "a format of type '%s' is of records of a stream; files are read by their own", f.kind)
}

// said returns what a stream says of a record, but for its key.
func (f *Envelope) said(r *stream.Record) *record.Object {
	o := &record.Object{}
	if f.headers != nil {
		for i := range r.Headers { // of several of one name the last counts
			if h := &r.Headers[i]; h.Value != nil {
				o.Set(f.names.header+h.Name, f.headers(h.Value))
			} else {
				o.Set(f.names.header+h.Name, nil)
			}
		}
	}
	o.Add(f.names.time, r.Time)
	if f.kind == "kinesis" {
		if r.Key != nil {
			o.Add(f.names.key, string(record.ValidText(r.Key)))
		}
		return o
	}
	o.Add(f.names.topic, r.Topic)
	o.Add(f.names.partition, int64(r.Number))
	o.Add(f.names.offset, r.Offset)
	return o
}

// ValueFormat returns the format of the values of records: the inner format of an Envelope,
// otherwise f.
func ValueFormat(f Format) Format {
	if e, ok := f.(*Envelope); ok {
		return e.Value
	}
	return f
}
