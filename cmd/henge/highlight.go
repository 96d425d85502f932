package main

import (
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/hengedb/henge/internal/sql/syntax"
)

// Colours of the words of a statement, as terminals know them.
const (
	colourKeyword = "\x1b[1;34m"
	colourText    = "\x1b[32m"
	colourNumber  = "\x1b[36m"
	colourComment = "\x1b[90m"
	colourCommand = "\x1b[35m"
	colourCall    = "\x1b[33m"
	colourOff     = "\x1b[0m"
)

// wantsColour reports whether the user wants colours (no-color.org), and the terminal has them.
func wantsColour() bool {
	term := os.Getenv("TERM")
	return os.Getenv("NO_COLOR") == "" && term != "dumb" && term != ""
}

// scanState is where a line of a statement begins: within a text, a name, a comment, or none.
type scanState byte

const (
	inNothing scanState = iota
	inLiteral
	inName
	inComment
)

// stateAfter returns where the text behind a part of a statement begins.
func stateAfter(text string) scanState {
	state := inNothing
	scanPieces([]rune(text), inNothing, func(_ []rune, _ string, after scanState) { state = after })
	return state
}

// highlighted returns a line of a statement in colours.
func highlighted(line []rune, state scanState) []rune {
	if state == inNothing && strings.HasPrefix(strings.TrimLeft(string(line), " "), `\`) {
		return append(append([]rune(colourCommand), line...), []rune(colourOff)...)
	}
	out := make([]rune, 0, 2*len(line))
	scanPieces(line, state, func(piece []rune, colour string, _ scanState) {
		if colour == "" {
			out = append(out, piece...)
			return
		}
		out = append(append(append(out, []rune(colour)...), piece...), []rune(colourOff)...)
	})
	return out
}

// scanPieces cuts a text into pieces of one colour; after is where the text behind a piece begins.
func scanPieces(text []rune, state scanState, give func(piece []rune, colour string, after scanState)) {
	for at := 0; at < len(text); {
		end, colour := at+1, ""
		next := func(i int) rune {
			if i < len(text) {
				return text[i]
			}
			return 0
		}
		switch r := text[at]; {
		case state == inComment, state == inNothing && r == '/' && next(at+1) == '*':
			if state == inNothing {
				end++
			} else {
				end = at
			}
			state, colour = inComment, colourComment
			for ; end < len(text); end++ {
				if text[end] == '*' && next(end+1) == '/' {
					end, state = end+2, inNothing
					break
				}
			}
		case state == inLiteral, state == inName, r == '\'', r == '"':
			if state == inNothing {
				state = inLiteral
				if r == '"' {
					state = inName
				}
			} else {
				end = at
			}
			quote := map[scanState]rune{inLiteral: '\'', inName: '"'}[state]
			if colour = colourText; state == inName {
				colour = ""
			}
			for ; end < len(text); end++ {
				if text[end] == quote { // two of them are one that belongs to the text
					end, state = end+1, inNothing
					break
				}
			}
		case r == '-' && next(at+1) == '-', r == '/' && next(at+1) == '/':
			for end < len(text) && text[end] != '\n' {
				end++
			}
			colour = colourComment
		case unicode.IsDigit(r):
			for end < len(text) && (unicode.IsDigit(text[end]) || unicode.IsLetter(text[end]) || text[end] == '.') {
				end++
			}
			colour = colourNumber
		case r == '_' || unicode.IsLetter(r):
			for end < len(text) && (text[end] == '_' || unicode.IsLetter(text[end]) || unicode.IsDigit(text[end])) {
				end++
			}
			colour = colourOfWord(string(text[at:end]), next(end) == '(')
		}
		give(text[at:end], colour, state)
		at = end
	}
}

// colourOfWord is the colour of a word; called says that a parenthesis follows it.
func colourOfWord(word string, called bool) string {
	upper := strings.ToUpper(word)
	switch {
	case slices.Contains(sqlWords, upper):
		return colourKeyword
	case called:
		return colourCall
	case syntax.IsReserved(upper):
		return colourKeyword
	}
	return ""
}
