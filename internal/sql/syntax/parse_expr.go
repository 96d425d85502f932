package syntax

import "slices"

// The levels of operators, from loose to tight (docs/sql.md). Note that BETWEEN, IN and LIKE bind
// tighter than comparisons, and comparisons tighter than IS.
const (
	precNone = iota
	precOr
	precAnd
	precNot
	precIs
	precCompare
	precLike
	precAdd
	precMul
	precUnary
	precPrimary
)

// symbolOperator gives the operator and level of tokens that are infix operators, precNone for
// others.
var symbolOperator = [tokenKindCount]struct {
	op   Operator
	prec int
}{
	tokPlus:         {Add, precAdd},
	tokMinus:        {Sub, precAdd},
	tokStar:         {Mul, precMul},
	tokSlash:        {Div, precMul},
	tokPercent:      {Mod, precMul},
	tokConcat:       {Concat, precMul},
	tokEqual:        {Equal, precCompare},
	tokNotEqual:     {NotEqual, precCompare},
	tokBangEqual:    {NotEqual, precCompare},
	tokLess:         {Less, precCompare},
	tokLessEqual:    {LessEqual, precCompare},
	tokGreater:      {Greater, precCompare},
	tokGreaterEqual: {GreaterEqual, precCompare},
}

// expr reads an expression and counts its height into p.height.
func (p *parser) expr() Expr { return p.exprOf(precOr) }

// exprOf is expr for operators that bind at least as tightly as least. Every expression inside
// another is read by it, by a prefix operator or as a right side, of which there are no more in
// each other than levels, so that counting the first two bounds recursion.
func (p *parser) exprOf(least int) Expr {
	if !p.enter() {
		return &Null{}
	}
	e, h := p.plain(), 1
	if e == nil {
		e, h = p.binary(least)
	}
	p.leave()
	p.height = max(p.height, h)
	return e
}

// plain reads an expression that is one token, as most in lists are, or returns nil: the token
// behind it tells. It is what binary would do in several steps, each with a choice that is made
// here at once; a reading that notes what could stand here takes them all.
func (p *parser) plain() Expr {
	if p.notes != nil || p.pos+1 == len(p.toks) {
		return nil
	}
	if next := p.toks[p.pos+1].kind; next != tokComma && next != tokRightParen {
		return nil
	}
	switch t := &p.toks[p.pos]; t.kind {
	case tokInteger, tokDecimal, tokApprox:
		return p.number()
	case tokString:
		return p.stringLiteral()
	case tokQuotedName:
		return p.path()
	case tokWord:
		if t.keyword == kwNone {
			return p.path()
		}
	}
	return nil
}

// countedList is exprList for a list that no statement may have very long.
func (p *parser) countedList() []Expr {
	base := len(p.stack)
	for {
		x := p.expr()
		p.spendItem(x)
		p.push(x)
		if !p.accept(tokComma) {
			return p.popList(base)
		}
	}
}

// exprList reads a, b, ... Of constants there may be as many as fit into a text.
func (p *parser) exprList() []Expr {
	base := len(p.stack)
	for {
		x := p.expr()
		if !isLiteral(x) {
			p.spendItem(x)
		}
		p.push(x)
		if !p.accept(tokComma) {
			return p.popList(base)
		}
	}
}

// push puts e at the end of the list under construction.
func (p *parser) push(e Expr) {
	if len(p.stack) == cap(p.stack) {
		p.stack = slices.Grow(p.stack, p.more(len(p.stack)))
	}
	p.stack = append(p.stack, e)
}

// more returns for how many elements more a list of n should have room: as many again, and for a
// long one as many as the rest of the text has if it goes on like this, where append would copy it
// over and over.
func (p *parser) more(n int) int {
	read := int(p.toks[p.pos].start)
	if n < longList || read == 0 {
		return max(n, 16)
	}
	return min(n*(len(p.text)-read)/read+longList, 64*n)
}

// longList is from how many elements on a list is not copied: the stack is given away instead.
const longList = 1 << 12

