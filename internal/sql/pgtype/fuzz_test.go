package pgtype

import (
	"bytes"
	"testing"
	"time"
)

// fuzzed are the types that values are read as.
var fuzzed = []OID{Bool, Bytea, Int8, Int2, Int4, Text, JSON, JSONB, Float4, Float8, DateType, TimestampT, Timestamptz, IntervalT,
	NumericT, UUID,
	Int2Vector, OIDType, ArrayOf(Int8), ArrayOf(Text), ArrayOf(NumericT), ArrayOf(Timestamptz), ArrayOf(JSONB)}

// FuzzValues reads any bytes as a value: what can be read can be written, and read again.
func FuzzValues(f *testing.F) {
	for i, text := range []string{"t", "\\x01ff", "-1", "1", "2", "a", "{}", "[1]", "1.5", "nan", "2024-01-01", "2024-01-01 10:00:00.5",
		"infinity",
		"1 mon -2 days 03:04:05.6", "-12.50e3", "12345678-1234-1234-1234-123456789012", "1 2", "7", "{1,NULL}", `{"a,b",{x}}`, "{1.5}",
		"{2024-01-01}", `{"{\\"a\\":1}"}`} {
		f.Add(byte(i), false, []byte(text))
	}
	style := &Style{Zone: time.UTC}
	for i, o := range fuzzed {
		if v, err := Parse(o, "1", time.UTC); err == nil {
			f.Add(byte(i), true, AppendBinary(nil, o, v, style))
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, binary bool, data []byte) {
		o := fuzzed[int(kind)%len(fuzzed)]
		read := func(data []byte) (any, error) {
			if binary {
				return Decode(o, data)
			}
			return Parse(o, string(data), time.UTC)
		}
		write := func(v any) []byte {
			if binary {
				return AppendBinary(nil, o, v, style)
			}
			return AppendText(nil, o, v, style)
		}
		v, err := read(data)
		if err != nil {
			return
		}
		once := write(v)
		again, err := read(once)
		if err != nil {
			t.Fatalf("%v as type %d is written as %q, which can't be read: %v", v, o, once, err)
		}
		if twice := write(again); !bytes.Equal(once, twice) {
			t.Errorf("%v as type %d is written as %q, and then as %q", v, o, once, twice)
		}
	})
}
