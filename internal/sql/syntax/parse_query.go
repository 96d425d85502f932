package syntax

import "slices"

// startsQuery reports whether a query begins at the token n after the current one, other than in
// parentheses.
func (p *parser) startsQuery(n int) bool {
	t := p.peek(n)
	if t.kind != tokWord {
		return false
	}
	switch t.keyword {
	case kwSelect, kwWith, kwValues:
		return true
	case kwTable:
		return p.peek(n+1).kind != tokLeftParen // else it is a table function
	}
	return false
}

// atQuery reports whether the current token begins a query, or is a parenthesis before one.
func (p *parser) atQuery() bool {
	if p.notes != nil {
		p.notes.addAll(p.pos, []string{`"SELECT"`, `"WITH"`, `"VALUES"`, `"TABLE"`, `"("`})
	}
	return p.startsQuery(0) || p.toks[p.pos].kind == tokLeftParen
}

// parensBeforeQuery reports whether a query begins behind the parentheses that open here.
func (p *parser) parensBeforeQuery() bool {
	n := 0
	for n <= maxNesting && p.peek(n).kind == tokLeftParen { // else it is refused as what it is
		n++
	}
	return n > maxNesting || p.startsQuery(n)
}

// query reads a query expression. One in parentheses without clauses of its own is what is inside
// them.
func (p *parser) query() *Query {
	start := p.mark()
	q := &Query{}
	if p.enter() {
		if p.acceptWord(kwWith) {
			for {
				q.With = append(q.With, p.cte())
				if !p.accept(tokComma) {
					break
				}
			}
		}
		q = p.queryBehind(q, nil, start)
	}
	p.leave()
	return q
}

// queryBehind reads the rest of q from its body on, whose first arm, if it is not nil, has been
// read.
func (p *parser) queryBehind(q *Query, first Body, start mark) *Query {
	q.Body = p.setOps(first)
	p.queryTail(q)
	if inner, ok := q.Body.(*Query); ok && q.isBare() {
		return inner
	}
	q.Pos = p.from(start)
	return q
}

// isBare reports whether q is only its body.
func (q *Query) isBare() bool {
	return len(q.With) == 0 && len(q.OrderBy) == 0 && q.Limit == nil && q.Offset == nil
}

// subquery reads a query and the closing parenthesis behind it.
func (p *parser) subquery() *Query {
	q := p.query()
	p.expect(tokRightParen)
	return q
}

// atQueryRest reports whether, behind a query in parentheses, the current token makes it the first
// part of a longer one.
func (p *parser) atQueryRest() bool {
	for _, k := range [...]keyword{kwOrder, kwLimit, kwOffset, kwFetch, kwUnion, kwIntersect, kwExcept, kwMinus} {
		if p.atWord(k) {
			return true
		}
	}
	return false
}

func (p *parser) cte() CTE {
	start := p.mark()
	c := CTE{Name: p.ident()}
	if p.at(tokLeftParen) {
		c.Columns = p.identList()
	}
	p.expectWord(kwAs)
	p.expect(tokLeftParen)
	c.Query = p.subquery()
	c.Pos = p.from(start)
	p.spend(c.At)
	return c
}

// setOps reads UNION and EXCEPT chains. The first arm may have been read.
func (p *parser) setOps(first Body) Body {
	c := p.newSetChain()
	c.left = p.intersects(first)
	for {
		switch {
		case p.acceptWord(kwUnion):
			c.op = Union
		case p.acceptWord(kwExcept), p.acceptWord(kwMinus):
			c.op = Except
		default:
			return c.end()
		}
		c.all = p.setQuantifier()
		c.add(p.intersects(nil))
	}
}

func (p *parser) intersects(first Body) Body {
	c := p.newSetChain()
	c.op, c.left = Intersect, first
	if first == nil {
		c.left = p.primaryBody()
	}
	for p.acceptWord(kwIntersect) {
		c.all = p.setQuantifier()
		c.add(p.primaryBody())
	}
	return c.end()
}

// setChain builds set operations of one level from the left.
type setChain struct {
	*parser
	start mark
	left  Body
	open  *SetOp // left, if it is one that can take another arm
	op    SetOperator
	all   bool
	// outer is the parser's tall from before; nest is that of left without what was read since.
	outer, nest int
}

func (p *parser) newSetChain() setChain {
	c := setChain{parser: p, start: p.mark(), outer: p.tall}
	p.tall = 0
	return c
}

// add makes right the next arm: of the operation before it if that is of the same kind, else of a
// new one over all before.
func (c *setChain) add(right Body) {
	if c.open == nil || c.open.Op != c.op || c.open.All != c.all {
		c.nest = c.taller(c.nest, c.tall)
		c.open = &SetOp{Op: c.op, All: c.all, Arms: []Body{c.left}}
		c.left = c.open
		c.tall = 0
	}
	c.open.Arms = append(c.open.Arms, right)
	c.open.Pos = c.from(c.start)
}

