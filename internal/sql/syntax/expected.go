package syntax

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// notes collects what the parser asks for at the token with index at.
type notes struct {
	at     int
	images []string
	closed bool
}

func (n *notes) add(pos int, image string) {
	if !n.closed && pos == n.at && !slices.Contains(n.images, image) {
		n.images = append(n.images, image)
	}
}

func (n *notes) addAll(pos int, images []string) {
	for _, image := range images {
		n.add(pos, image)
	}
}

// close ends the collection: after the failure the parser only unwinds.
func (n *notes) close() {
	if n != nil {
		n.closed = true
	}
}

// nameImages are the forms of identifiers. Names in back quotes and brackets are Druid's and no
// form of ours, but clients know the list by all five. See quirk Q011.
var nameImages = []string{
	"<IDENTIFIER>", "<QUOTED_IDENTIFIER>", "<BACK_QUOTED_IDENTIFIER>", "<BRACKET_QUOTED_IDENTIFIER>", "<UNICODE_QUOTED_IDENTIFIER>",
}

// operandImages are the tokens an expression may start with.
var operandImages = append(strings.Fields(`"+" "-" "NOT" "EXISTS" <UNSIGNED_INTEGER_LITERAL> <DECIMAL_NUMERIC_LITERAL>
	<APPROX_NUMERIC_LITERAL> <BINARY_STRING_LITERAL> <PREFIXED_STRING_LITERAL> <QUOTED_STRING> <UNICODE_STRING_LITERAL> "TRUE" "FALSE"
	"UNKNOWN" "NULL" <LBRACE_D> <LBRACE_T> <LBRACE_TS> "DATE" "TIME" "TIMESTAMP" "INTERVAL" "?" "CAST" "EXTRACT" "POSITION" "OVERLAY"
	"FLOOR" "CEIL" "CEILING" "SUBSTRING" "TRIM" "JSON_EXISTS" "JSON_VALUE" "JSON_QUERY" "JSON_OBJECT" "JSON_OBJECTAGG" "JSON_ARRAY"
	"JSON_ARRAYAGG" <LBRACE_FN> "ARRAY"`), append(slices.Clone(nameImages), strings.Fields(`"CURRENT_DATE" "CURRENT_TIME"
	"CURRENT_TIMESTAMP" "LOCALTIME" "LOCALTIMESTAMP" "CASE" "ROW" "("`)...)...)

// infixImages are the tokens that may follow an operand.
var infixImages = strings.Fields(`"." "NOT" "IN" "<" "<=" ">" ">=" "=" "<>" "!=" "BETWEEN" "LIKE" "ILIKE" "SIMILAR" "+" "-" "*" "/" "%"
	"||" "AND" "OR" "IS" "CONTAINS" "OVERLAPS" "EQUALS" "PRECEDES" "SUCCEEDS" "IMMEDIATELY" "[" "::"`)

// optionOrder is the order of options in an error, that of Druid: what ends the statement or the
// parentheses first, then clauses, aliases, operators, set operations; what is not listed stands at
// the end as the grammar asked for it. See quirk Q011.
var optionOrder = rank(strings.Fields(`<EOF> ";" ")" "]" "ORDER" "LIMIT" "OFFSET" "FETCH" "NATURAL" "JOIN" "INNER" "LEFT" "RIGHT" "FULL"
	"CROSS" "FROM" "," "WHERE" "GROUP" "HAVING" "WINDOW" "QUALIFY" "OUTER" "AS"`), nameImages, infixImages,
	strings.Fields(`"UNION" "INTERSECT" "EXCEPT" "MINUS"`))

// operandOrder is the same where an operand must come.
var operandOrder = rank(strings.Fields(`"DISTINCT" "ALL" "*"`), operandImages)

func rank(images ...[]string) map[string]int {
	order := make(map[string]int)
	for _, image := range slices.Concat(images...) {
		if _, ok := order[image]; !ok {
			order[image] = len(order)
		}
	}
	return order
}

