package syntax

// over reads what follows OVER.
func (p *parser) over() *Window {
	start := p.mark()
	if p.at(tokLeftParen) {
		return p.window()
	}
	w := &Window{Base: p.ident(), Bare: true}
	w.Pos = p.from(start)
	return w
}

func (p *parser) windowDef() WindowDef {
	start := p.mark()
	d := WindowDef{Name: p.ident()}
	p.expectWord(kwAs)
	d.Window = p.window()
	d.Pos = p.from(start)
	return d
}

// window reads ([base] [PARTITION BY ...] [ORDER BY ...] [frame]).
func (p *parser) window() *Window {
	start := p.mark()
	w := &Window{}
	p.expect(tokLeftParen)
	if p.atName() && !p.atFrame() {
		w.Base = p.ident()
	}
	if p.acceptWord(kwPartition) {
		p.expectWord(kwBy)
		w.PartitionBy = p.countedList()
	}
	if p.acceptWord(kwOrder) {
		p.expectWord(kwBy)
		w.OrderBy = p.orderItems()
	}
	if p.atFrame() {
		w.Frame = p.frame()
	}
	p.expect(tokRightParen)
	w.Pos = p.from(start)
	return w
}

// atFrame reports whether a frame begins: its words are names elsewhere, even the name of a window.
func (p *parser) atFrame() bool {
	unit := p.atWord(kwRows) || p.atWord(kwRange) || p.atWord(kwGroups)
	next := p.peek(1)
	return unit && next.kind != tokRightParen && !next.is(kwPartition) && !next.is(kwOrder)
}

func (p *parser) frame() *Frame {
	start := p.mark()
	f := &Frame{}
	switch p.toks[p.pos].keyword {
	case kwRange:
		f.Unit = FrameRange
	case kwGroups:
		f.Unit = FrameGroups
	}
	p.advance()
	if p.acceptWord(kwBetween) {
		f.Between = true
		f.Start = p.frameBound()
		p.expectWord(kwAnd)
		f.End = p.frameBound()
	} else {
		f.Start = p.frameBound()
	}
	if p.acceptWord(kwExclude) {
		switch {
		case p.acceptWord(kwNo):
			p.expectWord(kwOthers)
			f.Exclude = ExcludeNoOthers
		case p.acceptWord(kwCurrent):
			p.expectWord(kwRow)
			f.Exclude = ExcludeCurrentRow
		case p.acceptWord(kwGroup):
			f.Exclude = ExcludeGroup
		default:
			p.expectWord(kwTies)
			f.Exclude = ExcludeTies
		}
	}
	f.Pos = p.from(start)
	return f
}

func (p *parser) frameBound() FrameBound {
	start := p.mark()
	var b FrameBound
	switch {
	case p.acceptWords(kwCurrent, kwRow):
		b.Kind = CurrentRow
	case p.atWord(kwUnbounded) && (p.peek(1).is(kwPreceding) || p.peek(1).is(kwFollowing)):
		p.advance()
		b.Kind = UnboundedPreceding
		if !p.acceptWord(kwPreceding) {
			p.expectWord(kwFollowing)
			b.Kind = UnboundedFollowing
		}
	default:
		b.Kind, b.Offset = OffsetPreceding, p.exprOf(precLike+1)
		if !p.acceptWord(kwPreceding) {
			p.expectWord(kwFollowing)
			b.Kind = OffsetFollowing
		}
	}
	b.Pos = p.from(start)
	return b
}
