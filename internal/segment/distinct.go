package segment

import (
	"math"
	"math/bits"
)

// distinctCounter counts different numbers: exactly up to exactDistinct, beyond that by HyperLogLog
// with 4,096 registers (standard error 1.6 %; Flajolet, Fusy, Gandouet and Meunier, 2007). The zero
// value has seen none.
type distinctCounter struct {
	slots     []uint64 // open addressing; the numbers, zero kept apart
	n         int
	zero      bool
	registers []uint8
	last      uint64
	seen      bool
}

const distinctLog2 = 12

// mixBits spreads x over all bits (the finalizer of MurmurHash3).
func mixBits(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

func (d *distinctCounter) add(x uint64) {
	if d.seen && x == d.last { // sorted and repetitive columns
		return
	}
	d.last, d.seen = x, true
	if d.registers != nil {
		d.register(x)
		return
	}
	if x == 0 {
		d.zero = true
		return
	}
	if d.slots == nil {
		d.slots = make([]uint64, 4*exactDistinct)
	}
	mask := uint64(len(d.slots) - 1)
	s := mixBits(x) & mask
	for ; d.slots[s] != 0; s = (s + 1) & mask {
		if d.slots[s] == x {
			return
		}
	}
	d.slots[s] = x
	if d.n++; d.n <= exactDistinct {
		return
	}
	d.registers = make([]uint8, 1<<distinctLog2)
	for _, x := range d.slots {
		if x != 0 {
			d.register(x)
		}
	}
	if d.zero {
		d.register(0)
	}
	d.slots = nil
}

// addAll adds whole numbers as add does.
func (d *distinctCounter) addAll(values []int64) {
	i := 0
	for ; i < len(values) && d.registers == nil; i++ {
		d.add(uint64(values[i]))
	}
	last := d.last // so much has been seen
	for _, x := range values[i:] {
		if uint64(x) != last {
			last = uint64(x)
			d.register(last)
		}
	}
	d.last = last
}

func (d *distinctCounter) register(x uint64) {
	h := mixBits(x + 0x9e3779b97f4a7c15)
	rank := uint8(bits.LeadingZeros64(h<<distinctLog2|1<<(distinctLog2-1))) + 1
	if r := &d.registers[h>>(64-distinctLog2)]; rank > *r {
		*r = rank
	}
}

// count returns how many different numbers were added, and whether that is exact.
func (d *distinctCounter) count() (n int, exact bool) {
	if d.registers == nil {
		if d.zero {
			return d.n + 1, true
		}
		return d.n, true
	}
	const m = 1 << distinctLog2
	sum, empty := 0.0, 0
	for _, r := range d.registers {
		sum += math.Ldexp(1, -int(r))
		if r == 0 {
			empty++
		}
	}
	estimate := 0.7213 / (1 + 1.079/m) * m * m / sum
	if estimate <= 2.5*m && empty > 0 {
		estimate = m * math.Log(float64(m)/float64(empty))
	}
	return int(estimate + 0.5), false
}
