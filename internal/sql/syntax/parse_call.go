package syntax

// functionCall reads a call from the name of the function on, the current token.
func (p *parser) functionCall(start mark) *Call {
	c := p.calls.one()
	t := &p.toks[p.pos]
	if t.kind != tokWord || p.peek(1).kind != tokLeftParen {
		name := p.path()
		last := len(name.Parts) - 1
		c.Name = upper(name.Parts[last].Name)
		if last > 0 {
			c.Qualifier = name.Parts[:last]
		}
		return p.callRest(c, start)
	}
	p.advance()
	if t.keyword == kwNone {
		c.Name = upper(p.source(t))
		return p.callRest(c, start)
	}
	c.Name = keywordText[t.keyword]
	if special := specialArgs(t.keyword); special != nil {
		p.advance()
		base := len(p.stack)
		special(p, c)
		c.Args = p.popList(base)
		p.expect(tokRightParen)
		return p.callClauses(c, start)
	}
	return p.callRest(c, start)
}

// specialArgs returns what reads the arguments of the function with the name k, if they are more
// than expressions between commas. It pushes them on the stack and stops before the closing
// parenthesis.
func specialArgs(k keyword) func(*parser, *Call) {
	switch k {
	case kwExtract:
		return (*parser).extractArgs
	case kwFloor, kwCeil, kwCeiling:
		return (*parser).floorArgs
	case kwTimestampadd, kwTimestampdiff:
		return (*parser).timestampArgs
	case kwTrim:
		return (*parser).trimArgs
	case kwSubstring:
		return (*parser).substringArgs
	case kwPosition:
		return (*parser).positionArgs
	case kwOverlay:
		return (*parser).overlayArgs
	case kwJsonValue, kwJsonQuery, kwJsonExists:
		return (*parser).jsonQueryArgs
	case kwJsonObject, kwJsonObjectagg:
		return (*parser).jsonObjectArgs
	case kwJsonArray, kwJsonArrayagg:
		return (*parser).jsonArrayArgs
	}
	return nil
}

// callRest reads the arguments of an ordinary call, from the opening parenthesis on, and the
// clauses behind it.
func (p *parser) callRest(c *Call, start mark) *Call {
	p.expect(tokLeftParen)
	if !p.at(tokRightParen) {
		if p.acceptWord(kwDistinct) {
			c.Distinct = true
		} else {
			p.acceptWord(kwAll)
		}
		base := len(p.stack)
		if !c.Distinct && p.at(tokStar) {
			at := p.mark()
			p.advance()
			p.push(&Star{Pos: p.from(at)})
		} else {
			p.moreArgs()
		}
		c.Args = p.popList(base)
		if p.acceptWord(kwOrder) {
			p.expectWord(kwBy)
			c.OrderBy = p.orderItems()
		}
		p.nullTreatment(c)
	}
	p.expect(tokRightParen)
	return p.callClauses(c, start)
}

// moreArgs reads arguments between commas onto the stack.
func (p *parser) moreArgs() {
	for {
		x := p.arg()
		p.spendItem(x)
		p.push(x)
		if !p.accept(tokComma) {
			return
		}
	}
}

// arg reads one argument: an expression, name => expression or DEFAULT.
func (p *parser) arg() Expr {
	start := p.mark()
	if p.toks[p.pos].isName() && p.peek(1).kind == tokArrow {
		n := &NamedArg{Name: p.ident()}
		p.advance()
		n.X = p.arg0()
		n.Pos = p.from(start)
		return n
	}
	return p.arg0()
}

func (p *parser) arg0() Expr {
	start := p.mark()
	if p.acceptWord(kwDefault) {
		return &Default{Pos: p.from(start)}
	}
	return p.expr()
}

func (p *parser) nullTreatment(c *Call) bool {
	switch {
	case p.acceptWords(kwIgnore, kwNulls):
		c.Nulls = IgnoreNulls
	case p.acceptWords(kwRespect, kwNulls):
		c.Nulls = RespectNulls
	default:
		return false
	}
	return true
}

// callClauses reads what stands behind the closing parenthesis of a call.
func (p *parser) callClauses(c *Call, start mark) *Call {
	p.nullTreatment(c)
	if p.acceptWords(kwWithin, kwGroup) {
		p.expect(tokLeftParen)
		p.expectWord(kwOrder)
		p.expectWord(kwBy)
		c.WithinGroup = p.orderItems()
		p.expect(tokRightParen)
	}
	if p.atWord(kwFilter) && p.peek(1).kind == tokLeftParen {
		p.skip(2)
		p.expectWord(kwWhere)
		c.Filter = p.expr()
		p.expect(tokRightParen)
	}
	p.nullTreatment(c)
	if p.acceptWord(kwOver) {
		c.Over = p.over()
	}
	c.Pos = p.from(start)
	return c
}

