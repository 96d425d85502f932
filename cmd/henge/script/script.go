// Package script splits SQL scripts into statements and determines the kind of each statement, with
// the lexer of the server.
package script

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/sql/syntax"
)

// Split cuts a text at the semicolons between its statements, as the server's lexer sees
// them. Leading SET statements stay with the statement they precede, as one request holds both.
func Split(text string) []string {
	var out []string
	pieces := syntax.Split(text)
	for i := 0; i < len(pieces); i++ {
		from := pieces[i].From
		for i < len(pieces)-1 && isSet(pieces[i]) {
			i++
		}
		if statement := strings.TrimSpace(text[from:pieces[i].To]); statement != "" {
			out = append(out, statement)
		}
	}
	return out
}

// isSet reports whether a statement is a SET.
func isSet(p syntax.Piece) bool { return len(p.Words) > 0 && p.Words[0] == "SET" }

// Ended reports whether text ends with a semicolon that is no part of a quote or comment.
func Ended(text string) bool {
	pieces := syntax.Split(text)
	if len(pieces) == 0 {
		return false
	}
	last := pieces[len(pieces)-1]
	// What no token begins with is the server's to refuse: the user has ended the statement.
	return last.Closed || last.Bad && strings.HasSuffix(strings.TrimSpace(text), ";")
}

// IsWrite reports whether a statement is an INSERT or REPLACE, SET statements and comments before
// it aside. explained says that it is not to be run, but to be explained.
func IsWrite(statement string) (write, explained bool) {
	pieces := slices.DeleteFunc(syntax.Split(statement), isSet)
	if len(pieces) == 0 {
		return false, false
	}
	for i, word := range pieces[0].Words {
		switch word {
		case "INSERT", "REPLACE", "UPSERT":
			return true, explained
		case "EXPLAIN":
			if explained = i == 0; !explained {
				return false, false
			}
		case "PLAN", "ANALYZE", "ANALYSE", "FOR":
			if !explained {
				return false, false
			}
		default:
			return false, explained
		}
	}
	return false, explained
}

// IsExport reports whether a statement writes files: INSERT INTO EXTERN(..).
func IsExport(statement string) bool {
	pieces := slices.DeleteFunc(syntax.Split(statement), isSet)
	return len(pieces) > 0 && len(pieces[0].Words) > 2 && pieces[0].Words[0] == "INSERT" && pieces[0].Words[2] == "EXTERN"
}
