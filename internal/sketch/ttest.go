package sketch

import (
	"math"

	"github.com/hengedb/henge/internal/fault"
)

// TTest returns for each value of the keys of two tuple sketches the probability that their means
// differ by chance as much as they do: the two-sided t-test of Welch, which does not take the
// variances to be equal.
func TTest(a, b *Tuple) ([]float64, error) {
	if a.Width() != b.Width() {
		return nil, fault.InvalidInput("Tuple sketches with [%d] and [%d] values per key can't be compared", a.Width(), b.Width())
	}
	out := make([]float64, a.Width())
	for i := range out {
		x, y := a.Value(i), b.Value(i)
		if len(x) < 2 || len(y) < 2 {
			return nil, fault.InvalidInput("A t-test needs two keys or more in each tuple sketch, not [%d] and [%d]", len(x), len(y))
		}
		out[i] = welch(x, y)
	}
	return out, nil
}

func welch(x, y []float64) float64 {
	m1, e1 := meanAndError(x)
	m2, e2 := meanAndError(y)
	t2 := (m1 - m2) * (m1 - m2) / (e1 + e2)
	freedom := (e1 + e2) * (e1 + e2) / (e1*e1/float64(len(x)-1) + e2*e2/float64(len(y)-1))
	return incompleteBeta(freedom/(freedom+t2), freedom/2, 0.5)
}

// meanAndError returns the mean of x and the square of its standard error.
func meanAndError(x []float64) (mean, squared float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		squared += (v - mean) * (v - mean)
	}
	return mean, squared / float64(len(x)-1) / float64(len(x))
}

// incompleteBeta is the regularized incomplete beta function, by its continued fraction (DLMF
// 8.17.22) in Lentz's way.
func incompleteBeta(x, a, b float64) float64 {
	switch {
	case x != x:
		return math.NaN()
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - incompleteBeta(1-x, b, a)
	}
	const tiny = 1e-300
	apart := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/apart(1-(a+b)*x/(a+1))
	sum := d
	for m := 1.0; m < 10_000; m++ {
		for _, step := range [...]float64{
			m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1)),
		} {
			d = 1 / apart(1+step*d)
			c = apart(1 + step/c)
			sum *= c * d
		}
		if math.Abs(c*d-1) < 1e-15 {
			break
		}
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a * sum
}
