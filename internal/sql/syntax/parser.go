package syntax

import (
	"slices"

	"github.com/hengedb/henge/internal/fault"
)

// parser holds the state of one reading of a text. Its methods are the rules of the grammar.
//
// A rule that meets an unexpected token calls fail, which moves to the end of the text: from there
// no rule finds what it looks for, loops end and everything returns. Rules therefore need not check
// for errors; what they return after a failure is never used, but is not nil.
type parser struct {
	text string
	// toks are the tokens around the current one, that with index pos; before is how many there are
	// before them. The one behind the current and the one before it are always among them. lexer cuts
	// more; nil: toks has all.
	toks   []token
	before int
	lexer  *lexer
	pos    int
	hints  []hint // those between the tokens cut so far

	// failed is set by fail and stop. failAt is the index of the token fail was called at, among all;
	// err is what stop was called with.
	failed bool
	failAt int
	err    error

	// notes, in a reading after a failure, collects what the parser asks for there.
	notes *notes

	statementAt int // the token the current statement starts at; -1 for none
	params      int // the number of ? so far
	depth       int // of recursion
	height      int // of the tallest expression that expr returned since it was last set to 0
	tall        int // the same of joins and set operations
	expressions int // what MaxExpressions bounds

	stack []Expr // lists under construction
	slabs
}

// Parse reads a script: SET statements, then one statement, separated by semicolons.
func Parse(text string) (*Script, error) {
	s := new(Script)
	if err := run(text, func(p *parser) { *s = p.script() }); err != nil {
		return nil, err
	}
	return s, nil
}

// ParseExpr reads a single expression.
func ParseExpr(text string) (Expr, error) {
	var e Expr
	if err := run(text, func(p *parser) {
		p.statementAt = -1
		e = p.expr()
		p.expect(tokEOF)
	}); err != nil {
		return nil, err
	}
	return e, nil
}

// Single returns the statement of a script, for callers that do not support SET statements.
func (s *Script) Single() (Statement, error) {
	if len(s.Sets) > 0 {
		return nil, fault.SQLParse(fault.Span{}, "SQL query string must contain only a single statement")
	}
	return s.Statement, nil
}

// run reads text by rule. A failure is read a second time to find out what was expected.
func run(text string, rule func(*parser)) error {
	if len(text) > maxTextBytes {
		return fault.SQLParse(fault.Span{}, "SQL text of [%d] bytes is longer than the limit of [%d]", len(text), maxTextBytes)
	}
	l := borrow(text)
	defer l.release()
	return read(l, rule)
}

// read is run for a text that is not too long.
func read(l *lexer, rule func(*parser)) error {
	p := parser{text: l.text, lexer: l}
	p.reserve(len(l.text))
	p.need(1)
	rule(&p)
	switch {
	case !p.failed:
		return nil
	case p.err != nil:
		return p.err
	}
	f := newFailure(&p, rule)
	if f.toks[f.at].kind == tokBad {
		return f.lexer.bad.fault()
	}
	return f.fault()
}

// fail ends parsing at the current token, which is none of those the grammar allows here.
func (p *parser) fail() {
	if !p.failed {
		p.failed, p.failAt = true, p.index()
		p.end()
	}
}

// stop ends parsing with an error of its own.
func (p *parser) stop(err error) {
	if !p.failed {
		p.failed, p.err = true, err
		p.end()
	}
}

// end moves to the end of the text.
func (p *parser) end() {
	if p.lexer != nil {
		p.lexer.end()
		p.toks = p.lexer.tokens
	}
	p.pos = len(p.toks) - 1
	p.notes.close()
}

// need cuts tokens as far as the one n behind the current, if the text has so many.
func (p *parser) need(n int) {
	if p.pos+n >= len(p.toks) && p.lexer != nil {
		p.pos = p.lexer.cut(p.pos, n)
		p.toks, p.before, p.hints = p.lexer.tokens, p.lexer.before, p.lexer.hints
	}
}

// index returns how many tokens of the text there are before the current one.
func (p *parser) index() int { return p.before + p.pos }

// enter counts a level of recursion; leave must follow. It returns false, having stopped, when
// there are too many.
func (p *parser) enter() bool {
	p.depth++
	if p.depth <= maxNesting {
		return true
	}
	p.tooDeep(maxNesting)
	return false
}

func (p *parser) leave() { p.depth-- }

func (p *parser) tooDeep(limit int) {
	at := p.toks[p.pos].span()
	p.stop(fault.SQLParse(at, "Statement is nested more than [%d] levels deep (line [%d], column [%d])", limit, at.Line, at.Column))
}

// taller returns the height of a join or set operation over parts of heights a and b, and stops if
// that is too much.
func (p *parser) taller(a, b int) int {
	h := max(a, b) + 1
	if h > maxHeight {
		p.tooDeep(maxHeight)
	}
	return h
}

