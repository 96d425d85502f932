package intake

import (
	"context"
	"errors"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/vector"
)

var errFed = errors.New("the batch at hand is at its end")

// rows runs the plan over decoded records and returns the rows that stay. It counts those that are
// thrown away.
func (m *Maker) rows(ctx context.Context, decoded *ingest.MessageRows, made *Made) (*vector.Batch, error) {
	c := m.plan
	var out []*vector.Batch
	for _, b := range decoded.Batches {
		if c.late == nil {
			b = m.within(b, made)
		}
		if b.N == 0 {
			continue
		}
		fed, got := b.N, 0
		for c.input.batch = b; ; {
			next, err := c.op.Next(ctx)
			if errors.Is(err, errFed) && fault.Find(err) == nil {
				break
			}
			if err != nil {
				c.input.batch = nil
				return nil, err
			}
			next = next.Compact()
			got += next.N
			if len(c.Calls) > 0 {
				if next, err = c.Single(next); err != nil {
					return nil, err
				}
			}
			if c.late != nil {
				next = m.truncated(m.within(next, made))
			}
			if next.N > 0 {
				out = append(out, next)
			}
		}
		if got < fed {
			made.ThrownAway[Filtered] += int64(fed - got)
		}
	}
	return m.stored(out), nil
}

// within returns the rows of b whose times, in its first column, are allowed, and counts the
// others.
func (m *Maker) within(b *vector.Batch, made *Made) *vector.Batch {
	if m.minTime == nil && m.maxTime == nil {
		return b
	}
	var sel []uint32
	early, late := int64(0), int64(0)
	times := b.Cols[0]
	for i := range b.N {
		switch at := times.LongAt(i); {
		case m.minTime != nil && at < *m.minTime:
			early++
		case m.maxTime != nil && at > *m.maxTime:
			late++
		default:
			sel = append(sel, uint32(i))
		}
	}
	if early+late == 0 {
		return b
	}
	if early > 0 {
		made.ThrownAway[BeforeMinimum] += early
	}
	if late > 0 {
		made.ThrownAway[AfterMaximum] += late
	}
	if sel == nil {
		return &vector.Batch{}
	}
	return (&vector.Batch{N: b.N, Cols: b.Cols, Sel: sel}).Compact()
}

// truncated returns b with its times truncated to the granularity of queries.
func (m *Maker) truncated(b *vector.Batch) *vector.Batch {
	g := m.plan.late
	if b.N == 0 || g.IsNone() {
		return b
	}
	times := make([]int64, b.N)
	for i := range times {
		times[i] = g.Bucket(b.Cols[0].LongAt(i)).Start
	}
	out := &vector.Batch{N: b.N, Cols: append([]*vector.Vector{vector.FromLongs(times)}, b.Cols[1:]...)}
	return out
}

// stored returns the rows of batches of the plan as one batch of the columns.
func (m *Maker) stored(batches []*vector.Batch) *vector.Batch {
	c := m.plan
	for i := range c.columns {
		col := &c.columns[i]
		if !col.text || col.Multi {
			continue
		}
		for _, b := range batches {
			if _, single := msq.Single(b.Cols[col.from]); !single {
				col.Multi, col.Type = true, vector.ListOf(vector.String)
				m.multi[col.Name] = true
				break
			}
		}
	}
	types := make([]vector.Type, len(c.columns))
	for i := range c.columns {
		types[i] = c.columns[i].Type
	}
	parts := make([]*vector.Batch, len(batches))
	for i, b := range batches {
		parts[i] = &vector.Batch{N: b.N, Cols: make([]*vector.Vector, len(c.columns))}
		for k := range c.columns {
			parts[i].Cols[k] = c.columns[k].stored(b.Cols[c.columns[k].from])
		}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return vector.Concat(types, parts)
}

// stored returns values of the plan as those of the column.
func (c *column) stored(v *vector.Vector) *vector.Vector {
	switch {
	case c.Multi:
		return c.handling.Stored(v)
	case c.text:
		single, _ := msq.Single(v)
		return single
	case v.Type == vector.JSON && c.Type != vector.JSON:
		return msq.Typed(v, c.Type)
	}
	return v
}