// end returns what was read.
func (c *setChain) end() Body {
	c.tall = max(c.outer, c.nest, c.tall)
	return c.left
}

// setQuantifier reads ALL or DISTINCT, and reports whether it is ALL.
func (p *parser) setQuantifier() bool {
	return p.acceptWord(kwAll) || p.acceptWord(kwDistinct) && false
}

// primaryBody reads a body without set operations, or a query in parentheses.
func (p *parser) primaryBody() Body {
	start := p.mark()
	switch {
	case p.acceptWord(kwSelect):
		return p.selectBody(start)
	case p.acceptWord(kwValues):
		return p.values(start)
	case p.acceptWord(kwTable):
		t := &TableQuery{Name: p.path()}
		t.Pos = p.from(start)
		return t
	case p.accept(tokLeftParen):
		if !p.atQuery() {
			p.fail()
		}
		q := p.subquery()
		if q.isBare() && q.Body != nil {
			return q.Body
		}
		return q
	}
	p.fail()
	return &Select{}
}

// queryTail reads ORDER BY, LIMIT, OFFSET and FETCH; the last three in any order.
func (p *parser) queryTail(q *Query) {
	if p.acceptWord(kwOrder) {
		p.expectWord(kwBy)
		q.OrderBy = p.orderItems()
	}
	limit, offset := false, false
	for {
		switch {
		case !limit && p.acceptWord(kwLimit):
			limit = true
			if p.acceptWord(kwAll) {
				break
			}
			q.Limit = p.rowCount()
			if !offset && p.accept(tokComma) {
				offset = true
				q.Offset, q.Limit = q.Limit, p.rowCount()
			}
		case !offset && p.acceptWord(kwOffset):
			offset = true
			q.Offset = p.rowCount()
			if !p.acceptWord(kwRow) {
				p.acceptWord(kwRows)
			}
		case !limit && p.acceptWord(kwFetch):
			limit = true
			if !p.acceptWord(kwFirst) {
				p.expectWord(kwNext)
			}
			q.Limit = p.rowCount()
			if !p.acceptWord(kwRow) {
				p.expectWord(kwRows)
			}
			p.expectWord(kwOnly)
		default:
			return
		}
	}
}

// rowCount reads the number of a LIMIT or OFFSET.
func (p *parser) rowCount() Expr {
	if p.atNumber() {
		return p.number()
	}
	if p.at(tokQuestion) {
		return p.param()
	}
	p.fail()
	return &Null{}
}

func (p *parser) orderItems() []OrderItem {
	var list []OrderItem
	for {
		start := p.mark()
		o := OrderItem{X: p.expr()}
		if p.acceptWord(kwDesc) {
			o.Desc = true
		} else {
			p.acceptWord(kwAsc)
		}
		if p.acceptWord(kwNulls) {
			if p.acceptWord(kwFirst) {
				o.Nulls = NullsFirst
			} else {
				p.expectWord(kwLast)
				o.Nulls = NullsLast
			}
		}
		o.Pos = p.from(start)
		p.spendItem(o.X)
		list = append(list, o)
		if !p.accept(tokComma) {
			return list
		}
	}
}

// values reads the rows behind VALUES: (a, b), ROW(a, b) or an expression.
func (p *parser) values(start mark) Body {
	v := &Values{}
	for {
		at := p.mark()
		row := p.rows.one()
		switch {
		case !p.startsQuery(1) && p.accept(tokLeftParen):
			row.Items = p.exprList()
			p.expect(tokRightParen)
		case p.atWord(kwRow) && p.peek(1).kind == tokLeftParen:
			p.skip(2)
			row.Items = p.exprList()
			p.expect(tokRightParen)
		default:
			row.Items = p.exprs.list([]Expr{p.expr()})
		}
		row.Pos = p.from(at)
		if len(v.Rows) == cap(v.Rows) {
			v.Rows = slices.Grow(v.Rows, p.more(len(v.Rows)))
		}
		v.Rows = append(v.Rows, row)
		if !p.accept(tokComma) {
			break
		}
	}
	v.Pos = p.from(start)
	return v
}

