package exec

import (
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// longBlocks asks f of the bounds of each block that has rows from up to to. It says always only if
// the column has no nulls.
func longBlocks(c segment.Column, from, to int, f func(least, greatest int64) verdict) verdict {
	out := sometimes
	for b := from / segment.BlockRows; b <= (to-1)/segment.BlockRows; b++ {
		least, greatest, known := c.LongRange(b)
		if !known {
			return sometimes
		}
		v := never
		if least <= greatest {
			v = f(least, greatest)
		}
		if b > from/segment.BlockRows && v != out {
			return sometimes
		}
		if out = v; v == sometimes {
			return sometimes
		}
	}
	if out == always && c.Info().Nulls > 0 {
		return sometimes
	}
	return out
}

// rangeTerm is a longRange over a column of Longs.
type rangeTerm struct {
	column int
	stored segment.Column
	least  int64
	// span is the distance of the greatest value from the least.
	span uint64
	rate float64
}

func (t *rangeTerm) share() float64 { return t.rate }

func (t *rangeTerm) within(from, to int) verdict {
	return longBlocks(t.stored, from, to, func(least, greatest int64) verdict {
		highest := t.least + int64(t.span)
		switch {
		case greatest < t.least || least > highest:
			return never
		case least >= t.least && greatest <= highest:
			return always
		}
		return sometimes
	})
}

func (t *rangeTerm) givesBits(s *scanner) bool {
	return s.dense() && s.cols[t.column] == nil
}

func (t *rangeTerm) narrow(s *scanner) error {
	if t.givesBits(s) {
		return s.keepBits(func(pass vector.Bitmap) error {
			return t.stored.SelectLongs(t.least, t.least+int64(t.span), s.from, s.to, pass)
		})
	}
	v, err := s.load(t.column)
	if err != nil {
		return err
	}
	if v.Const {
		s.keepAll(!v.IsNull(0) && uint64(v.Longs[0])-uint64(t.least) <= t.span)
		return nil
	}
	s.keep(v, func(out, sel []uint32) int {
		k, least, span := 0, uint64(t.least), t.span
		if sel == nil {
			for i, x := range v.Longs[:s.n] {
				out[k] = uint32(i)
				k += one(uint64(x)-least <= span)
			}
			return k
		}
		for _, r := range sel {
			out[k] = r
			k += one(uint64(v.Longs[r])-least <= span)
		}
		return k
	})
	return nil
}

// exceptTerm is a longExcept over a column of Longs.
type exceptTerm struct {
	column int
	stored segment.Column
	value  int64
}

func (t *exceptTerm) share() float64 { return 0.5 } // one value is often that of most rows

func (t *exceptTerm) within(from, to int) verdict {
	return longBlocks(t.stored, from, to, func(least, greatest int64) verdict {
		switch {
		case least == t.value && greatest == t.value:
			return never
		case t.value < least || t.value > greatest:
			return always
		}
		return sometimes
	})
}

func (t *exceptTerm) narrow(s *scanner) error {
	v, err := s.load(t.column)
	if err != nil {
		return err
	}
	if v.Const {
		s.keepAll(!v.IsNull(0) && v.Longs[0] != t.value)
		return nil
	}
	s.keep(v, func(out, sel []uint32) int {
		k := 0
		if sel == nil {
			for i, x := range v.Longs[:s.n] {
				out[k] = uint32(i)
				k += one(x != t.value)
			}
			return k
		}
		for _, r := range sel {
			out[k] = r
			k += one(v.Longs[r] != t.value)
		}
		return k
	})
	return nil
}
