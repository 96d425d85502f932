package avatica

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/audit"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/secret"
)

// connection is what one driver has open. Its statements are used by one request at a time each.
type connection struct {
	api *API
	id  string
	// context are the parameters of its queries; user is whose it says it is.
	context map[string]any
	user    string
	dialect edge.Dialect
	// login and password are those of the properties; an empty login says that each request brings
	// credentials of its own.
	login    string
	password secret.Text

	mu struct {
		sync.Mutex
		// access is what its user may do, as of the last request; nil: all.
		access     *auth.Access
		peer       string // where the last request came from
		closed     bool
		statements map[int32]*statement
		next       int32
		// used is when the last request ended, busy how many run.
		used  time.Time
		busy  int
		props connectionProps
	}
}

// secretKeys are connection properties that are for the driver, or that nobody is to see.
var secretKeys = []string{"user", "password", "avatica_user", "avatica_password"}

// open makes a connection, or refuses it when nobody knows its user, or when there are too many.
func (a *API) open(ctx context.Context, id string, info map[string]string, dialect edge.Dialect, from *auth.Request) error {
	c := &connection{api: a, id: id, context: map[string]any{}, user: info["user"], dialect: dialect,
		login: cmp.Or(info["user"], info["avatica_user"]), password: secret.NewText(cmp.Or(info["password"], info["avatica_password"]))}
	access, err := c.authenticate(ctx, from)
	if err != nil {
		return err
	}
	c.mu.peer = from.Peer
	if access != nil {
		c.user, c.mu.access = access.Name(), access
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.connections[id] != nil:
		return &refusal{fmt.Sprintf("Connection [%s] already open.", id)}
	case len(a.connections) >= a.o.MaxConnections:
		a.expireLocked()
		if len(a.connections) >= a.o.MaxConnections {
			return &refusal{"Too many connections"}
		}
	}
	for key, text := range info {
		if slices.Contains(secretKeys, key) || strings.Contains(strings.ToLower(key), "password") {
			continue
		}
		c.context[key] = text
	}
	c.mu.statements = map[int32]*statement{}
	c.mu.used = a.o.Clock.Now()
	a.connections[id] = c
	return nil
}

// errUnknown is for a connection without credentials that anybody knows.
var errUnknown = fault.Unauthorized("Authentication failed: the properties [user] and [password] of the connection are missing or wrong")

// authenticate returns what the user of the connection may do; nil: no security is configured.
func (c *connection) authenticate(ctx context.Context, from *auth.Request) (*auth.Access, error) {
	security := c.api.o.Security
	if security == nil {
		return nil, nil
	}
	if c.login != "" {
		from = auth.BasicRequest(c.login, c.password.Reveal(), from.Peer, from.TLS)
	}
	access, err := security.Authenticate(ctx, from)
	if err == nil && access == nil {
		err = errUnknown
	}
	if f := fault.Find(err); f != nil && f.Category == fault.CategoryUnauthorized {
		c.api.o.Audit.Add(&audit.Entry{
			Kind: audit.Login, Identity: cmp.Or(c.login, from.Claims()), Address: from.Peer, Door: "jdbc", Outcome: "refused", Error: f.Message,
		})
	}
	return access, err
}

// admit lets a request use the connection: as its user, who is asked for anew, so that what was
// taken away from him is gone.
func (c *connection) admit(ctx context.Context, from *auth.Request) error {
	access, err := c.authenticate(ctx, from)
	if err != nil || access == nil {
		return err
	}
	if access.Name() != c.user {
		return auth.Refused("the connection of another user")
	}
	if err := c.api.o.Security.Pacer.Take(access); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.access, c.mu.peer = access, from.Peer
	return nil
}

// peer returns where the last request came from.
func (c *connection) peer() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.peer
}

// access returns what the user may do; nil: all.
func (c *connection) access() *auth.Access {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.access
}

// find returns a connection for one request; release is called at its end.
func (a *API) find(id string) (c *connection, release func(), err error) {
	a.mu.Lock()
	c = a.connections[id]
	a.mu.Unlock()
	if c == nil {
		return nil, nil, &noConnection{id}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closed {
		return nil, nil, &noConnection{id}
	}
	c.mu.busy++
	return c, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.mu.busy--
		c.mu.used = a.o.Clock.Now()
	}, nil
}

