package pg

import "strconv"

// bareCalls are functions that are called without parentheses.
var bareCalls = words(`current_catalog current_date current_role current_schema current_time current_timestamp current_user localtime
	localtimestamp session_user user`)

// primary reads an operand.
func (p *parser) primary() Expr {
	t := p.cur()
	at := At(t.start)
	switch t.kind {
	case tInt, tNum:
		p.pos++
		k := Int
		if t.kind == tNum {
			k = Num
		}
		return &Const{at, k, t.text}
	case tString:
		p.pos++
		return &Const{at, Text, t.text}
	case tBits:
		p.pos++
		return &Const{at, Bits, t.text}
	case tParam:
		n, err := strconv.Atoi(t.text)
		if err != nil || n < 1 || n > maxParams {
			p.failAt(t.start, "42P02", "there is no parameter $"+t.text)
		}
		p.pos++
		p.params = max(p.params, n)
		return &Param{at, n}
	case tPunc:
		if t.text == "(" {
			return p.parenthesized(at)
		}
	case tWord:
		if x := p.wordExpr(t, at); x != nil {
			return x
		}
	case tQuoted:
		return p.nameOrCall()
	case tOp:
		if t.text == "*" {
			p.pos++
			return &Star{At: at}
		}
	}
	p.fail()
	return nil
}

// maxParams is the most that a Bind can give.
const maxParams = 65535

func (p *parser) parenthesized(at At) Expr {
	mark := p.pos
	if p.startsQuery() {
		p.pos++
		var q *Query
		err := p.protect(func() { q = p.query(); p.need(")") })
		if err == nil {
			return &Sub{at, q}
		}
		if !p.toks[mark+1].punct("(") {
			panic(err)
		}
		p.pos = mark
	}
	p.need("(")
	list := p.exprList(")")
	if len(list) == 1 {
		return list[0]
	}
	if len(list) == 0 {
		p.fail()
	}
	return &Row{at, list}
}

// wordExpr reads an operand that begins with a word.
func (p *parser) wordExpr(t *token, at At) Expr {
	paren := p.ahead(1).punct("(")
	switch t.text {
	case "null":
		p.pos++
		return &Const{at, Null, ""}
	case "true", "false":
		p.pos++
		return &Const{at, Bool, t.text}
	case "case":
		p.pos++
		return p.caseExpr(at)
	case "cast":
		if paren {
			p.pos += 2
			c := &Cast{At: at, X: p.expr()}
			p.expect("as")
			c.Type = p.typeName()
			p.need(")")
			return c
		}
	case "exists":
		if paren {
			p.pos += 2
			q := p.query()
			p.need(")")
			return &Exists{at, q}
		}
	case "array":
		switch {
		case p.ahead(1).punct("["):
			p.pos += 2
			return &Array{At: at, Items: p.arrayItems()}
		case paren:
			p.pos += 2
			q := p.query()
			p.need(")")
			return &Array{At: at, Query: q}
		}
	case "row":
		if paren {
			p.pos += 2
			return &Row{at, p.exprList(")")}
		}
	case "interval":
		if n := p.ahead(1); n.kind == tString || n.punct("(") && p.ahead(2).kind == tInt && p.ahead(4).kind == tString {
			typ := p.typeName()
			c := &Const{At(p.cur().start), Text, p.cur().text}
			p.pos++
			for p.oneOf("year", "month", "day", "hour", "minute", "second", "to") != "" {
				typ.Mods = append(typ.Mods, p.toks[p.pos-1].text)
			}
			return &Cast{at, c, typ}
		}
	}
	if x := p.typedLiteral(t, at); x != nil {
		return x
	}
	if paren {
		if x := p.specialCall(t, at); x != nil {
			return x
		}
	}
	if bareCalls[t.text] && !paren {
		p.pos++
		return &Call{At: at, Name: t.text, Raw: t.text, Bare: true}
	}
	if reserved[t.text] && !(paren && (t.text == "any" || t.text == "some")) {
		return nil
	}
	return p.nameOrCall()
}

// arrayItems reads the items of ARRAY[..], in which arrays may stand without the word.
func (p *parser) arrayItems() []Expr {
	p.enter()
	defer p.leave()
	var out []Expr
	if p.take("]") {
		return out
	}
	for {
		if at := p.cur().start; p.take("[") {
			out = append(out, &Array{At: At(at), Items: p.arrayItems()})
		} else {
			out = append(out, p.expr())
		}
		if !p.take(",") {
			p.need("]")
			return out
		}
	}
}

// typedLiteral reads type 'text', if it stands there; nil: it does not.
func (p *parser) typedLiteral(t *token, at At) Expr {
	n := 0
	switch t.text {
	case "double":
		n = 1
	case "timestamp", "time":
		if p.ahead(1).word("with") || p.ahead(1).word("without") {
			n = 3
		}
	}
	for p.ahead(n + 1).punct(".") {
		n += 2
	}
	if p.ahead(n+1).kind != tString || reserved[t.text] || typeFunc[t.text] || n > 0 && p.ahead(n).kind != tWord {
		return nil
	}
	typ := p.typeName()
	if p.cur().kind != tString {
		p.fail()
	}
	c := &Const{At(p.cur().start), Text, p.cur().text}
	p.pos++
	return &Cast{at, c, typ}
}