// popList returns what the stack holds above base, and takes it off.
func (p *parser) popList(base int) []Expr {
	if len(p.stack)-base > longList {
		list := slices.Clip(p.stack[base:])
		p.stack = slices.Clone(p.stack[:base])
		return list
	}
	list := p.exprs.list(p.stack[base:])
	p.stack = p.stack[:base]
	return list
}

// inner runs read with a height of its own and returns that, which is the height of the tallest
// expression read.
func (p *parser) inner(read func()) int {
	outer := p.height
	p.height = 0
	read()
	h := p.height
	p.height = outer
	return h
}

// binary reads an expression of operators that bind at least as tightly as least, and returns its
// height too. It climbs: after an operand it takes one operator after the other, each with a right
// side of tighter operators only.
func (p *parser) binary(least int) (Expr, int) {
	start := p.mark()
	left, height := p.unary()
	for {
		if p.notes != nil {
			p.notes.addAll(p.pos, infixImages)
		}
		t := &p.toks[p.pos]
		op, prec := symbolOperator[t.kind].op, symbolOperator[t.kind].prec
		if t.kind == tokWord {
			op, prec = p.wordOperator(t)
		}
		if prec == precNone || prec < least {
			return left, height
		}
		var h int
		switch {
		case op == And || op == Or || op == Concat:
			left, h = p.chain(left, op, prec, start)
		case t.kind == tokWord && prec != precCompare:
			left, h = p.wordInfix(left, op, start)
		default:
			p.advance()
			left, h = p.operator(left, op, prec, start)
		}
		if height = max(height, h) + 1; height > maxHeight {
			p.tooDeep(maxHeight)
		}
	}
}

// wordOperator returns the operator and level of a word behind an operand; precNone if the word is
// no operator there. The operators without one of Operator are told apart by wordInfix.
func (p *parser) wordOperator(t *token) (Operator, int) {
	switch t.keyword {
	case kwAnd:
		return And, precAnd
	case kwOr:
		return Or, precOr
	case kwIs:
		return IsDistinct, precIs
	case kwIn, kwLike, kwBetween, kwSimilar:
		return Neg, precLike
	case kwNot:
		switch next := p.peek(1); {
		case next.is(kwIn), next.is(kwLike), next.is(kwBetween), next.is(kwSimilar), next.is(kwIlike):
			return Neg, precLike
		}
		p.failBehindNot()
	// The rest may be names, and are operators only with an operand behind them.
	case kwIlike:
		if p.startsInfix() {
			return Neg, precLike
		}
	case kwOverlaps, kwContains, kwEquals, kwPrecedes, kwSucceeds:
		if p.startsInfix() {
			return periodOperator[t.keyword], precLike
		}
	case kwImmediately:
		if next := p.peek(1); next.is(kwPrecedes) || next.is(kwSucceeds) {
			return ImmediatelyPrecedes, precLike
		}
	}
	return Neg, precNone
}

var periodOperator = map[keyword]Operator{
	kwOverlaps: Overlaps, kwContains: Contains, kwEquals: Equals, kwPrecedes: Precedes, kwSucceeds: Succeeds,
}

// failBehindNot fails at the token behind a NOT that follows an operand and begins none of the
// operators it may begin.
func (p *parser) failBehindNot() {
	p.advance()
	for _, k := range [...]keyword{kwBetween, kwIn, kwLike, kwIlike, kwSimilar} {
		p.atWord(k)
	}
	p.fail()
}

// startsInfix reports whether the word at the current token, which may be a name too, is an
// operator: an operand follows it. Behind an operand the word could else only be an alias, and no
// operand follows that.
func (p *parser) startsInfix() bool {
	t := p.peek(1)
	switch {
	case t.kind == tokPlus, t.kind == tokMinus, t.is(kwNot):
		return true
	}
	return p.startsOperand(1)
}

// startsOperand reports whether the token n after the current one begins an expression, signs and
// NOT apart.
func (p *parser) startsOperand(n int) bool {
	t := p.peek(n)
	switch t.kind {
	case tokInteger, tokDecimal, tokApprox, tokString, tokPrefixedString, tokUnicodeString, tokBinaryString, tokQuestion, tokLeftParen,
		tokLeftBrace, tokQuotedName, tokUnicodeQuotedName:
		return true
	case tokWord:
		switch t.keyword {
		case kwCase, kwCast, kwExists, kwNull, kwTrue, kwFalse, kwUnknown, kwInterval:
			return true
		case kwLeft, kwRight:
			return p.peek(n+1).kind == tokLeftParen
		}
		return !t.keyword.isReserved() || isNiladic(t.keyword)
	}
	return false
}

