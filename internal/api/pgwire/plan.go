package pgwire

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgcatalog"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// planned is a statement that is understood. What it gives is known once it is described.
type planned struct {
	node pg.Node
	// text is the client's, whole; source is that of the statement, as sys.queries shows it.
	text, source string
	params       []pgtype.OID
	// query is what is run, nil for statements of the session; explain is what stands before it.
	query  *pg.Query
	prefix string
	// catalog is set for queries that read no datasource.
	catalog *pgcatalog.Plan
	// translation is set for those that do, native for texts that package sql knows alone.
	translation *pg.Translation
	native      string
	nativeAt    int
	why         error
	natives     []int // the parameters of native
	// target is where the rows of INSERT and COPY FROM go.
	target    *target
	fields    []field
	described bool
}

// plan understands a statement. declared are the types of parameters that the client names.
func (c *session) plan(s *pg.Statement, text string, declared []pgtype.OID) (*planned, error) {
	if err := c.allowed(s.Node); err != nil {
		return nil, err
	}
	p := &planned{node: s.Node, text: text, source: s.Source, params: make([]pgtype.OID, s.Params)}
	copy(p.params, declared)
	switch n := s.Node.(type) {
	case *pg.Select:
		p.query = n.Query
	case *pg.Explain:
		p.query, p.prefix = n.Query, "EXPLAIN PLAN FOR "
		if n.Analyze {
			p.prefix = "EXPLAIN ANALYZE "
		}
	case *pg.Declare:
		p.query = n.Query
	case *pg.Copy:
		if n.From {
			var err error
			p.target, err = c.targetOf(n.Table, n.At, n.Columns)
			return p, err
		}
		if p.query = n.Query; n.Query == nil {
			p.query = copyQuery(n)
		}
	case *pg.Insert:
		return p, c.planInsert(p, n)
	case *pg.Native:
		p.nativeText(s, n)
		return p, nil
	case *pg.Refused:
		return nil, &wireError{code: "0A000", message: n.Verb + " is not supported", position: position(text, s.At),
			hint: "Rows are added by INSERT .. VALUES and COPY .. FROM STDIN, and changed by ingestion; see docs/postgres.md."}
	}
	if p.query == nil {
		return p, nil
	}
	return p, c.classify(p)
}

// copyQuery is the query that COPY of a table means.
func copyQuery(n *pg.Copy) *pg.Query {
	at := n.Table[0].At
	b := &pg.Block{At: at, From: []pg.From{&pg.Table{At: at, Parts: n.Table}}}
	for _, k := range n.Columns {
		b.Items = append(b.Items, pg.Item{X: &pg.Name{At: pg.At(k.At), Parts: []pg.Ident{k}}})
	}
	if b.Items == nil {
		b.Items = []pg.Item{{X: &pg.Star{At: pg.At(at)}}}
	}
	return &pg.Query{At: at, Body: b}
}

// nativeText takes a statement as package sql reads it.
func (p *planned) nativeText(s *pg.Statement, n *pg.Native) {
	p.native, p.nativeAt, p.why = s.Source, s.At, n.Why
	if s.Params > 0 {
		p.native, p.natives = pg.QuestionMarks(s.Source)
	}
}

// classify finds out who answers a query.
func (c *session) classify(p *planned) error {
	session, err := c.catalogSession(c.ctx)
	if err != nil {
		return err
	}
	t := pg.Translate(p.query, c.options(session))
	var data, catalog *pg.Table
	for _, table := range t.Tables {
		if pgcatalog.IsCatalog(table.Parts) {
			catalog = table
		} else {
			data = table
		}
	}
	if data == nil {
		p.catalog, err = pgcatalog.Compile(session, p.query, p.params, len(p.params))
		if err == nil {
			p.describeCatalog()
			return nil
		}
		if e, ok := errors.AsType[*pg.Error](err); catalog != nil || !ok || e.Code != "42883" {
			return err
		}
		// A function of package sql, without a table.
		if t.Err != nil {
			return err
		}
		p.catalog, p.translation = nil, t
		if _, described := c.describe(p); described != nil {
			return err
		}
		return nil
	}
	if catalog != nil {
		return &pg.Error{At: catalog.At, Code: "0A000", Message: "a query can't read datasources and tables of the catalog at once"}
	}
	if t.Err != nil {
		return t.Err
	}
	p.translation = t
	return nil
}

