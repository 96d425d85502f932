package expr

import (
	"math"

	"github.com/hengedb/henge/internal/expr/kernel"
)

// Loops over the numbers of a batch, which call nothing for a row where that would be most of the
// work.

func same(dst, src []int64) { copy(dst, src) }

func negate[T int64 | float64](dst, src []T) {
	for i, x := range src {
		dst[i] = -x
	}
}

func absolutes(dst, src []int64) {
	for i, x := range src {
		dst[i] = max(x, -x)
	}
}

func absoluteDoubles(dst, src []float64) {
	for i, x := range src {
		dst[i] = math.Abs(x)
	}
}

func widenLongs(dst []float64, src []int64) {
	for i, x := range src {
		dst[i] = float64(x)
	}
}

func divide(a, b kernel.Column[float64], out []float64) {
	if x, y, ok := flatPair(a, b, len(out)); ok {
		x, y = x[:len(out)], y[:len(out)]
		for i := range out {
			out[i] = x[i] / y[i]
		}
		return
	}
	if b.Mask == 0 {
		y := b.Values[0]
		for i, x := range a.Values[:len(out)] {
			out[i] = x / y
		}
		return
	}
	x := a.Values[0]
	for i, y := range b.Values[:len(out)] {
		out[i] = x / y
	}
}

// withFraction bounds the Doubles that may have one: beyond, and only there, a conversion to a Long
// may not be exact.
const withFraction = 1 << 52

// floors is math.Floor, which is a call for each number where the processor is not asked first.
func floors(dst, src []float64) {
	for i, x := range src {
		whole := float64(int64(x))
		if whole > x {
			whole--
		}
		if whole == 0 {
			whole = math.Copysign(0, x)
		}
		if !(math.Abs(x) < withFraction) {
			whole = x
		}
		dst[i] = whole
	}
}

// ceilings is math.Ceil; see floors.
func ceilings(dst, src []float64) {
	for i, x := range src {
		whole := float64(int64(x))
		if whole < x {
			whole++
		}
		if whole == 0 {
			whole = math.Copysign(0, x)
		}
		if !(math.Abs(x) < withFraction) {
			whole = x
		}
		dst[i] = whole
	}
}

// rounds is roundDouble to whole numbers.
func rounds(dst, src []float64) {
	for i, x := range src {
		if !(math.Abs(x) < withFraction) {
			dst[i] = roundDouble(x, 0)
			continue
		}
		// What is left of the fraction is exact, unlike x + 0.5.
		// Twice as much is 1 or -1 beyond that from a half on, without a branch to mispredict.
		whole := float64(int64(x))
		dst[i] = whole + float64(int64(2*(x-whole)))
	}
}

func truncates(dst, src []float64) {
	for i, x := range src {
		dst[i] = float64(truncate(x))
	}
}
