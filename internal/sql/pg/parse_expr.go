package pg

import "strconv"

// The precedence of operators, from lowest to highest.
const (
	precOr = iota + 1
	precAnd
	precNot
	precIs
	precCompare
	precLike // BETWEEN IN LIKE ILIKE SIMILAR
	precOther
	precAdd
	precMultiply
	precPower
	precZone // AT TIME ZONE
	precCollate
	precSign
)

func (p *parser) expr() Expr {
	p.enter()
	defer p.leave()
	return p.binary(precOr)
}

// binary reads operators of at least a precedence.
func (p *parser) binary(least int) Expr {
	left := p.unary(least)
	for n := 0; ; n++ {
		if n > maxChain {
			p.failAt(p.cur().start, "54001", "statement is too complex: more than "+strconv.Itoa(maxChain)+" operators in a row")
		}
		next, ok := p.infix(left, least)
		if !ok {
			return left
		}
		left = next
	}
}

func (p *parser) unary(least int) Expr {
	t := p.cur()
	at := At(t.start)
	switch {
	case t.word("not"):
		p.enter()
		defer p.leave()
		p.pos++
		return &Unary{at, "not", p.binary(precNot)}
	case t.op("-"), t.op("+"):
		p.enter()
		defer p.leave()
		p.pos++
		x := p.binary(precSign)
		if c, ok := x.(*Const); ok && (c.Kind == Int || c.Kind == Num) && t.text == "-" && c.Text[0] != '-' {
			return &Const{at, c.Kind, "-" + c.Text}
		}
		if t.text == "+" {
			return x
		}
		return &Unary{at, "-", x}
	case t.kind == tOp && t.text != "*" || t.word("operator") && p.ahead(1).punct("("):
		p.enter()
		defer p.leave()
		op := p.operatorName()
		return &Unary{at, op, p.binary(precOther + 1)}
	}
	return p.postfix(p.primary())
}

// operatorName reads an operator, also as OPERATOR(schema.op).
func (p *parser) operatorName() string {
	if p.accept("operator") {
		p.need("(")
		for p.cur().kind == tWord || p.cur().kind == tQuoted {
			p.pos++
			p.need(".")
		}
		if p.cur().kind != tOp {
			p.fail()
		}
		op := p.cur().text
		p.pos++
		p.need(")")
		return op
	}
	op := p.cur().text
	p.pos++
	return op
}

// precedence returns how tight an operator of signs binds.
func precedence(op string) int {
	switch op {
	case "<", ">", "=", "<=", ">=", "<>":
		return precCompare
	case "+", "-":
		return precAdd
	case "*", "/", "%":
		return precMultiply
	case "^":
		return precPower
	}
	return precOther
}

// infix reads one operator and its right side, if one of at least a precedence follows.
func (p *parser) infix(left Expr, least int) (Expr, bool) {
	t := p.cur()
	at := At(left.Pos())
	if t.kind == tOp || t.word("operator") && p.ahead(1).punct("(") {
		prec := precOther
		if t.kind == tOp {
			prec = precedence(t.text)
		}
		if prec < least {
			return nil, false
		}
		place := At(t.start)
		op := p.operatorName()
		if w := p.cur(); (w.word("any") || w.word("some") || w.word("all")) && p.ahead(1).punct("(") {
			p.pos += 2
			q := &Quantified{At: place, X: left, Op: op, All: w.word("all")}
			if p.startsQuery() {
				q.Query = p.query()
			} else {
				q.Set = p.expr()
			}
			p.need(")")
			return q, true
		}
		return &Binary{place, op, left, p.binary(prec + 1)}, true
	}
	if t.kind != tWord {
		return nil, false
	}
	switch t.text {
	case "or", "and":
		prec := precOr
		if t.text == "and" {
			prec = precAnd
		}
		if prec < least {
			return nil, false
		}
		p.pos++
		return &Binary{At(t.start), t.text, left, p.binary(prec + 1)}, true
	case "is", "isnull", "notnull":
		if precIs < least {
			return nil, false
		}
		p.pos++
		return p.is(left, at, t.text), true
	case "collate":
		if precCollate < least {
			return nil, false
		}
		p.pos++ // one collation is there
		p.label()
		for p.take(".") {
			p.label()
		}
		return left, true
	case "at":
		if precZone < least || !p.ahead(1).word("time") || !p.ahead(2).word("zone") {
			return nil, false
		}
		p.pos += 3
		return &Call{At: at, Name: "timezone", Raw: "timezone", Args: []Expr{p.binary(precZone + 1), left}}, true
	}
	if precLike < least {
		return nil, false
	}
	not := false
	if t.text == "not" {
		switch p.ahead(1).text {
		case "between", "in", "like", "ilike", "similar":
			not = true
			p.pos++
		default:
			return nil, false
		}
	}
	return p.wordInfix(left, At(t.start), not)
}

