package syntax

import "github.com/hengedb/henge/internal/fault"

// tables reads what stands behind FROM. A comma binds weaker than a join, which shows where a RIGHT
// or FULL one keeps rows. For others it makes no difference, and all is read from the left, so that
// conditions of joins may name tables before the comma, too.
func (p *parser) tables() TableExpr {
	start, outer := p.mark(), p.tall
	p.tall = 0
	left := p.table()
	height := p.tall
	var comma *Join     // the last
	var since TableExpr // what is joined behind it
	for {
		j := &Join{Kind: CommaJoin}
		if !p.accept(tokComma) && !p.joinKind(j) {
			p.tall = max(outer, height)
			return left
		}
		p.tall = 0
		j.Word = Pos{At: p.toks[p.pos-1].span()}
		j.Hint = p.hint()
		j.Left, j.Right = left, p.table()
		if j.Kind == CrossJoin && (p.atWord(kwOn) || p.atWord(kwUsing)) {
			p.stop(fault.InvalidSQL(p.toks[p.pos].span(), "Cannot specify condition (NATURAL keyword, or ON or USING clause) following CROSS JOIN"))
		}
		if j.Kind < CrossJoin && !j.Natural {
			switch {
			case p.acceptWord(kwOn):
				j.On = p.expr()
			case p.acceptWord(kwUsing):
				j.Using = p.identList()
			}
		}
		height = p.taller(height, p.tall)
		j.Pos = p.from(start)
		left = j
		switch {
		case j.Kind == CommaJoin:
			if comma, since = j, j.Right; dependent(since) {
				comma = nil
			}
		case comma != nil:
			behind := *j
			behind.Left, since = since, &behind
			if j.Kind == RightJoin || j.Kind == FullJoin {
				height = p.taller(height, 0)
				before := *comma
				before.Pos, before.Right = j.Pos, since
				comma, left = &before, &before
			}
		}
	}
}

// dependent reports whether t may name tables that stand before it.
func dependent(t TableExpr) bool {
	switch t := t.(type) {
	case *Aliased:
		return dependent(t.X)
	case *Derived:
		return t.Lateral
	case *Unnest:
		return true
	}
	return false
}

// atAlias reports whether an alias stands here, with or without AS.
func (p *parser) atAlias() bool {
	name, as := p.atName(), p.atWord(kwAs)
	return name || as
}

// joinKind reads the words of a join into j, up to JOIN, and reports whether there are any.
func (p *parser) joinKind(j *Join) bool {
	j.Natural = p.acceptWord(kwNatural)
	switch {
	case p.acceptWord(kwJoin):
		j.Kind = InnerJoin
		return true
	case p.acceptWord(kwInner):
		j.Kind = InnerJoin
	case p.acceptWord(kwLeft):
		j.Kind = LeftJoin
		p.acceptWord(kwOuter)
	case p.acceptWord(kwRight):
		j.Kind = RightJoin
		p.acceptWord(kwOuter)
	case p.acceptWord(kwFull):
		j.Kind = FullJoin
		p.acceptWord(kwOuter)
	case !j.Natural && p.acceptWord(kwCross):
		j.Kind = CrossJoin
	default:
		if j.Natural {
			p.fail()
		}
		return false
	}
	p.expectWord(kwJoin)
	return true
}

// table reads one table expression with its alias and what else follows it.
func (p *parser) table() TableExpr {
	start := p.mark()
	if !p.enter() {
		return &Table{}
	}
	t := p.primaryTable()
	for aliased := false; ; {
		switch {
		case p.atWord(kwPivot) && p.peek(1).kind == tokLeftParen:
			t, aliased = p.pivot(t, start), false
		case p.atWord(kwUnpivot) && (p.peek(1).kind == tokLeftParen || p.peek(1).is(kwInclude) || p.peek(1).is(kwExclude)):
			t, aliased = p.unpivot(t, start), false
		case p.acceptWord(kwTablesample):
			t, aliased = p.tableSample(t, start), false
		case p.toks[p.pos].is(kwMatchRecognize):
			p.stop(fault.InvalidSQL(p.toks[p.pos].span(), "MATCH_RECOGNIZE is not supported"))
		case !aliased && p.atAlias():
			t, aliased = p.aliased(t, start), true
		default:
			p.leave()
			return t
		}
		p.tall = p.taller(p.tall, 0)
	}
}

// aliased reads [AS] name [(columns)].
func (p *parser) aliased(t TableExpr, start mark) TableExpr {
	p.acceptWord(kwAs)
	a := &Aliased{X: t, Alias: p.ident()}
	if p.at(tokLeftParen) {
		a.Columns = p.identList()
	}
	a.Pos = p.from(start)
	return a
}

func (p *parser) primaryTable() TableExpr {
	start := p.mark()
	lateral := p.acceptWord(kwLateral)
	switch {
	case p.acceptWord(kwUnnest):
		u := &Unnest{}
		p.expect(tokLeftParen)
		u.Args = p.exprList()
		p.expect(tokRightParen)
		if p.acceptWords(kwWith, kwOrdinality) {
			u.Ordinality = true
		}
		u.Pos = p.from(start)
		return u
	case p.acceptWord(kwTable):
		return p.tableFunction(lateral, start)
	case p.accept(tokLeftParen):
		return p.tableInParens(lateral, start)
	case lateral:
		p.fail()
	case p.toks[p.pos].kind == tokString: // not among the acceptable options: only local runs read files
		return p.fileTable()
	}
	t := &Table{Name: p.path()}
	t.Hint = p.hint()
	t.Pos = p.from(start)
	return t
}

