package evidence

import "testing"

func TestNumberOfField(t *testing.T) {
	for in, want := range map[string]Class{
		"0": Int, "-7": Int, " 12 ": Int, "9007199254740992": Int, "9007199254740993": Long, "9223372036854775807": Long,
		"-9223372036854775808": Int, "9223372036854775808": Huge, "123456789012345678901234567890": Huge, "-0": Whole,
		"2.0": Whole, "0.5": Double, ".5": Double, "1.50": Double, "1e-07": Double, "1E+3": Whole, "1.5e5": Whole,
		"0.1000000000000000055511151231257827": Double, "0.12345678901234567891": Fine, "1e+400": Fine, "1.5e-400": Fine,
		"1.7976931348623157e+308": Double, "5e-324": Double, "1.000000000000000000e+00": Whole, "3.141592653589793116e+00": Double,
	} {
		if n, ok := NumberOfField([]byte(in)); !ok || n.Class != want {
			t.Errorf("%q is of class %d, %v; want %d", in, n.Class, ok, want)
		}
	}
	for _, in := range []string{"", "-", ".", "007", "00.5", "+5", "1e5", "5d", "7f", "1L", "0x1F", "1,5", "1,234", "1 000", "5.", "1e", "1e+", "--1", "1.2.3",
		"NaN", "Infinity", "1_000", "٣", "1e5.0", ".e+5", "-.", "e+5"} {
		if n, ok := NumberOfField([]byte(in)); ok {
			t.Errorf("%q is taken for a number, of class %d", in, n.Class)
		}
	}
}

func TestStatedNumber(t *testing.T) {
	for in, want := range map[string]Class{
		"007": Int, "+5": Int, "-00": Whole, "1e5": Whole, "00.5": Double, "5.": Whole, "1e400": Fine,
		"x": Text, "1d": Text, "": Text, "1-2": Text, "NaN": Text, "-": Text, "0x10": Text, "e5": Text,
	} {
		if got := StatedNumber([]byte(in)); got != want {
			t.Errorf("%q is of class %d, want %d", in, got, want)
		}
	}
}

func FuzzPrintsAs(f *testing.F) {
	for _, s := range []string{"1", "0.1", "1e5", "12345678901234567890.5", "00012.500e-3", "9.999999999999999999e22"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		_, _ = NumberOfField([]byte(s))
		StatedNumber([]byte(s))
	})
}