// close ends a connection and its queries. One that is not there is closed.
func (a *API) close(id string) {
	a.mu.Lock()
	c := a.connections[id]
	delete(a.connections, id)
	a.mu.Unlock()
	if c != nil {
		c.end()
	}
}

// end ends what runs for a connection.
func (c *connection) end() {
	c.mu.Lock()
	c.mu.closed = true
	list := slices.Collect(maps.Values(c.mu.statements))
	c.mu.statements = map[int32]*statement{}
	c.mu.Unlock()
	for _, s := range list {
		s.close()
	}
}

// expireLocked ends the connections that nobody has used for long.
func (a *API) expireLocked() {
	now := a.o.Clock.Now()
	for id, c := range a.connections {
		c.mu.Lock()
		idle := c.mu.busy == 0 && now.Sub(c.mu.used) >= a.o.IdleTimeout
		c.mu.Unlock()
		if idle {
			delete(a.connections, id)
			go c.end() // it waits for queries to end
		}
	}
}

// create makes a statement, or refuses it when there are too many.
func (c *connection) create() (*statement, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.mu.closed:
		return nil, &noConnection{c.id}
	case len(c.mu.statements) >= c.api.o.MaxStatements:
		return nil, &refusal{fmt.Sprintf("Too many open statements, limit is [%d]", c.api.o.MaxStatements)}
	}
	c.mu.next++
	s := &statement{connection: c, id: c.mu.next}
	c.mu.statements[s.id] = s
	return s, nil
}

// statement returns a statement; nil: there is none.
func (c *connection) statement(id int32) *statement {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.statements[id]
}

// drop ends a statement.
func (c *connection) drop(id int32) {
	c.mu.Lock()
	s := c.mu.statements[id]
	delete(c.mu.statements, id)
	c.mu.Unlock()
	if s != nil {
		s.close()
	}
}

// statement is a statement of a connection, with the result that is open.
type statement struct {
	connection *connection
	id         int32

	mu     sync.Mutex // one request at a time
	sql    string
	style  string
	params []expr.Type
	// columns are those of the open result.
	columns []column

	state struct {
		sync.Mutex
		cursor *cursor
		closed bool
	}
}

// describe parses a statement without running it.
func (s *statement) describe(ctx context.Context, sql string) (*signature, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeResult()
	d, err := s.connection.api.engine.Describe(ctx, s.request(sql, nil))
	if err != nil {
		return nil, err
	}
	s.sql, s.params, s.style = sql, d.Parameters, styleArray
	return signatureOf(sql, d.Columns, d.Parameters, styleArray), nil
}

// request makes a request of a query of this connection.
func (s *statement) request(sql string, values []value) *query.Request {
	req := &query.Request{SQL: sql, Format: result.Array, Context: maps.Clone(s.connection.context), User: s.connection.user,
		Access: s.connection.access(), Dialect: s.connection.dialect.Name}
	req.ID, _ = req.Context[querycontext.SQLQueryID.Key()].(string)
	if req.ID == "" {
		req.ID = query.NewID()
	}
	req.Context[querycontext.SQLQueryID.Key()] = req.ID
	for _, v := range values {
		req.Parameters = append(req.Parameters, query.Parameter{Type: parameterTypes[v.Type], Value: v.Value})
	}
	return req
}

// parameterTypes are the types of SQL that the representations of drivers stand for.
var parameterTypes = map[string]string{
	"STRING": "VARCHAR", "CHARACTER": "CHAR", "PRIMITIVE_CHAR": "CHAR",
	"LONG": "BIGINT", "PRIMITIVE_LONG": "BIGINT", "INTEGER": "INTEGER", "PRIMITIVE_INT": "INTEGER", "SHORT": "SMALLINT",
	"PRIMITIVE_SHORT": "SMALLINT", "BYTE": "TINYINT", "PRIMITIVE_BYTE": "TINYINT", "NUMBER": "DECIMAL", "BIG_DECIMAL": "DECIMAL",
	"DOUBLE": "DOUBLE", "PRIMITIVE_DOUBLE": "DOUBLE", "FLOAT": "FLOAT", "PRIMITIVE_FLOAT": "FLOAT",
	"BOOLEAN": "BOOLEAN", "PRIMITIVE_BOOLEAN": "BOOLEAN",
	"JAVA_SQL_TIMESTAMP": "TIMESTAMP", "JAVA_UTIL_DATE": "TIMESTAMP", "JAVA_SQL_DATE": "DATE",
	"ARRAY": "ARRAY", "NULL": "NULL", "OBJECT": "OTHER",
}

