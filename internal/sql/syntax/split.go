package syntax

import "strings"

// Piece is a statement of a script according to the lexer; the parser may reject it.
type Piece struct {
	// From and To are the bounds of its text, without the semicolon.
	From, To int
	// Words are its first words in upper case, without opening parentheses, up to the first token that
	// is not a word, at most maxPieceWords.
	Words []string
	// Closed: a semicolon ends it. Open: it ends within an unterminated quote or comment. Bad: it
	// contains a character that cannot start a token, and the rest of the text was not scanned.
	Closed, Open, Bad bool
}

// maxPieceWords is how many words tell what a statement is: EXPLAIN ANALYZE PLAN FOR INSERT.
const maxPieceWords = 6

// Split splits a script at the semicolons between its statements, and omits pieces without a token.
// It uses the lexer of Parse, so both recognise the same comments, quotes and words.
func Split(text string) []Piece {
	l := newLexer(text)
	l.whole = true
	var out []Piece
	p, tokens, words := Piece{}, 0, true
	end := func(at int) {
		if p.To = at; tokens > 0 || p.Open {
			out = append(out, p)
		}
		p, tokens, words = Piece{From: min(at+1, len(text))}, 0, true
	}
	for l.skipBlank() {
		l.tokens = l.tokens[:0]
		comment := strings.HasPrefix(text[l.pos:], "/*")
		found := l.next()
		t := l.tokens[0]
		if !found || comment { // a quote or a comment without an end, or what no token begins with: the rest is one statement
			p.Open = comment || t.kind == tokOpenQuote
			p.Bad = !p.Open
			tokens++
			break
		}
		switch {
		case t.kind == tokSemicolon:
			p.Closed = true
			end(int(t.start))
			continue
		case words && t.kind == tokWord && len(p.Words) < maxPieceWords:
			p.Words = append(p.Words, upper(text[t.start:t.end]))
		case words && t.kind == tokLeftParen && len(p.Words) == 0:
		default:
			words = false
		}
		tokens++
	}
	end(len(text))
	return out
}
