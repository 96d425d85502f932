package segment

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/vector"
)

// The anatomy accounts for every byte of the file, says of each column how it is laid out, and is
// the same as text and as JSON.
func TestInspectAccountsForEveryByte(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(41, 1)), 9000, 0.1)
	file := writeRows(t, allTypes, rows, Options{SortOrder: []string{TimeColumn}, QueryGranularity: "HOUR", Metadata: []byte(`{"by":"test"}`)}, 4096)
	s := openBytes(t, file)
	defer s.Release()
	a, err := Inspect(s)
	if err != nil {
		t.Fatal(err)
	}
	total := a.FooterSize
	encodings := map[string]bool{}
	var paths []string
	for i := range a.Columns {
		c := &a.Columns[i]
		total += c.Size
		parts := int64(0)
		for x := c; x != nil; x = x.Elements {
			encodings[x.Encoding] = true
			for _, p := range x.Parts {
				parts += p.Size
				if p.Offset < c.Offset || p.Offset+p.Size > c.Offset+c.Size {
					t.Errorf("part %s of column %s is outside of it", p.Name, c.Name)
				}
			}
		}
		if parts > c.Size || c.Size-parts > 8*int64(len(c.Parts)+20) {
			t.Errorf("column %s has %d bytes, its parts %d", c.Name, c.Size, parts)
		}
		if c.Path != "" {
			paths = append(paths, c.Name+c.Path)
		} else if info := s.Info().Column(c.Name); c.Type != info.Type.String() || c.Nulls != info.Nulls || c.Rows != len(rows) ||
			c.Cardinality != nil && *c.Cardinality != info.Distinct {
			t.Errorf("column %s: %+v", c.Name, c)
		}
	}
	if got := strings.Join(paths, " "); got != "json$.a jsons$.id jsons$.text" {
		t.Errorf("columns of paths are %s", got)
	}
	if gaps := a.Size - total; a.Size != int64(len(file)) || gaps != 0 {
		t.Errorf("%d bytes of %d are told", total, len(file))
	}
	for _, e := range []encoding{encNull, encDict, encFrame, encRaw, encList, encBlob} {
		if !encodings[e.String()] {
			t.Errorf("no column is [%s]", e)
		}
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var back Anatomy
	if err := json.Unmarshal(text, &back); err != nil || len(back.Columns) != len(allTypes)+len(paths) || back.Columns[len(allTypes)].Path != "$.a" || back.Rows != len(rows) || *back.Columns[1].Cardinality != 12 {
		t.Errorf("as JSON: %v, %+v", err, back)
	}
	var out strings.Builder
	if err := a.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, c := range allTypes {
		if !strings.Contains(out.String(), "\n"+c.Name+" ") {
			t.Errorf("the text has no column %s", c.Name)
		}
	}
	for _, want := range []string{"rows ", "9000", "query granularity", "HOUR", `{"by":"test"}`, "index bitmaps", "packed blocks", "compressed with zstd", "multi-value", "metric HLLSketchBuild", "\njson $.a ", "LONG path "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the text has no [%s]:\n%s", want, out.String())
		}
	}
}

// Bounds that JSON has no numbers for are written as text.
func TestInspectWritesInfinities(t *testing.T) {
	s := openBytes(t, writeRows(t, []ColumnSpec{{Name: "d", Type: vector.Double}}, rowsOf{{math.Inf(1)}, {math.Inf(-1)}, {math.NaN()}}, Options{}, 10))
	defer s.Release()
	a, err := Inspect(s)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(a); err != nil || !strings.Contains(string(text), `"min":"-Inf","max":"+Inf"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// An outline is the anatomy without what only the columns tell.
func TestOutlineIsTheAnatomyWithoutDetails(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(41, 2)), 5000, 0.1)
	s := openBytes(t, writeRows(t, allTypes, rows, Options{SortOrder: []string{TimeColumn}}, 4096))
	defer s.Release()
	want, err := Inspect(s)
	if err != nil {
		t.Fatal(err)
	}
	details := 0
	for i := range want.Columns {
		for c := &want.Columns[i]; c != nil; c = c.Elements {
			if c.Detail != "" {
				details++
			}
			c.Detail = ""
		}
	}
	if diff := cmp.Diff(want, Outline(s)); diff != "" || details == 0 {
		t.Errorf("%d details:\n%s", details, diff)
	}
}
