package syntax

import "strings"

// habit returns what to write instead of the token that failed where it is a known habit of another dialect, and "" where it is none.
func (f *failure) habit() string {
	tok := &f.toks[f.at]
	if f.at == 0 {
		return ""
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
	}
	return ""
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
	'`': `names in double quotes: "name"`,
	'&': "AND; for bits BITWISE_AND(x, y)",
	'#': "-- before a comment",
	'“': `straight quotes: "name", 'text'`,
	'”': `straight quotes: "name", 'text'`,
	'‘': `straight quotes: "name", 'text'`,
	'’': `straight quotes: "name", 'text'`,
	'~': "REGEXP_LIKE(text, pattern)",
}
