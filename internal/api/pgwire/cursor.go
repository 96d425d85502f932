package pgwire

import (
	"errors"
	"io"
	"strconv"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
	"github.com/hengedb/henge/internal/vector"
)

func itoa(n int) string { return strconv.Itoa(n) }

// cursor is what DECLARE made: rows that are fetched forwards. Those that are in memory go in both
// directions: those of the catalog, and with SCROLL those of datasources.
type cursor struct {
	rows *rows
	text string
	hold bool
	// position is the row that was fetched last, from 1; 0: none was.
	position int64
	// memory is what the rows of a scrolling cursor take.
	memory budget.Account
}

// maxCursors bounds the cursors of a session.
const maxCursors = 256

func (c *session) declare(n *pg.Declare, p *planned, values []any) (*rows, error) {
	switch {
	case c.txn.state == idle && !n.Hold:
		return nil, failure("25P01", "DECLARE CURSOR can only be used in transaction blocks")
	case c.cursors[n.Name] != nil:
		return nil, failure("42P03", "cursor \"%s\" already exists", n.Name)
	case len(c.cursors) >= maxCursors:
		return nil, failure("54000", "a session has at most %d cursors", maxCursors)
	}
	of := *p
	of.node = &pg.Select{Query: n.Query}
	r, err := c.start(&of, values)
	if err != nil {
		return nil, of.explain(c, err)
	}
	k := &cursor{rows: r, text: p.source, hold: n.Hold}
	if of, forward := r.source.(*running); n.Scroll && forward {
		if err := c.keepRows(k, of); err != nil {
			k.memory.Close()
			return nil, p.explain(c, err)
		}
	}
	c.cursors[n.Name] = k
	return done("DECLARE CURSOR"), nil
}

// The maximum number of rows that a scrolling cursor over datasources stores, and the maximum size
// of their values.
const (
	maxScrollRows  = 1_000_000
	maxScrollBytes = 256 << 20
)

// keepRows reads all rows of a cursor into memory.
func (c *session) keepRows(k *cursor, of *running) error {
	r := k.rows
	defer r.close()
	if c.server.o.Memory != nil {
		k.memory = budget.NewAccount(c.server.o.Memory)
	}
	tooMany := failure("54000", "a cursor with SCROLL keeps at most [%d] rows and [%d] bytes", maxScrollRows, maxScrollBytes).
		withHint("Declare it without SCROLL, or with a LIMIT.")
	out := &memory{fields: r.fields, style: &pgtype.Style{Zone: c.settings.zone}}
	var values []func(v *vector.Vector, row int) any
	for _, column := range of.rows.Columns() {
		values = append(values, valueOf(column.Type, of.rows.Zone()))
	}
	size := int64(0)
	err := c.busy(r.ctx, k.text, r.cancel, func() error {
		for {
			n, err := of.next(r.ctx)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			for at := range n {
				row := make([]any, len(values))
				for i, value := range values {
					if v := of.batch.Cols[i]; !v.IsNull(at) {
						row[i] = value(v, at)
					}
					size += sizeOf(row[i])
				}
				out.rows = append(out.rows, row)
			}
			if len(out.rows) > maxScrollRows || size > maxScrollBytes {
				return tooMany
			}
			if err := k.memory.Set(size); err != nil {
				return failure("53200", "out of memory").withDetail("The rows of the cursor find no room.").
					withHint("Declare it without SCROLL, or with a LIMIT.")
			}
		}
	})
	if err != nil {
		return query.Cause(r.ctx, err)
	}
	k.rows = &rows{fields: r.fields, source: out, tag: r.tag}
	return nil
}

// sizeOf is about what a value takes with its place in a row.
func sizeOf(v any) int64 {
	const slotBytes = 32
	switch x := v.(type) {
	case string:
		return slotBytes + int64(len(x))
	case []byte:
		return slotBytes + int64(len(x))
	case *pgtype.Array:
		n := int64(2 * slotBytes)
		for _, item := range x.Items {
			n += sizeOf(item)
		}
		return n
	}
	return slotBytes
}

