package corpus

import (
	"bufio"
	"os"
	"sort"
	"strings"
)

// List is a checked-in list of names, one a line, with lines that begin with # as comments: what a test does not expect to pass yet. It may
// only shrink.
type List struct {
	path  string
	names map[string]bool
}

// ReadList reads the list at path; a missing file is an empty list.
func ReadList(path string) (*List, error) {
	l := &List{path: path, names: map[string]bool{}}
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, _, _ := strings.Cut(lines.Text(), " ")
		if name != "" && !strings.HasPrefix(name, "#") {
			l.names[name] = true
		}
	}
	return l, lines.Err()
}

// Has reports whether the list holds name.
func (l *List) Has(name string) bool { return l.names[name] }

// Len returns the number of names.
func (l *List) Len() int { return len(l.names) }

// Write replaces the list by names, under the given comment.
func (l *List) Write(comment string, names []string) error {
	sort.Strings(names)
	text := "# " + strings.ReplaceAll(comment, "\n", "\n# ") + "\n"
	if len(names) > 0 {
		text += strings.Join(names, "\n") + "\n"
	}
	return os.WriteFile(l.path, []byte(text), 0o644)
}
