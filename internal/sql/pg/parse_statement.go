package pg

import (
	"math"
	"strings"
)

// statement reads one statement.
func (p *parser) statement() Node {
	t := p.cur()
	if t.punct("(") || t.word("table") {
		return &Select{p.query()}
	}
	if t.kind != tWord {
		p.fail()
	}
	switch t.text {
	case "select", "with", "values":
		if n := p.nativeWrite(); n != nil {
			return n
		}
		return &Select{p.query()}
	case "explain":
		return p.explain()
	case "insert", "replace":
		if n := p.insert(); n != nil {
			return n
		}
		return p.native(t)
	case "set":
		p.pos++
		return p.set()
	case "show":
		p.pos++
		return &Show{p.settingName()}
	case "reset":
		p.pos++
		if p.accept("all") {
			return &Reset{"all"}
		}
		return &Reset{p.settingName()}
	case "begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release":
		p.pos++
		return p.txn(t.text)
	case "declare":
		p.pos++
		return p.declare()
	case "fetch", "move":
		p.pos++
		return p.fetch(t.text == "move")
	case "close":
		p.pos++
		if p.accept("all") {
			return &CloseCursor{}
		}
		return &CloseCursor{p.ident().Name}
	case "copy":
		p.pos++
		return p.copy()
	case "prepare":
		p.pos++
		return p.prepare()
	case "execute":
		p.pos++
		e := &Execute{Name: p.ident().Name}
		if p.take("(") {
			e.Args = p.exprList(")")
		}
		return e
	case "deallocate":
		p.pos++
		p.accept("prepare")
		if p.accept("all") {
			return &Deallocate{}
		}
		return &Deallocate{p.ident().Name}
	case "discard":
		p.pos++
		if what := p.oneOf("all", "plans", "sequences", "temporary", "temp"); what != "" {
			return &Discard{what}
		}
		p.fail()
	case "listen", "unlisten", "notify", "checkpoint":
		p.skip()
		return &Accepted{strings.ToUpper(t.text)}
	}
	if refused[t.text] {
		p.skip()
		return &Refused{strings.ToUpper(t.text)}
	}
	p.fail()
	return nil
}

// refused are verbs of PostgreSQL that change what only ingestion and the API change.
var refused = words(`create alter drop update delete truncate merge grant revoke vacuum analyze cluster reindex comment lock refresh call do
	load security import reassign`)

func (p *parser) skip() { p.pos = len(p.toks) - 1 }

func (p *parser) native(t *token) Node {
	for i := range p.toks {
		if p.toks[i].kind == tParam {
			p.failAt(p.toks[i].start, "0A000", "parameters are for queries only")
		}
	}
	p.skip()
	return &Native{Verb: strings.ToUpper(t.text)}
}

// nativeWrite finds an INSERT or REPLACE behind WITH.
func (p *parser) nativeWrite() Node {
	if !p.cur().word("with") {
		return nil
	}
	depth := 0
	for i := p.pos; i < len(p.toks); i++ {
		switch t := &p.toks[i]; {
		case t.punct("("):
			depth++
		case t.punct(")"):
			depth--
		case depth == 0 && (t.word("insert") || t.word("replace")) && i > 0 && p.toks[i-1].punct(")"):
			return p.native(t)
		}
	}
	return nil
}

func (p *parser) explain() Node {
	if p.ahead(1).word("plan") {
		return p.native(p.cur())
	}
	p.pos++
	e := &Explain{}
	if p.take("(") {
		for {
			option := p.label().Name
			on := true
			if t := p.cur(); t.kind == tWord || t.kind == tInt {
				on = t.text != "off" && t.text != "false" && t.text != "0"
				e.JSON = e.JSON || option == "format" && t.text == "json"
				p.pos++
			}
			e.Analyze = e.Analyze || option == "analyze" && on
			if !p.take(",") {
				p.need(")")
				break
			}
		}
	} else {
		for o := p.oneOf("analyze", "verbose"); o != ""; o = p.oneOf("analyze", "verbose") {
			e.Analyze = e.Analyze || o == "analyze"
		}
	}
	e.Query = p.query()
	return e
}

