package syntax

import "github.com/hengedb/henge/internal/fault"

// skipEmpty moves to the end of the text if nothing but semicolons is left.
func (p *parser) skipEmpty() {
	at := p.pos
	for p.toks[at].kind == tokSemicolon {
		at++
	}
	if p.toks[at].kind == tokEOF {
		p.pos = at
	}
}

// script reads statements separated by semicolons: any number of SETs and one other. Empty ones
// behind the last are skipped.
func (p *parser) script() Script {
	var s Script
	var statements []Statement
	for {
		p.statementAt = p.index()
		if len(statements) > 0 {
			p.spend(p.toks[p.pos].span())
		}
		statements = append(statements, p.statement())
		more := p.accept(tokSemicolon)
		p.skipEmpty()
		if p.accept(tokEOF) {
			break
		}
		if !more {
			p.fail()
			break
		}
	}
	if p.failed {
		return s
	}
	for i, statement := range statements {
		set, isSet := statement.(*Set)
		switch {
		case isSet:
			s.Sets = append(s.Sets, set)
		case i < len(statements)-1:
			p.stop(fault.SQLParse(fault.Span{}, "Only SET statements can appear before the final statement in a statement list, "+
				"but found non-SET statement[%s]", Print(statement)))
			return s
		default:
			s.Statement = statement
		}
	}
	if s.Statement == nil {
		p.stop(fault.SQLParse(fault.Span{}, "Statement list is missing a non-SET statement to execute"))
	}
	s.Params = p.params
	return s
}

func (p *parser) statement() Statement {
	start := p.mark()
	switch {
	case p.acceptWord(kwInsert), p.acceptWord(kwUpsert):
		return p.insert(start)
	case p.acceptWord(kwReplace):
		return p.replace(start)
	case p.acceptWord(kwExplain):
		return p.explain(start)
	case p.acceptWord(kwSet):
		return p.set(start)
	case p.atQuery():
		return p.query()
	}
	p.otherStatement()
	return &Query{}
}

// otherStatement ends parsing at what is no statement, or one of a kind that is not run.
func (p *parser) otherStatement() {
	kind := ""
	switch t := p.peek(0); {
	case t.kind != tokWord:
	case t.is(kwAlter):
		kind = "ALTER"
		if p.peek(2).is(kwSet) { // ALTER SESSION SET x = 1
			kind = "SET_OPTION"
		}
	case t.is(kwCreate), t.is(kwDrop):
		kind = keywordText[t.keyword]
		if object := p.peek(1); object.kind == tokWord {
			kind += "_" + upper(p.source(object))
		}
	case t.is(kwDescribe):
		kind = "DESCRIBE_TABLE"
	case t.is(kwCall):
		kind = "PROCEDURE_CALL"
	case t.is(kwDelete), t.is(kwUpdate), t.is(kwMerge), t.is(kwTruncate), t.is(kwShow), t.is(kwUse), t.is(kwCommit), t.is(kwRollback),
		t.is(kwGrant), t.is(kwRevoke), t.is(kwExecute):
		kind = keywordText[t.keyword]
	}
	if kind == "" {
		p.fail()
		return
	}
	at := p.peek(0).span()
	p.stop(fault.WithPosition(advise(fault.InvalidSQL(fault.Span{}, "Unsupported SQL statement [%s]", kind), insteadOf[kind]), at))
}

func (p *parser) set(start mark) Statement {
	s := &Set{Name: p.ident()}
	p.expect(tokEqual)
	s.Value = p.expr()
	s.Pos = p.from(start)
	if !p.failed && !isLiteral(s.Value) {
		p.stop(fault.SQLParse(fault.Span{}, "Assigned value must be a literal for SET statement[%s]", Print(s)))
	}
	return s
}

func isLiteral(e Expr) bool {
	switch e := e.(type) {
	case *String, *Number, *Bool, *Null, *Unknown, *Temporal, *Interval, *Bytes:
		return true
	case *Unary:
		_, isNumber := e.X.(*Number)
		return e.Op != Not && isNumber
	}
	return false
}