// specialCall reads the calls with words between their arguments.
func (p *parser) specialCall(t *token, at At) Expr {
	call := func(name string, args ...Expr) Expr {
		p.need(")")
		return &Call{At: at, Name: name, Raw: name, Args: args}
	}
	switch t.text {
	case "extract":
		p.pos += 2
		f := p.cur()
		if f.kind != tWord && f.kind != tString && f.kind != tQuoted {
			p.fail()
		}
		p.pos++
		p.expect("from")
		return call("extract", &Const{At(f.start), Text, lower(f.text)}, p.expr())
	case "position":
		p.pos += 2
		x := p.binary(precLike + 1)
		if p.take(",") {
			return call("position", x, p.expr())
		}
		p.expect("in")
		return call("position", x, p.expr())
	case "substring":
		p.pos += 2
		args := []Expr{p.expr()}
		switch {
		case p.accept("from"):
			args = append(args, p.expr())
			if p.accept("for") {
				args = append(args, p.expr())
			}
		case p.accept("for"):
			args = append(args, &Const{at, Int, "1"}, p.expr())
		default:
			for p.take(",") {
				args = append(args, p.expr())
			}
		}
		return call("substring", args...)
	case "overlay":
		p.pos += 2
		args := []Expr{p.expr()}
		p.expect("placing")
		args = append(args, p.expr())
		p.expect("from")
		args = append(args, p.expr())
		if p.accept("for") {
			args = append(args, p.expr())
		}
		return call("overlay", args...)
	case "trim":
		p.pos += 2
		name := map[string]string{"leading": "ltrim", "trailing": "rtrim"}[p.oneOf("both", "leading", "trailing")]
		if name == "" {
			name = "btrim"
		}
		if p.accept("from") {
			return call(name, p.expr())
		}
		x := p.expr()
		switch {
		case p.accept("from"):
			return call(name, p.expr(), x)
		case p.take(","):
			return call(name, x, p.expr())
		}
		return call(name, x)
	}
	return nil
}

func (p *parser) caseExpr(at At) Expr {
	c := &Case{At: at}
	if !p.cur().word("when") {
		c.X = p.expr()
	}
	for p.accept("when") {
		w := When{Cond: p.expr()}
		p.expect("then")
		w.Then = p.expr()
		c.Whens = append(c.Whens, w)
	}
	if len(c.Whens) == 0 {
		p.fail()
	}
	if p.accept("else") {
		c.Else = p.expr()
	}
	p.expect("end")
	return c
}

// nameOrCall reads a path, t.*, or a call.
func (p *parser) nameOrCall() Expr {
	at := At(p.cur().start)
	if t := p.cur(); t.kind == tWord && typeFunc[t.text] && !p.isCall() {
		p.fail()
	}
	parts := []Ident{p.label()}
	for p.cur().punct(".") {
		p.pos++
		if p.cur().op("*") {
			p.pos++
			return &Star{At: at, Of: parts}
		}
		parts = append(parts, p.label())
	}
	if !p.cur().punct("(") {
		return &Name{at, parts}
	}
	last := parts[len(parts)-1]
	c := &Call{At: at, Name: last.Name, Raw: last.Raw}
	if len(parts) > 1 {
		if c.Schema = parts[len(parts)-2].Name; c.Schema == "pg_catalog" {
			c.Schema = ""
		}
	}
	p.callRest(c)
	return c
}

// callRest reads the arguments and what may follow them.
func (p *parser) callRest(c *Call) {
	p.need("(")
	switch {
	case p.cur().op("*") && p.ahead(1).punct(")"):
		p.pos += 2
		c.Star = true
	case p.take(")"):
	default:
		if !p.accept("all") {
			c.Distinct = p.accept("distinct")
		}
		for {
			p.accept("variadic")
			if n := p.ahead(1); p.cur().kind == tWord && (n.op("=>") || n.punct(":=")) {
				p.failAt(p.cur().start, "0A000", "arguments with names are not supported")
			}
			c.Args = append(c.Args, p.expr())
			if !p.take(",") {
				break
			}
		}
		if p.acceptAll("order", "by") {
			c.OrderBy = p.orderList()
		}
		p.need(")")
	}
	if p.acceptAll("within", "group") {
		p.need("(")
		p.expect("order")
		p.expect("by")
		c.Within = p.orderList()
		p.need(")")
	}
	if p.cur().word("filter") && p.ahead(1).punct("(") {
		p.pos += 2
		p.expect("where")
		c.Filter = p.expr()
		p.need(")")
	}
	if p.accept("over") {
		if p.take("(") {
			c.Over = p.window()
		} else {
			c.Over = &Over{Name: p.ident().Name}
		}
	}
}
