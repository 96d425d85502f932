package ingest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/vector"
)

// rowOf returns the values of the only row that f appends, and the error it leaves.
func rowOf(d *jsonDecoder, f func()) (row []any, bad int, err error) {
	d.begin(0)
	f()
	out := d.finish()
	for _, b := range out.batches {
		for _, v := range b.Cols {
			row = append(row, v.ValueAt(0))
		}
	}
	return row, len(out.errs), out.err
}

func newJSONDecoder(t testing.TB, columns string) *jsonDecoder {
	t.Helper()
	d, err := (&JSON{}).open(fields(t, columns), nil, &Options{RemoveNullBytes: true})
	if err != nil {
		t.Fatal(err)
	}
	return d.(*jsonDecoder)
}

const scanColumns = "a string b long c mv d COMPLEX<json> e double f ARRAY<LONG> g float h ARRAY<DOUBLE>"

// sameRow holds the scanner against the parser: a record that it takes is the row that the parser
// makes of it.
func sameRow(t *testing.T, scanned, parsed *jsonDecoder, text string) (taken bool) {
	t.Helper()
	n := scanned.scan.record([]byte(text))
	if n < 0 {
		return false
	}
	row, bad, err := rowOf(scanned, func() {
		scanned.out.records++
		scanned.plainRow([]byte(text[:n]), 1)
	})
	want, wantBad, wantErr := rowOf(parsed, func() { parsed.value([]byte(text[:n]), 1) })
	if d := cmp.Diff(want, row, cmp.Comparer(sameFloat)); d != "" || bad != wantBad || (err == nil) != (wantErr == nil) {
		t.Fatalf("%s: scanned [%d] bad, %v; parsed [%d] bad, %v\n%s", text, bad, err, wantBad, wantErr, d)
	}
	return true
}

// sameFloat tells zeros of different signs apart, and takes NaN for itself.
func sameFloat(x, y float64) bool {
	return vector.CompareDoubles(x, y) == 0 && 1/x == 1/y || x != x && y != y
}

func TestScannerAgreesWithParser(t *testing.T) {
	scanned, parsed := newJSONDecoder(t, scanColumns), newJSONDecoder(t, scanColumns)
	values := []string{`"x"`, `""`, `"a somewhat longer text"`, `"tab\tand \"quote\" \u00e9 \\"`, `"\\"`, `"\ud83d\ude00"`, `"é"`, `"1.5"`, `0`, `-0`, `-0.0`, `12`, `-7`,
		`1.50`, `123456789012345678`, `1234567890123456789`, `123456789012345678901234567890`, `0.1`, `0.30000000000000004`, `9007199254740993.0`,
		`1e400`, `-1E-3`, `2.5e+10`, `123456789.123456789`, `0.000000000000000001`, `true`, `false`, `null`, `[]`, `["x"]`, `["x","y\n"]`, `[1,2.5,null,true,"3",{"k":[1]},[2]]`,
		`{}`, `{"k":{"l":[1,2,{"m":null}]},"n":"\u0001"}`, `[[[]]]`, `[{}]`}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "unwanted", "", "é"} {
		for _, v := range values {
			for _, text := range []string{`{"` + name + `":` + v + `}`, "{ \"z\" : 1 ,\t\"" + name + "\": " + v + " , \"a\":\"last\"}  ", `{"` + name + `":1,"` + name + `":` + v + `}{"a":"next"}`} {
				if !sameRow(t, scanned, parsed, text) {
					t.Errorf("%s is left to the parser", text)
				}
			}
		}
	}
}

func TestScannerLeavesTheRestToTheParser(t *testing.T) {
	d := newJSONDecoder(t, scanColumns)
	for _, text := range []string{`{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":-}`, `{"a":1e}`, `{"a":+1}`, `{"a":NaN}`,
		`{"a":nul}`, `{"a":"x}`, `{"a":"x\"}`, "{\"a\":\"x\ty\"}", "{\"a\":\n1}", `{"a" 1}`, `{"a":1 "b":2}`, `{"a":[1,]}`, `{"a":[1 2]}`, `{"c":[1}`, `{"c":[`, `{"c":[1,]}`, `{"d":{"x":1,}}`,
		`{"d":{"x"}}`, `{"d":{x:1}}`, `{"\u0061":1}`, `{"a":1-2}`, `{"d":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`} {
		if n := d.scan.record([]byte(text)); n >= 0 {
			t.Errorf("%s is taken up to [%d]", text, n)
		}
	}
}

func TestScannerFollowsChangingMembers(t *testing.T) {
	scanned, parsed := newJSONDecoder(t, "a long b long c long"), newJSONDecoder(t, "a long b long c long")
	for _, text := range []string{`{"a":1,"b":2,"c":3}`, `{"c":3}`, `{"c":3,"b":2,"a":1}`, `{"x":0,"a":1,"y":0,"b":2,"z":0,"c":3}`, `{"b":2}`, `{"ab":1,"a":2}`,
		`{"a":1,"u":0,"v":0,"w":0,"x":0,"y":0,"z":0,"c":3}`, `{}`} {
		if !sameRow(t, scanned, parsed, text) {
			t.Errorf("%s is left to the parser", text)
		}
	}
	var many strings.Builder
	for i := range 2 * maxNames {
		many.WriteString(`{"` + strings.Repeat("k", i%300) + string(rune('a'+i%26)) + `":1,"a":2}` + "\n")
	}
	for line := range strings.Lines(many.String()) {
		sameRow(t, scanned, parsed, line)
	}
	if len(scanned.scan.names) > maxNames {
		t.Errorf("[%d] names are kept", len(scanned.scan.names))
	}
}

func FuzzJSONScanner(f *testing.F) {
	for _, seed := range []string{`{"a":"x","b":12,"c":["p","q"],"d":{"k":[1,{}]},"e":-1.5e3}`, `{"a":"\u00e9\n","f":[1,2],"g":0.1}`, `{"a":1,"a":2} x`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = string(record.ValidText([]byte(text)))
		if text == "" || text[0] != '{' {
			return
		}
		sameRow(t, newJSONDecoder(t, scanColumns), newJSONDecoder(t, scanColumns), text)
	})
}