func (p *parser) explain(start mark) Statement {
	e := &Explain{}
	if t := p.peek(0); t.kind == tokWord && upper(p.source(t)) == "ANALYZE" {
		p.advance()
		return p.explainAnalyze(e, start)
	}
	if t := p.peek(0); t.kind == tokWord && upper(p.source(t)) == "ACCESS" {
		p.advance()
		return p.explainAccess(e, start)
	}
	p.expectWord(kwPlan)
	switch {
	case p.acceptWord(kwExcluding):
		p.expectWord(kwAttributes)
		e.Detail = ExplainExcludingAttributes
	case p.acceptWord(kwIncluding):
		e.Detail = ExplainIncludingAttributes
		if p.acceptWord(kwAll) {
			e.Detail = ExplainIncludingAllAttributes
		}
		p.expectWord(kwAttributes)
	}
	// How far planning goes makes no difference to the one plan there is.
	switch {
	case p.acceptWord(kwWith):
		if !p.acceptWord(kwType) {
			p.expectWord(kwImplementation)
		}
	case p.acceptWord(kwWithout):
		p.expectWord(kwImplementation)
	}
	if p.acceptWord(kwAs) {
		switch {
		case p.acceptWord(kwXml):
			e.Format = ExplainFormatXML
		case p.acceptWord(kwJson):
			e.Format = ExplainFormatJSON
		case p.acceptWord(kwDot):
			e.Format = ExplainFormatDot
		default:
			p.fail()
		}
	}
	p.expectWord(kwFor)
	return p.explained(e, start)
}

// explainAnalyze reads what follows EXPLAIN ANALYZE: [PLAN] [AS JSON] [FOR] statement.
func (p *parser) explainAnalyze(e *Explain, start mark) Statement {
	e.Analyze = true
	p.acceptWord(kwPlan)
	if p.acceptWord(kwAs) {
		p.expectWord(kwJson)
		e.Format = ExplainFormatJSON
	}
	p.acceptWord(kwFor)
	return p.explained(e, start)
}

// explainAccess reads what follows EXPLAIN ACCESS: FOR USER name statement. The name is a text, or
// a name as it is written.
func (p *parser) explainAccess(e *Explain, start mark) Statement {
	p.expectWord(kwFor)
	if t := p.peek(0); t.kind != tokWord || upper(p.source(t)) != "USER" {
		p.fail()
	}
	p.advance()
	if p.at(tokString) {
		e.User = p.stringLiteral()
	} else {
		name := p.ident()
		e.User = &String{Pos: Pos{name.At}, Value: name.Name}
	}
	return p.explained(e, start)
}

// explained reads the statement that e is about.
func (p *parser) explained(e *Explain, start mark) Statement {
	inner := p.mark()
	switch {
	case p.acceptWord(kwInsert), p.acceptWord(kwUpsert):
		e.Statement = p.insert(inner)
	case p.acceptWord(kwReplace):
		e.Statement = p.replace(inner)
	case p.atQuery():
		e.Statement = p.query()
	default:
		p.otherStatement()
	}
	e.Pos = p.from(start)
	return e
}

func (p *parser) insert(start mark) Statement {
	n := &Insert{}
	p.insertTarget(n)
	p.insertSource(n, start)
	return n
}

func (p *parser) replace(start mark) Statement {
	n := &Insert{Replace: true}
	p.insertTarget(n)
	at := p.mark()
	if p.acceptWord(kwOverwrite) {
		switch {
		case p.acceptWord(kwAll):
			n.Overwrite = &Overwrite{}
		case p.acceptWord(kwWhere):
			n.Overwrite = &Overwrite{Where: p.expr()}
		}
		if n.Overwrite != nil {
			n.Overwrite.Pos = p.from(at)
		}
	}
	p.insertSource(n, start)
	return n
}

// insertTarget reads INTO table [(columns)] or INTO EXTERN(destination) [AS format].
func (p *parser) insertTarget(n *Insert) {
	p.expectWord(kwInto)
	start := p.mark()
	if p.toks[p.pos].is(kwExtern) && p.peek(1).kind == tokLeftParen {
		p.skip(2)
		x := &Export{}
		x.Destination = p.functionCall(p.mark())
		p.expect(tokRightParen)
		if p.acceptWord(kwAs) {
			x.Format = p.ident()
		}
		x.Pos = p.from(start)
		n.Export = x
		return
	}
	n.Target = p.path()
	if p.at(tokLeftParen) && !p.parensBeforeQuery() {
		n.Columns = p.identList()
	}
}

// insertSource reads the query of an Insert and what follows it.
func (p *parser) insertSource(n *Insert, start mark) {
	if !p.atQuery() {
		p.fail()
	}
	n.Query = p.query()
	at := p.mark()
	if p.acceptWord(kwPartitioned) {
		p.expectWord(kwBy)
		by := &PartitionedBy{}
		if p.acceptWord(kwAll) {
			p.acceptWord(kwTime)
		} else {
			by.Granularity = p.expr()
		}
		by.Pos = p.from(at)
		n.PartitionedBy = by
	}
	if word := p.peek(0); p.acceptWord(kwClustered) {
		if n.PartitionedBy == nil {
			t := word.span()
			p.stop(fault.SQLParse(t, "CLUSTERED BY found before PARTITIONED BY, CLUSTERED BY must come after the PARTITIONED BY clause "+
				"(line [%d], column [%d])", t.Line, t.Column))
		}
		p.expectWord(kwBy)
		n.ClusteredBy = p.orderItems()
	}
	n.Pos = p.from(start)
}
