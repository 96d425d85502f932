package syntax

import "strings"

// Piece is a statement of a script, as far as the lexer tells: the parser may refuse it.
type Piece struct {
	// From and To bound its text, without the semicolon behind it.
	From, To int
	// Words are its first words in upper case, opening parentheses left out, up to the first token
	// that is no word or maxPieceWords.
	Words []string
	// Closed says that a semicolon ends it; Open that it ends within a quote or a comment that nothing
	// closes; Bad that it has a character with which no token begins: what is behind it is not looked
	// at.
	Closed, Open, Bad bool
}

// maxPieceWords is how many words tell what a statement is: EXPLAIN ANALYZE PLAN FOR INSERT.
const maxPieceWords = 6

// Split cuts a script at the semicolons between its statements. Pieces without a token are left
// out. It reads text as Parse does, so that what is a comment, a quote or a word to one is so to
// the other.
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
