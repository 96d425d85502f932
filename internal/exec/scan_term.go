package exec

import (
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// term is a condition as it applies to one segment. It is used by all workers; what changes is in
// their scanners.
type term interface {
	// within says whether the statistics of the blocks decide for the rows from up to, not including,
	// to.
	within(from, to int) verdict
	// narrow takes rows off the present batch of s.
	narrow(s *scanner) error
	// share estimates which share of the rows is left, and so is the order in which terms are asked.
	share() float64
}

// bitsTerm is a term that may find bits for all rows of a batch in place of row numbers.
type bitsTerm interface {
	term
	// givesBits reports whether narrow does so for the present batch of s.
	givesBits(s *scanner) bool
}

// verdict is what can be said of a condition without looking at rows.
type verdict uint8

const (
	sometimes verdict = iota
	never
	always
)

// codesTerm holds the codes of a text column against a set of them.
type codesTerm struct {
	column int
	stored segment.Column
	codes  *codeSet
}

func (t *codesTerm) share() float64 { return t.codes.share() }

func (t *codesTerm) within(int, int) verdict { return sometimes }

func (t *codesTerm) narrow(s *scanner) error {
	set := t.codes
	if t.givesBits(s) {
		f := segment.CodeFilter{First: set.first, Span: set.n - 1}
		if !set.run {
			f.Bits = set.bits
		}
		return s.keepBits(func(pass vector.Bitmap) error { return t.stored.SelectCodes(f, s.from, s.to, pass) })
	}
	v, err := s.codes(t)
	if err != nil {
		return err
	}
	nulls := v.Valid
	if set.null && nulls != nil {
		s.keepIf(func(r uint32) bool {
			if !nulls.Get(int(r)) {
				return true
			}
			return set.has(v.Codes[r])
		})
		return nil
	}
	s.keep(v, func(out, sel []uint32) int {
		k := 0
		codes := v.Codes[:s.n]
		if set.run {
			first, span := set.first, set.n-1
			if sel == nil {
				for i, c := range codes {
					out[k] = uint32(i)
					k += one(c-first <= span)
				}
				return k
			}
			for _, r := range sel {
				out[k] = r
				k += one(codes[r]-first <= span)
			}
			return k
		}
		bits := set.bits
		if sel == nil {
			for i, c := range codes {
				out[k] = uint32(i)
				k += int(bits[c>>6] >> (c & 63) & 1)
			}
			return k
		}
		for _, r := range sel {
			c := codes[r]
			out[k] = r
			k += int(bits[c>>6] >> (c & 63) & 1)
		}
		return k
	})
	return nil
}

func (t *codesTerm) givesBits(s *scanner) bool {
	return s.dense() && s.cols[t.column] == nil && !t.codes.null
}

// codes returns the codes of the column of t in the present batch. The texts are not read: few rows
// may be left.
func (s *scanner) codes(t *codesTerm) (*vector.Vector, error) {
	if v := s.cols[t.column]; v != nil && v.Dict != nil && !v.Const {
		return v, nil
	}
	s.thin()
	return t.stored.Codes(&s.codesBuf, s.from, s.to, s.rows)
}

// keyTerm holds a column against a set of keys. It may be left out unless it is exact.
type keyTerm struct {
	column int
	stored segment.Column // whose statistics count; nil: none
	keys   *keys.Set
	exact  bool
	rate   float64
}

func (t *keyTerm) share() float64 { return t.rate }

func (t *keyTerm) within(from, to int) verdict {
	if t.stored == nil || t.keys.Text {
		return sometimes
	}
	return longBlocks(t.stored, from, to, func(least, greatest int64) verdict {
		switch {
		case t.keys.HasNone(least, greatest):
			return never
		case t.keys.HasAll(least, greatest):
			return always
		}
		return sometimes
	})
}

func (t *keyTerm) narrow(s *scanner) error {
	v, err := s.load(t.column)
	if err != nil {
		return err
	}
	keys := t.keys
	if keys.Text {
		if v.Const {
			s.keepAll(!v.IsNull(0) && keys.HasText(v.StringAt(0)))
			return nil
		}
		s.keepIf(func(r uint32) bool { return v.Valid.Get(int(r)) && keys.HasText(v.StringAt(int(r))) })
		return nil
	}
	if v.Const {
		s.keepAll(!v.IsNull(0) && keys.HasLong(v.Longs[0]))
		return nil
	}
	if keys.Bits == nil {
		s.keepIf(func(r uint32) bool { return v.Valid.Get(int(r)) && keys.HasLong(v.Longs[r]) })
		return nil
	}
	s.keep(v, func(out, sel []uint32) int {
		k, least, bits := 0, uint64(keys.Least), keys.Bits
		longs := v.Longs[:s.n]
		if sel == nil {
			for i, x := range longs {
				out[k] = uint32(i)
				if at := uint64(x) - least; at>>6 < uint64(len(bits)) {
					k += int(bits[at>>6] >> (at & 63) & 1)
				}
			}
			return k
		}
		for _, r := range sel {
			out[k] = r
			if at := uint64(longs[r]) - least; at>>6 < uint64(len(bits)) {
				k += int(bits[at>>6] >> (at & 63) & 1)
			}
		}
		return k
	})
	return nil
}

// timeTerm asks that the time lies in one of the intervals that count.
type timeTerm struct {
	column int
	stored segment.Column
	times  []chrono.Interval
}

func (t *timeTerm) share() float64 { return 0 } // it hides rows that are not there: nothing is asked of them

func (t *timeTerm) within(from, to int) verdict {
	if t.stored == nil || t.stored.Info().Type != vector.Long {
		return sometimes
	}
	return longBlocks(t.stored, from, to, func(least, greatest int64) verdict {
		out := never
		for _, iv := range t.times {
			if iv.Start <= least && greatest < iv.End {
				return always
			}
			if least < iv.End && iv.Start <= greatest {
				out = sometimes
			}
		}
		return out
	})
}

func (t *timeTerm) narrow(s *scanner) error {
	v, err := s.load(t.column)
	if err != nil {
		return err
	}
	s.keepIf(func(r uint32) bool {
		if v.IsNull(int(r)) {
			return false
		}
		ms := v.LongAt(int(r))
		for _, iv := range t.times {
			if iv.Start <= ms && ms < iv.End {
				return true
			}
		}
		return false
	})
	return nil
}

// programTerm evaluates an expression.
type programTerm struct {
	expr    expr.Expr
	columns []int
	// bounded is the doubleRange that the expression is, over a column with statistics.
	bounded *doubleRange
	stored  segment.Column
}

func (t *programTerm) share() float64 { return 1 }

func (t *programTerm) within(from, to int) verdict {
	if t.bounded == nil {
		return sometimes
	}
	for b := from / segment.BlockRows; b <= (to-1)/segment.BlockRows; b++ {
		least, greatest, known := t.stored.DoubleRange(b)
		if !known || least <= t.bounded.highest && greatest >= t.bounded.least {
			return sometimes
		}
	}
	return never
}

func (t *programTerm) narrow(s *scanner) error {
	for _, c := range t.columns {
		if _, err := s.load(c); err != nil {
			return err
		}
	}
	sel, err := s.programs.filter(t, s)
	if err != nil {
		return err
	}
	if s.sel = sel; len(sel) == s.n {
		s.sel = nil
	}
	return nil
}

// keepAll keeps the whole present batch or nothing of it.
func (s *scanner) keepAll(pass bool) {
	if !pass {
		s.sel = s.room()[:0]
	}
}

// keepIf narrows the present batch to the rows for which pass is true.
func (s *scanner) keepIf(pass func(row uint32) bool) {
	out := s.sel
	if out == nil {
		out = s.room()[:0]
		for r := range uint32(s.n) {
			if pass(r) {
				out = append(out, r)
			}
		}
	} else {
		k := 0
		for _, r := range out {
			if pass(r) {
				out[k] = r
				k++
			}
		}
		out = out[:k]
	}
	if s.sel = out; len(out) == s.n {
		s.sel = nil
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
