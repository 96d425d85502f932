package agg

import (
	"math"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// The exact order statistics of SQL:2003. They keep every value, so their groups take the memory of
// their rows; APPROX_QUANTILE_DS does not.
var (
	percentileCont = percentile("PERCENTILE_CONT",
		"Returns the exact quantile for a share between 0 and 1, interpolated between two values.", true)
	percentileDisc = percentile("PERCENTILE_DISC",
		"Returns the first value whose cumulative share reaches the given share, between 0 and 1.", false)
	median = &Function{
		Name: "MEDIAN", Doc: "Returns the exact median. Equivalent to PERCENTILE_CONT(0.5).", Signature: "'MEDIAN(<NUMERIC>)'",
		MinArgs: 1, MaxArgs: 1, Casts: ToDouble, check: doubles, result: always(vector.Double), partial: listOfArg,
		create: func(s Spec) State {
			return &percentileState{collectState: newCollect(s, s.Args[0], false), share: 0.5, interpolate: true}
		},
	}
)

// Descending is the constant after the fraction that reverses the order.
const Descending = "DESC"

func percentile(name, doc string, interpolate bool) *Function {
	f := &Function{
		Name: name, Doc: doc, MinArgs: 1, MaxArgs: 1, MinParams: 1, MaxParams: 2, WithinGroup: true,
		Signature: signature("'$F(<share>) WITHIN GROUP (ORDER BY <expr>)'\n'$F(<expr>, <share>)'", name),
		check:     Spec.shareParam, result: argType, partial: listOfArg,
		create: func(s Spec) State {
			share, _ := s.doubleParam(0, 0) // checked
			return &percentileState{
				collectState: newCollect(s, s.Args[0], false), share: share, descending: s.textParam(1, "") == Descending, interpolate: interpolate,
			}
		},
	}
	if interpolate {
		f.Casts = ToDouble
		f.check = func(s Spec) error {
			if err := doubles(s); err != nil {
				return err
			}
			return s.shareParam()
		}
	}
	return f
}

func listOfArg(s Spec) []vector.Type { return []vector.Type{vector.ListOf(s.Args[0])} }

// shareParam says what is wrong with the first constant as a share.
func (s Spec) shareParam() error {
	if q, err := s.doubleParam(0, 0); err != nil {
		return err
	} else if !(q >= 0 && q <= 1) {
		return fault.InvalidInput("The share of aggregation [%s] must be a number from [0] to [1], not [%v]", s.Name, s.Params[0])
	}
	return nil
}

// percentileState collects the values that are not null, in the order they came, and selects in the
// end.
type percentileState struct {
	*collectState
	share                   float64
	descending, interpolate bool
}

func (s *percentileState) Update(args []*vector.Vector, groups []uint32, n int) error {
	v := args[0].Flat().OwnStrings()
	for i := range n {
		if !v.IsNull(i) {
			s.collect(group(groups, i), v, i)
		}
	}
	return nil
}

func (s *percentileState) collect(g uint32, v *vector.Vector, i int) {
	s.seen[g] = true
	s.keep(g, v, i, valueSize(v, i))
}

func (s *percentileState) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	v := parts[0].OwnStrings()
	for i := range n {
		for lo, hi := v.ListAt(i); lo < hi; lo++ {
			s.collect(group(groups, i), v.Child, lo)
		}
	}
	return nil
}

func (s *percentileState) Final(lo, hi int) (*vector.Vector, error) {
	lists := s.Partial(lo, hi)[0]
	out := vector.NewBuilder(s.elem, hi-lo)
	for i := range lists.Len {
		from, to := lists.ListAt(i)
		switch {
		case from == to:
			out.AppendNull()
		case s.interpolate:
			out.AppendDouble(s.between(lists.Child, from, to))
		default:
			out.AppendFrom(lists.Child, s.first(lists.Child, from, to))
		}
	}
	return out.Build(), nil
}

// between returns the value at the share of rows from up to, not including, to of v, which are
// doubles.
func (s *percentileState) between(v *vector.Vector, from, to int) float64 {
	xs := append([]float64(nil), v.Doubles[from:to]...)
	at := s.share * float64(len(xs)-1)
	if s.descending {
		at = float64(len(xs)-1) - at
	}
	k := int(at)
	selectNth(xs, k, vector.CompareDoubles)
	low := xs[k]
	if at == float64(k) {
		return low
	}
	high := xs[k+1]
	for _, x := range xs[k+2:] {
		if vector.CompareDoubles(x, high) < 0 {
			high = x
		}
	}
	if low == high { // infinities too
		return low
	}
	return low + (high-low)*(at-float64(k))
}

// first returns which of the rows from up to, not including, to of v is the first at or beyond the
// share.
func (s *percentileState) first(v *vector.Vector, from, to int) int {
	rows := make([]int, to-from)
	for i := range rows {
		rows[i] = from + i
	}
	k := max(0, int(math.Ceil(s.share*float64(len(rows))))-1)
	if s.descending {
		k = len(rows) - 1 - k
	}
	selectNth(rows, k, func(a, b int) int { return vector.Compare(v, a, v, b) })
	return rows[k]
}

// selectNth brings the element that would be the k-th of the sorted xs to place k, what is less
// before it, what is greater behind it: Hoare's selection, with the middle of three as pivot.
func selectNth[T any](xs []T, k int, compare func(a, b T) int) {
	for lo, hi := 0, len(xs)-1; lo < hi; {
		pivot := middle(xs[lo], xs[lo+(hi-lo)/2], xs[hi], compare)
		i, j := lo, hi
		for i <= j {
			for compare(xs[i], pivot) < 0 {
				i++
			}
			for compare(xs[j], pivot) > 0 {
				j--
			}
			if i <= j {
				xs[i], xs[j] = xs[j], xs[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return
		}
	}
}

func middle[T any](a, b, c T, compare func(a, b T) int) T {
	if compare(b, a) < 0 {
		a, b = b, a
	}
	switch {
	case compare(c, a) < 0:
		return a
	case compare(c, b) < 0:
		return c
	}
	return b
}
