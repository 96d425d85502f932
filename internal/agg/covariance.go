package agg

import (
	"math"

	"github.com/hengedb/henge/internal/vector"
)

// The functions of pairs of numbers, as SQL:2003 has them: the first argument is the dependent y,
// the second the independent x, and pairs of which one is NULL do not count.
var (
	corr     = ofPairs("CORR", "Returns the correlation coefficient. Returns NULL if either argument is constant.", pairs.correlation)
	covarPop = ofPairs("COVAR_POP", "Returns the population covariance.",
		func(p pairs) (float64, bool) { return p.sxy / p.n, p.n > 0 })
	covarSamp = ofPairs("COVAR_SAMP", "Returns the sample covariance. Returns NULL for fewer than two pairs.",
		func(p pairs) (float64, bool) { return p.sxy / (p.n - 1), p.n > 1 })

	regrAvgX = ofPairs("REGR_AVGX", "Returns the mean of x over the pairs.",
		func(p pairs) (float64, bool) { return p.meanX, p.n > 0 })
	regrAvgY = ofPairs("REGR_AVGY", "Returns the mean of y over the pairs.",
		func(p pairs) (float64, bool) { return p.meanY, p.n > 0 })
	regrSXX = ofPairs("REGR_SXX", "Returns the sum of the squared deviations of x from its mean.",
		func(p pairs) (float64, bool) { return p.sxx, p.n > 0 })
	regrSYY = ofPairs("REGR_SYY", "Returns the sum of the squared deviations of y from its mean.",
		func(p pairs) (float64, bool) { return p.syy, p.n > 0 })
	regrSXY = ofPairs("REGR_SXY", "Returns the sum of the products of the deviations of x and y from their means.",
		func(p pairs) (float64, bool) { return p.sxy, p.n > 0 })
	regrSlope = ofPairs("REGR_SLOPE", "Returns the slope of the least-squares line. Returns NULL if x is constant.",
		func(p pairs) (float64, bool) { return p.sxy / p.sxx, p.sxx > 0 })
	regrIntercept = ofPairs("REGR_INTERCEPT", "Returns the intercept of the least-squares line. Returns NULL if x is constant.",
		func(p pairs) (float64, bool) { return p.meanY - p.sxy/p.sxx*p.meanX, p.sxx > 0 })
	regrR2 = ofPairs("REGR_R2", "Returns the share of the variance of y, from 0 to 1, that the least-squares "+
		"line explains.", pairs.determination)

	regrCount = &Function{
		Name: "REGR_COUNT", Doc: "Counts the pairs in which both arguments are not NULL.", Signature: "'REGR_COUNT(<NUMERIC>, <NUMERIC>)'", MinArgs: 2, MaxArgs: 2,
		Casts: ToDouble, EmptyIsZero: true, check: doubles, result: always(vector.Long), partial: one(vector.Long),
		create: func(Spec) State { return &countState{} },
	}
)

func ofPairs(name, doc string, final func(pairs) (float64, bool)) *Function {
	return &Function{
		Name: name, Doc: doc, Signature: "'" + name + "(<NUMERIC>, <NUMERIC>)'", MinArgs: 2, MaxArgs: 2, Casts: ToDouble, check: doubles,
		result: always(vector.Double),
		partial: func(Spec) []vector.Type {
			return []vector.Type{vector.Long, vector.Double, vector.Double, vector.Double, vector.Double, vector.Double}
		},
		create: func(Spec) State { return &pairState{final: final} },
	}
}

func doubles(s Spec) error {
	for i, t := range s.Args {
		if t.Kind != vector.KindDouble {
			return badType(s, i)
		}
	}
	return nil
}

// pairs is what a group keeps of its pairs: how many, the means, and the sums of squares and
// products of the distances from them.
type pairs struct{ n, meanX, meanY, sxx, syy, sxy float64 }

func (p pairs) correlation() (float64, bool) {
	// The roots are taken one by one: their product may be beyond a double.
	return max(-1, min(1, p.sxy/math.Sqrt(p.sxx)/math.Sqrt(p.syy))), p.sxx > 0 && p.syy > 0
}

func (p pairs) determination() (float64, bool) {
	if p.syy == 0 {
		return 1, p.sxx > 0
	}
	return min(1, p.sxy/p.sxx*(p.sxy/p.syy)), p.sxx > 0
}

// add folds q in, after Chan, Golub and LeVeque, as spreadState does; a single pair is a q of n 1
// without distances.
func (p *pairs) add(q pairs) {
	n := p.n + q.n
	dx, dy := q.meanX-p.meanX, q.meanY-p.meanY
	weight := p.n * q.n / n
	p.sxx += q.sxx + dx*dx*weight
	p.syy += q.syy + dy*dy*weight
	p.sxy += q.sxy + dx*dy*weight
	p.meanX += dx * q.n / n
	p.meanY += dy * q.n / n
	p.n = n
}

// pairState is a function of pairs. The intermediate form is pairs, a vector per member.
type pairState struct {
	final  func(pairs) (float64, bool)
	groups []pairs
}

func (s *pairState) Grow(n int) { s.groups = grown(s.groups, n) }

func (s *pairState) Update(args []*vector.Vector, groups []uint32, n int) error {
	y, x := args[0], args[1]
	for i := range n {
		if y.IsNull(i) || x.IsNull(i) {
			continue
		}
		s.groups[group(groups, i)].add(pairs{n: 1, meanX: x.DoubleAt(i), meanY: y.DoubleAt(i)})
	}
	return nil
}

func (s *pairState) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	for i := range n {
		if k := parts[0].LongAt(i); k > 0 {
			s.groups[group(groups, i)].add(pairs{
				float64(k), parts[1].DoubleAt(i), parts[2].DoubleAt(i), parts[3].DoubleAt(i), parts[4].DoubleAt(i), parts[5].DoubleAt(i),
			})
		}
	}
	return nil
}

func (s *pairState) Partial(lo, hi int) []*vector.Vector {
	n, parts := make([]int64, hi-lo), [5][]float64{}
	for i := range parts {
		parts[i] = make([]float64, hi-lo)
	}
	for i, p := range s.groups[lo:hi] {
		n[i] = int64(p.n)
		for j, x := range [5]float64{p.meanX, p.meanY, p.sxx, p.syy, p.sxy} {
			parts[j][i] = x
		}
	}
	out := []*vector.Vector{vector.FromLongs(n)}
	for _, x := range parts {
		out = append(out, vector.FromDoubles(x))
	}
	return out
}

func (s *pairState) Final(lo, hi int) (*vector.Vector, error) {
	out, seen := make([]float64, hi-lo), make([]bool, hi-lo)
	for i, p := range s.groups[lo:hi] {
		if x, ok := s.final(p); ok {
			out[i], seen[i] = x, true
		}
	}
	v := vector.FromDoubles(out)
	v.Valid = validOf(seen)
	return v, nil
}

func (s *pairState) Bytes() int64 { return 48 * int64(cap(s.groups)) }
