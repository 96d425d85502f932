package syntax

import "strings"

// primary reads an expression without operators around it.
func (p *parser) primary() Expr {
	if p.notes != nil {
		p.notes.addAll(p.pos, operandImages)
	}
	start := p.mark()
	t := &p.toks[p.pos]
	switch t.kind {
	case tokWord:
		return p.wordExpr(t)
	case tokQuotedName, tokUnicodeQuotedName:
		return p.nameOrCall()
	case tokInteger, tokDecimal, tokApprox:
		return p.number()
	case tokString, tokPrefixedString, tokUnicodeString:
		return p.stringLiteral()
	case tokBinaryString:
		return p.bytes()
	case tokQuestion:
		return p.param()
	case tokLeftParen:
		return p.parenthesized()
	case tokLeftBrace:
		return p.braced(start)
	}
	p.fail()
	return &Null{}
}

func (p *parser) param() Expr {
	e := &Param{Pos: Pos{At: p.toks[p.pos].span()}, Index: p.params}
	p.params++
	p.advance()
	return e
}

// parenthesized reads (query), (expression) or (a, b).
func (p *parser) parenthesized() Expr {
	start := p.mark()
	p.advance()
	if p.startsQuery(0) {
		q := p.subquery()
		return &Subquery{Pos: p.from(start), Query: q}
	}
	at, inParens := p.mark(), p.peek(0).kind == tokLeftParen
	x := p.expr()
	// ((SELECT ..) UNION ..) shows only here that its inner parentheses were no operand.
	if sub, ok := x.(*Subquery); ok && inParens && p.atQueryRest() {
		q := p.queryBehind(&Query{}, sub.Query.unwrap(), at)
		p.expect(tokRightParen)
		return &Subquery{Pos: p.from(start), Query: q}
	}
	if !p.at(tokComma) {
		p.expect(tokRightParen)
		return x
	}
	base := len(p.stack)
	p.push(x)
	for p.accept(tokComma) {
		p.push(p.expr())
	}
	row := &Row{Items: p.popList(base)}
	p.expect(tokRightParen)
	row.Pos = p.from(start)
	return row
}

// braced reads the escapes {d '..'}, {t '..'}, {ts '..'} and {fn call}.
func (p *parser) braced(start mark) Expr {
	p.advance()
	var x Expr
	at := p.mark()
	switch {
	case p.acceptWord(kwD):
		x = p.temporal(at, Date)
	case p.acceptWord(kwT):
		x = p.temporal(at, Time)
	case p.acceptWord(kwTs):
		x = p.temporal(at, Timestamp)
	case p.acceptWord(kwFn):
		if !p.atName() && !p.callableWord() {
			p.fail()
		}
		x = p.escapedCall()
	default:
		p.fail()
		x = &Null{}
	}
	p.expect(tokRightBrace)
	if v, ok := x.(*Temporal); ok {
		v.Pos = p.from(start)
	}
	return x
}

// escapedNames are what functions are called in {fn ..} only.
var escapedNames = map[string]string{"CURDATE": "CURRENT_DATE", "LCASE": "LOWER", "LOCATE": "POSITION", "UCASE": "UPPER"}

// escapedCall reads what stands behind {fn. There, CONVERT(x, SQL_INTEGER) is a cast.
func (p *parser) escapedCall() Expr {
	start := p.mark()
	if word := p.peek(0); upper(p.source(word)) == "CONVERT" && p.peek(1).kind == tokLeftParen {
		p.advance()
		p.advance()
		c := &Cast{X: p.expr()}
		p.expect(tokComma)
		c.Type = p.typeName()
		c.Type.Name = strings.TrimPrefix(c.Type.Name, "SQL_")
		p.expect(tokRightParen)
		c.Pos = p.from(start)
		return c
	}
	x, _ := p.binary(precPrimary)
	if c, ok := x.(*Call); ok && escapedNames[c.Name] != "" {
		c.Name = escapedNames[c.Name]
	}
	return x
}

// callableWord reports whether the current token is a reserved word that is the name of a function,
// with a parenthesis behind it.
func (p *parser) callableWord() bool {
	switch p.toks[p.pos].keyword {
	case kwLeft, kwRight, kwSome:
		return p.peek(1).kind == tokLeftParen
	}
	return false
}

