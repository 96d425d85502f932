package pgtype

import (
	"testing"
	"time"
)

func TestValuesAsTextAndBinary(t *testing.T) {
	s := &Style{Zone: time.UTC}
	for _, test := range []struct {
		t        OID
		in, want string
	}{
		{Bool, "yes", "t"}, {Int2, "-7", "-7"}, {Int4, " 12 ", "12"}, {Int8, "9223372036854775807", "9223372036854775807"},
		{Float8, "1e300", "1e+300"}, {Float8, "0.1", "0.1"}, {Float8, "NaN", "NaN"}, {Float4, "1.5", "1.5"},
		{NumericT, "-123456.7800", "-123456.7800"}, {NumericT, "0.0001", "0.0001"}, {NumericT, "1e3", "1000"}, {NumericT, "10000", "10000"},
		{NumericT, "nan", "NaN"}, {NumericT, "0", "0"}, {Bytea, `\x00ff`, `\x00ff`}, {Bytea, `a\\b\001`, `\x615c6201`},
		{DateType, "2024-02-29", "2024-02-29"}, {DateType, "0044-03-15 BC", "0044-03-15 BC"},
		{Timestamptz, "2024-01-01T02:00:00+02:00", "2024-01-01 00:00:00+00"}, {TimestampT, "2024-01-01 02:03:04.5", "2024-01-01 02:03:04.5"},
		{Timestamptz, "infinity", "infinity"}, {IntervalT, "1 year 2 mons 3 days 04:05:06.7", "1 year 2 mons 3 days 04:05:06.7"},
		{IntervalT, "P1Y2M3DT4H", "1 year 2 mons 3 days 04:00:00"}, {IntervalT, "1 day ago", "-1 days"},
		{UUID, "A0EEBC999C0B4EF8BB6D6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}, {JSON, `{"a": 1}`, `{"a": 1}`}, {JSONB, `[1]`, `[1]`},
		{1009, `{a,"b c",NULL,"null",""}`, `{a,"b c",NULL,"null",""}`}, {1007, "{{1,2},{3,4}}", "{{1,2},{3,4}}"}, {1016, "{}", "{}"},
		{Text, "x", "x"}, {OIDType, "4294967295", "4294967295"},
	} {
		v, err := Parse(test.t, test.in, nil)
		if err != nil {
			t.Errorf("%s %q: %v", test.t.Name(), test.in, err)
			continue
		}
		if got := string(AppendText(nil, test.t, v, s)); got != test.want {
			t.Errorf("%s %q: %q, want %q", test.t.Name(), test.in, got, test.want)
		}
		back, err := Decode(test.t, AppendBinary(nil, test.t, v, s))
		if err != nil {
			t.Errorf("%s %q in binary: %v", test.t.Name(), test.in, err)
			continue
		}
		if got := string(AppendText(nil, test.t, back, s)); got != test.want {
			t.Errorf("%s %q through binary: %q, want %q", test.t.Name(), test.in, got, test.want)
		}
	}
}

func TestValuesThatCantBeRead(t *testing.T) {
	for _, test := range []struct {
		t  OID
		in string
	}{
		{Bool, "maybe"}, {Int2, "40000"}, {Int4, "x"}, {Float8, ""}, {NumericT, "1.2.3"}, {NumericT, "."}, {Bytea, `\xz`}, {Bytea, `a\9`},
		{DateType, "yesterdayish"}, {IntervalT, "1 parsec"}, {IntervalT, ""}, {UUID, "12"}, {JSON, "{"}, {1009, "{a"}, {1009, "a}"}, {1007,
			"{a}"},
		{1007, "{1,,2}"}, {1009, "{a}b"}, {OIDType, "x"},
	} {
		if v, err := Parse(test.t, test.in, nil); err == nil {
			t.Errorf("%s %q is read as %v", test.t.Name(), test.in, v)
		}
	}
	for _, test := range []struct {
		t OID
		b []byte
	}{
		{Int4, []byte{1}}, {NumericT, []byte{0, 9, 0, 0, 0, 0, 0, 0}}, {1007, []byte{0, 0, 0, 1}}, {UUID, []byte{1}}, {JSONB, []byte("{}")},
		{1007, []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 127, 255, 255, 255, 0, 0, 0, 1}},
		{1007, []byte{255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 23}},
	} {
		if v, err := Decode(test.t, test.b); err == nil {
			t.Errorf("%s %v is read as %v", test.t.Name(), test.b, v)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(uint32(1007), []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 7})
	f.Add(uint32(NumericT), []byte{0, 1, 0, 0, 0, 0, 0, 2, 0, 1})
	f.Fuzz(func(_ *testing.T, t uint32, b []byte) {
		if v, err := Decode(OID(t), b); err == nil {
			AppendText(nil, OID(t), v, &Style{})
		}
		_, _ = Parse(OID(t), string(b), nil)
	})
}