// fileTable reads the path of a file in the place of a table.
func (p *parser) fileTable() TableExpr {
	s := p.stringLiteral()
	n := p.names.one()
	n.Pos, n.Parts = s.Pos, p.idents.list([]Ident{{Pos: s.Pos, Name: s.Value}})
	return &Table{Pos: s.Pos, Name: n, File: true}
}

// tableInParens reads a query or joined tables behind an opening parenthesis, and the closing one.
func (p *parser) tableInParens(lateral bool, start mark) TableExpr {
	if p.startsQuery(0) || lateral {
		q := p.subquery()
		return &Derived{Pos: p.from(start), Lateral: lateral, Query: q}
	}
	at := p.mark()
	inner := p.tables()
	if d, ok := inner.(*Derived); ok && !d.Lateral && p.atQueryRest() {
		q := p.queryBehind(&Query{}, d.Query.unwrap(), at)
		p.expect(tokRightParen)
		return &Derived{Pos: p.from(start), Query: q}
	}
	p.expect(tokRightParen)
	return inner
}

// unwrap returns q as the arm of a set operation.
func (q *Query) unwrap() Body {
	if q.isBare() {
		return q.Body
	}
	return q
}

// tableFunction reads what follows TABLE: (call) [[EXTEND] (columns)].
func (p *parser) tableFunction(lateral bool, start mark) TableExpr {
	f := &TableFunction{Lateral: lateral}
	p.expect(tokLeftParen)
	f.Call = p.functionCall(p.mark())
	p.expect(tokRightParen)
	if p.acceptWord(kwExtend) || p.at(tokLeftParen) {
		f.Columns = p.columnDefs()
	}
	f.Pos = p.from(start)
	return f
}

// columnDefs reads (name TYPE, ...).
func (p *parser) columnDefs() []ColumnDef {
	var list []ColumnDef
	p.expect(tokLeftParen)
	for {
		start := p.mark()
		c := ColumnDef{Name: p.ident()}
		c.Type = p.typeName()
		if p.acceptWord(kwNot) {
			p.expectWord(kwNull)
			c.NotNull = true
		} else {
			p.acceptWord(kwNull)
		}
		c.Pos = p.from(start)
		p.spend(c.At)
		list = append(list, c)
		if !p.accept(tokComma) {
			break
		}
	}
	p.expect(tokRightParen)
	return list
}

func (p *parser) tableSample(t TableExpr, start mark) TableExpr {
	s := &TableSample{X: t}
	if p.acceptWord(kwSystem) {
		s.System = true
	} else {
		p.expectWord(kwBernoulli)
	}
	p.expect(tokLeftParen)
	s.Percent = p.expr()
	p.expect(tokRightParen)
	if p.acceptWord(kwRepeatable) {
		p.expect(tokLeftParen)
		s.Repeatable = p.expr()
		p.expect(tokRightParen)
	}
	s.Pos = p.from(start)
	return s
}

func (p *parser) pivot(t TableExpr, start mark) TableExpr {
	v := &Pivot{X: t}
	p.skip(2)
	for {
		at := p.mark()
		item := SelectItem{X: p.expr()}
		item.Alias = p.alias()
		item.Pos = p.from(at)
		v.Aggregates = append(v.Aggregates, item)
		if !p.accept(tokComma) {
			break
		}
	}
	p.expectWord(kwFor)
	v.Axes = p.nameOrList()
	p.expectWord(kwIn)
	p.expect(tokLeftParen)
	for {
		at := p.mark()
		value := PivotValue{}
		if x := p.expr(); isRow(x) {
			value.Items = x.(*Row).Items
		} else {
			value.Items = []Expr{x}
		}
		value.Alias = p.alias()
		value.Pos = p.from(at)
		p.spend(value.At)
		v.Values = append(v.Values, value)
		if !p.accept(tokComma) {
			break
		}
	}
	p.expect(tokRightParen)
	p.expect(tokRightParen)
	v.Pos = p.from(start)
	return v
}

func isRow(x Expr) bool {
	_, ok := x.(*Row)
	return ok
}

// nameOrList reads a name, or several in parentheses.
func (p *parser) nameOrList() []*Name {
	if !p.accept(tokLeftParen) {
		return []*Name{p.path()}
	}
	var list []*Name
	for {
		list = append(list, p.path())
		if !p.accept(tokComma) {
			break
		}
	}
	p.expect(tokRightParen)
	return list
}

func (p *parser) identOrList() []Ident {
	if p.at(tokLeftParen) {
		return p.identList()
	}
	return []Ident{p.ident()}
}

func (p *parser) unpivot(t TableExpr, start mark) TableExpr {
	u := &Unpivot{X: t}
	p.advance()
	if p.acceptWord(kwInclude) {
		u.IncludeNulls = true
		p.expectWord(kwNulls)
	} else if p.acceptWord(kwExclude) {
		p.expectWord(kwNulls)
	}
	p.expect(tokLeftParen)
	u.Measures = p.identOrList()
	p.expectWord(kwFor)
	u.Axes = p.identOrList()
	p.expectWord(kwIn)
	p.expect(tokLeftParen)
	for {
		at := p.mark()
		c := UnpivotColumn{Columns: p.nameOrList()}
		if p.acceptWord(kwAs) {
			if p.accept(tokLeftParen) {
				c.Values = p.exprList()
				p.expect(tokRightParen)
			} else {
				c.Values = []Expr{p.expr()}
			}
		}
		c.Pos = p.from(at)
		u.Columns = append(u.Columns, c)
		if !p.accept(tokComma) {
			break
		}
	}
	p.expect(tokRightParen)
	p.expect(tokRightParen)
	u.Pos = p.from(start)
	return u
}