func (p *parser) wordInfix(left Expr, at At, not bool) (Expr, bool) {
	switch {
	case p.accept("between"):
		b := &Between{At: at, X: left, Not: not}
		if !p.accept("asymmetric") {
			b.Symmetric = p.accept("symmetric")
		}
		b.Low = p.binary(precLike + 1)
		p.expect("and")
		b.High = p.binary(precLike + 1)
		return b, true
	case p.cur().word("in") && p.ahead(1).punct("("):
		p.pos += 2
		in := &In{At: at, X: left, Not: not}
		if p.startsQuery() {
			mark := p.pos
			if err := p.protect(func() { in.Query = p.query(); p.need(")") }); err == nil {
				return in, true
			} else if !p.toks[mark].punct("(") {
				panic(err)
			}
			p.pos, in.Query = mark, nil
		}
		in.List = p.exprList(")")
		return in, true
	}
	op := p.oneOf("like", "ilike", "similar")
	if op == "" {
		return nil, false
	}
	if op == "similar" {
		p.expect("to")
	}
	if w := p.cur(); (w.word("any") || w.word("all") || w.word("some")) && p.ahead(1).punct("(") {
		p.pos += 2
		q := &Quantified{At: at, X: left, Op: map[string]string{"like": "~~", "ilike": "~~*"}[op], All: w.word("all")}
		if not {
			q.Op = "!" + q.Op
		}
		q.Set = p.expr()
		p.need(")")
		return q, true
	}
	l := &Like{At: at, X: left, Op: op, Not: not, Pattern: p.binary(precLike + 1)}
	if p.accept("escape") {
		l.Escape = p.binary(precLike + 1)
	}
	return l, true
}

func (p *parser) is(x Expr, at At, word string) Expr {
	switch word {
	case "isnull":
		return &Is{At: at, X: x, Test: "null"}
	case "notnull":
		return &Is{At: at, X: x, Test: "null", Not: true}
	}
	not := p.accept("not")
	if p.acceptAll("distinct", "from") {
		return &Distinct{at, x, p.binary(precIs + 1), not}
	}
	test := p.oneOf("null", "true", "false", "unknown", "document")
	if test == "" {
		p.fail()
	}
	return &Is{At: at, X: x, Test: test, Not: not}
}

// postfix reads the casts, subscripts and fields behind an operand.
func (p *parser) postfix(x Expr) Expr {
	for n := 0; ; n++ {
		if n > maxDepth {
			p.failAt(p.cur().start, "54001", "statement is too complex: too many casts in a row")
		}
		at := At(x.Pos())
		switch {
		case p.take("::"):
			x = &Cast{at, x, p.typeName()}
		case p.take("["):
			s := &Subscript{At: at, X: x}
			if !p.cur().punct(":") {
				s.Lo = p.expr()
			}
			if p.take(":") {
				s.Slice = true
				if !p.cur().punct("]") {
					s.Hi = p.expr()
				}
			}
			p.need("]")
			x = s
		case p.cur().punct(".") && isField(x):
			p.pos++
			if p.cur().op("*") {
				p.pos++
				x = &Field{At: at, X: x, Name: Ident{Name: "*", Raw: "*"}}
				continue
			}
			x = &Field{At: at, X: x, Name: p.label()}
		default:
			return x
		}
	}
}

// isField reports whether a dot behind x names a field of it.
func isField(x Expr) bool {
	switch x.(type) {
	case *Const, *Star:
		return false
	}
	return true
}

// typeName reads a type.
func (p *parser) typeName() TypeName {
	t := TypeName{At: p.cur().start}
	p.accept("setof")
	first := p.label()
	t.Name = first.Name
	for p.take(".") {
		t.Name = p.label().Name
	}
	if !first.Quoted {
		switch t.Name {
		case "double":
			if p.accept("precision") {
				t.Name = "float8"
			}
		case "character", "char", "nchar", "national":
			if t.Name == "national" && !p.accept("character") {
				p.accept("char")
			}
			t.Name = "bpchar"
			if p.accept("varying") {
				t.Name = "varchar"
			}
		case "bit":
			if p.accept("varying") {
				t.Name = "varbit"
			}
		}
		if n := typeAliases[t.Name]; n != "" {
			t.Name = n
		}
	}
	if p.cur().punct("(") && (p.ahead(1).kind == tInt || t.Name != "") && p.modsFollow() {
		p.pos++
		for !p.take(")") {
			if p.cur().kind == tEOF {
				p.fail()
			}
			if !p.cur().punct(",") {
				t.Mods = append(t.Mods, p.cur().text)
			}
			p.pos++
		}
	}
	switch t.Name {
	case "timestamp", "time":
		if p.acceptAll("with", "time", "zone") {
			t.Name += "tz"
		} else {
			p.acceptAll("without", "time", "zone")
		}
	case "interval":
		for p.oneOf("year", "month", "day", "hour", "minute", "second", "to") != "" {
			t.Mods = append(t.Mods, p.toks[p.pos-1].text)
		}
	}
	for {
		switch {
		case p.cur().punct("[") && (p.ahead(1).punct("]") || p.ahead(1).kind == tInt && p.ahead(2).punct("]")):
			for !p.take("]") {
				p.pos++
			}
			t.Array++
		case p.accept("array"):
			t.Array++
		default:
			return t
		}
	}
}

func (p *parser) modsFollow() bool { return p.ahead(1).kind == tInt }

var typeAliases = map[string]string{
	"int": "int4", "integer": "int4", "smallint": "int2", "bigint": "int8", "real": "float4", "float": "float8", "decimal": "numeric",
	"dec": "numeric", "boolean": "bool", "string": "text",
}