func (p *planned) describeCatalog() {
	p.described, p.params = true, p.catalog.Params
	if p.prefix != "" {
		p.fields = []field{{name: "QUERY PLAN", typ: pgtype.Text}}
		return
	}
	p.fields = []field{}
	for _, k := range p.catalog.Columns {
		p.fields = append(p.fields, field{k.Name, k.Type, k.Table, k.Number})
	}
}

// options are what translating needs of the session.
func (c *session) options(s *pgcatalog.Session) pg.Options {
	return pg.Options{Zone: c.settings.zone, Constant: func(x pg.Expr) (any, pgtype.OID, bool) {
		v, t, ok, err := pgcatalog.Evaluate(s, x)
		return v, t, ok && err == nil
	}}
}

// release frees what was planned.
func (p *planned) release() {}

// explain places an error of the engine in the client's text.
func (p *planned) explain(c *session, err error) error {
	if _, ok := errors.AsType[fatal](err); ok {
		return err
	}
	var source func(line, column int) int
	switch {
	case p.translation != nil:
		source = func(line, column int) int { return p.translation.Source(line, column-len(p.prefix)) }
	case p.native != "":
		source = func(line, column int) int { return p.nativeAt + offset(p.native, line, column) }
	}
	return c.explain(err, p.text, source)
}

// offset is the byte of a line and a column.
func offset(text string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return at
		}
		at += n + 1
	}
	for i := range text[at:] {
		if column--; column <= 0 {
			return at + i
		}
	}
	return at
}

// request makes the request of a query.
func (c *session) request(p *planned, values []any) (*query.Request, error) {
	req := &query.Request{Format: result.Array, Context: c.settings.context(), User: c.access.Name(), Access: c.access,
		Dialect: c.server.o.Dialect}
	if id, _ := req.Context[querycontext.SQLQueryID.Key()].(string); id != "" {
		req.ID = id
	} else {
		req.ID = query.NewID()
	}
	req.Context[querycontext.SQLQueryID.Key()] = req.ID
	used := p.natives
	req.SQL = p.native
	if t := p.translation; t != nil {
		if len(t.Lists) > 0 && values != nil {
			session, err := c.catalogSession(c.ctx)
			if err != nil {
				return nil, err
			}
			o := c.options(session)
			o.Params, o.Bound = values, true
			if t = pg.Translate(p.query, o); t.Err != nil {
				return nil, t.Err
			}
			copied := *p // a portal runs once; the statement may be run again with other lists
			*p = copied
			p.translation = t
		}
		req.SQL, used = p.prefix+t.SQL, t.Params
	}
	for _, n := range used {
		if values == nil {
			break
		}
		v, err := c.parameter(p.params[n-1], values[n-1])
		if err != nil {
			return nil, err
		}
		req.Parameters = append(req.Parameters, v)
	}
	pin, err := c.pinned(c.ctx)
	req.Pin = pin
	return req, err
}

// parameter writes a value as the engine reads it.
func (c *session) parameter(t pgtype.OID, v any) (query.Parameter, error) {
	out := query.Parameter{Type: engineType(t)}
	if v == nil {
		out.Value = json.RawMessage("null")
		return out, nil
	}
	text, err := json.Marshal(c.jsonValue(v))
	if err != nil {
		return out, failure("22023", "a parameter has a value that can't be used: %v", err)
	}
	out.Value = text
	return out, nil
}

func engineType(t pgtype.OID) string {
	switch {
	case t == pgtype.Bool:
		return "BOOLEAN"
	case t.IsInteger() || t.IsOID():
		return "BIGINT"
	case t == pgtype.Float4 || t == pgtype.Float8:
		return "DOUBLE"
	case t == pgtype.NumericT:
		return "DECIMAL"
	case t == pgtype.DateType:
		return "DATE"
	case t == pgtype.TimestampT || t == pgtype.Timestamptz:
		return "TIMESTAMP"
	case pgtype.ElementOf(t) != 0:
		return "ARRAY"
	}
	return "VARCHAR"
}

