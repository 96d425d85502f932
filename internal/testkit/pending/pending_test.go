package pending

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder counts complaints instead of failing.
type recorder struct {
	testing.TB
	complaints []string
}

func (r *recorder) Helper()           {}
func (r *recorder) Error(args ...any) { r.complaints = append(r.complaints, args[0].(string)) }
func (r *recorder) Errorf(format string, args ...any) {
	r.complaints = append(r.complaints, format)
}

func TestSettle(t *testing.T) {
	const listed = "# comment\na/1\na/2 known reason\n"
	for _, c := range []struct {
		name             string
		list             string
		outcome          Outcome
		complete, update bool
		complaints       int
		after            string
	}{
		{"as listed", listed, Outcome{"a/1": "x", "a/2": "y", "a/3": ""}, true, false, 0, listed},
		{"unlisted failure", listed, Outcome{"a/1": "x", "a/2": "y", "a/3": "z"}, true, false, 1, listed},
		{"listed passes", listed, Outcome{"a/1": "", "a/2": "y"}, true, false, 1, listed},
		{"listed passes, update", listed, Outcome{"a/1": "", "a/2": "y"}, true, true, 0, "# comment\na/2 known reason\n"},
		{"update does not add", listed, Outcome{"a/1": "x", "a/2": "y", "a/3": "z"}, true, true, 1, listed},
		{"gone", listed, Outcome{"a/1": "x"}, true, false, 1, listed},
		{"gone, incomplete", listed, Outcome{"a/1": "x"}, false, false, 0, listed},
		{"gone, update", listed, Outcome{"a/1": "x"}, true, true, 0, "# comment\na/1\n"},
		{"new list", "", Outcome{"b": "x", "a": "y", "c": ""}, true, true, 0, "a\nb\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "list.txt")
			if c.list != "" {
				if err := os.WriteFile(path, []byte(c.list), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			r := &recorder{TB: t}
			Read(t, path).Settle(r, c.outcome, c.complete, c.update)
			if len(r.complaints) != c.complaints {
				t.Errorf("complaints %q, want %d", r.complaints, c.complaints)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(string(text), c.after) {
				t.Errorf("the list is now\n%s\nwant\n%s", text, c.after)
			}
		})
	}
}