// wordExpr reads an expression that begins with a word.
func (p *parser) wordExpr(t *token) Expr {
	start := p.mark()
	next := p.peek(1).kind
	switch t.keyword {
	case kwNull:
		p.advance()
		return &Null{Pos: p.from(start)}
	case kwTrue, kwFalse:
		p.advance()
		return &Bool{Pos: p.from(start), Value: t.keyword == kwTrue}
	case kwUnknown:
		p.advance()
		return &Unknown{Pos: p.from(start)}
	case kwCase:
		p.advance()
		return p.caseExpr(start)
	case kwCast:
		p.advance()
		return p.cast(start, false)
	case kwExists:
		p.advance()
		p.expect(tokLeftParen)
		if !p.atQuery() {
			p.fail()
		}
		q := p.subquery()
		return &Exists{Pos: p.from(start), Query: q}
	case kwInterval:
		p.advance()
		return p.interval(start)
	case kwLeft, kwRight, kwSome:
		if next == tokLeftParen {
			return p.functionCall(start)
		}
	case kwDate, kwTime, kwTimestamp:
		if next == tokString || next == tokUnicodeString {
			p.advance()
			return p.temporal(start, temporalKind(t.keyword))
		}
	case kwTryCast, kwSafeCast:
		if next == tokLeftParen {
			p.advance()
			return p.cast(start, true)
		}
	case kwArray:
		if next == tokLeftBracket {
			p.skip(2)
			a := &Array{}
			if !p.at(tokRightBracket) {
				a.Items = p.countedList()
			}
			p.expect(tokRightBracket)
			a.Pos = p.from(start)
			return a
		}
	case kwRow:
		if next == tokLeftParen {
			p.skip(2)
			r := &Row{Items: p.exprList()}
			p.expect(tokRightParen)
			r.Pos = p.from(start)
			return r
		}
	}
	switch {
	case isNiladic(t.keyword) && next == tokLeftParen:
		return p.functionCall(start)
	case isNiladic(t.keyword):
		p.advance()
		return &Call{Pos: p.from(start), Name: keywordText[t.keyword], Niladic: true}
	case t.keyword.isReserved():
		p.fail()
		return &Null{}
	}
	return p.nameOrCall()
}

// nameOrCall reads a path, and the call if a parenthesis follows it.
func (p *parser) nameOrCall() Expr {
	start := p.mark()
	if t := p.peek(0); t.kind == tokWord && p.peek(1).kind == tokLeftParen {
		return p.functionCall(start)
	}
	name := p.path()
	if p.toks[p.pos].kind == tokLeftParen {
		c := p.calls.one()
		last := len(name.Parts) - 1
		c.Name = upper(name.Parts[last].Name)
		if last > 0 {
			c.Qualifier = name.Parts[:last]
		}
		return p.callRest(c, start)
	}
	p.at(tokLeftParen)
	return name
}

// caseExpr reads what follows CASE.
func (p *parser) caseExpr(start mark) Expr {
	c := &Case{}
	if !p.atWord(kwWhen) {
		c.Operand = p.expr()
	}
	for p.atWord(kwWhen) || len(c.Whens) == 0 {
		at := p.mark()
		p.expectWord(kwWhen)
		base := len(p.stack)
		p.push(p.expr())
		for c.Operand != nil && p.accept(tokComma) {
			p.push(p.expr())
		}
		w := When{Conds: p.popList(base)}
		p.expectWord(kwThen)
		w.Then = p.expr()
		w.Pos = p.from(at)
		c.Whens = append(c.Whens, w)
		p.bound(len(c.Whens), w.At)
	}
	if p.acceptWord(kwElse) {
		c.Else = p.expr()
	}
	p.expectWord(kwEnd)
	c.Pos = p.from(start)
	return c
}

// cast reads (x AS type).
func (p *parser) cast(start mark, safe bool) Expr {
	c := &Cast{Safe: safe}
	p.expect(tokLeftParen)
	c.X = p.expr()
	p.expectWord(kwAs)
	c.Type = p.typeName()
	p.expect(tokRightParen)
	c.Pos = p.from(start)
	return c
}
