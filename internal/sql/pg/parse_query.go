package pg

// startsQuery reports whether the tokens from the current one on begin a query, behind any
// parentheses.
func (p *parser) startsQuery() bool {
	n := 0
	for p.ahead(n).punct("(") {
		n++
	}
	t := p.ahead(n)
	return t.word("select") || t.word("with") || t.word("values") || t.word("table") && p.ahead(n+1).isName()
}

// query reads a whole query.
func (p *parser) query() *Query {
	p.enter()
	defer p.leave()
	q := &Query{At: p.cur().start}
	if p.accept("with") {
		q.Recursive = p.accept("recursive")
		for {
			c := CTE{Name: p.ident()}
			if p.cur().punct("(") {
				c.Columns = p.names()
			}
			p.expect("as")
			if p.accept("not") {
				p.expect("materialized")
			} else {
				p.accept("materialized")
			}
			p.need("(")
			c.Query = p.query()
			p.need(")")
			q.With = append(q.With, c)
			if !p.take(",") {
				break
			}
		}
	}
	p.queryRest(q, p.setOps(0))
	return q
}

// queryRest reads what may follow the body.
func (p *parser) queryRest(q *Query, b Body) {
	q.Body = b
	if p.acceptAll("order", "by") {
		q.OrderBy = p.orderList()
	}
	for {
		switch {
		case q.Limit == nil && p.accept("limit"):
			if !p.accept("all") {
				q.Limit = p.expr()
			}
		case q.Offset == nil && p.accept("offset"):
			q.Offset = p.expr()
			if !p.accept("rows") {
				p.accept("row")
			}
		case q.Limit == nil && p.accept("fetch"):
			if !p.accept("first") {
				p.expect("next")
			}
			q.Limit = &Const{At(p.cur().start), Int, "1"}
			if !p.cur().word("row") && !p.cur().word("rows") {
				q.Limit = p.primary()
			}
			if !p.accept("rows") {
				p.expect("row")
			}
			p.expect("only")
		case p.cur().word("for") && (p.ahead(1).word("update") || p.ahead(1).word("share") || p.ahead(1).word("no") || p.ahead(1).word("key")):
			for p.cur().kind == tWord { // locks of rows that nobody changes
				p.pos++
			}
		default:
			return
		}
	}
}

func (p *parser) orderList() []Order {
	var out []Order
	for {
		o := Order{X: p.expr()}
		switch {
		case p.accept("desc"):
			o.Desc = true
		case p.accept("asc"):
		case p.accept("using"):
			o.Desc = p.cur().op(">")
			p.pos++
		}
		if p.accept("nulls") {
			if o.Nulls = p.oneOf("first", "last"); o.Nulls == "" {
				p.fail()
			}
		}
		out = append(out, o)
		if !p.take(",") {
			return out
		}
	}
}

// setOps reads operands and the set operations between them; INTERSECT binds tighter.
func (p *parser) setOps(level int) Body {
	left := p.setOperand(level)
	for {
		t := p.cur()
		ok := level == 0 && (t.word("union") || t.word("except")) || level == 1 && t.word("intersect")
		if !ok {
			return left
		}
		p.pos++
		op := &SetOp{Op: t.text, Left: asQuery(left, t.start)}
		if !p.accept("distinct") {
			op.All = p.accept("all")
		}
		op.Right = asQuery(p.setOperand(level), t.start)
		left = op
	}
}

func (p *parser) setOperand(level int) Body {
	if level == 0 {
		return p.setOps(1)
	}
	return p.queryPrimary()
}

// nested is a query in parentheses as an operand.
type nested struct{ query *Query }

func (*nested) body() {}

func asQuery(b Body, at int) *Query {
	if n, ok := b.(*nested); ok {
		return n.query
	}
	return &Query{At: at, Body: b}
}

func (p *parser) queryPrimary() Body {
	t := p.cur()
	switch {
	case t.punct("("):
		p.pos++
		q := p.query()
		p.need(")")
		if len(q.With) == 0 && q.OrderBy == nil && q.Limit == nil && q.Offset == nil {
			return q.Body
		}
		return &nested{q}
	case p.accept("values"):
		v := &Values{At: t.start}
		for {
			p.need("(")
			v.Rows = append(v.Rows, p.exprList(")"))
			if !p.take(",") {
				return v
			}
		}
	case p.accept("table"):
		b := &Block{At: t.start, Items: []Item{{X: &Star{At: At(t.start)}}}}
		b.From = []From{p.tableName()}
		return b
	}
	p.expect("select")
	return p.block(t.start)
}