// settingName reads name or name.name.
func (p *parser) settingName() string {
	switch {
	case p.acceptAll("time", "zone"):
		return "timezone"
	case p.acceptAll("transaction", "isolation", "level"):
		return "transaction_isolation"
	case p.acceptAll("session", "authorization"):
		return "session_authorization"
	}
	first := p.label()
	name := first.Name
	for p.take(".") {
		part := p.label()
		// Keys of the query context have capital letters.
		if name == "henge" {
			name += "." + part.Raw
			continue
		}
		name += "." + part.Name
	}
	return name
}

func (p *parser) set() Node {
	s := &Set{}
	if !p.acceptAll("session", "characteristics", "as", "transaction") {
		switch {
		case p.accept("local"):
			s.Local = true
		case p.cur().word("session") && !p.ahead(1).word("authorization"):
			p.pos++
		}
	} else {
		s.Name, s.Values = "default_transaction_isolation", []string{p.transactionModes(&Txn{})}
		return s
	}
	switch {
	case p.accept("transaction"):
		if p.accept("snapshot") {
			p.fail()
		}
		x := &Txn{Kind: "set"}
		p.transactionModes(x)
		return x
	case p.cur().word("names"):
		p.pos++
		s.Name = "client_encoding"
	case p.acceptAll("time", "zone"):
		s.Name = "timezone"
		if p.accept("local") {
			return s
		}
		p.accept("interval")
	case p.cur().word("session") || p.cur().word("role"):
		s.Name = p.settingName()
	default:
		s.Name = p.settingName()
		if !p.cur().op("=") {
			p.expect("to")
		} else {
			p.pos++
		}
	}
	if p.accept("default") {
		return s
	}
	for {
		t := p.cur()
		text := t.text
		switch {
		case t.op("-"), t.op("+"):
			p.pos++
			text += p.cur().text
		case t.kind == tWord:
			text = p.text[t.start:t.end]
		}
		if k := p.cur().kind; k == tEOF || k == tPunc || k == tOp {
			p.fail()
		}
		p.pos++
		s.Values = append(s.Values, text)
		if !p.take(",") {
			return s
		}
	}
}

// transactionModes reads the modes of a transaction and returns the isolation.
func (p *parser) transactionModes(x *Txn) string {
	for {
		switch {
		case p.acceptAll("isolation", "level"):
			words := []string{p.label().Name}
			if w := p.oneOf("committed", "uncommitted", "read"); w != "" {
				words = append(words, w)
			}
			x.Isolation = strings.Join(words, " ")
		case p.acceptAll("read", "only"):
			x.ReadOnly = true
		case p.acceptAll("read", "write"):
			x.ReadWrite = true
		case p.accept("deferrable"), p.acceptAll("not", "deferrable"):
		default:
			return x.Isolation
		}
		p.take(",")
	}
}

func (p *parser) txn(word string) Node {
	x := &Txn{}
	switch word {
	case "begin", "start":
		x.Kind = "begin"
		if word == "start" {
			p.expect("transaction")
		} else {
			p.oneOf("work", "transaction")
		}
		p.transactionModes(x)
		return x
	case "savepoint":
		x.Kind, x.Name = "savepoint", p.ident().Name
		return x
	case "release":
		p.accept("savepoint")
		x.Kind, x.Name = "release", p.ident().Name
		return x
	}
	x.Kind = "rollback"
	if word == "commit" || word == "end" {
		x.Kind = "commit"
	}
	p.oneOf("work", "transaction")
	if x.Kind == "rollback" && p.accept("to") {
		p.accept("savepoint")
		x.Kind, x.Name = "rollback to", p.ident().Name
		return x
	}
	if p.accept("and") {
		x.Chain = !p.accept("no")
		p.expect("chain")
	}
	return x
}

