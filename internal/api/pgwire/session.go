package pgwire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgcatalog"
)

// session is one connection. Everything but mu belongs to its goroutine.
type session struct {
	server *Server
	conn   *wire
	tls    *tls.ConnectionState
	// endPoint is the hash of the certificate that the client was shown.
	endPoint []byte
	ctx      context.Context
	backend  *pgproto3.Backend
	out      []byte // that was not sent yet

	pid      uint32
	secret   secret.Text
	user     string
	database string
	access   *auth.Access
	again    Again // asks anew what access says; nil: it stays
	renewed  bool  // since the last answer

	settings   *settings
	txn        transaction
	statements map[string]*prepared
	portals    map[string]*portal
	cursors    map[string]*cursor
	// preparedBytes are those of the texts of statements.
	preparedBytes int
	began         time.Time // the session
	snapshot      *pgcatalog.Snapshot
	snapshotOf    query.Pin
	grants        []granted // by which snapshot was made
	writeMemory   budget.Account

	mu struct {
		sync.Mutex
		// cancel ends the statement that runs; nil: none does.
		cancel context.CancelCauseFunc
		text   string
		since  time.Time
	}
}

// serve runs the session to its end.
func (c *session) serve(encrypted bool) error {
	c.began = c.server.o.Clock.Now()
	c.statements, c.portals, c.cursors = map[string]*prepared{}, map[string]*portal{}, map[string]*cursor{}
	done, err := c.startup(encrypted)
	if done || err != nil {
		return err
	}
	for {
		if err := c.flush(); err != nil {
			return err
		}
		if idle := c.server.o.IdleTimeout; idle > 0 {
			_ = c.conn.SetReadDeadline(clock.Deadline(idle)) // a connection that can't is closed
		}
		m, err := c.backend.Receive()
		if err != nil {
			return c.lost(err)
		}
		if c.server.o.IdleTimeout > 0 {
			_ = c.conn.SetReadDeadline(time.Time{}) // likewise
		}
		end, err := c.message(m)
		if end || err != nil {
			return err
		}
	}
}

// lost ends a connection whose next message can't be read.
func (c *session) lost(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	if _, ok := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err); ok {
		return c.refuse(failure("54000", "message is longer than service.pgwire.maxMessageBytes [%d]", c.server.o.MaxMessageBytes))
	}
	return c.refuse(failure("08P01", "invalid message: %v", err))
}

// end frees what the session holds.
func (c *session) end() {
	for name := range c.portals {
		c.closePortal(name)
	}
	for name := range c.cursors {
		c.closeCursor(name)
	}
	c.dropWrites()
	if c.pid != 0 {
		c.server.leave(c)
	}
}

// send puts a message into the answer.
func (c *session) send(m pgproto3.BackendMessage) {
	if out, err := m.Encode(c.out); err == nil { // a message that is too long is none of ours
		c.out = out
	}
}

// flush sends the answer so far.
func (c *session) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	_, err := c.conn.Write(c.out)
	if cap(c.out) > 4*flushBytes {
		c.out = nil
	}
	c.out = c.out[:0]
	return err
}

// ready ends the startup.
func (c *session) ready(parameters map[string]string) error {
	c.send(&pgproto3.AuthenticationOk{})
	for key, value := range parameters {
		switch key {
		case "user", "database", "replication":
			continue
		case "options":
			c.settings.options(value)
			continue
		}
		if len(key) > 5 && key[:5] == "_pq_." {
			continue
		}
		if err := c.settings.set(pgLower(key), value); err != nil {
			return c.refuse(c.explain(err, "", nil))
		}
	}
	for _, name := range reported {
		c.report(name)
	}
	c.send(&pgproto3.BackendKeyData{ProcessID: c.pid, SecretKey: []byte(c.secret.Reveal())})
	c.readyForQuery()
	return nil
}

// report tells the client a setting.
func (c *session) report(name string) {
	v, _ := c.settings.get(pgLower(name))
	c.send(&pgproto3.ParameterStatus{Name: name, Value: v})
}

func (c *session) readyForQuery() {
	c.renewed = false
	c.send(&pgproto3.ReadyForQuery{TxStatus: c.txn.status()})
}

// message answers one message. Errors end the connection; those of statements are told.
func (c *session) message(m pgproto3.FrontendMessage) (end bool, err error) {
	switch m := m.(type) {
	case *pgproto3.Query:
		if err := c.renew(); err != nil {
			if e := c.failed(err, "", nil); e != nil {
				return true, e
			}
			c.readyForQuery()
			return false, nil
		}
		return false, c.simple(m.String)
	case *pgproto3.Terminate:
		return true, nil
	case *pgproto3.Parse, *pgproto3.Bind, *pgproto3.Describe, *pgproto3.Execute, *pgproto3.Close:
		err := c.renew()
		if err == nil {
			err = c.extended(m)
		}
		if err != nil {
			if e := c.failed(err, "", nil); e != nil {
				return true, e
			}
			return c.skip()
		}
		return false, nil
	case *pgproto3.Sync:
		return c.sync()
	case *pgproto3.Flush, *pgproto3.CopyData, *pgproto3.CopyDone, *pgproto3.CopyFail:
		return false, nil // data of a COPY that was refused is passed over
	case *pgproto3.FunctionCall:
		if e := c.failed(failure("0A000", "function calls by oid are not supported"), "", nil); e != nil {
			return true, e
		}
		c.readyForQuery()
		return false, nil
	}
	return true, c.refuse(failure("08P01", "unexpected message %T", m))
}

