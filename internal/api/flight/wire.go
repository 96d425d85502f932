package flight

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hengedb/henge/internal/api/grpc"
)

// The numbers of fields in this package are those of Flight.proto and FlightSql.proto.

// fields are those of a message by their numbers: of those that may come once the last counts.
type fields map[protowire.Number][]field

// field is a number or bytes.
type field struct {
	number uint64
	bytes  []byte
}

// errMessage is for bytes that are no message.
var errMessage = &grpc.Error{Code: grpc.InvalidArgument, Message: "The message is not a valid Flight message"}

// read cuts a message into its fields.
func read(message []byte) (fields, error) {
	out := fields{}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, errMessage
		}
		message = message[n:]
		var f field
		switch kind {
		case protowire.VarintType:
			f.number, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return nil, errMessage
		}
		message = message[n:]
		out[number] = append(out[number], f)
	}
	return out, nil
}

func (f fields) bytes(n protowire.Number) []byte {
	if list := f[n]; len(list) > 0 {
		return list[len(list)-1].bytes
	}
	return nil
}

func (f fields) text(n protowire.Number) string { return string(f.bytes(n)) }

// optional returns a text, nil: it is not there.
func (f fields) optional(n protowire.Number) *string {
	if len(f[n]) == 0 {
		return nil
	}
	text := f.text(n)
	return &text
}

func (f fields) number(n protowire.Number) uint64 {
	if list := f[n]; len(list) > 0 {
		return list[len(list)-1].number
	}
	return 0
}

// numbers returns repeated numbers, packed or not.
func (f fields) numbers(n protowire.Number) (out []uint64) {
	for _, one := range f[n] {
		if one.bytes == nil {
			out = append(out, one.number)
			continue
		}
		for rest := one.bytes; len(rest) > 0; {
			v, size := protowire.ConsumeVarint(rest)
			if size < 0 {
				break
			}
			out, rest = append(out, v), rest[size:]
		}
	}
	return out
}

// message gathers fields.
type message []byte

func (m *message) number(n protowire.Number, v int64) {
	if v != 0 {
		*m = protowire.AppendVarint(protowire.AppendTag(*m, n, protowire.VarintType), uint64(v))
	}
}

func (m *message) bytes(n protowire.Number, v []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, n, protowire.BytesType), v)
}

func (m *message) text(n protowire.Number, v string) {
	if v != "" {
		m.bytes(n, []byte(v))
	}
}

// appendBytesTag begins a field of bytes, which follow.
func appendBytesTag(m message, n protowire.Number, size int) message {
	return protowire.AppendVarint(protowire.AppendTag(m, n, protowire.BytesType), uint64(size))
}

// typePrefix begins the names of messages of Flight SQL.
const typePrefix = "type.googleapis.com/arrow.flight.protocol.sql."

// maxNamed bounds the name of a command in an error.
const maxNamed = 100

// unpack returns the name of a message of Flight SQL, which is in an Any, and its fields.
func unpack(data []byte) (string, fields, error) {
	outer, err := read(data)
	if err != nil {
		return "", nil, err
	}
	name := outer.text(1)
	if len(name) <= len(typePrefix) || name[:len(typePrefix)] != typePrefix {
		return "", nil, &grpc.Error{Code: grpc.InvalidArgument, Message: "The command is not a Flight SQL command: its type is [" +
			name[:min(len(name), maxNamed)] + "]"}
	}
	inner, err := read(outer.bytes(2))
	return name[len(typePrefix):], inner, err
}

// pack puts a message into an Any.
func pack(name string, m message) message {
	var out message
	out.text(1, typePrefix+name)
	out.bytes(2, m)
	return out
}
