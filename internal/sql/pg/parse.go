package pg

import (
	"errors"
	"strconv"
	"strings"
)

// maxDepth bounds how deep expressions and queries nest.
const maxDepth = 400

type parser struct {
	text  string
	toks  []token
	pos   int
	depth int
	// params is the highest $n.
	params int
}

// maxChain bounds the operators of one chain, a AND b AND c ..: they nest in the tree.
const maxChain = 20_000

// Parse splits a text into its statements. It returns none for a text without statements. If a
// statement can't be parsed, Parse returns the statements before it together with the error.
func Parse(text string) ([]*Statement, error) {
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	var out []*Statement
	first := 0
	depth := 0
	for i := range toks {
		t := &toks[i]
		switch {
		case t.kind == tPunc && (t.text == "(" || t.text == "["):
			depth++
		case t.kind == tPunc && (t.text == ")" || t.text == "]"):
			depth--
		}
		if t.kind != tEOF && (t.kind != tPunc || t.text != ";" || depth > 0) {
			continue
		}
		if i > first {
			s, err := parseOne(text, toks[first:i])
			if err != nil {
				return out, err
			}
			out = append(out, s)
		}
		first = i + 1
	}
	return out, nil
}

// parseOne reads one statement from its tokens.
func parseOne(text string, toks []token) (*Statement, error) {
	start, end := toks[0].start, toks[len(toks)-1].end
	list := make([]token, 0, len(toks)+1)
	list = append(append(list, toks...), token{kind: tEOF, start: end, end: end})
	s := &Statement{Source: text[start:end], At: start}
	p := &parser{text: text, toks: list}
	err := p.protect(func() {
		s.Node = p.statement()
		if p.toks[p.pos].kind != tEOF {
			p.fail()
		}
	})
	s.Params = p.params
	if err == nil {
		return s, nil
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Code == "54001" {
		return nil, err
	}
	// What begins a query may be one of package sql, which knows more.
	switch verb := toks[0].text; {
	case toks[0].kind == tWord && (verb == "select" || verb == "with" || verb == "values" || verb == "explain" || verb == "from"),
		toks[0].kind == tPunc && toks[0].text == "(":
		for i := range toks {
			if toks[i].kind == tParam {
				n, bad := strconv.Atoi(toks[i].text)
				if bad != nil || n < 1 || n > maxParams {
					return nil, &Error{At: toks[i].start, Code: "42P02", Message: "there is no parameter $" + toks[i].text}
				}
				s.Params = max(s.Params, n)
			}
		}
		s.Node = &Native{Verb: strings.ToUpper(toks[0].text), Why: err}
		return s, nil
	}
	return nil, err
}

// ParseExpr parses a single expression.
func ParseExpr(text string) (Expr, error) {
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{text: text, toks: toks}
	var x Expr
	err = p.protect(func() {
		x = p.expr()
		if p.toks[p.pos].kind != tEOF {
			p.fail()
		}
	})
	return x, err
}

// protect runs f and returns the error that it stopped with.
func (p *parser) protect(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			err = e
		}
	}()
	f()
	return nil
}

// fail ends parsing at the current token.
func (p *parser) fail() {
	t := p.toks[p.pos]
	if t.kind == tEOF {
		panic(syntaxError(t.start, "syntax error at end of input"))
	}
	panic(syntaxError(t.start, "syntax error at or near "+quoteNear(cut(p.text[t.start:t.end]))))
}

func (p *parser) failAt(at int, code, message string) {
	panic(&Error{At: at, Message: message, Code: code})
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.failAt(p.cur().start, "54001", "statement is too complex: it nests deeper than "+strconv.Itoa(maxDepth))
	}
}

func (p *parser) leave() { p.depth-- }

func (p *parser) cur() *token { return &p.toks[p.pos] }

func (p *parser) ahead(n int) *token {
	if p.pos+n < len(p.toks) {
		return &p.toks[p.pos+n]
	}
	return &p.toks[len(p.toks)-1]
}