// fatal marks errors of the connection.
type fatal struct{ error }

// failed tells an error, and marks the transaction. It returns an error of the connection.
func (c *session) failed(err error, text string, source func(line, column int) int) error {
	if f, ok := errors.AsType[fatal](err); ok {
		return f.error
	}
	e := c.explain(err, text, source)
	c.send(e.message3("ERROR"))
	c.txn.fail()
	if c.txn.state == idle {
		c.dropWrites()
	}
	return nil
}

// skip passes over messages up to the next Sync.
func (c *session) skip() (end bool, err error) {
	for {
		if err := c.flush(); err != nil {
			return true, err
		}
		m, err := c.backend.Receive()
		if err != nil {
			return true, c.lost(err)
		}
		switch m.(type) {
		case *pgproto3.Sync:
			return c.sync()
		case *pgproto3.Terminate:
			return true, nil
		}
	}
}

// sync ends an exchange of extended messages: what began without BEGIN ends.
func (c *session) sync() (end bool, err error) {
	if c.txn.state == idle {
		c.closePortals()
		c.txn.pin = nil
		if err := c.commitWrites(); err != nil {
			if e := c.failed(err, "", nil); e != nil {
				return true, e
			}
		}
	}
	c.readyForQuery()
	return false, nil
}

// interrupt ends the statement that runs.
func (c *session) interrupt(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.cancel != nil {
		c.mu.cancel(why)
	}
}

// busy runs f as a statement that can be interrupted, also by a client that goes away.
func (c *session) busy(ctx context.Context, text string, cancel context.CancelCauseFunc, f func() error) error {
	c.mu.Lock()
	c.mu.cancel, c.mu.text, c.mu.since = cancel, text, c.server.o.Clock.Now()
	c.mu.Unlock()
	stop := c.conn.watch(func() { cancel(failure("08006", "connection to client lost")) })
	ended := atEnd(ctx, c.conn.hurry)
	err := f()
	if ended() {
		c.conn.calm()
	}
	stop()
	c.mu.Lock()
	c.mu.cancel = nil
	c.mu.Unlock()
	return err
}

// activity is the session as pg_stat_activity shows it.
func (c *session) activity() pgcatalog.Activity {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := pgcatalog.Activity{PID: int64(c.pid), User: c.user, SQL: c.mu.text, State: "idle", Started: c.mu.since}
	if c.mu.cancel != nil {
		a.State = "active"
	}
	return a
}

// simple answers a Query message: several statements, of which an error ends the rest.
func (c *session) simple(text string) error {
	c.closePortal("")
	list, err := parseText(text)
	if err == nil && len(list) == 0 {
		c.send(&pgproto3.EmptyQueryResponse{})
	}
	for i, s := range list {
		if e := c.statement(s, text, err == nil && i == len(list)-1); e != nil {
			err = nil
			if f := c.failed(e, text, nil); f != nil {
				return f
			}
			break
		}
	}
	if err != nil {
		if f := c.failed(err, text, nil); f != nil {
			return f
		}
	}
	if c.txn.state == idle {
		c.txn.pin = nil
	}
	c.readyForQuery()
	return nil
}

// parseText splits a text into statements; one that is not UTF-8 has none.
func parseText(text string) ([]*pg.Statement, error) {
	if !utf8.ValidString(text) {
		return nil, notUTF8()
	}
	return pg.Parse(text)
}

func notUTF8() error { return failure("22021", "invalid byte sequence for encoding \"UTF8\"") }

// statement runs one statement of a Query message. With the last one all that was written without
// BEGIN must be kept before the client is told.
func (c *session) statement(s *pg.Statement, text string, last bool) error {
	if s.Params > 0 {
		if _, ok := s.Node.(*pg.Prepare); !ok {
			return &pg.Error{At: s.At, Code: "42P02", Message: "there is no parameter $1"}
		}
	}
	p, err := c.plan(s, text, nil)
	if err != nil {
		return err
	}
	defer p.release()
	if k, ok := s.Node.(*pg.Copy); ok {
		if !k.From {
			return c.copyTo(k, p)
		}
		n, err := c.copyFrom(k, p)
		if err != nil {
			return err
		}
		return c.written(last, copyTag(n))
	}
	r, err := c.start(p, nil)
	if err != nil {
		return p.explain(c, err)
	}
	defer r.close()
	if r.fields != nil {
		c.describeRows(r.fields, nil)
	}
	n, _, err := c.sendRows(r, nil, 0)
	if err != nil {
		return p.explain(c, err)
	}
	return c.written(last, r.tag(n))
}

// written ends a statement of a Query message.
func (c *session) written(last bool, tag string) error {
	if last && c.txn.state == idle {
		if err := c.commitWrites(); err != nil {
			return err
		}
	}
	c.send(&pgproto3.CommandComplete{CommandTag: []byte(tag)})
	return nil
}

func copyTag(n int64) string { return "COPY " + strconv.FormatInt(n, 10) }

func selectTag(n int64) string { return "SELECT " + strconv.FormatInt(n, 10) }