// spendItem counts an element of a list whose names are counted already.
func (p *parser) spendItem(x Expr) {
	if _, isName := x.(*Name); !isName {
		p.spend(x.Span())
	}
}

// spend counts an expression, of which a statement may have so many.
func (p *parser) spend(at fault.Span) {
	if p.expressions++; p.expressions > MaxExpressions {
		p.stop(TooManyExpressions(at))
	}
}

// bound stops where one expression has so many parts that no statement may have them.
func (p *parser) bound(parts int, at fault.Span) {
	if parts > MaxExpressions {
		p.stop(TooManyExpressions(at))
	}
}

// TooManyExpressions is the error for a statement with more than MaxExpressions.
func TooManyExpressions(at fault.Span) error {
	return fault.InvalidSQL(at, "Statement has more than [%d] names, calls, arguments and queries", MaxExpressions)
}

// at reports whether the current token is of a kind.
func (p *parser) at(k tokenKind) bool {
	if p.notes != nil {
		p.notes.add(p.pos, tokenImage[k])
	}
	return p.toks[p.pos].kind == k
}

// atWord reports whether the current token is a keyword.
func (p *parser) atWord(k keyword) bool {
	if p.notes != nil {
		p.notes.add(p.pos, `"`+keywordText[k]+`"`)
	}
	return p.toks[p.pos].is(k)
}

// atName reports whether the current token is an identifier.
func (p *parser) atName() bool {
	if p.notes != nil {
		p.notes.addAll(p.pos, nameImages)
	}
	return p.toks[p.pos].isName()
}

// peek returns the token n after the current one, the EOF for those behind it.
func (p *parser) peek(n int) *token {
	p.need(n)
	return &p.toks[min(p.pos+n, len(p.toks)-1)]
}

func (p *parser) accept(k tokenKind) bool {
	if !p.at(k) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) acceptWord(k keyword) bool {
	if !p.atWord(k) {
		return false
	}
	p.advance()
	return true
}

// acceptWords accepts two keywords in a row.
func (p *parser) acceptWords(k, l keyword) bool {
	if !p.atWord(k) || !p.peek(1).is(l) {
		return false
	}
	p.skip(2)
	return true
}

func (p *parser) expect(k tokenKind) {
	if !p.accept(k) {
		p.fail()
	}
}

func (p *parser) expectWord(k keyword) {
	if !p.acceptWord(k) {
		p.fail()
	}
}

// advance moves behind the current token; the EOF stays.
func (p *parser) advance() {
	if p.pos < len(p.toks)-1 {
		p.skip(1)
	}
}

// skip moves over n tokens, none of which is the EOF.
func (p *parser) skip(n int) {
	p.pos += n
	p.need(1)
}

// mark is the place where a token begins.
type mark struct{ line, col int32 }

// mark returns the place of the current token.
func (p *parser) mark() mark {
	t := &p.toks[p.pos]
	return mark{t.line, t.col}
}

// from returns the place from start to the last token read.
func (p *parser) from(start mark) Pos {
	last := &p.toks[max(p.pos-1, 0)]
	return Pos{At: fault.Span{Line: start.line, Column: start.col, EndLine: last.endLine, EndColumn: last.endCol}}
}

// source returns the bytes of a token.
func (p *parser) source(t *token) string { return p.text[t.start:t.end] }

// ident reads an identifier.
func (p *parser) ident() Ident {
	if !p.atName() {
		p.fail()
		return Ident{}
	}
	t := &p.toks[p.pos]
	id := Ident{Pos: Pos{At: t.span()}, Quoted: t.kind != tokWord}
	switch t.kind {
	case tokWord:
		id.Name = p.source(t)
		p.advance()
	case tokQuotedName:
		id.Name = unquote(p.source(t))
		p.advance()
	default:
		id.Name = p.unicode()
	}
	return id
}

// identList reads (a, b, ...).
func (p *parser) identList() []Ident {
	var list []Ident
	p.expect(tokLeftParen)
	for {
		id := p.ident()
		p.spend(id.At)
		list = append(list, id)
		if !p.accept(tokComma) {
			break
		}
	}
	p.expect(tokRightParen)
	return list
}

// path reads a.b.c.
func (p *parser) path() *Name {
	start := p.mark()
	var buf [4]Ident
	parts := append(buf[:0], p.ident())
	for p.accept(tokDot) {
		parts = append(parts, p.ident())
		if len(parts) > maxNameParts {
			p.stop(fault.InvalidSQL(p.from(start).At, "A name has more than [%d] parts", maxNameParts))
		}
	}
	n := p.names.one()
	n.Parts = p.idents.list(parts)
	n.Pos = p.from(start)
	p.spend(n.At)
	return n
}

// hint returns the text of the hint comment that stands behind the last token read, if there is
// one.
func (p *parser) hint() string {
	i, ok := slices.BinarySearchFunc(p.hints, p.index()-1, func(h hint, token int) int { return h.after - token })
	if !ok {
		return ""
	}
	return p.hints[i].text
}
