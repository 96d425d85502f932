package main

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hengedb/henge/cmd/henge/script"
	"github.com/hengedb/henge/internal/fault"
)

// standardInput is the name of what is piped in, in messages.
const standardInput = "<stdin>"

// place is where a statement begins. The zero place is the prompt, where nobody counts lines.
type place struct {
	file         string // "": of the text that -q gives
	line, column int    // from 1
}

// placed is a statement and where it begins.
type placed struct {
	text string
	at   place
}

// placedStatements cuts a text into its statements. from is where the text begins.
func placedStatements(text string, from place) []placed {
	var out []placed
	seen, at := 0, from
	for _, statement := range script.Split(text) {
		begin := seen + strings.Index(text[seen:], statement) // it is a part of the text as it stands there
		if from.line > 0 {
			at = at.behind(text[seen:begin])
		}
		out = append(out, placed{statement, at})
		seen = begin
	}
	return out
}

// behind returns the place behind a text that begins at p.
func (p place) behind(text string) place {
	if n := strings.Count(text, "\n"); n > 0 {
		p.line, p.column = p.line+n, 1
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	p.column += utf8.RuneCountInString(text)
	return p
}

// move returns the line and column in the whole text of those in a statement that begins at p.
func (p place) move(line, column int) (int, int) {
	if p.line == 0 || line < 1 {
		return line, column
	}
	if line == 1 && column > 0 {
		column += p.column - 1
	}
	return line + p.line - 1, column
}

// String is the place as tools write it that jump to it.
func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// positions are those that messages about statements have.
var positions = regexp.MustCompile(`\bline (\[?)(\d+)(\]?), column (\[?)(\d+)(\]?)`)

// moved returns an error about a statement that begins at p with the positions of the whole text.
func (p place) moved(f *fault.Error) *fault.Error {
	if p.line == 0 {
		return f
	}
	out := *f
	if out.Context = maps.Clone(f.Context); p.file != "" {
		out = *out.With("file", p.file)
	}
	if f.Context["line"] == "" {
		return &out
	}
	for _, end := range [][2]string{{"line", "column"}, {"endLine", "endColumn"}} {
		line, _ := strconv.Atoi(f.Context[end[0]]) // 0: it is not there
		column, _ := strconv.Atoi(f.Context[end[1]])
		if line, column = p.move(line, column); line > 0 && column > 0 {
			out.Context[end[0]], out.Context[end[1]] = strconv.Itoa(line), strconv.Itoa(column)
		}
	}
	out.Message = positions.ReplaceAllStringFunc(f.Message, func(text string) string {
		m := positions.FindStringSubmatch(text)
		line, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[5])
		line, column = p.move(line, column)
		return fmt.Sprintf("line %s%d%s, column %s%d%s", m[1], line, m[3], m[4], column, m[6])
	})
	return &out
}
