package ingest

import (
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/ingest/record"
)

// The format csv honours quotes whatever separates its fields.
func TestDelimiterOfCSV(t *testing.T) {
	for _, d := range []string{";", "|", "\t", ":", "^"} {
		wire := `{"type":"csv","findColumnsFromHeader":true,"delimiter":` + quoteJSON(d) + `}`
		f, err := ParseFormat([]byte(wire))
		if err != nil {
			t.Fatalf("%q: %v", d, err)
		}
		text := strings.ReplaceAll("a;b\n\"x;\"\"y\nz\";\"1,5\"\n;2\n", ";", d)
		s := f.(*Delimited).split([]byte(text))
		var rows [][]string
		for s.next() {
			var row []string
			for i := range s.fields {
				row = append(row, string(s.field(i)))
			}
			rows = append(rows, row)
		}
		if len(rows) != 3 || rows[1][0] != "x"+d+"\"y\nz" || rows[1][1] != "1,5" || rows[2][0] != "" || rows[2][1] != "2" {
			t.Errorf("%q: %q", d, rows)
		}
		if cut := f.(*Delimited).begin(nil).last([]byte(text[:len(text)-3])); cut != len(text)-3 && !strings.HasSuffix(text[:cut], "\n") {
			t.Errorf("%q: a chunk ends at %d of %q", d, cut, text)
		}
		if back, err := f.MarshalJSON(); err != nil || !strings.Contains(string(back), `"delimiter":`) {
			t.Errorf("%q is written as %s, %v", d, back, err)
		}
	}
	for _, d := range []string{``, `;;`, `"`, "\n", "é", "\x01"} {
		if _, err := ParseFormat([]byte(`{"type":"csv","findColumnsFromHeader":true,"delimiter":` + quoteJSON(d) + `}`)); err == nil {
			t.Errorf("delimiter %q is taken", d)
		}
	}
}

func quoteJSON(s string) string { return string(record.AppendJSONString(nil, []byte(s))) }