// timeUnits are the units of EXTRACT, FLOOR, CEIL and the TIMESTAMP functions.
var timeUnits = map[string]bool{
	"NANOSECOND": true, "MICROSECOND": true, "MILLISECOND": true, "SECOND": true, "MINUTE": true, "HOUR": true, "DAY": true, "DOW": true,
	"DOY": true, "ISODOW": true, "ISOYEAR": true, "WEEK": true, "MONTH": true, "QUARTER": true, "YEAR": true, "EPOCH": true,
	"DECADE": true, "CENTURY": true, "MILLENNIUM": true,
}

// intervalUnitAliases are the names of units from ODBC.
var intervalUnitAliases = map[string]string{
	"FRAC_SECOND": "MICROSECOND", "SQL_TSI_FRAC_SECOND": "MICROSECOND", "SQL_TSI_MICROSECOND": "MICROSECOND", "SQL_TSI_SECOND": "SECOND",
	"SQL_TSI_MINUTE": "MINUTE", "SQL_TSI_HOUR": "HOUR", "SQL_TSI_DAY": "DAY", "SQL_TSI_WEEK": "WEEK", "SQL_TSI_MONTH": "MONTH",
	"SQL_TSI_QUARTER": "QUARTER", "SQL_TSI_YEAR": "YEAR",
}

// unitImages are the units an error offers.
var unitImages = []string{
	`"MILLISECOND"`, `"SECOND"`, `"MINUTE"`, `"HOUR"`, `"DAY"`, `"DOW"`, `"DOY"`, `"ISODOW"`, `"ISOYEAR"`, `"WEEK"`, `"MONTH"`,
	`"QUARTER"`, `"YEAR"`, `"EPOCH"`, `"DECADE"`, `"CENTURY"`, `"MILLENNIUM"`,
}

// unit reads a time unit.
func (p *parser) unit() *Symbol {
	if p.notes != nil {
		p.notes.addAll(p.pos, unitImages)
	}
	start := p.mark()
	t := &p.toks[p.pos]
	if t.kind == tokWord {
		word := upper(p.source(t))
		if plain, ok := intervalUnitAliases[word]; ok {
			word = plain
		}
		if timeUnits[word] {
			p.advance()
			return &Symbol{Pos: p.from(start), Word: word}
		}
	}
	p.fail()
	return &Symbol{}
}

// extractArgs reads unit FROM x.
func (p *parser) extractArgs(*Call) {
	p.push(p.unit())
	p.expectWord(kwFrom)
	p.push(p.expr())
}

// floorArgs reads x TO unit, or arguments.
func (p *parser) floorArgs(*Call) {
	p.push(p.arg())
	switch {
	case p.acceptWord(kwTo):
		p.push(p.unit())
	case p.accept(tokComma):
		p.moreArgs()
	}
}

// timestampArgs reads unit, n, x.
func (p *parser) timestampArgs(*Call) {
	p.push(p.unit())
	p.expect(tokComma)
	p.moreArgs()
}

// trimArgs reads [BOTH|LEADING|TRAILING] [characters] FROM x, or arguments.
func (p *parser) trimArgs(*Call) {
	start := p.mark()
	if w := p.peek(0); w.is(kwBoth) || w.is(kwLeading) || w.is(kwTrailing) {
		if from := p.peek(1).is(kwFrom); from || p.startsOperand(1) {
			p.advance()
			p.push(&Symbol{Pos: p.from(start), Word: keywordText[w.keyword]})
			if !from {
				p.push(p.expr())
			}
			p.expectWord(kwFrom)
			p.push(p.expr())
			return
		}
	}
	first := p.expr()
	if p.acceptWord(kwFrom) {
		p.push(&Symbol{Word: keywordText[kwBoth]})
		p.push(first)
		p.push(p.expr())
		return
	}
	p.push(first)
	if p.accept(tokComma) {
		p.moreArgs()
	}
}

// substringArgs reads x FROM a [FOR b], or arguments.
func (p *parser) substringArgs(*Call) {
	p.push(p.expr())
	if p.acceptWord(kwFrom) {
		p.push(p.expr())
		if p.acceptWord(kwFor) {
			p.push(p.expr())
		}
		return
	}
	if p.accept(tokComma) {
		p.moreArgs()
	}
}

// positionArgs reads x IN y [FROM a], or arguments.
func (p *parser) positionArgs(*Call) {
	p.push(p.exprOf(precLike + 1))
	if p.acceptWord(kwIn) {
		p.push(p.expr())
		if p.acceptWord(kwFrom) {
			p.push(p.expr())
		}
		return
	}
	if p.accept(tokComma) {
		p.moreArgs()
	}
}

// overlayArgs reads x PLACING y FROM a [FOR b], or arguments.
func (p *parser) overlayArgs(*Call) {
	p.push(p.expr())
	if p.acceptWord(kwPlacing) {
		p.push(p.expr())
		p.expectWord(kwFrom)
		p.push(p.expr())
		if p.acceptWord(kwFor) {
			p.push(p.expr())
		}
		return
	}
	if p.accept(tokComma) {
		p.moreArgs()
	}
}
