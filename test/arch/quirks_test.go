package arch

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	quirkID  = regexp.MustCompile(`\bquirk (Q\d{3})\b`)
	quirkRow = regexp.MustCompile(`(?m)^\| (Q\d{3}) \| [^|\n]+ \| [^|\n]+ \| [^|\n]+ \|$`)
	// followed are the words of a comment that says why code does what it does: Druid does so.
	followed = regexp.MustCompile(`\b[Aa]s (in |of )?(Apache )?Druid( does| has it| says| allows|[,.:;)]|$)`)
	// unnamed is Apache Druid under another name.
	unnamed = regexp.MustCompile(`\b[Tt]he reference( system| implementation)?('s)?\b`)
)

// quirks are the ids of docs/quirks.md.
func quirks(t *testing.T) (ids []string) {
	text, err := os.ReadFile("../../docs/quirks.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range quirkRow.FindAllSubmatch(text, -1) {
		ids = append(ids, string(m[1]))
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("docs/quirks.md: ids are to rise, each once: %v", ids)
	}
	if rows := bytes.Count(text, []byte("\n| Q")); rows != len(ids) {
		t.Errorf("docs/quirks.md has %d rows, of which %d have the four cells of the table", rows, len(ids))
	}
	return ids
}

// TestQuirksAreNamed holds docs/quirks.md and the comments of the code together.
func TestQuirksAreNamed(t *testing.T) {
	known, used := quirks(t), map[string]bool{}
	for _, path := range goFiles(t) {
		if filepath.Dir(path) == "test/arch" {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Join("../..", path), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range f.Comments {
			at := fset.Position(group.Pos()).Line
			text := strings.Join(strings.Fields(group.Text()), " ")
			ids := quirkID.FindAllStringSubmatch(text, -1)
			for _, id := range ids {
				if used[id[1]] = true; !slices.Contains(known, id[1]) {
					t.Errorf("%s:%d: quirk [%s] is not in docs/quirks.md: add a row, or use the id of its kind", path, at, id[1])
				}
			}
			if len(ids) == 0 && !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(text, "Package ") && followed.MatchString(text) {
				t.Errorf("%s:%d: the comment says that Apache Druid is followed: name the quirk of docs/quirks.md, "+
					"as in [// quirk Q005: ...]", path, at)
			}
			if unnamed.MatchString(text) {
				t.Errorf("%s:%d: call Apache Druid by its name, not [%s]", path, at, unnamed.FindString(text))
			}
		}
	}
	for _, id := range known {
		if !used[id] {
			t.Errorf("docs/quirks.md: no code names quirk [%s]: name it where it is followed, or say in its row that it is given up", id)
		}
	}
}

// TestQuirkWords tries the expressions that TestQuirksAreNamed goes by.
func TestQuirkWords(t *testing.T) {
	for text, want := range map[string]bool{
		"NULL counts as 0, as in Druid.":              true,
		"as Druid does":                               true,
		"As in Apache Druid, a scalar may be a text.": true,
		"the members of Druid, in its order":          false,
		"segments are read as Druid's are":            false,
	} {
		if followed.MatchString(text) != want {
			t.Errorf("%q: follows Druid: %v, want %v", text, !want, want)
		}
	}
	for text, want := range map[string]bool{
		"recorded answers of the reference system": true,
		"the reference's order":                    true,
		"gives a reference back":                   false,
		"the references of r":                      false,
	} {
		if unnamed.MatchString(text) != want {
			t.Errorf("%q: another name of Druid: %v, want %v", text, !want, want)
		}
	}
}
