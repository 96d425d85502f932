package agg

import (
	"math"

	"github.com/hengedb/henge/internal/vector"
)

var (
	varPop  = spread("VAR_POP", "Returns the population variance.", nil, false, false)
	varSamp = spread("VAR_SAMP", "Returns the sample variance. Returns NULL for fewer than "+
		"two values.", []string{"VARIANCE"}, true, false)
	stddevPop  = spread("STDDEV_POP", "Returns the population standard deviation.", nil, false, true)
	stddevSamp = spread("STDDEV_SAMP", "Returns the sample standard deviation. Returns NULL for fewer than two values.",
		[]string{"STDDEV"}, true, true)
)

func spread(name, doc string, aliases []string, sample, root bool) *Function {
	return &Function{
		Name: name, Aliases: aliases, Doc: doc, Signature: "'" + name + "(<NUMERIC>)'", MinArgs: 1, MaxArgs: 1, Casts: ToNumber, Gives: GivesOwn,
		check:   numeric,
		result:  always(vector.Double),
		packing: variances,
		partial: func(Spec) []vector.Type { return []vector.Type{vector.Long, vector.Double, vector.Double} },
		create:  func(Spec) State { return &spreadState{sample: sample, root: root} },
	}
}

// spreadState keeps count, mean and the sum of squared distances from the mean, after Welford;
// partial states merge after Chan, Golub and LeVeque. Neither loses digits where a sum of squares
// would.
type spreadState struct {
	sample, root bool
	n            []int64
	mean, m2     []float64
}

func (s *spreadState) Grow(n int) {
	s.n, s.mean, s.m2 = grown(s.n, n), grown(s.mean, n), grown(s.m2, n)
}

func (s *spreadState) Update(args []*vector.Vector, groups []uint32, n int) error {
	v := args[0]
	for i := range n {
		if v.IsNull(i) {
			continue
		}
		g, x := group(groups, i), v.DoubleAt(i)
		s.n[g]++
		d := x - s.mean[g]
		s.mean[g] += d / float64(s.n[g])
		s.m2[g] += d * (x - s.mean[g])
	}
	return nil
}

func (s *spreadState) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	for i := range n {
		k := parts[0].LongAt(i)
		if k == 0 {
			continue
		}
		g := group(groups, i)
		mean, m2 := parts[1].DoubleAt(i), parts[2].DoubleAt(i)
		total := float64(s.n[g] + k)
		d := mean - s.mean[g]
		s.m2[g] += m2 + d*d*float64(s.n[g])*float64(k)/total
		s.mean[g] += d * float64(k) / total
		s.n[g] += k
	}
	return nil
}

func (s *spreadState) Partial(lo, hi int) []*vector.Vector {
	return []*vector.Vector{
		vector.FromLongs(copied(s.n, lo, hi)), vector.FromDoubles(copied(s.mean, lo, hi)), vector.FromDoubles(copied(s.m2, lo, hi)),
	}
}

func (s *spreadState) Final(lo, hi int) (*vector.Vector, error) {
	out, seen := make([]float64, hi-lo), make([]bool, hi-lo)
	for i := range out {
		n := s.n[lo+i]
		if s.sample {
			n--
		}
		if n <= 0 {
			continue
		}
		out[i], seen[i] = s.m2[lo+i]/float64(n), true
		if s.root {
			out[i] = math.Sqrt(out[i])
		}
	}
	v := vector.FromDoubles(out)
	v.Valid = validOf(seen)
	return v, nil
}

func (s *spreadState) Bytes() int64 { return 8 * int64(cap(s.n)+cap(s.mean)+cap(s.m2)) }