// isNiladic reports whether k is a function that is called without parentheses.
func isNiladic(k keyword) bool {
	switch k {
	case kwCurrentDate, kwCurrentTime, kwCurrentTimestamp, kwLocaltime, kwLocaltimestamp:
		return true
	}
	return false
}

// chain reads the arguments behind the first of a Chain.
func (p *parser) chain(first Expr, op Operator, prec int, start mark) (Expr, int) {
	base, height := len(p.stack), 0
	p.push(first)
	for !p.failed {
		t := &p.toks[p.pos]
		next := symbolOperator[t.kind].op
		if t.kind == tokWord {
			next, _ = p.wordOperator(t)
		}
		if next != op || t.kind != tokConcat && t.kind != tokWord {
			break
		}
		p.bound(len(p.stack)-base+1, t.span())
		p.advance()
		right, h := p.binary(prec + 1)
		height = max(height, h)
		p.push(right)
	}
	c := &Chain{Op: op, Args: p.popList(base)}
	c.Pos = p.from(start)
	return c, height
}

// operator reads the right side of an operator that is a symbol or the like.
func (p *parser) operator(left Expr, op Operator, prec int, start mark) (Expr, int) {
	if prec == precCompare {
		some := p.atWord(kwSome) || p.atWord(kwAny)
		if all := p.atWord(kwAll); some || all {
			return p.quantified(left, op, all, start)
		}
	}
	right, h := p.binary(prec + 1)
	return p.newBinary(op, left, right, start), h
}

func (p *parser) newBinary(op Operator, left, right Expr, start mark) *Binary {
	b := p.binaries.one()
	b.Op, b.Left, b.Right = op, left, right
	b.Pos = p.from(start)
	return b
}

// quantified reads ANY, SOME or ALL and the set behind it.
func (p *parser) quantified(x Expr, op Operator, all bool, start mark) (Expr, int) {
	q := &Quantified{X: x, Op: op, All: all}
	p.advance()
	at := p.mark()
	h := p.inner(func() {
		query, list := p.queryOrList()
		if query != nil {
			q.Set = &Subquery{Pos: p.from(at), Query: query}
		} else {
			q.Set = &Row{Pos: p.from(at), Items: list}
		}
	})
	q.Pos = p.from(start)
	return q, h
}

// queryOrList reads (query) or (a, b, ...).
func (p *parser) queryOrList() (*Query, []Expr) {
	p.expect(tokLeftParen)
	if p.startsQuery(0) {
		return p.subquery(), nil
	}
	at, inParens := p.mark(), p.peek(0).kind == tokLeftParen
	list := p.exprList()
	if len(list) == 1 && inParens {
		if sub, ok := list[0].(*Subquery); ok {
			q := p.queryBehind(&Query{}, sub.Query.unwrap(), at)
			p.expect(tokRightParen)
			return q, nil
		}
	}
	p.expect(tokRightParen)
	return nil, list
}