func (t *token) word(w string) bool  { return t.kind == tWord && t.text == w }
func (t *token) punct(s string) bool { return t.kind == tPunc && t.text == s }
func (t *token) op(s string) bool    { return t.kind == tOp && t.text == s }

// accept takes a word if it is there.
func (p *parser) accept(w string) bool {
	if p.cur().word(w) {
		p.pos++
		return true
	}
	return false
}

// acceptAll takes words if all are there.
func (p *parser) acceptAll(words ...string) bool {
	for i, w := range words {
		if !p.ahead(i).word(w) {
			return false
		}
	}
	p.pos += len(words)
	return true
}

// oneOf takes one of some words, and returns which.
func (p *parser) oneOf(words ...string) string {
	for _, w := range words {
		if p.accept(w) {
			return w
		}
	}
	return ""
}

func (p *parser) expect(w string) {
	if !p.accept(w) {
		p.fail()
	}
}

func (p *parser) take(s string) bool {
	if p.cur().punct(s) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) need(s string) {
	if !p.take(s) {
		p.fail()
	}
}

// reserved are the words that are no names without quotes.
var reserved = words(`all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create
	current_catalog current_date current_role current_time current_timestamp current_user default deferrable desc distinct do else end
	except false fetch for foreign from grant group having in initially intersect into lateral leading limit localtime localtimestamp
	not null offset on only or order placing primary references returning select session_user some symmetric table then to trailing
	true union unique user using variadic when where window with`)

// typeFunc are further words that are no aliases of tables and no columns.
var typeFunc = words(`authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull join left like
	natural notnull outer overlaps right similar tablesample verbose`)

func words(s string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		out[w] = true
	}
	return out
}

// isName reports whether a token can be the name of a column or a table.
func (t *token) isName() bool {
	return t.kind == tQuoted || t.kind == tWord && !reserved[t.text] && !typeFunc[t.text]
}

// ident reads a name.
func (p *parser) ident() Ident {
	if !p.cur().isName() {
		p.fail()
	}
	return p.anyIdent()
}

// label reads a name that may be any word.
func (p *parser) label() Ident {
	if t := p.cur(); t.kind != tWord && t.kind != tQuoted {
		p.fail()
	}
	return p.anyIdent()
}

func (p *parser) anyIdent() Ident {
	t := p.cur()
	p.pos++
	out := Ident{At: t.start, Name: t.text, Raw: t.text, Quoted: t.kind == tQuoted}
	if !out.Quoted {
		out.Raw = p.text[t.start:t.end]
	}
	return out
}

// names reads a list of names in parentheses.
func (p *parser) names() []Ident {
	p.need("(")
	var out []Ident
	for {
		out = append(out, p.ident())
		if !p.take(",") {
			p.need(")")
			return out
		}
	}
}

// integer reads a whole number.
func (p *parser) integer() int64 {
	negative := false
	if t := p.cur(); t.op("-") || t.op("+") {
		negative = t.text == "-"
		p.pos++
	}
	t := p.cur()
	if t.kind != tInt {
		p.fail()
	}
	n, err := strconv.ParseInt(t.text, 10, 64)
	if err != nil {
		p.failAt(t.start, "22003", "value "+quoteNear(t.text)+" is out of range for type bigint")
	}
	p.pos++
	if negative {
		return -n
	}
	return n
}

// IsReserved reports whether a word can't be used as a name without quotes.
func IsReserved(word string) bool { return reserved[word] || typeFunc[word] }

// QuestionMarks replaces the parameters of a text by ? and returns their numbers, from 1.
func QuestionMarks(text string) (out string, params []int) {
	toks, err := lex(text)
	if err != nil {
		return text, nil
	}
	var b strings.Builder
	at := 0
	for _, t := range toks {
		if t.kind == tParam {
			n, _ := strconv.Atoi(t.text) // digits alone; too many fail when the values are counted
			params = append(params, n)
			b.WriteString(text[at:t.start])
			b.WriteByte('?')
			at = t.end
		}
	}
	b.WriteString(text[at:])
	return b.String(), params
}
