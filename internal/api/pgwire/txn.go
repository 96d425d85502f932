package pgwire

import (
	"context"
	"slices"

	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/sql/pg"
)

// The states of a transaction, as in ReadyForQuery.
const (
	idle   = 0
	inTxn  = 'T'
	failed = 'E'
)

// transaction is what BEGIN began: one state of the timeline for all its queries.
type transaction struct {
	state      byte
	pin        query.Pin
	savepoints []savepoint
	number     int64
	writes     writes
}

// savepoint is a name, and what was written before it.
type savepoint struct {
	name   string
	writes writes
}

func (t *transaction) status() byte {
	if t.state == idle {
		return 'I'
	}
	return t.state
}

// fail marks a transaction in which a statement has failed.
func (t *transaction) fail() {
	if t.state == inTxn {
		t.state = failed
	}
}

// pinned returns what statements read: in a transaction always the same.
func (c *session) pinned(ctx context.Context) (query.Pin, error) {
	if c.txn.pin == nil {
		p, err := c.server.engine.PinState(ctx)
		if err != nil {
			return nil, err
		}
		if c.txn.state == idle {
			return p, nil
		}
		c.txn.pin = p
	}
	return c.txn.pin, nil
}

// readOnly notes whether a transaction may write, if it was said.
func (c *session) readOnly(x *pg.Txn) {
	if c.txn.state == idle || !x.ReadOnly && !x.ReadWrite {
		return
	}
	const name = "transaction_read_only"
	c.settings.locals[name] = nil
	c.settings.values[name] = map[bool]string{true: "on", false: "off"}[x.ReadOnly]
}

// allowed refuses statements in a transaction that has failed.
func (c *session) allowed(n pg.Node) error {
	if c.txn.state != failed {
		return nil
	}
	if x, ok := n.(*pg.Txn); ok && (x.Kind == "rollback" || x.Kind == "commit" || x.Kind == "rollback to") {
		return nil
	}
	return failure("25P02", "current transaction is aborted, commands ignored until end of transaction block")
}

// endTransaction frees what lives as long as a transaction.
func (c *session) endTransaction() {
	number := c.txn.number
	c.dropWrites()
	c.txn = transaction{number: number}
	for name, k := range c.cursors {
		if !k.hold {
			c.closeCursor(name)
		}
	}
	c.closePortals()
}

// transact runs a statement of transactions and returns its tag.
func (c *session) transact(x *pg.Txn) (tag string, err error) {
	switch x.Kind {
	case "begin", "set":
		if x.Kind == "set" {
			c.readOnly(x)
			return "SET", nil
		}
		if c.txn.state != idle {
			c.notice("25001", "there is already a transaction in progress")
			return "BEGIN", nil
		}
		c.txn.state = inTxn
		c.txn.number++
		c.settings.begin()
		c.readOnly(x)
		if _, err := c.pinned(c.ctx); err != nil {
			c.txn.state = idle
			return "", err
		}
		return "BEGIN", nil
	case "commit", "rollback":
		if x.Kind == "commit" && c.txn.state != failed {
			if err := c.commitWrites(); err != nil {
				c.settings.rollback()
				c.endTransaction()
				return "", err
			}
		}
		tag = "COMMIT"
		switch {
		case c.txn.state == idle:
			c.notice("25P01", "there is no transaction in progress")
		case x.Kind == "rollback" || c.txn.state == failed:
			c.settings.rollback()
			tag = "ROLLBACK"
		default:
			c.settings.commit()
		}
		if x.Kind == "rollback" {
			tag = "ROLLBACK"
		}
		c.endTransaction()
		if x.Chain {
			return tag, c.chain()
		}
		return tag, nil
	}
	return c.savepoint(x)
}

func (c *session) chain() error {
	_, err := c.transact(&pg.Txn{Kind: "begin"})
	return err
}

func (c *session) savepoint(x *pg.Txn) (tag string, err error) {
	if c.txn.state == idle {
		return "", failure("25P01", "%s can only be used in transaction blocks", map[string]string{"savepoint": "SAVEPOINT",
			"release": "RELEASE SAVEPOINT", "rollback to": "ROLLBACK TO SAVEPOINT"}[x.Kind])
	}
	if x.Kind == "savepoint" {
		if len(c.txn.savepoints) >= maxSavepoints {
			return "", failure("54000", "a transaction has at most %d savepoints", maxSavepoints)
		}
		c.txn.savepoints = append(c.txn.savepoints, savepoint{x.Name, c.txn.writes})
		return "SAVEPOINT", nil
	}
	at := len(c.txn.savepoints) - 1
	for at >= 0 && c.txn.savepoints[at].name != x.Name {
		at--
	}
	if at < 0 {
		return "", failure("3B001", "savepoint \"%s\" does not exist", x.Name)
	}
	if x.Kind == "release" {
		c.txn.savepoints = slices.Delete(c.txn.savepoints, at, len(c.txn.savepoints))
		return "RELEASE", nil
	}
	c.txn.writes = c.txn.savepoints[at].writes
	c.txn.savepoints = c.txn.savepoints[:at+1]
	c.txn.state = inTxn
	return "ROLLBACK", nil
}