func sortOptions(images []string) {
	order := optionOrder
	if needsOperand(images) {
		order = operandOrder
	}
	position := func(image string) int {
		if r, ok := order[image]; ok {
			return r
		}
		return len(order)
	}
	slices.SortStableFunc(images, func(a, b string) int { return position(a) - position(b) })
}

// needsOperand reports whether the options are those of an expression that must begin.
func needsOperand(images []string) bool { return slices.Contains(images, `"EXISTS"`) }

// failure is what is known of a text that does not parse: its parser, whose lexer and tokens are
// those of the whole text as far as it was looked at, or only the last ones.
type failure struct {
	*parser
	rule func(*parser)
	at   int  // the index of the token that failed
	far  bool // only the last tokens are known
}

// newFailure cuts the text that failed p once more, for all its tokens at once, if the one that
// failed is not too far.
func newFailure(p *parser, rule func(*parser)) failure {
	if p.failAt > maxNoted {
		return failure{parser: p, rule: rule, at: p.failAt - p.lexer.before, far: true}
	}
	p.lexer = newLexer(p.text)
	p.lexer.whole = true
	p.lexer.tokens = make([]token, 0, min(p.failAt+lexBlock, len(p.text))+2) // that and the EOF
	p.lexer.cut(p.failAt, lexBlock)
	p.lexer.end()
	p.toks, p.hints, p.before = p.lexer.tokens, p.lexer.hints, 0
	return failure{parser: p, rule: rule, at: p.failAt}
}

// options returns what could stand at the token with index at, where tokens is the text up to there
// or more.
func (f *failure) options(tokens []token, at int) []string {
	again := parser{text: f.text, toks: tokens, hints: f.hints, notes: &notes{at: at}}
	f.rule(&again)
	sortOptions(again.notes.images)
	return again.notes.images
}

// optionsBefore returns what could stand at the token before the one that failed, by reading the
// text with no token there.
func (f *failure) optionsBefore() []string {
	before := f.at - 1
	if before < 0 {
		return nil
	}
	tokens := slices.Clone(f.toks[:f.at+1])
	tokens[before].kind, tokens[before].keyword = tokBad, kwNone
	tokens[f.at].kind, tokens[f.at].keyword = tokEOF, kwNone
	return f.options(tokens, before)
}

// fault makes the error.
func (f *failure) fault() error {
	tok := &f.toks[f.at]
	if f.far {
		return f.farFault(tok)
	}
	if tok.kind == tokWord && f.at == f.statementAt && tok.keyword.isReserved() {
		err := fault.SQLParse(tok.span(), "Incorrect syntax near the keyword '%s' at line %d, column %d", f.source(tok), tok.line, tok.col)
		return advise(err, f.statementHabit())
	}
	options := f.options(f.toks, f.at)
	if f.meantAsName(tok, options) {
		word := f.source(tok)
		err := fault.SQLParse(tok.span(),
			`Token [%s] (line [%d], column [%d]) is a reserved keyword. To use it as an identifier, quote it as ["%s"]`,
			word, tok.line, tok.col, word)
		if tok.is(kwAll) && f.behind(0, kwBy) {
			return advise(err, insteadOfByAll)
		}
		return err
	}
	image, at := f.image(tok), tok
	if before := f.optionsBefore(); f.paired(before) {
		at = &f.toks[f.at-1]
		image = f.image(at) + " " + image
		options = pairOptions(f.optionImage(at), before, options)
	}
	list := strings.Join(options, ", ")
	err := fault.SQLParse(at.span(), "Received an unexpected token [%s] (line [%d], column [%d]), acceptable options: [%s]",
		image, at.line, at.col, list).With("token", image).With("expected", "["+list+"]")
	return advise(err, f.habit(options))
}