// run begins a query; it runs until it has given all rows, or the statement is closed or used anew.
func (s *statement) run(sql string, values []value, most int64, style string) (*signature, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeResult()
	a := s.connection.api
	req := s.request(sql, values)
	ctx, cancel := context.WithCancel(context.Background())
	ctx, expired, err := query.Deadline(ctx, clock.Deadline(0), req.Context, a.o.DefaultTimeout, a.o.MaxTimeout)
	if err != nil {
		cancel()
		return nil, err
	}
	stop := func() { expired(); cancel() }
	ctx, q, err := a.running.Enter(ctx, query.Arrival{ID: req.ID, SQL: sql, Identity: req.User, Context: req.Context, Access: req.Access,
		Door: "jdbc", Address: s.connection.peer()})
	if err != nil {
		stop()
		return nil, err
	}
	rows, err := a.engine.Start(ctx, q, req)
	if err != nil {
		err = query.Cause(ctx, err)
		q.End(ctx, err)
		stop()
		return nil, err
	}
	s.sql, s.style = sql, style
	signature := signatureOf(sql, rows.Columns(), s.params, style)
	s.columns = signature.Columns
	next := newCursor(ctx, stop, rows, most, a.o.Clock, func(err error) { q.End(ctx, err) })
	s.state.Lock()
	closed := s.state.closed
	if !closed {
		s.state.cursor = next
	}
	s.state.Unlock()
	if closed {
		next.close()
		return nil, &noConnection{s.connection.id}
	}
	return signature, nil
}

// frame fetches rows of the open result; nil: there is none.
func (s *statement) frame(ctx context.Context, offset int64, most int) (*frame, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Lock()
	c := s.state.cursor
	s.state.Unlock()
	switch {
	case c == nil:
		return nil, nil
	case offset >= 0 && offset != c.offset:
		return nil, &refusal{fmt.Sprintf("Requested offset [%d] does not match current offset [%d]", offset, c.offset)}
	}
	f, err := c.frame(ctx, most, s.connection.api.o.FetchTimeout)
	if f != nil {
		f.columns = s.columns
	}
	return f, err
}

// prepared returns the text of the statement; "": it has none yet.
func (s *statement) prepared() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sql
}

// position returns how many rows of the open result were fetched.
func (s *statement) position() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Lock()
	defer s.state.Unlock()
	if s.state.cursor == nil {
		return 0
	}
	return s.state.cursor.offset
}

// close ends the statement, also while a request waits for its rows.
func (s *statement) close() {
	s.state.Lock()
	s.state.closed = true
	s.state.Unlock()
	s.closeResult()
}

// closeResult ends the open result.
func (s *statement) closeResult() {
	s.state.Lock()
	c := s.state.cursor
	s.state.cursor = nil
	s.state.Unlock()
	if c != nil {
		c.close()
	}
}

// sync takes over what a driver has set and returns all.
func (c *connection) sync(p *connectionProps) *connectionProps {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := &c.mu.props
	if p != nil {
		if p.AutoCommit != nil {
			held.AutoCommit = p.AutoCommit
		}
		if p.ReadOnly != nil {
			held.ReadOnly = p.ReadOnly
		}
		if p.Isolation != nil {
			held.Isolation = p.Isolation
		}
		if p.Catalog != nil {
			held.Catalog = p.Catalog
		}
		if p.Schema != nil {
			held.Schema = p.Schema
		}
	}
	out := *held
	out.Kind = "connPropsImpl"
	yes, zero := true, int32(0)
	if out.AutoCommit == nil {
		out.AutoCommit = &yes
	}
	if out.ReadOnly == nil {
		out.ReadOnly = &yes
	}
	if out.Isolation == nil {
		out.Isolation = &zero
	}
	return &out
}

// textValue is a value of a parameter that is text.
func textValue(text string) value {
	v, _ := json.Marshal(text) // texts are JSON
	return value{Type: "STRING", Value: v}
}
