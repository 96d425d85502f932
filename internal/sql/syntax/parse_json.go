package syntax

// jsonQueryArgs reads the arguments of JSON_VALUE, JSON_QUERY and JSON_EXISTS and the clauses
// behind them.
func (p *parser) jsonQueryArgs(c *Call) {
	p.moreArgs()
	start, first := p.mark(), p.index()
	j := &JSONClauses{}
	if p.acceptWord(kwReturning) {
		j.Returning = p.typeName()
	}
	switch {
	case p.acceptWord(kwWithout):
		p.acceptWord(kwArray)
		p.expectWord(kwWrapper)
		j.Wrapper = JSONWithoutWrapper
	case p.acceptWord(kwWith):
		j.Wrapper = JSONWithWrapper
		if p.acceptWord(kwConditional) {
			j.Wrapper = JSONWithConditionalWrapper
		} else {
			p.acceptWord(kwUnconditional)
		}
		p.acceptWord(kwArray)
		p.expectWord(kwWrapper)
	}
	for {
		b := p.jsonBehavior()
		if b == nil {
			break
		}
		p.expectWord(kwOn)
		switch {
		case j.OnEmpty == nil && j.OnError == nil && p.acceptWord(kwEmpty):
			j.OnEmpty = b
		case j.OnError == nil && p.acceptWord(kwError):
			j.OnError = b
		default:
			p.fail()
			return
		}
	}
	if p.index() > first {
		j.Pos = p.from(start)
		c.JSON = j
	}
}

// jsonBehavior reads what stands before ON EMPTY and ON ERROR, or returns nil.
func (p *parser) jsonBehavior() *JSONBehavior {
	start := p.mark()
	b := &JSONBehavior{}
	switch {
	case p.acceptWord(kwError):
		b.Kind = JSONError
	case p.acceptWord(kwNull):
		b.Kind = JSONNullValue
	case p.acceptWord(kwTrue):
		b.Kind = JSONTrue
	case p.acceptWord(kwFalse):
		b.Kind = JSONFalse
	case p.acceptWord(kwUnknown):
		b.Kind = JSONUnknown
	case p.acceptWord(kwEmpty):
		b.Kind = JSONEmptyArray
		if p.acceptWord(kwObject) {
			b.Kind = JSONEmptyObject
		} else {
			p.acceptWord(kwArray)
		}
	case p.acceptWord(kwDefault):
		b.Kind = JSONDefault
		b.Value = p.expr()
	default:
		return nil
	}
	b.Pos = p.from(start)
	return b
}

// jsonObjectArgs reads [KEY] k VALUE v, k : v or k, v, between commas, and the null clause.
func (p *parser) jsonObjectArgs(c *Call) {
	if !p.atJSONEnd() {
		for {
			// KEY may be a column too.
			marked := false
			if p.atWord(kwKey) {
				switch next := p.peek(1); {
				case next.is(kwValue), next.kind == tokColon, next.kind == tokDot, next.kind == tokComma:
				default:
					p.advance()
					marked = true
				}
			}
			key := p.expr()
			p.spend(key.Span())
			p.push(key)
			if !p.acceptWord(kwValue) && (marked || !p.accept(tokComma)) {
				p.expect(tokColon)
			}
			p.push(p.expr())
			if !p.accept(tokComma) {
				break
			}
		}
	}
	p.jsonNull(c)
}

// jsonArrayArgs reads the elements of JSON_ARRAY and JSON_ARRAYAGG and the clauses behind them.
func (p *parser) jsonArrayArgs(c *Call) {
	if !p.atJSONEnd() {
		p.moreArgs()
	}
	if p.acceptWord(kwOrder) {
		p.expectWord(kwBy)
		c.OrderBy = p.orderItems()
	}
	p.jsonNull(c)
}

// atJSONEnd reports whether a JSON constructor has no elements.
func (p *parser) atJSONEnd() bool {
	return p.at(tokRightParen) || (p.toks[p.pos].is(kwNull) || p.toks[p.pos].is(kwAbsent)) && p.peek(1).is(kwOn)
}

// jsonNull reads NULL ON NULL or ABSENT ON NULL.
func (p *parser) jsonNull(c *Call) {
	start := p.mark()
	j := &JSONClauses{}
	switch {
	case p.acceptWord(kwNull):
		j.Null = JSONNullOnNull
	case p.acceptWord(kwAbsent):
		j.Null = JSONAbsentOnNull
	default:
		return
	}
	p.expectWord(kwOn)
	p.expectWord(kwNull)
	j.Pos = p.from(start)
	c.JSON = j
}