func (c *session) jsonValue(v any) any {
	switch x := v.(type) {
	case pgtype.Numeric:
		return json.Number(x)
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return strconv.FormatFloat(x, 'g', -1, 64)
		}
		return x
	case pgtype.Timestamp:
		return x.Time().In(c.settings.zone).Format("2006-01-02 15:04:05.000")
	case pgtype.Date:
		return string(pgtype.AppendDate(nil, x))
	case pgtype.Interval:
		return x.String()
	case []byte:
		return string(x)
	case *pgtype.Array:
		list := make([]any, len(x.Items))
		for i, item := range x.Items {
			list[i] = c.jsonValue(item)
		}
		return list
	}
	return v
}

// describe returns the columns of a statement; nil: it gives no rows. It settles the types of
// parameters.
func (c *session) describe(p *planned) ([]field, error) {
	if p.described {
		return p.fields, nil
	}
	switch n := p.node.(type) {
	case *pg.Show:
		p.fields = []field{{name: c.settings.name(n.Name), typ: pgtype.Text}}
		if n.Name == "all" {
			p.fields = []field{{name: "name", typ: pgtype.Text}, {name: "setting", typ: pgtype.Text}, {name: "description", typ: pgtype.Text}}
		}
		return p.fields, nil
	case *pg.Fetch:
		if k := c.cursors[n.Name]; k != nil && !n.Move {
			return k.rows.fields, nil
		}
		return nil, nil
	case *pg.Execute:
		s := c.statements[n.Name]
		if s == nil {
			return nil, missingStatement(n.Name)
		}
		return c.describe(s.plan)
	case *pg.Declare, *pg.Copy:
		if p.translation == nil && p.native == "" {
			return nil, nil
		}
	case *pg.Native:
		if n.Verb == "INSERT" || n.Verb == "REPLACE" {
			return nil, refusedWrite(n.Verb)
		}
	}
	if p.translation == nil && p.native == "" {
		return nil, nil
	}
	req, err := c.request(p, nil)
	if err != nil {
		return nil, err
	}
	d, err := c.server.engine.Describe(auth.With(c.ctx, c.access), req)
	if err != nil {
		return nil, p.better(err)
	}
	used := p.natives
	if p.translation != nil {
		used = p.translation.Params
	}
	p.infer(used, d)
	p.fields = p.named(d.Columns)
	if p.estimates() {
		p.fields = planFields
	}
	p.described = true
	switch p.node.(type) {
	case *pg.Declare, *pg.Copy:
		return nil, nil
	}
	return p.fields, nil
}

// better prefers why a text is no statement of PostgreSQL, if it is none of package sql either.
func (p *planned) better(err error) error {
	if f := fault.Find(err); p.why != nil && f != nil && (strings.Contains(f.Message, "Encountered") || strings.Contains(f.Message,
		"Lexical") ||
		strings.Contains(f.Message, "Incorrect syntax")) {
		return p.why
	}
	return err
}

// infer settles the types of parameters: what the client said, casts, what the engine found.
func (p *planned) infer(used []int, d *query.Description) {
	known := func(n int, t pgtype.OID) {
		if have := p.params[n-1]; (have == 0 || have == pgtype.Unknown) && t != 0 {
			p.params[n-1] = t
		}
	}
	if p.translation != nil {
		for n, t := range p.translation.Casts {
			o := pgtype.Named(t.Name)
			for range t.Array {
				o = pgtype.ArrayOf(o)
			}
			known(n, o)
		}
	}
	for i, n := range used {
		if i >= len(d.Parameters) || d.Parameters[i].Base.String() == "NULL" {
			continue
		}
		t := typeOf(d.Parameters[i])
		if p.translation != nil {
			if at, list := p.translation.Lists[n]; list && at == i {
				t = pgtype.ArrayOf(t)
			}
		}
		known(n, t)
	}
	for i := range p.params {
		t := pgtype.Text
		if p.translation != nil {
			if _, list := p.translation.Lists[i+1]; list {
				t = pgtype.ArrayOf(t)
			}
		}
		known(i+1, t)
	}
}

// named are the columns under the names that PostgreSQL gives them.
func (p *planned) named(columns []result.Column) []field {
	out := fieldsOf(columns)
	if p.translation != nil && p.prefix == "" && len(p.translation.Labels) == len(out) {
		for i, l := range p.translation.Labels {
			out[i].name = l
		}
	}
	return out
}

