package native

import (
	"slices"
	"strconv"
)

// The syntax tree of an expression: name, constant, call and lambda. Operators are calls with the
// symbol of the operator as name.
type (
	syntaxNode interface{ position() int }
	nameNode   struct {
		name string
		at   int
	}
	// constantNode is nil, int64, float64, string or, for an array, []any.
	constantNode struct {
		value any
		elem  string // of an array: LONG, DOUBLE, STRING or, if it was not said, ""
		at    int
	}
	callNode struct {
		name string
		args []syntaxNode
		at   int
	}
	lambdaNode struct {
		params []string
		body   syntaxNode
		at     int
	}
)

// args0 is the first argument, nil: there is none.
func (n *callNode) args0() syntaxNode {
	if len(n.args) == 0 {
		return nil
	}
	return n.args[0]
}

func (n *nameNode) position() int     { return n.at }
func (n *constantNode) position() int { return n.at }
func (n *callNode) position() int     { return n.at }
func (n *lambdaNode) position() int   { return n.at }

type parser struct {
	lexer
	tok   token
	depth int
}

// parseExpression reads a text of the native expression language. Its grammar, from the loosest
// operator:
//
//	&& || (left to right, equal) · < <= > >= == != · + - · * / % · ^ (right to left) · unary - !
func parseExpression(src string) (syntaxNode, error) {
	if len(src) > maxExpressionBytes {
		return nil, invalid("Expression is longer than [%d] bytes", maxExpressionBytes)
	}
	p := &parser{lexer: lexer{src: src}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	if p.tok.kind != 0 {
		return nil, p.unexpected()
	}
	return n, nil
}

func (p *parser) advance() (err error) {
	p.tok, err = p.next()
	return err
}

func (p *parser) unexpected() error {
	if p.tok.kind == 0 {
		return p.fail(p.tok.at, "it ends too early")
	}
	return p.fail(p.tok.at, "unexpected [%.50s]", p.tok.text)
}

func (p *parser) is(op string) bool { return p.tok.kind == 'o' && p.tok.text == op }

func (p *parser) expect(op string) error {
	if !p.is(op) {
		return p.unexpected()
	}
	return p.advance()
}

var levels = [][]string{{"&&", "||"}, {"<", "<=", ">", ">=", "==", "!="}, {"+", "-"}, {"*", "/", "%"}}

func (p *parser) enter() error {
	if p.depth++; p.depth > maxExpressionDepth {
		return p.fail(p.tok.at, "it nests deeper than [%d] levels", maxExpressionDepth)
	}
	return nil
}

// binary reads the operators of a level and those that bind tighter. A chain of operators of one
// level counts as nesting: its tree is as deep as the chain is long.
func (p *parser) binary(level int) (syntaxNode, error) {
	if level == len(levels) {
		return p.power()
	}
	before := p.depth
	defer func() { p.depth = before }()
	left, err := p.binary(level + 1)
	for err == nil && p.tok.kind == 'o' && contains(levels[level], p.tok.text) {
		op := p.tok
		if op.text != "&&" && op.text != "||" { // those are flattened
			if err := p.enter(); err != nil {
				return nil, err
			}
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		right, err := p.binary(level + 1)
		if err != nil {
			return nil, err
		}
		if c, ok := left.(*callNode); ok && c.name == op.text && level == 0 && c.at >= 0 {
			c.args = append(c.args, right)
			continue
		}
		left = &callNode{name: op.text, args: []syntaxNode{left, right}, at: op.at}
	}
	return left, err
}

func contains(list []string, s string) bool {
	return slices.Contains(list, s)
}

func (p *parser) power() (syntaxNode, error) {
	before := p.depth
	defer func() { p.depth = before }()
	if err := p.enter(); err != nil {
		return nil, err
	}
	left, err := p.unary()
	if err != nil || !p.is("^") {
		return left, err
	}
	at := p.tok.at
	if err := p.advance(); err != nil {
		return nil, err
	}
	right, err := p.power()
	if err != nil {
		return nil, err
	}
	return &callNode{"^", []syntaxNode{left, right}, at}, nil
}

func (p *parser) unary() (syntaxNode, error) {
	before := p.depth
	defer func() { p.depth = before }()
	if err := p.enter(); err != nil {
		return nil, err
	}
	if !p.is("-") && !p.is("!") {
		return p.primary()
	}
	op := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	if op.text == "-" && p.tok.kind == 'l' { // the least long has no positive counterpart
		n, err := p.long("-")
		if err != nil {
			return nil, err
		}
		return &constantNode{value: n, at: op.at}, p.advance()
	}
	x, err := p.unary()
	if err != nil {
		return nil, err
	}
	return &callNode{"unary" + op.text, []syntaxNode{x}, op.at}, nil
}

func (p *parser) long(sign string) (int64, error) {
	n, err := strconv.ParseInt(sign+p.tok.text, 10, 64)
	if err != nil {
		if n, err = strconv.ParseInt(sign+p.tok.text, 0, 64); err != nil {
			return 0, p.fail(p.tok.at, "[%.50s] is not a 64-bit integer", p.tok.text)
		}
	}
	return n, nil
}

func (p *parser) primary() (syntaxNode, error) {
	t := p.tok
	switch t.kind {
	case 's':
		return &constantNode{value: t.text, at: t.at}, p.advance()
	case 'l':
		n, err := p.long("")
		if err != nil {
			return nil, err
		}
		return &constantNode{value: n, at: t.at}, p.advance()
	case 'd':
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, p.fail(t.at, "[%.50s] is not a number", t.text)
		}
		return &constantNode{value: f, at: t.at}, p.advance()
	case 'q':
		return &nameNode{t.text, t.at}, p.advance()
	case 'i':
		return p.word()
	}
	switch {
	case p.is("("):
		if err := p.advance(); err != nil {
			return nil, err
		}
		x, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		if c, ok := x.(*callNode); ok && (c.name == "&&" || c.name == "||") {
			x = &callNode{c.name, c.args, -1 - c.at} // what stands in parentheses is not continued
		}
		return x, p.expect(")")
	case p.is("["):
		return p.array("")
	}
	return nil, p.unexpected()
}

// word reads what begins with a bare identifier: a name, null, a call or a typed array.
func (p *parser) word() (syntaxNode, error) {
	t := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch {
	case lower(t.text) == "null":
		return &constantNode{at: t.at}, nil
	case t.text == "ARRAY" && p.is("<"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		elem := p.tok.text
		if p.tok.kind != 'i' {
			return nil, p.unexpected()
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		if err := p.expect(">"); err != nil {
			return nil, err
		}
		return p.array(elem)
	case t.text == "ARRAY" && p.is("["):
		return p.array("")
	case !p.is("("):
		return &nameNode{t.text, t.at}, nil
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	call := &callNode{name: lower(t.text), at: t.at}
	for !p.is(")") {
		if len(call.args) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		arg, err := p.argument()
		if err != nil {
			return nil, err
		}
		call.args = append(call.args, arg)
	}
	return call, p.advance()
}

// argument reads an expression or a lambda: x -> ..., (x, y) -> ...
func (p *parser) argument() (syntaxNode, error) {
	mark, tok := p.pos, p.tok
	var params []string
	switch {
	case p.tok.kind == 'i' || p.tok.kind == 'q':
		params = []string{p.tok.text}
		if err := p.advance(); err != nil {
			return nil, err
		}
	case p.is("("):
		for {
			if err := p.advance(); err != nil {
				return nil, err
			}
			if p.tok.kind != 'i' && p.tok.kind != 'q' {
				break
			}
			params = append(params, p.tok.text)
			if err := p.advance(); err != nil {
				return nil, err
			}
			if !p.is(",") {
				break
			}
		}
		if p.is(")") {
			if err := p.advance(); err != nil {
				return nil, err
			}
		}
	}
	if !p.is("->") {
		p.pos, p.tok = mark, tok
		return p.binary(0)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	body, err := p.binary(0)
	return &lambdaNode{params, body, tok.at}, err
}

// array reads the constants of an array behind its type.
func (p *parser) array(elem string) (syntaxNode, error) {
	at := p.tok.at
	if err := p.expect("["); err != nil {
		return nil, err
	}
	list := []any{}
	for !p.is("]") {
		if len(list) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		x, err := p.unary()
		if err != nil {
			return nil, err
		}
		c, ok := x.(*constantNode)
		if !ok {
			if u, isCall := x.(*callNode); isCall && u.name == "unary-" {
				if inner, isConstant := u.args[0].(*constantNode); isConstant {
					if f, isDouble := inner.value.(float64); isDouble {
						c, ok = &constantNode{value: -f}, true
					}
				}
			}
		}
		if !ok {
			return nil, p.fail(at, "an array in brackets can contain only constants; use array(...)")
		}
		list = append(list, c.value)
	}
	return &constantNode{value: list, elem: lower(elem), at: at}, p.advance()
}