func (c *session) closeCursor(name string) {
	if k := c.cursors[name]; k != nil {
		k.rows.close()
		k.memory.Close()
		delete(c.cursors, name)
	}
}

// fetch runs FETCH and MOVE.
func (c *session) fetch(n *pg.Fetch) (*rows, error) {
	k := c.cursors[n.Name]
	if k == nil {
		return nil, failure("34000", "cursor \"%s\" does not exist", n.Name)
	}
	verb := "FETCH "
	if n.Move {
		verb = "MOVE "
	}
	tag := func(count int64) string { return verb + strconv.FormatInt(count, 10) }
	if m, ok := k.rows.source.(*memory); ok {
		return k.fetchMemory(m, n, tag)
	}
	skip, count := int64(0), n.Count
	switch n.Direction {
	case "forward":
	case "absolute", "relative":
		to := n.Count
		if n.Direction == "relative" {
			to += k.position
		}
		if to <= k.position {
			return nil, backwards()
		}
		skip, count = to-k.position-1, 1
	default:
		return nil, backwards()
	}
	if count == 0 {
		return &rows{fields: k.rows.fields, tag: tag}, nil
	}
	if _, err := c.pass(k, skip); err != nil {
		return nil, err
	}
	if n.Move {
		all, err := c.pass(k, count)
		if err != nil {
			return nil, err
		}
		return done(tag(all)), nil
	}
	return &rows{fields: k.rows.fields, source: &portion{cursor: k, left: count}, tag: tag, ctx: k.rows.ctx, cancel: keepOn(k.rows.cancel),
		text: k.text}, nil
}

// keepOn leaves the query of a cursor alone when a FETCH has ended, but passes on why it must end.
func keepOn(cancel func(error)) func(error) {
	return func(cause error) {
		if cause != nil && cancel != nil {
			cancel(cause)
		}
	}
}

func backwards() error {
	return failure("55000", "cursor can only scan forward").withHint("Declare it with SCROLL.")
}

// pass goes over rows and returns over how many.
func (c *session) pass(k *cursor, count int64) (n int64, err error) {
	err = c.busy(k.rows.ctx, k.text, k.rows.cancel, func() error {
		for n < count {
			left, err := k.fill(c)
			if err != nil {
				return err
			}
			if left == 0 {
				return nil
			}
			step := min(int64(left), count-n)
			k.rows.at += int(step)
			n += step
			k.position += step
		}
		return nil
	})
	return n, err
}

// fill makes sure that there is a current row, and returns how many there are; 0 at the end.
func (k *cursor) fill(*session) (int, error) {
	r := k.rows
	for r.at == r.have && !r.ended {
		have, err := r.source.next(r.ctx)
		if errors.Is(err, io.EOF) {
			r.ended = true
			break
		}
		if err != nil {
			return 0, query.Cause(r.ctx, err)
		}
		r.have, r.at = have, 0
	}
	if r.ended {
		return 0, nil
	}
	return r.have - r.at, nil
}

// fetchMemory fetches of rows that are all there.
func (k *cursor) fetchMemory(m *memory, n *pg.Fetch, tag func(int64) string) (*rows, error) {
	size := int64(len(m.rows))
	var list [][]any
	at := func(p int64) {
		if p >= 1 && p <= size {
			list = append(list, m.rows[p-1])
		}
	}
	switch n.Direction {
	case "absolute", "relative":
		to := n.Count
		if n.Direction == "relative" {
			to += k.position
		} else if to < 0 {
			to = size + 1 + to
		}
		k.position = max(min(to, size+1), 0)
		at(k.position)
	case "forward":
		for i := int64(0); i < n.Count && k.position <= size; i++ {
			k.position++
			at(k.position)
		}
	default:
		for i := int64(0); i < n.Count && k.position > 0; i++ {
			k.position--
			at(k.position)
		}
	}
	if n.Move {
		return done(tag(int64(len(list)))), nil
	}
	return &rows{fields: k.rows.fields, source: &memory{rows: list, fields: m.fields, style: m.style}, tag: tag}, nil
}
