package syntax

import "strings"

// typeName reads a type.
func (p *parser) typeName() *TypeName {
	start := p.mark()
	t := &TypeName{}
	if !p.enter() {
		return t
	}
	defer p.leave()
	if p.acceptWord(kwInterval) {
		t.Name = "INTERVAL " + p.intervalUnit()
		if p.acceptWord(kwTo) {
			t.Name += " TO " + p.intervalUnit()
		}
		t.Pos = p.from(start)
		return t
	}
	if !p.atName() {
		p.fail()
		return t
	}
	word := p.toks[p.pos]
	if word.kind == tokWord && p.peek(1).kind != tokDot {
		t.Name = upper(p.source(&word))
		p.advance()
	} else {
		name := p.path()
		parts := make([]string, len(name.Parts))
		for i, part := range name.Parts {
			parts[i] = part.Name
		}
		t.Name = strings.Join(parts, ".")
	}
	p.typeRest(t, word.keyword)
	for p.acceptWord(kwArray) {
		t.Arrays++
	}
	t.Pos = p.from(start)
	return t
}

// typeRest reads what belongs to the type whose first word was k.
func (p *parser) typeRest(t *TypeName, k keyword) {
	switch k {
	case kwType:
		if p.accept(tokLeftParen) {
			t.Native = p.stringValue()
			p.expect(tokRightParen)
		}
		return
	case kwRow:
		if p.at(tokLeftParen) {
			t.Fields = p.columnDefs()
		}
		return
	case kwCharacter, kwChar:
		t.Name = "CHAR"
		if p.acceptWord(kwVarying) {
			t.Name = "VARCHAR"
		}
	case kwDouble:
		p.acceptWord(kwPrecision)
	}
	if most := typeArgs(t.Name); most > 0 && p.accept(tokLeftParen) {
		for {
			t.Args = append(t.Args, p.smallInteger())
			if len(t.Args) == most || !p.accept(tokComma) {
				break
			}
		}
		p.expect(tokRightParen)
	}
	if k == kwTime || k == kwTimestamp {
		switch {
		case p.acceptWord(kwWith):
			t.Zone = WithZone
			if p.acceptWord(kwLocal) {
				t.Zone = WithLocalZone
			}
			p.expectWord(kwTime)
			p.expectWord(kwZone)
		case p.acceptWord(kwWithout):
			p.expectWord(kwTime)
			p.expectWord(kwZone)
		}
	}
}

// typeArgs returns how many numbers may follow the name of a type in parentheses, its length or its
// precision and scale.
func typeArgs(name string) int {
	switch name {
	case "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "INT", "BIGINT", "REAL", "FLOAT", "DOUBLE", "DATE":
		return 0
	case "CHAR", "VARCHAR", "TIME", "TIMESTAMP":
		return 1
	}
	return 2
}