func (p *parser) declare() Node {
	d := &Declare{Name: p.ident().Name}
	for {
		switch {
		case p.accept("binary"):
			d.Binary = true
		case p.accept("insensitive"), p.accept("asensitive"):
		case p.acceptAll("no", "scroll"):
		case p.accept("scroll"):
			d.Scroll = true
		default:
			p.expect("cursor")
			if p.acceptAll("with", "hold") {
				d.Hold = true
			} else {
				p.acceptAll("without", "hold")
			}
			p.expect("for")
			d.Query = p.query()
			return d
		}
	}
}

func (p *parser) fetch(move bool) Node {
	f := &Fetch{Move: move, Direction: "forward", Count: 1}
	signed := func() bool {
		t := p.cur()
		return t.kind == tInt || (t.op("-") || t.op("+")) && p.ahead(1).kind == tInt
	}
	switch {
	case p.accept("next"):
	case p.accept("prior"):
		f.Direction = "backward"
	case p.accept("first"):
		f.Direction = "absolute"
	case p.accept("last"):
		f.Direction, f.Count = "absolute", -1
	case p.cur().word("absolute"), p.cur().word("relative"):
		f.Direction = p.cur().text
		p.pos++
		f.Count = p.integer()
	case p.cur().word("forward"), p.cur().word("backward"):
		f.Direction = p.cur().text
		p.pos++
		if p.accept("all") {
			f.All, f.Count = true, math.MaxInt64
		} else if signed() {
			f.Count = p.integer()
		}
	case p.accept("all"):
		f.All, f.Count = true, math.MaxInt64
	case signed():
		f.Count = p.integer()
	}
	if f.Direction == "forward" && f.Count < 0 {
		f.Direction, f.Count = "backward", -f.Count
	}
	if !p.accept("from") {
		p.accept("in")
	}
	f.Name = p.ident().Name
	return f
}

func (p *parser) copy() Node {
	c := &Copy{Options: map[string]string{}}
	if p.take("(") {
		c.Query = p.query()
		p.need(")")
	} else {
		t := p.tableName()
		c.Table, c.At = t.Parts, t.At
		if p.cur().punct("(") {
			c.Columns = p.names()
		}
	}
	switch {
	case p.accept("from"):
		c.From = true
	default:
		p.expect("to")
	}
	t := p.cur()
	c.Where = t.text
	p.pos++
	if t.word("program") {
		p.pos++
	}
	p.accept("with")
	if p.take("(") {
		for {
			name := p.label().Name
			value := "true"
			if v := p.cur(); v.kind == tWord || v.kind == tString || v.kind == tInt {
				value = v.text
				p.pos++
			} else if p.take("(") || v.op("*") {
				p.failAt(v.start, "0A000", "COPY option "+quoteNear(name)+" takes no list")
			}
			c.Options[name] = value
			if !p.take(",") {
				p.need(")")
				return c
			}
		}
	}
	for p.cur().kind == tWord { // the syntax before release 9.0
		name := p.cur().text
		p.pos++
		switch name {
		case "binary", "csv":
			c.Options["format"] = name
		case "header":
			c.Options["header"] = "true"
		case "delimiter", "null", "quote", "escape":
			p.accept("as")
			if p.cur().kind != tString {
				p.fail()
			}
			c.Options[name] = p.cur().text
			p.pos++
		default:
			p.pos--
			p.fail()
		}
	}
	return c
}

func (p *parser) prepare() Node {
	x := &Prepare{Name: p.ident().Name}
	if p.take("(") {
		for {
			x.Types = append(x.Types, p.typeName())
			if !p.take(",") {
				p.need(")")
				break
			}
		}
	}
	p.expect("as")
	start := p.cur().start
	inner := p.statement()
	switch inner.(type) {
	case *Select, *Native, *Explain, *Insert:
	default:
		p.fail()
	}
	end := p.toks[len(p.toks)-1].start
	x.Body = &Statement{Source: p.text[start:end], At: start, Node: inner, Params: p.params}
	p.params = 0
	return x
}
