package syntax

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// advise adds what to write instead, if that is known: behind the sentence that clients match, and
// in the context under "suggestion".
func advise(err *fault.Error, instead string) error {
	if instead == "" {
		return err
	}
	out := err.With("suggestion", instead)
	out.Message += ". Write instead: " + instead
	return out
}

// habit returns what to write instead of the token that failed, one of options wanted, where it is
// a known habit of another dialect or a slip of the pen, and "" where it is none.
func (f *failure) habit(options []string) string {
	tok := &f.toks[f.at]
	if tok.kind == tokOpenQuote {
		return "a quote at the end of what begins with " + firstWord(f.text[tok.start:])
	}
	if f.at == f.statementAt {
		return cmp.Or(f.statementHabit(), f.misspelled(tok, options))
	}
	if near := f.misspelled(tok, options); near != "" {
		return near
	}
	if instead := f.construct(); instead != "" {
		return instead
	}
	before := &f.toks[f.at-1]
	switch {
	case tok.kind == tokEqual && before.kind == tokEqual:
		return "="
	case tok.is(kwFrom) && before.kind == tokComma:
		return "the list without the comma at its end"
	case tok.kind == tokInteger && strings.EqualFold(f.source(before), "TOP") && f.at > 1 && f.toks[f.at-2].is(kwSelect):
		return "LIMIT " + f.source(tok) + " at the end of the query"
	case tok.kind == tokInteger && before.is(kwInterval):
		unit := "DAY"
		if next := &f.toks[min(f.at+1, len(f.toks)-1)]; next.kind == tokWord {
			unit = strings.TrimSuffix(upper(f.source(next)), "S")
		}
		return "INTERVAL '" + f.source(tok) + "' " + unit
	case tok.kind == tokString && (before.is(kwLimit) || before.is(kwOffset)) && isNumber(strings.Trim(f.source(tok), "'")):
		return upper(f.source(before)) + " " + strings.Trim(f.source(tok), "'")
	case tok.kind == tokMinus && (before.is(kwLimit) || before.is(kwOffset)):
		return "a whole number that is not negative; without " + upper(f.source(before)) + " all rows are meant"
	case f.isLate():
		return "the clauses in the order WHERE, GROUP BY, HAVING, ORDER BY, LIMIT"
	case before.is(kwOrder) || before.is(kwGroup) || before.is(kwPartition):
		return upper(f.source(before)) + " BY"
	}
	if near := f.misspelled(before, clauses); near != "" && tok.kind != tokEOF {
		return near // it was read as an alias
	}
	if slices.Contains(options, `","`) && beginsOperand(tok) && (beginsOperand(before) || before.kind == tokRightParen) {
		return "a comma before " + f.source(tok)
	}
	return ""
}

// clauseOrder is the order in which clauses of a query may stand.
var clauseOrder = []keyword{kwFrom, kwWhere, kwGroup, kwHaving, kwOrder, kwLimit}

// isLate reports whether the token that failed begins a clause that should stand before one that
// was read.
func (f *failure) isLate() bool {
	place := slices.IndexFunc(clauseOrder, f.toks[f.at].is)
	if place < 0 {
		return false
	}
	for at, depth := f.at-1, 0; at >= 0 && depth >= 0; at-- {
		switch tok := &f.toks[at]; {
		case tok.kind == tokRightParen:
			depth++
		case tok.kind == tokLeftParen:
			depth--
		case depth == 0 && tok.is(kwSelect):
			return false
		case depth == 0 && slices.ContainsFunc(clauseOrder[place+1:], tok.is):
			return true
		}
	}
	return false
}

// clauses are the keywords that a misspelled alias may have been meant as.
var clauses = strings.Fields(`"FROM" "WHERE" "GROUP" "HAVING" "ORDER" "LIMIT" "OFFSET" "QUALIFY" "WINDOW" "UNION" "INNER" "LEFT" "RIGHT" "CROSS" "PARTITIONED" "CLUSTERED"`)

// misspelled returns the keyword among images that a word is nearly, "" if there is none or it is a
// keyword itself.
func (f *failure) misspelled(tok *token, images []string) string {
	if tok.kind != tokWord || tok.keyword.isReserved() || tok.end-tok.start < 4 {
		return ""
	}
	var words []string
	for _, image := range images {
		if strings.HasPrefix(image, `"`) {
			words = append(words, strings.Trim(image, `"`))
		}
	}
	near := fault.Nearest(f.source(tok), words)
	if len(near) < 4 || strings.EqualFold(near, f.source(tok)) {
		return ""
	}
	return near
}

// beginsOperand reports whether a token is a name or a constant.
func beginsOperand(tok *token) bool {
	switch tok.kind {
	case tokWord:
		return !tok.keyword.isReserved()
	case tokQuotedName, tokInteger, tokDecimal, tokApprox, tokString:
		return true
	}
	return false
}

// firstWord returns text up to the first blank, and no more than a few letters of it.
func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if runes := []rune(word); len(runes) > 20 {
		return string(runes[:20]) + "..."
	}
	return word
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// habit is the same for a character that starts no token.
func (e *lexicalError) habit() string {
	if e.after == "!" {
		return "NOT, or <> for not equal"
	}
	return charHabits[e.char]
}

// charHabits are characters that start no token here, with what those who write them mean.
var charHabits = map[rune]string{
	'\\': "nothing: a backslash escapes nothing here, and a quote in a text is written twice: 'it''s'",
	'@':  "? for each value, and the values in [parameters] of the request",
	'^':  "POWER(x, y); for bits BITWISE_XOR(x, y)",
	'|':  "OR; for bits BITWISE_OR(x, y)",
	'`':  `names in double quotes: "name"`,
	'&':  "AND; for bits BITWISE_AND(x, y)",
	'#':  "-- before a comment",
	'“':  `straight quotes: "name", 'text'`,
	'”':  `straight quotes: "name", 'text'`,
	'‘':  `straight quotes: "name", 'text'`,
	'’':  `straight quotes: "name", 'text'`,
	'~':  "REGEXP_LIKE(text, pattern)",
}
