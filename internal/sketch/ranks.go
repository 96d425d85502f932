package sketch

import (
	"math"
	"slices"

	"github.com/hengedb/henge/internal/fault"
)

// Ranks are the values of a quantiles or KLL sketch in order, each with the share of all values up
// to and including it.
type Ranks struct {
	values []float64
	upTo   []uint64 // weights, cumulated
	// Min and Max are the extremes of all values, NaN if there are none.
	Min, Max float64
}

// weighted is a value that stands for several.
type weighted struct {
	value  float64
	weight uint64
}

func newRanks(list []weighted) *Ranks {
	slices.SortStableFunc(list, func(a, b weighted) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	r := &Ranks{values: make([]float64, len(list)), upTo: make([]uint64, len(list)), Min: math.NaN(), Max: math.NaN()}
	total := uint64(0)
	for i, w := range list {
		total += w.weight
		r.values[i], r.upTo[i] = w.value, total
	}
	return r
}

// Ranks returns the values kept and their ranks.
func (q *Quantiles) Ranks() *Ranks {
	var list []weighted
	for _, x := range q.base {
		list = append(list, weighted{x, 1})
	}
	for i, level := range q.levels {
		for _, x := range level {
			list = append(list, weighted{x, 2 << i})
		}
	}
	r := newRanks(list)
	r.Min, r.Max = q.min, q.max
	return r
}

// Total is the number of values the sketch has seen.
func (r *Ranks) Total() uint64 {
	if len(r.upTo) == 0 {
		return 0
	}
	return r.upTo[len(r.upTo)-1]
}

// CheckFraction reports a fraction that is not from 0 to 1.
func CheckFraction(f float64) error {
	if !(f >= 0 && f <= 1) {
		return fault.InvalidInput("A fraction must be from [0] to [1], not [%v]", f)
	}
	return nil
}

// Quantile returns the least value whose rank is at least fraction, NaN if there are no values.
func (r *Ranks) Quantile(fraction float64) float64 {
	n := r.Total()
	if n == 0 {
		return math.NaN()
	}
	rank := fraction * float64(n)
	if n <= 1_000_000 {
		rank = math.RoundToEven(rank*1e6) / 1e6 // what a fraction as a float loses must not move it to the next value
	}
	i, _ := slices.BinarySearch(r.upTo, uint64(math.Ceil(rank)))
	return r.values[min(i, len(r.values)-1)]
}

// Rank returns the share of values that are at most x, NaN if there are none.
func (r *Ranks) Rank(x float64) float64 {
	n := r.Total()
	if n == 0 {
		return math.NaN()
	}
	i, _ := slices.BinarySearchFunc(r.values, x, func(v, x float64) int {
		if v <= x {
			return -1
		}
		return 1
	})
	if i == 0 {
		return 0
	}
	return float64(r.upTo[i-1]) / float64(n)
}

// CDF returns the share of values up to and including each point, and 1 last; all NaN if there are
// no values. Points must ascend.
func (r *Ranks) CDF(points []float64) ([]float64, error) {
	out := make([]float64, len(points)+1)
	for i, p := range points {
		if p != p || i > 0 && p <= points[i-1] {
			if r.Total() > 0 {
				return nil, fault.InvalidInput("Split points must be numbers that are unique and ascend")
			}
		}
		out[i] = r.Rank(p)
	}
	out[len(points)] = 1
	if r.Total() == 0 {
		out[len(points)] = math.NaN()
	}
	return out, nil
}

// Histogram returns how many values lie up to each point, from there to the next, and beyond the
// last.
func (r *Ranks) Histogram(points []float64) ([]float64, error) {
	cdf, err := r.CDF(points)
	if err != nil {
		return nil, err
	}
	n := float64(r.Total())
	if n == 0 {
		return cdf, nil
	}
	for i := len(cdf) - 1; i > 0; i-- {
		cdf[i] -= cdf[i-1]
	}
	for i := range cdf {
		cdf[i] *= n
	}
	return cdf, nil
}

// Bins returns how many values lie in each of n parts of the same width between the extremes.
func (r *Ranks) Bins(n int64) ([]float64, error) {
	if n < 2 || n > maxBins {
		return nil, fault.InvalidInput("A histogram has from [2] to [%d] bins, not [%d]", maxBins, n)
	}
	points := make([]float64, n-1)
	for i := range points {
		points[i] = r.Min + (r.Max-r.Min)/float64(n)*float64(i+1)
	}
	if r.Min == r.Max { // all in the first bin
		out := make([]float64, n)
		out[0] = float64(r.Total())
		return out, nil
	}
	return r.Histogram(points)
}

// maxBins bounds the parts of a histogram.
const maxBins = 1 << 20
