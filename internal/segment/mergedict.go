package segment

import (
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// A merge of dictionaries is the list of the entries that any input uses, ascending, and for each
// input the code in that list of each of its codes.

// dictInput is the dictionary of one input of a merge.
type dictInput struct {
	dict *vector.Dict // nil: the input has no strings
	used []bool       // the entries that rows refer to; nil: all
	next []uint32     // codes in the order of their entries, from the next one on; nil and sorted: see at
	at   int
}

// entry returns the code of the next entry.
func (d *dictInput) code() uint32 {
	if d.next != nil {
		return d.next[d.at]
	}
	return uint32(d.at)
}

// skip moves to the next used entry, and reports whether there is one.
func (d *dictInput) skip() bool {
	for d.at < d.dict.Len() && d.used != nil && !d.used[d.code()] {
		d.at++
	}
	return d.at < d.dict.Len()
}

// mergeDicts merges the inputs, calling emit for each entry in ascending order, and returns how
// many there are and the merged code of each code of each input; nil: the same.
func mergeDicts(inputs []dictInput, emit func(entry string) error) (n int, remaps [][]uint32, err error) {
	remaps = make([][]uint32, len(inputs))
	var live []*dictInput // a heap by the next entry
	var number []int      // which input each of live is
	for i := range inputs {
		in := &inputs[i]
		if in.dict == nil {
			continue
		}
		if !in.dict.Sorted {
			in.next = sortedCodes(in.dict)
		}
		remaps[i] = make([]uint32, in.dict.Len())
		if in.skip() {
			live, number = append(live, in), append(number, i)
		}
	}
	if len(live) == 1 {
		n, err = onlyDict(live[0], remaps[number[0]], emit)
		return n, identical(inputs, remaps, n), err
	}
	less := func(a, b int) bool {
		x, y := live[a].dict.Value(live[a].code()), live[b].dict.Value(live[b].code())
		return x < y || x == y && number[a] < number[b]
	}
	swap := func(a, b int) {
		live[a], live[b] = live[b], live[a]
		number[a], number[b] = number[b], number[a]
	}
	for i := len(live)/2 - 1; i >= 0; i-- {
		siftDown(i, len(live), less, swap)
	}
	last, have, total := "", false, uint64(0)
	for len(live) > 0 {
		top := live[0]
		code := top.code()
		if text := top.dict.Value(code); !have || text != last {
			if total += uint64(len(text)); total > maxDictBytes {
				return 0, nil, fault.ResourceLimit("Segment column has more than [%d] bytes of distinct strings; make smaller segments", uint64(maxDictBytes))
			}
			if err := emit(text); err != nil {
				return 0, nil, err
			}
			last, have = text, true
			n++
		}
		remaps[number[0]][code] = uint32(n - 1)
		top.at++
		if !top.skip() {
			end := len(live) - 1
			swap(0, end)
			live, number = live[:end], number[:end]
		}
		siftDown(0, len(live), less, swap)
	}
	return n, identical(inputs, remaps, n), nil
}

// identical drops the remaps of inputs that have all n entries in order: their codes stay the same.
func identical(inputs []dictInput, remaps [][]uint32, n int) [][]uint32 {
	for i := range inputs {
		if in := &inputs[i]; in.dict != nil && in.dict.Sorted && in.used == nil && in.dict.Len() == n {
			remaps[i] = nil
		}
	}
	return remaps
}

// onlyDict emits the used entries of a dictionary that there is no other to merge with.
func onlyDict(in *dictInput, remap []uint32, emit func(entry string) error) (n int, err error) {
	for more := true; more; more = in.skip() {
		code := in.code()
		if err := emit(in.dict.Value(code)); err != nil {
			return 0, err
		}
		remap[code] = uint32(n)
		n++
		in.at++
	}
	return n, nil
}

// siftDown restores the heap order of n items below item i.
func siftDown(i, n int, less func(a, b int) bool, swap func(a, b int)) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < n; c++ {
			if less(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		swap(i, least)
		i = least
	}
}
