package ingest

import "testing"

func TestNumberOfField(t *testing.T) {
	for in, want := range map[string]class{
		"0": classInt, "-7": classInt, " 12 ": classInt, "9007199254740992": classInt, "9007199254740993": classLong, "9223372036854775807": classLong,
		"-9223372036854775808": classInt, "9223372036854775808": classHuge, "123456789012345678901234567890": classHuge, "-0": classWhole,
		"2.0": classWhole, "0.5": classDouble, ".5": classDouble, "1.50": classDouble, "1e-07": classDouble, "1E+3": classWhole, "1.5e5": classWhole,
		"0.1000000000000000055511151231257827": classDouble, "0.12345678901234567891": classFine, "1e+400": classFine, "1.5e-400": classFine,
		"1.7976931348623157e+308": classDouble, "5e-324": classDouble, "1.000000000000000000e+00": classWhole, "3.141592653589793116e+00": classDouble,
	} {
		if n, ok := numberOfField([]byte(in)); !ok || n.class != want {
			t.Errorf("%q is of class %d, %v; want %d", in, n.class, ok, want)
		}
	}
	for _, in := range []string{"", "-", ".", "007", "00.5", "+5", "1e5", "5d", "7f", "1L", "0x1F", "1,5", "1,234", "1 000", "5.", "1e", "1e+", "--1", "1.2.3",
		"NaN", "Infinity", "1_000", "٣", "1e5.0", ".e+5", "-.", "e+5"} {
		if n, ok := numberOfField([]byte(in)); ok {
			t.Errorf("%q is taken for a number, of class %d", in, n.class)
		}
	}
}

func TestStatedNumber(t *testing.T) {
	for in, want := range map[string]class{
		"007": classInt, "+5": classInt, "-00": classWhole, "1e5": classWhole, "00.5": classDouble, "5.": classWhole, "1e400": classFine,
		"x": classText, "1d": classText, "": classText, "1-2": classText, "NaN": classText, "-": classText, "0x10": classText, "e5": classText,
	} {
		if got := statedNumber([]byte(in)); got != want {
			t.Errorf("%q is of class %d, want %d", in, got, want)
		}
	}
}

func FuzzPrintsAs(f *testing.F) {
	for _, s := range []string{"1", "0.1", "1e5", "12345678901234567890.5", "00012.500e-3", "9.999999999999999999e22"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		_, _ = numberOfField([]byte(s))
		statedNumber([]byte(s))
	})
}