// farFault is fault for a token behind so many others that the text is not read again for what
// could have stood there.
func (f *failure) farFault(tok *token) error {
	image := f.image(tok)
	err := fault.SQLParse(tok.span(), "Received an unexpected token [%s] (line [%d], column [%d])", image, tok.line, tok.col).
		With("token", image)
	return advise(err, f.habit(nil))
}

// image returns a token as messages show it.
func (f *failure) image(t *token) string {
	if t.kind == tokEOF {
		return tokenImage[tokEOF]
	}
	return escapeToken(f.source(t))
}

// optionImage returns how a token is named among options.
func (f *failure) optionImage(t *token) string {
	if t.kind == tokWord {
		return `"` + upper(f.source(t)) + `"`
	}
	return tokenImage[t.kind]
}

// paired reports whether Druid looks at the token that failed together with the one before it,
// where before could stand: if a comma, an operator or the word of a clause is one of several ways
// to go on, it decides only with the token behind it, so it reports the two and the place of the
// first. Clients read "[, FROM]", "[= =]" and "[AS 'x']" from it. See quirk Q011.
func (f *failure) paired(before []string) bool {
	if f.at == 0 {
		return false
	}
	t := &f.toks[f.at-1]
	choice := len(before) > 1
	switch t.kind {
	case tokStar:
		return !needsOperand(before) // it is no operator in COUNT(*
	case tokComma, tokDot, tokPlus, tokMinus, tokSlash, tokPercent, tokConcat, tokEqual, tokNotEqual, tokBangEqual, tokLess, tokLessEqual,
		tokGreater, tokGreaterEqual:
		return true
	case tokLeftParen:
		return choice && (f.at == 1 || specialArgs(f.toks[f.at-2].keyword) == nil)
	case tokWord:
		switch t.keyword {
		case kwAs:
			return slices.Contains(before, nameImages[0])
		case kwCase, kwCast, kwExists, kwInterval:
			return needsOperand(before)
		case kwAnd, kwOr, kwNot, kwIs, kwIn, kwLike, kwWhere, kwHaving, kwGroup, kwOrder, kwLimit, kwOffset, kwFrom, kwNulls, kwCube, kwRollup,
			kwOver, kwTo, kwTable, kwWith, kwElse, kwLeft, kwRight, kwFull, kwCross, kwNatural, kwInner:
			return choice
		}
	}
	return false
}

// pairOptions returns prev with first, where it occurs, replaced by first followed by each of here.
func pairOptions(first string, prev, here []string) []string {
	pairs := make([]string, len(here))
	for i, h := range here {
		pairs[i] = first + " " + h
	}
	if i := slices.Index(prev, first); i >= 0 {
		return slices.Concat(prev[:i], pairs, prev[i+1:])
	}
	return slices.Concat(prev, pairs)
}

// meantAsName reports whether t, the token that failed, is a reserved word where a name must come,
// and would make sense as one with what follows it.
func (f *failure) meantAsName(t *token, options []string) bool {
	if t.kind != tokWord || !t.keyword.isReserved() || !slices.Contains(options, nameImages[0]) || slices.Contains(options, `","`) {
		return false
	}
	next := f.toks[min(f.at+1, len(f.toks)-1)]
	switch next.kind {
	case tokEOF, tokSemicolon:
		return t.keyword != kwFrom && t.keyword != kwEnd
	case tokComma, tokDot, tokRightParen, tokPlus, tokMinus, tokSlash, tokConcat, tokEqual, tokNotEqual, tokBangEqual, tokLess,
		tokLessEqual, tokGreater, tokGreaterEqual:
		return true
	case tokWord:
		switch next.keyword {
		case kwAs, kwFrom, kwWhere, kwGroup, kwOrder, kwHaving, kwLimit, kwUnion, kwAnd, kwOr, kwIn, kwIs, kwLike, kwBetween, kwOn, kwJoin,
			kwAsc, kwDesc:
			return true
		}
	}
	return false
}