func refusedWrite(verb string) error {
	return failure("0A000", "%s of a query is a task, which this connection can't run", verb).
		withHint("Send it to /service/v2/sql/task or /service/v2/sql/statements. INSERT .. VALUES and COPY .. FROM STDIN work here.")
}

// runContext gives a query its context: it ends at the deadline, by cancel, and with the session.
func (c *session) runContext(req map[string]any) (context.Context, context.CancelCauseFunc, error) {
	ctx, cancel := context.WithCancelCause(auth.With(c.ctx, c.access))
	limited, expired, err := query.Deadline(ctx, clock.Deadline(0), req, c.server.o.DefaultTimeout, c.server.o.MaxTimeout)
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	return limited, func(cause error) { cancel(cause); expired() }, nil
}

// start begins a statement.
func (c *session) start(p *planned, values []any) (*rows, error) {
	switch {
	case p.catalog != nil && isQuery(p.node):
		return c.startCatalog(p, values)
	case (p.translation != nil || p.native != "") && isQuery(p.node):
		return c.startData(p, values)
	}
	return c.utility(p, values)
}

// isQuery reports whether the rows of a statement are those of its query.
func isQuery(n pg.Node) bool {
	switch n := n.(type) {
	case *pg.Select, *pg.Explain:
		return true
	case *pg.Native:
		return n.Verb != "INSERT" && n.Verb != "REPLACE"
	}
	return false
}

func (p *planned) tag() func(int64) string {
	if p.prefix != "" {
		return func(int64) string { return "EXPLAIN" }
	}
	return selectTag
}

func (c *session) startCatalog(p *planned, values []any) (*rows, error) {
	session, err := c.catalogSession(c.ctx)
	if err != nil {
		return nil, err
	}
	m := &memory{fields: p.fields, style: session.Style()}
	if p.prefix != "" {
		m.rows = [][]any{{"Catalog scan"}}
		return &rows{fields: p.fields, source: m, tag: p.tag()}, nil
	}
	ctx, cancel, err := c.runContext(c.settings.context())
	if err != nil {
		return nil, err
	}
	defer cancel(nil)
	session.Stopped = func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
	session.Sleep = func(d time.Duration) error {
		timer := c.server.o.Clock.NewTimer(max(d, 1))
		defer timer.Stop()
		select {
		case <-timer.C():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err = c.busy(ctx, p.source, cancel, func() (err error) {
		m.rows, err = p.catalog.Run(session, values)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &rows{fields: p.fields, source: m, tag: p.tag()}, nil
}

func (c *session) startData(p *planned, values []any) (out *rows, err error) {
	if values == nil {
		values = []any{}
	}
	req, err := c.request(p, values)
	if err != nil {
		return nil, err
	}
	if err := c.server.o.Pacer.Take(c.access); err != nil {
		return nil, err
	}
	ctx, cancel, err := c.runContext(req.Context)
	if err != nil {
		return nil, err
	}
	entered, q, err := c.server.running.Enter(ctx, query.Arrival{ID: req.ID, SQL: p.source, Identity: req.User,
		Context: maps.Clone(req.Context), Access: req.Access, Door: "postgresql", Address: c.conn.RemoteAddr().String()})
	if err != nil {
		cancel(nil)
		return nil, err
	}
	r := &running{finish: func(err error) { q.End(entered, err) }}
	err = c.busy(ctx, p.source, cancel, func() (err error) {
		r.rows, err = c.server.engine.Start(entered, q, req)
		return err
	})
	if err != nil {
		err = query.Cause(entered, err)
		q.End(entered, err)
		cancel(nil)
		return nil, p.better(err)
	}
	style := &pgtype.Style{Zone: c.settings.zone}
	defer func() {
		if err == nil && p.estimates() {
			out, err = c.explained(p, out)
		}
	}()
	for _, k := range r.rows.Columns() {
		r.encode = append(r.encode, encoderOf(k.Type, r.rows.Zone(), style))
	}
	return &rows{fields: p.named(r.rows.Columns()), source: r, tag: p.tag(), ctx: entered, cancel: cancel, text: p.source}, nil
}
