package pg

// insert reads INSERT .. VALUES; nil: it is another INSERT, which package sql reads, and nothing
// was
// read.
func (p *parser) insert() Node {
	start := p.pos
	n := &Insert{At: p.cur().start}
	err := p.protect(func() {
		p.expect("insert")
		p.expect("into")
		n.Table = p.tableName()
		if p.cur().punct("(") {
			n.Columns = p.names()
		}
	})
	if err == nil && p.acceptAll("default", "values") {
		p.failAt(n.At, "0A000", "INSERT .. DEFAULT VALUES is not supported: each row needs a time")
	}
	if err != nil || !p.cur().word("values") {
		p.pos = start
		return nil
	}
	n.Values = &Values{At: p.cur().start}
	p.pos++
	for {
		p.need("(")
		n.Values.Rows = append(n.Values.Rows, p.insertRow())
		if !p.take(",") {
			break
		}
	}
	switch t := p.cur(); {
	case t.word("partitioned"), t.word("clustered"): // a task of package sql
		p.pos = start
		return nil
	case t.word("on"):
		p.failAt(t.start, "0A000", "ON CONFLICT is not supported: rows have no keys")
	case t.word("returning"):
		p.failAt(t.start, "0A000", "RETURNING is not supported")
	}
	return n
}

// insertRow reads the values of a row, up to the parenthesis that is taken.
func (p *parser) insertRow() (row []Expr) {
	for {
		if p.accept("default") {
			row = append(row, nil)
		} else {
			row = append(row, p.expr())
		}
		if !p.take(",") {
			p.need(")")
			return row
		}
	}
}
