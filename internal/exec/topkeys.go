package exec

import (
	"slices"
	"sync/atomic"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// topKeys is what the workers of a top-N by a Long column know of its last row: rows whose key lies
// beyond cannot count, and the scan below leaves them out before it reads other columns, as an
// aggregation does before it makes keys of groups. It only gets narrower.
type topKeys struct {
	column int
	desc   bool
	nulls  bool // a null lies before all values
	known  atomic.Bool
	last   atomic.Int64
}

func (*topKeys) condition() {}

// narrowTop lets the scan, or the aggregation, leave out rows beyond the limit of a sort. It
// returns nil when the first key is no column of it that this is known to work for.
func (p *Pipeline) narrowTop(keys []plan.SortKey, limit int64) *topKeys {
	if limit < 0 || len(keys) == 0 || p.scan != nil && p.scan.Limit >= 0 {
		return nil
	}
	c := p.origin(keys[0].Column)
	if c < 0 {
		return nil
	}
	k := &topKeys{column: c, desc: keys[0].Desc, nulls: keys[0].NullsFirst}
	if p.scan == nil {
		if groups, ok := p.parted.(*aggregateOp); ok && groups.narrowTop(k) {
			return k
		}
		return nil
	}
	if p.reads.Out[c].Type.Runtime() != vector.Long {
		return nil
	}
	p.conditions = append(p.conditions, k)
	return k
}

// offer says that as many rows as are wanted have keys of x or before.
func (k *topKeys) offer(x int64) {
	for {
		before := k.last.Load()
		if k.known.Load() && !k.before(x, before) {
			return
		}
		if k.last.CompareAndSwap(before, x) {
			k.known.Store(true)
			return
		}
	}
}

// before reports whether x lies before y in the order.
func (k *topKeys) before(x, y int64) bool {
	if k.desc {
		return x > y
	}
	return x < y
}

// wanted appends the rows of v, which has Longs, that do not lie beyond the last row.
func (k *topKeys) wanted(v *vector.Vector, rows []uint32) []uint32 {
	last, n := k.last.Load(), len(rows)
	rows = slices.Grow(rows, v.Len)
	if v.Valid == nil && !v.Const {
		flip := int64(0)
		if k.desc {
			flip, last = -1, ^last // the complement turns the order round
		}
		rows = rows[:n+v.Len]
		for i, x := range v.Longs[:v.Len] {
			rows[n] = uint32(i)
			n += one(x^flip <= last)
		}
		return rows[:n]
	}
	for i := range v.Len {
		if null := v.IsNull(i); null && k.nulls || !null && !k.before(last, v.LongAt(i)) {
			rows = append(rows, uint32(i))
		}
	}
	return rows
}

// topTerm is a topKeys over a column of Longs.
type topTerm struct {
	*topKeys
	stored segment.Column
}

func (t *topTerm) share() float64 { return 0 }

func (t *topTerm) within(from, to int) verdict {
	if !t.known.Load() {
		return always
	}
	if t.nulls && t.stored.Info().Nulls > 0 {
		return sometimes
	}
	last := t.last.Load()
	return longBlocks(t.stored, from, to, func(least, greatest int64) verdict {
		first := least
		if t.desc {
			first = greatest
		}
		if t.before(last, first) {
			return never
		}
		return sometimes
	})
}

func (t *topTerm) narrow(s *scanner) error {
	v, err := s.load(t.column)
	if err != nil {
		return err
	}
	last := t.last.Load()
	if v.Const {
		s.keepAll(v.IsNull(0) && t.nulls || !v.IsNull(0) && !t.before(last, v.Longs[0]))
		return nil
	}
	if v.Valid != nil {
		s.keepIf(func(r uint32) bool {
			if !v.Valid.Get(int(r)) {
				return t.nulls
			}
			return !t.before(last, v.Longs[r])
		})
		return nil
	}
	flip := int64(0)
	if t.desc {
		flip, last = -1, ^last // the complement turns the order round
	}
	s.keep(v, func(out, sel []uint32) int {
		k := 0
		if sel == nil {
			for i, x := range v.Longs[:s.n] {
				out[k] = uint32(i)
				k += one(x^flip <= last)
			}
			return k
		}
		for _, r := range sel {
			out[k] = r
			k += one(v.Longs[r]^flip <= last)
		}
		return k
	})
	return nil
}