// exprList reads expressions up to a closing sign, which is taken.
func (p *parser) exprList(end string) []Expr {
	var out []Expr
	if p.take(end) {
		return out
	}
	for {
		out = append(out, p.expr())
		if !p.take(",") {
			p.need(end)
			return out
		}
	}
}

// block reads what follows SELECT.
func (p *parser) block(at int) Body {
	b := &Block{At: at}
	if p.accept("distinct") {
		if p.accept("on") {
			p.need("(")
			b.DistinctOn = p.exprList(")")
		} else {
			b.Distinct = true
		}
	} else {
		p.accept("all")
	}
	if !p.cur().word("from") && !p.cur().punct(")") && p.cur().kind != tEOF && !p.cur().word("where") {
		for {
			b.Items = append(b.Items, p.item())
			if !p.take(",") {
				break
			}
		}
	}
	if p.accept("from") {
		for {
			b.From = append(b.From, p.fromItem())
			if !p.take(",") {
				break
			}
		}
	}
	if p.accept("where") {
		b.Where = p.expr()
	}
	if p.acceptAll("group", "by") {
		if !p.accept("distinct") {
			p.accept("all")
		}
		for {
			b.GroupBy = append(b.GroupBy, p.expr())
			if !p.take(",") {
				break
			}
		}
	}
	if p.accept("having") {
		b.Having = p.expr()
	}
	if p.accept("window") {
		b.Windows = map[string]*Over{}
		for {
			name := p.ident()
			p.expect("as")
			p.need("(")
			b.Windows[name.Name] = p.window()
			if !p.take(",") {
				break
			}
		}
	}
	return b
}

func (p *parser) item() Item {
	at := p.cur().start
	if p.cur().op("*") {
		p.pos++
		return Item{X: &Star{At: At(at)}}
	}
	it := Item{X: p.expr()}
	switch t := p.cur(); {
	case p.accept("as"):
		it.As = p.label()
	case t.kind == tQuoted, t.kind == tWord && !reserved[t.text] && !typeFunc[t.text] && !behindItem[t.text]:
		it.As = p.label()
	}
	return it
}

// behindItem are words that go on with an expression.
var behindItem = words(`over filter within`)

// fromItem reads an item with its joins.
func (p *parser) fromItem() From {
	p.enter()
	defer p.leave()
	left := p.fromPrimary()
	for {
		at := p.cur().start
		j := &Join{At: at, Left: left, Natural: p.accept("natural")}
		switch {
		case p.acceptAll("cross", "join"):
			j.Kind = "cross"
		case p.accept("join"), p.acceptAll("inner", "join"):
			j.Kind = "inner"
		case p.cur().word("left"), p.cur().word("right"), p.cur().word("full"):
			j.Kind = p.cur().text
			p.pos++
			p.accept("outer")
			p.expect("join")
		default:
			if j.Natural {
				p.fail()
			}
			return left
		}
		if j.Kind == "cross" || j.Natural {
			j.Right = p.fromPrimary()
			left = j
			continue
		}
		j.Right = p.joinOperand()
		switch {
		case p.accept("on"):
			j.On = p.expr()
		case p.accept("using"):
			j.Using = p.names()
		default:
			p.fail()
		}
		left = j
	}
}

// joinOperand reads the right side of a join; a JOIN b JOIN c ON .. ON .. nests.
func (p *parser) joinOperand() From {
	right := p.fromPrimary()
	for t := p.cur(); t.word("join") || t.word("left") || t.word("inner") || t.word("right") || t.word("full"); t = p.cur() {
		p.enter()
		at := t.start
		kind := "inner"
		if !t.word("join") {
			kind = t.text
			p.pos++
			p.accept("outer")
		}
		p.expect("join")
		j := &Join{At: at, Kind: kind, Left: right, Right: p.joinOperand()}
		if p.accept("on") {
			j.On = p.expr()
		} else {
			p.expect("using")
			j.Using = p.names()
		}
		right = j
		p.leave()
	}
	return right
}

