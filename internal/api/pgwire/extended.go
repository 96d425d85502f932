package pgwire

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// prepared is a statement of Parse or PREPARE.
type prepared struct {
	plan *planned // nil: it is empty
	text string
}

// portal is a statement with its values, and the rows that were not fetched yet.
type portal struct {
	plan    *planned
	values  []any
	formats []int16
	rows    *rows // nil: it has not begun
}

// extended answers the messages of the extended protocol.
func (c *session) extended(m pgproto3.FrontendMessage) error {
	switch m := m.(type) {
	case *pgproto3.Parse:
		return c.parse(m)
	case *pgproto3.Bind:
		return c.bind(m)
	case *pgproto3.Describe:
		return c.describeMessage(m)
	case *pgproto3.Execute:
		return c.execute(m)
	case *pgproto3.Close:
		if m.ObjectType == 'S' {
			c.deallocate(m.Name)
		} else {
			c.closePortal(m.Name)
			c.closeCursor(m.Name)
		}
		c.send(&pgproto3.CloseComplete{})
	}
	return nil
}

func (c *session) parse(m *pgproto3.Parse) error {
	text := strings.Clone(m.Query)
	list, err := parseText(text)
	if err != nil {
		return c.explain(err, text, nil)
	}
	name := strings.Clone(m.Name)
	if name != "" && c.statements[name] != nil {
		return failure("42P05", "prepared statement \"%s\" already exists", name)
	}
	switch {
	case len(list) > 1:
		return failure("42601", "cannot insert multiple commands into a prepared statement")
	case len(list) == 0:
		c.deallocate(name)
		c.statements[name] = &prepared{}
		c.send(&pgproto3.ParseComplete{})
		return nil
	}
	declared := make([]pgtype.OID, len(m.ParameterOIDs))
	for i, o := range m.ParameterOIDs {
		declared[i] = pgtype.OID(o)
	}
	list[0].Params = max(list[0].Params, len(declared))
	p, err := c.plan(list[0], text, declared)
	if err != nil {
		return c.explain(err, text, nil)
	}
	if len(p.params) > 0 {
		if _, err := c.describe(p); err != nil {
			return p.explain(c, err)
		}
	}
	if err := c.keep(name, p); err != nil {
		return err
	}
	c.send(&pgproto3.ParseComplete{})
	return nil
}

// keep keeps a prepared statement.
func (c *session) keep(name string, p *planned) error {
	if name != "" {
		if c.statements[name] != nil {
			return failure("42P05", "prepared statement \"%s\" already exists", name)
		}
		if len(c.statements) >= maxStatements {
			return failure("54000", "a session has at most %d prepared statements", maxStatements).withHint("DEALLOCATE those that are not needed.")
		}
	}
	c.deallocate(name)
	if c.preparedBytes+len(p.text) > maxPrepared {
		return failure("54000", "the prepared statements of a session have at most %d bytes", maxPrepared).
			withHint("DEALLOCATE those that are not needed.")
	}
	c.preparedBytes += len(p.text)
	c.statements[name] = &prepared{plan: p, text: p.text}
	return nil
}

func (c *session) deallocate(name string) {
	if s := c.statements[name]; s != nil {
		c.preparedBytes -= len(s.text)
		delete(c.statements, name)
	}
}

func (c *session) deallocateAll() {
	c.statements, c.preparedBytes = map[string]*prepared{}, 0
}

func (c *session) bind(m *pgproto3.Bind) error {
	s := c.statements[m.PreparedStatement]
	if s == nil {
		if m.PreparedStatement == "" {
			return failure("26000", "unnamed prepared statement does not exist")
		}
		return missingStatement(m.PreparedStatement)
	}
	name := strings.Clone(m.DestinationPortal)
	if name != "" && c.portals[name] != nil {
		return failure("42P03", "cursor \"%s\" already exists", name)
	}
	c.closePortal(name)
	if len(c.portals) >= maxPortals {
		return failure("54000", "a session has at most %d portals", maxPortals)
	}
	formats := append([]int16{}, m.ResultFormatCodes...)
	for _, f := range append(slices.Clip(formats), m.ParameterFormatCodes...) {
		if f != 0 && f != 1 {
			return failure("22023", "unsupported format code: %d", f)
		}
	}
	if s.plan == nil {
		c.portals[name] = &portal{}
		c.send(&pgproto3.BindComplete{})
		return nil
	}
	if err := c.allowed(s.plan.node); err != nil {
		return err
	}
	params := s.plan.params
	switch n := len(m.ParameterFormatCodes); {
	case n > 1 && n != len(m.Parameters):
		return failure("08P01", "bind message has %d parameter formats but %d parameters", n, len(m.Parameters))
	case len(m.Parameters) != len(params):
		return failure("08P01", "bind message supplies %d parameters, but prepared statement \"%s\" requires %d", len(m.Parameters),
			m.PreparedStatement, len(params))
	case len(formats) > 1 && s.plan.described && len(formats) != len(s.plan.fields):
		return failure("08P01", "bind message has %d result formats but query has %d columns", len(formats), len(s.plan.fields))
	}
	values := make([]any, len(params))
	for i, b := range m.Parameters {
		if b == nil {
			continue
		}
		var err error
		switch {
		case formatOf(m.ParameterFormatCodes, i) == 1:
			values[i], err = pgtype.Decode(params[i], b)
		case !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0:
			err = notUTF8()
		default:
			values[i], err = c.parseValue(params[i], string(b))
		}
		if err != nil {
			e := c.explain(err, "", nil)
			e.detail = "unnamed portal parameter $" + itoa(i+1)
			return e
		}
	}
	p := *s.plan
	c.portals[name] = &portal{plan: &p, values: values, formats: formats}
	c.send(&pgproto3.BindComplete{})
	return nil
}

