// Package pending reads checked-in lists of known failures of a test, such as recorded responses
// that are not supported yet.
//
// The central type is List. A listed name may fail; a name that is not listed must pass; and a
// listed name that passes fails the test until it is removed, so that a list only shrinks. Used by
// the tests that replay Druid's answers.
package pending

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"strings"
	"testing"
)

// List is a file of names, one a line, each followed by nothing or by a space and a reason. Lines
// that begin with # are comments.
type List struct {
	path    string
	comment []string
	names   map[string]string
	missing bool
}

// Read reads the list at path. A missing file is an empty list that Settle may fill.
func Read(t testing.TB, path string) *List {
	t.Helper()
	l := &List{path: path, names: map[string]string{}}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		l.missing = true
		return l
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "#"); ok {
			l.comment = append(l.comment, strings.TrimSpace(text))
			continue
		}
		if name, reason, _ := strings.Cut(strings.TrimSpace(lines.Text()), " "); name != "" {
			if _, twice := l.names[name]; twice {
				t.Errorf("%s lists [%s] twice", path, name)
			}
			l.names[name] = strings.TrimSpace(reason)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return l
}

// Has reports whether name is listed.
func (l *List) Has(name string) bool { _, ok := l.names[name]; return ok }

// Reason returns what stands after a name.
func (l *List) Reason(name string) string { return l.names[name] }

// Names returns the listed names in their order.
func (l *List) Names() []string {
	out := make([]string, 0, len(l.names))
	for name := range l.names {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// Len returns the number of names.
func (l *List) Len() int { return len(l.names) }

// Outcome is what became of everything a test tried: the difference by name, "" for what passed.
type Outcome map[string]string

// shown is how many failures a test prints.
const shown = 25

// Settle compares what happened with the list and fails the test where they disagree. With update
// the list loses what passed; it gains names only when its file is not there, which is how it is
// made anew. Complete says that everything was tried, so that listed names that did not come up are
// wrong too.
func (l *List) Settle(t testing.TB, o Outcome, complete, update bool) {
	t.Helper()
	if update && l.missing {
		for name, difference := range o {
			if difference != "" {
				l.names[name] = ""
			}
		}
		l.write(t)
		return
	}
	var fails, passes, gone []string
	for name, difference := range o {
		switch {
		case difference != "" && !l.Has(name):
			fails = append(fails, fmt.Sprintf("%s: %s", name, difference))
		case difference == "" && l.Has(name):
			passes = append(passes, name)
		}
	}
	for name := range l.names {
		if _, tried := o[name]; complete && !tried {
			gone = append(gone, name)
		}
	}
	sort.Strings(fails)
	for i, f := range fails {
		if i == shown {
			t.Errorf("and %d more", len(fails)-shown)
			break
		}
		t.Error(f)
	}
	if len(passes)+len(gone) == 0 {
		return
	}
	sort.Strings(passes)
	sort.Strings(gone)
	if !update {
		t.Errorf("%s holds %d names that pass now (%s) and %d that are no longer tried (%s): take them out, or run with -update",
			l.path, len(passes), brief(passes), len(gone), brief(gone))
		return
	}
	for _, name := range append(passes, gone...) {
		delete(l.names, name)
	}
	l.write(t)
}

func brief(names []string) string {
	if len(names) > 5 {
		return strings.Join(names[:5], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

func (l *List) write(t testing.TB) {
	t.Helper()
	if len(l.comment) == 0 {
		l.comment = []string{"What is not answered yet. This list only shrinks: -update takes out what passes."}
	}
	var b strings.Builder
	for _, c := range l.comment {
		b.WriteString("# " + c + "\n")
	}
	names := make([]string, 0, len(l.names))
	for name, reason := range l.names {
		names = append(names, strings.TrimSpace(name+" "+reason))
	}
	sort.Strings(names)
	for _, n := range names {
		b.WriteString(n + "\n")
	}
	if err := os.WriteFile(l.path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