// wordInfix reads an operator that begins with a word, from that word on: IS, [NOT] BETWEEN, IN,
// LIKE, SIMILAR TO, and those of periods.
func (p *parser) wordInfix(x Expr, op Operator, start mark) (Expr, int) {
	if p.acceptWord(kwIs) {
		return p.is(x, start)
	}
	if op != Neg {
		if p.acceptWord(kwImmediately) && p.toks[p.pos].is(kwSucceeds) {
			op = ImmediatelySucceeds
		}
		p.advance()
		right, h := p.binary(precLike + 1)
		return p.newBinary(op, x, right, start), h
	}
	not := p.acceptWord(kwNot)
	switch {
	case p.acceptWord(kwBetween):
		b := &Between{X: x, Not: not}
		switch next := p.peek(1); {
		case next.is(kwAnd): // a column of that name
		case p.acceptWord(kwSymmetric):
			b.Symmetric = true
		case p.acceptWord(kwAsymmetric):
		}
		var low, high int
		b.Low, low = p.binary(precLike + 1)
		p.expectWord(kwAnd)
		b.High, high = p.binary(precLike + 1)
		b.Pos = p.from(start)
		return b, max(low, high)
	case p.acceptWord(kwIn):
		var query *Query
		var list []Expr
		h := p.inner(func() { query, list = p.queryOrList() })
		if query != nil {
			return &InQuery{Pos: p.from(start), X: x, Not: not, Query: query}, h
		}
		return &InList{Pos: p.from(start), X: x, Not: not, List: list}, h
	}
	l := &Like{X: x, Not: not}
	switch {
	case p.acceptWord(kwLike):
	case p.acceptWord(kwIlike):
		l.Kind = LikeIgnoreCase
	default:
		p.expectWord(kwSimilar)
		p.expectWord(kwTo)
		l.Kind = LikeSimilar
	}
	var h, escape int
	l.Pattern, h = p.binary(precLike + 1)
	if p.acceptWord(kwEscape) {
		l.Escape, escape = p.binary(precLike + 1)
	}
	l.Pos = p.from(start)
	return l, max(h, escape)
}

// is reads what follows IS.
func (p *parser) is(x Expr, start mark) (Expr, int) {
	not := p.acceptWord(kwNot)
	if p.acceptWord(kwDistinct) {
		p.expectWord(kwFrom)
		op := IsDistinct
		if not {
			op = IsNotDistinct
		}
		right, h := p.binary(precIs + 1)
		return p.newBinary(op, x, right, start), h
	}
	i := &Is{X: x, Not: not}
	switch {
	case p.acceptWord(kwNull):
		i.Test = IsNull
	case p.acceptWord(kwTrue):
		i.Test = IsTrue
	case p.acceptWord(kwFalse):
		i.Test = IsFalse
	case p.acceptWord(kwUnknown):
		i.Test = IsUnknown
	case p.acceptWord(kwJson):
		i.Test = IsJSON
		switch {
		case p.acceptWord(kwValue):
		case p.acceptWord(kwObject):
			i.Test = IsJSONObject
		case p.acceptWord(kwArray):
			i.Test = IsJSONArray
		case p.acceptWord(kwScalar):
			i.Test = IsJSONScalar
		}
	default:
		p.fail()
	}
	i.Pos = p.from(start)
	return i, 0
}

// unary reads prefix operators and the operand behind them. NOT in an operand of a tighter operator
// reaches as far as it would elsewhere.
func (p *parser) unary() (Expr, int) {
	start := p.mark()
	var op Operator
	prec := precUnary
	switch t := &p.toks[p.pos]; {
	case t.kind == tokPlus:
		op = Plus
	case t.kind == tokMinus:
		op = Neg
	case t.is(kwNot):
		op, prec = Not, precNot
	default:
		return p.postfix()
	}
	p.advance()
	if !p.enter() {
		return &Null{}, 0
	}
	x, h := p.binary(prec)
	p.leave()
	if h++; h > maxHeight {
		p.tooDeep(maxHeight)
	}
	u := p.unaries.one()
	u.Pos, u.Op, u.X = p.from(start), op, x
	return u, h
}

// postfix reads a primary expression and the [i], .name and ::type behind it.
func (p *parser) postfix() (Expr, int) {
	start := p.mark()
	var x Expr
	height := 1 + p.inner(func() { x = p.primary() })
	for {
		h := 0
		switch p.toks[p.pos].kind {
		case tokLeftBracket:
			p.advance()
			i := &Item{X: x}
			h = p.inner(func() { i.Index = p.expr() })
			p.expect(tokRightBracket)
			i.Pos = p.from(start)
			x = i
		case tokDot:
			p.advance()
			f := &Field{X: x, Name: p.ident()}
			f.Pos = p.from(start)
			x = f
		case tokDoubleColon:
			p.advance()
			c := &Cast{X: x, Type: p.typeName()}
			c.Pos = p.from(start)
			x = c
		default:
			return x, height
		}
		if height = max(height, h) + 1; height > maxHeight {
			p.tooDeep(maxHeight)
		}
	}
}