// parseValue reads the text of a parameter. What is stored as a number of an object may be its
// name.
func (c *session) parseValue(t pgtype.OID, text string) (any, error) {
	if !t.IsOID() || t == pgtype.OIDType {
		return pgtype.Parse(t, text, c.settings.zone)
	}
	session, err := c.catalogSession(c.ctx)
	if err != nil {
		return nil, err
	}
	return session.ParseValue(t, text)
}

func (c *session) describeMessage(m *pgproto3.Describe) error {
	if m.ObjectType == 'S' {
		s := c.statements[m.Name]
		if s == nil {
			return missingStatement(m.Name)
		}
		if s.plan == nil {
			c.send(&pgproto3.ParameterDescription{})
			c.send(&pgproto3.NoData{})
			return nil
		}
		fields, err := c.describe(s.plan)
		if err != nil {
			return s.plan.explain(c, err)
		}
		oids := make([]uint32, len(s.plan.params))
		for i, o := range s.plan.params {
			oids[i] = uint32(o)
		}
		c.send(&pgproto3.ParameterDescription{ParameterOIDs: oids})
		c.describeOrNone(fields, nil)
		return nil
	}
	if m.ObjectType != 'P' {
		return failure("08P01", "invalid DESCRIBE message subtype %d", m.ObjectType)
	}
	p := c.portals[m.Name]
	switch {
	case p == nil && c.cursors[m.Name] != nil: // cursors are portals with a name
		c.describeRows(c.cursors[m.Name].rows.fields, nil)
		return nil
	case p == nil:
		return failure("34000", "portal \"%s\" does not exist", m.Name)
	case p.plan == nil:
		c.send(&pgproto3.NoData{})
		return nil
	}
	fields, err := c.describe(p.plan)
	if err != nil {
		return p.plan.explain(c, err)
	}
	c.describeOrNone(fields, p.formats)
	return nil
}

func (c *session) describeOrNone(fields []field, formats []int16) {
	if fields == nil {
		c.send(&pgproto3.NoData{})
		return
	}
	c.describeRows(fields, formats)
}

func (c *session) execute(m *pgproto3.Execute) error {
	p := c.portals[m.Portal]
	switch {
	case p == nil && c.cursors[m.Portal] != nil:
		return c.executeCursor(m)
	case p == nil:
		return failure("34000", "portal \"%s\" does not exist", m.Portal)
	case p.plan == nil:
		c.send(&pgproto3.EmptyQueryResponse{})
		return nil
	}
	if p.rows == nil {
		if err := c.allowed(p.plan.node); err != nil {
			return err
		}
		if k, ok := p.plan.node.(*pg.Copy); ok {
			if !k.From {
				return c.copyTo(k, p.plan)
			}
			n, err := c.copyFrom(k, p.plan)
			if err == nil {
				c.send(&pgproto3.CommandComplete{CommandTag: []byte(copyTag(n))})
			}
			return err
		}
		r, err := c.start(p.plan, p.values)
		if err != nil {
			return p.plan.explain(c, err)
		}
		p.rows = r
		c.portals[m.Portal] = p // COMMIT has closed all others
	}
	n, more, err := c.sendRows(p.rows, p.formats, int64(m.MaxRows))
	if err != nil {
		p.rows.close()
		return p.plan.explain(c, err)
	}
	if more {
		c.send(&pgproto3.PortalSuspended{})
		return nil
	}
	tag := p.rows.tag(n)
	p.rows.close()
	c.send(&pgproto3.CommandComplete{CommandTag: []byte(tag)})
	return nil
}

func (c *session) closePortal(name string) {
	if p := c.portals[name]; p != nil {
		if p.rows != nil {
			p.rows.close()
		}
		delete(c.portals, name)
	}
}

func (c *session) closePortals() {
	for name := range c.portals {
		c.closePortal(name)
	}
}

// executeCursor fetches of a cursor by its name, as of a portal.
func (c *session) executeCursor(m *pgproto3.Execute) error {
	f := &pg.Fetch{Name: m.Portal, Direction: "forward", Count: int64(m.MaxRows)}
	if m.MaxRows == 0 {
		f.Count = math.MaxInt64
	}
	r, err := c.fetch(f)
	if err != nil {
		return err
	}
	n, _, err := c.sendRows(r, nil, 0)
	if err != nil {
		return err
	}
	if n == f.Count {
		c.send(&pgproto3.PortalSuspended{})
		return nil
	}
	c.send(&pgproto3.CommandComplete{CommandTag: []byte(selectTag(n))})
	return nil
}