// selectBody reads what follows SELECT.
func (p *parser) selectBody(start mark) Body {
	s := &Select{Hint: p.hint()}
	if p.acceptWord(kwDistinct) {
		s.Distinct = true
	} else {
		p.acceptWord(kwAll)
	}
	var few [8]SelectItem // most have no more
	items := few[:0]
	for {
		items = append(items, p.selectItem())
		if !p.accept(tokComma) {
			break
		}
	}
	s.Items = slices.Clone(items)
	if p.acceptWord(kwFrom) {
		s.From = p.tables()
		if p.acceptWord(kwWhere) {
			s.Where = p.expr()
		}
		if p.atWord(kwGroup) {
			s.GroupBy = p.groupBy()
		}
		if p.acceptWord(kwHaving) {
			s.Having = p.expr()
		}
		if p.acceptWord(kwWindow) {
			for {
				w := p.windowDef()
				p.spend(w.At)
				s.Windows = append(s.Windows, w)
				if !p.accept(tokComma) {
					break
				}
			}
		}
		if p.acceptWord(kwQualify) {
			s.Qualify = p.expr()
		}
	}
	s.Pos = p.from(start)
	return s
}

func (p *parser) selectItem() SelectItem {
	start := p.mark()
	if star := p.star(); star != nil {
		return SelectItem{Pos: star.Pos, X: star}
	}
	item := SelectItem{X: p.expr()}
	item.Alias = p.alias()
	item.Pos = p.from(start)
	p.spendItem(item.X)
	return item
}

// star reads * or t.*, and what EXCLUDE leaves out, or returns nil.
func (p *parser) star() *Star {
	start, n := p.mark(), 0
	for n <= 2*maxNameParts && p.peek(n).isName() && p.peek(n+1).kind == tokDot {
		n += 2
	}
	if p.peek(n).kind != tokStar {
		p.at(tokStar)
		return nil
	}
	s := &Star{}
	for ; n > 0; n -= 2 {
		s.Parts = append(s.Parts, p.ident())
		p.expect(tokDot)
	}
	p.expect(tokStar)
	s.Without = p.without()
	s.Pos = p.from(start)
	return s
}

// without reads the names behind * EXCLUDE, which may be written EXCEPT. In the way of a set
// operation it is not: a * needs a FROM.
func (p *parser) without() []Ident {
	word, next := p.peek(0), p.peek(1)
	switch {
	case (word.is(kwExclude) || word.is(kwExcept)) && next.kind == tokLeftParen && p.peek(2).isName():
		p.advance()
		return p.identList()
	case word.is(kwExclude) && next.isName():
		p.advance()
		return []Ident{p.ident()}
	}
	return nil
}

// alias reads [AS] name; the zero Ident if there is none.
func (p *parser) alias() Ident {
	if !p.atAlias() {
		return Ident{}
	}
	p.acceptWord(kwAs)
	return p.ident()
}

func (p *parser) groupBy() *GroupBy {
	start := p.mark()
	p.advance()
	p.expectWord(kwBy)
	g := &GroupBy{}
	if p.acceptWord(kwDistinct) {
		g.Distinct = true
	} else {
		p.acceptWord(kwAll)
	}
	g.Items = p.groupItems()
	g.Pos = p.from(start)
	return g
}

func (p *parser) groupItems() []GroupItem {
	var list []GroupItem
	if !p.enter() {
		return nil
	}
	for {
		at, item := p.toks[p.pos].span(), p.groupItem()
		if e, ok := item.(*GroupExpr); ok {
			p.spendItem(e.X)
		} else {
			p.spend(at)
		}
		list = append(list, item)
		if !p.accept(tokComma) {
			break
		}
	}
	p.leave()
	return list
}

func (p *parser) groupItem() GroupItem {
	start := p.mark()
	switch t := p.peek(0); {
	case t.is(kwGrouping) && p.peek(1).is(kwSets):
		p.skip(2)
		items := p.groupList()
		return &GroupingSets{Pos: p.from(start), Items: items}
	case t.is(kwRollup) && p.peek(1).kind == tokLeftParen:
		p.advance()
		items := p.groupList()
		return &Rollup{Pos: p.from(start), Items: items}
	case t.is(kwCube) && p.peek(1).kind == tokLeftParen:
		p.advance()
		items := p.groupList()
		return &Cube{Pos: p.from(start), Items: items}
	case t.kind == tokLeftParen && p.peek(1).kind == tokRightParen:
		p.skip(2)
		return &GroupTuple{Pos: p.from(start)}
	}
	// (a, b) is a row like any other in an expression, and a tuple here.
	inParens := p.peek(0).kind == tokLeftParen
	x := p.expr()
	if row, ok := x.(*Row); ok && inParens {
		return &GroupTuple{Pos: row.Pos, Items: row.Items}
	}
	return &GroupExpr{Pos: p.from(start), X: x}
}

func (p *parser) groupList() []GroupItem {
	p.expect(tokLeftParen)
	list := p.groupItems()
	p.expect(tokRightParen)
	return list
}