func (p *parser) tableName() *Table {
	t := &Table{At: p.cur().start}
	t.Parts = append(t.Parts, p.ident())
	for p.take(".") {
		t.Parts = append(t.Parts, p.label())
	}
	return t
}

// alias reads [AS] name [(columns)].
func (p *parser) alias() (name Ident, columns []Ident) {
	if p.accept("as") {
		if p.cur().punct("(") {
			return name, nil
		}
		name = p.label()
	} else if p.cur().isName() {
		name = p.ident()
	} else {
		return name, nil
	}
	if p.cur().punct("(") && p.ahead(1).isName() && (p.ahead(2).punct(",") || p.ahead(2).punct(")")) {
		columns = p.names()
	}
	return name, columns
}

func (p *parser) fromPrimary() From {
	at := p.cur().start
	lateral := p.accept("lateral")
	if p.cur().punct("(") {
		if p.startsQuery() {
			mark := p.pos
			p.pos++
			var q *Query
			if err := p.protect(func() { q = p.query(); p.need(")") }); err == nil {
				d := &Derived{At: at, Lateral: lateral, Query: q}
				d.Alias, d.Columns = p.alias()
				return d
			} else if !p.ahead(0).word("join") { // ((SELECT ..) x JOIN ..)
				if p.toks[mark+1].word("select") || p.toks[mark+1].word("with") || p.toks[mark+1].word("values") {
					panic(err)
				}
			}
			p.pos = mark
		}
		p.pos++
		f := p.fromItem()
		p.need(")")
		if p.cur().word("as") || p.cur().isName() {
			d := &Derived{At: at, Query: &Query{At: at, Body: &Block{At: at, Items: []Item{{X: &Star{At: At(at)}}}, From: []From{f}}}}
			d.Alias, d.Columns = p.alias()
			return d
		}
		return f
	}
	if p.cur().word("rows") && p.ahead(1).word("from") {
		p.failAt(at, "0A000", "ROWS FROM is not supported")
	}
	p.accept("only")
	if t := p.cur(); (t.kind == tWord || t.kind == tQuoted) && p.isCall() {
		c, ok := p.primary().(*Call)
		if !ok {
			p.fail()
		}
		f := &Function{At: at, Lateral: lateral, Call: c}
		if p.acceptAll("with", "ordinality") {
			f.Ordinality = true
		}
		f.Alias, f.Columns = p.alias()
		if f.Columns == nil && p.take("(") { // (name type, ..)
			for {
				f.Columns = append(f.Columns, p.ident())
				f.Types = append(f.Types, p.typeName())
				if !p.take(",") {
					break
				}
			}
			p.need(")")
		}
		return f
	}
	t := p.tableName()
	if p.cur().op("*") {
		p.pos++
	}
	t.Alias, t.Columns = p.alias()
	return t
}

// isCall reports whether a name, perhaps with a schema, is followed by a parenthesis.
func (p *parser) isCall() bool {
	n := 1
	for p.ahead(n).punct(".") {
		n += 2
	}
	return p.ahead(n).punct("(") || n == 1 && bareCalls[p.cur().text] && p.cur().kind == tWord
}

// window reads what stands in the parentheses of a window, and the closing one.
func (p *parser) window() *Over {
	w := &Over{}
	if t := p.cur(); t.isName() && !t.word("partition") && !t.word("order") && !t.word("rows") && !t.word("range") {
		w.Name = p.ident().Name
	}
	if p.acceptAll("partition", "by") {
		for {
			w.PartitionBy = append(w.PartitionBy, p.expr())
			if !p.take(",") {
				break
			}
		}
	}
	if p.acceptAll("order", "by") {
		w.OrderBy = p.orderList()
	}
	start := p.cur().start
	for !p.cur().punct(")") {
		if p.cur().kind == tEOF || p.cur().punct("(") {
			p.fail()
		}
		p.pos++
	}
	w.Frame = p.text[start:p.cur().start]
	p.need(")")
	return w
}

// Nested returns the query of a parenthesized body; nil: the body has another form.
func Nested(b Body) *Query {
	if n, ok := b.(*nested); ok {
		return n.query
	}
	return nil
}
