package pgwire

import (
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgcatalog"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// notice tells a client what it should know.
func (c *session) notice(code, message string) {
	c.send(&pgproto3.NoticeResponse{Severity: "WARNING", SeverityUnlocalized: "WARNING", Code: code, Message: message})
}

// done is the answer of a statement without rows.
func done(tag string) *rows { return &rows{tag: func(int64) string { return tag }} }

// utility runs a statement of the session.
func (c *session) utility(p *planned, values []any) (*rows, error) {
	switch n := p.node.(type) {
	case *pg.Set:
		return c.setSetting(n)
	case *pg.Reset:
		if err := c.settings.reset(pgLower(n.Name)); err != nil {
			return nil, err
		}
		return done("RESET"), nil
	case *pg.Show:
		return c.show(n)
	case *pg.Txn:
		tag, err := c.transact(n)
		if err != nil {
			return nil, err
		}
		return done(tag), nil
	case *pg.Declare:
		return c.declare(n, p, values)
	case *pg.Fetch:
		return c.fetch(n)
	case *pg.CloseCursor:
		if n.Name == "" {
			for name := range c.cursors {
				c.closeCursor(name)
			}
			return done("CLOSE CURSOR ALL"), nil
		}
		if c.cursors[n.Name] == nil {
			return nil, failure("34000", "cursor \"%s\" does not exist", n.Name)
		}
		c.closeCursor(n.Name)
		return done("CLOSE CURSOR"), nil
	case *pg.Prepare:
		return c.prepareText(n, p.text)
	case *pg.Execute:
		return c.executeText(n)
	case *pg.Deallocate:
		if n.Name == "" {
			c.deallocateAll()
			return done("DEALLOCATE ALL"), nil
		}
		if c.statements[n.Name] == nil {
			return nil, missingStatement(n.Name)
		}
		c.deallocate(n.Name)
		return done("DEALLOCATE"), nil
	case *pg.Discard:
		return c.discard(n)
	case *pg.Accepted:
		return done(n.Tag), nil
	case *pg.Native:
		return nil, refusedWrite(n.Verb)
	case *pg.Insert:
		return c.insert(p, values)
	case *pg.Copy:
		return nil, failure("0A000", "COPY is supported in simple queries only")
	}
	return nil, failure("0A000", "this statement is not supported")
}

func (c *session) setSetting(n *pg.Set) (*rows, error) {
	name := pgLower(n.Name)
	if n.Local && c.txn.state == idle {
		c.notice("25P01", "SET LOCAL can only be used in transaction blocks")
		return done("SET"), nil
	}
	before, had := c.settings.values[name]
	var err error
	if n.Values == nil {
		err = c.settings.reset(name)
	} else {
		err = c.settings.set(name, strings.Join(n.Values, ", "))
	}
	if err != nil {
		return nil, err
	}
	if n.Local {
		if _, noted := c.settings.locals[name]; !noted {
			c.settings.locals[name] = nil
			if had {
				c.settings.locals[name] = &before
			}
		}
	}
	return done("SET"), nil
}

func (c *session) show(n *pg.Show) (*rows, error) {
	fields, err := c.describe(&planned{node: n})
	if err != nil {
		return nil, err
	}
	m := &memory{fields: fields, style: &pgtype.Style{}}
	if n.Name == "all" {
		all := c.settings.all()
		for _, name := range sortedNames(all) {
			m.rows = append(m.rows, []any{c.settings.name(name), all[name], ""})
		}
	} else {
		v, ok := c.settings.get(pgLower(n.Name))
		if !ok {
			return nil, failure("42704", "unrecognized configuration parameter \"%s\"", n.Name)
		}
		m.rows = [][]any{{v}}
	}
	return &rows{fields: fields, source: m, tag: func(int64) string { return "SHOW" }}, nil
}

func sortedNames(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (c *session) discard(n *pg.Discard) (*rows, error) {
	if n.What == "all" {
		if c.txn.state != idle {
			return nil, failure("25001", "DISCARD ALL cannot run inside a transaction block")
		}
		for name := range c.cursors {
			c.closeCursor(name)
		}
		c.deallocateAll()
		if err := c.settings.reset("all"); err != nil {
			return nil, err
		}
	}
	return done("DISCARD " + strings.ToUpper(n.What)), nil
}

func missingStatement(name string) error {
	return failure("26000", "prepared statement \"%s\" does not exist", name)
}

// prepareText runs PREPARE.
func (c *session) prepareText(n *pg.Prepare, text string) (*rows, error) {
	var declared []pgtype.OID
	for _, t := range n.Types {
		o := pgtype.Named(t.Name)
		if o == 0 {
			return nil, &pg.Error{At: t.At, Code: "42704", Message: "type \"" + t.Name + "\" does not exist"}
		}
		for range t.Array {
			o = pgtype.ArrayOf(o)
		}
		declared = append(declared, o)
	}
	n.Body.Params = max(n.Body.Params, len(declared))
	p, err := c.plan(n.Body, text, declared)
	if err != nil {
		return nil, err
	}
	if _, err := c.describe(p); err != nil {
		return nil, p.explain(c, err)
	}
	if err := c.keep(n.Name, p); err != nil {
		return nil, err
	}
	return done("PREPARE"), nil
}

// executeText runs EXECUTE.
func (c *session) executeText(n *pg.Execute) (*rows, error) {
	s := c.statements[n.Name]
	if s == nil {
		return nil, missingStatement(n.Name)
	}
	if len(n.Args) != len(s.plan.params) {
		return nil, failure("42601", "wrong number of parameters for prepared statement \"%s\": expected %d, got %d", n.Name,
			len(s.plan.params), len(n.Args))
	}
	session, err := c.catalogSession(c.ctx)
	if err != nil {
		return nil, err
	}
	values := make([]any, len(n.Args))
	for i, x := range n.Args {
		cast := &pg.Cast{At: pg.At(x.Pos()), X: x, Type: pg.TypeName{At: x.Pos(), Name: s.plan.params[i].Internal()}}
		v, _, _, err := pgcatalog.Evaluate(session, cast)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	p := *s.plan
	r, err := c.start(&p, values)
	if err != nil {
		return nil, p.explain(c, err)
	}
	return r, nil
}
