package slt

import (
	"errors"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// rewritten is a statement with the lines that take its place.
type rewritten struct {
	statement *Statement
	lines     []string
}

// rewrite returns the record as the answer would have it, nil to leave it as it is.
func (r *Statement) rewrite(answer *Answer, err error) []string {
	if errors.As(err, new(Unable)) || len(r.skips) > 0 || r.compare(Config{}, answer, err) == "" {
		return nil // what is there fits, or is wanted all the same
	}
	sql := strings.Split(r.SQL, "\n")
	if err != nil {
		category, message := fault.CategoryUncategorized, err.Error()
		if f := fault.Find(err); f != nil {
			category, message = f.Category, f.Message
		}
		head := "error "
		if category != fault.CategoryInvalidInput {
			head += string(category) + ": "
		}
		return append([]string{head + oneLine(message)}, sql...)
	}
	head := "query " + answer.Letters()
	if r.Sorted {
		head += " rowsort"
	}
	if r.Header {
		head += " header"
	}
	out := append([]string{head}, sql...)
	out = append(out, "----")
	return append(out, answer.lines(r.Sorted, r.Header)...)
}

// replace returns the text of the script with records replaced.
func (s *Script) replace(changed []rewritten) string {
	var out []string
	at := 0
	for _, c := range changed {
		if c.lines == nil {
			continue
		}
		out = append(out, s.lines[at:c.statement.Line-1]...)
		out = append(out, c.lines...)
		at = c.statement.end
	}
	out = append(out, s.lines[at:]...)
	return strings.Join(out, "\n")
}
