package expr

import (
	"math"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// armTable finds the number of the first arm that has a value among its constants.
type armTable struct {
	none uint32 // the number for a value that no arm has

	// Numbers are words. Those that are near each other are found by their distance to the least one,
	// others and texts in slots.
	least int64
	near  []uint32
	words []uint64
	texts []string
	arms  []uint32
	slots []uint32 // 0: free; else the place in words or texts, plus 1
}

// nearness is how many numbers there may be from the least to the greatest for each that an arm
// has.
const nearness = 8

// newArmTable makes a table of constants of a physical type; the number of each one's arm is in
// arms. None comes behind the last arm.
func newArmTable(kind vector.Kind, values []any, arms []uint32, none uint32) *armTable {
	t := &armTable{none: none}
	switch kind {
	case vector.KindString:
		t.slots = make([]uint32, slotsFor(len(values)))
		for i, v := range values {
			t.addText(v.(string), arms[i])
		}
		return t
	case vector.KindLong:
		if t.addNear(values, arms) {
			return t
		}
	}
	t.slots = make([]uint32, slotsFor(len(values)))
	for i, v := range values {
		if w, ok := wordOf(v); ok {
			t.addWord(w, arms[i])
		}
	}
	return t
}

// slotsFor is a power of two of which at most half are taken by n entries.
func slotsFor(n int) int {
	slots := 8
	for slots < 2*n {
		slots *= 2
	}
	return slots
}

// wordOf is the same for equal numbers; ok is false for NaN, which equals nothing.
func wordOf(v any) (w uint64, ok bool) {
	switch x := v.(type) {
	case int64:
		return uint64(x), true
	case float32:
		return floatWord(float64(x)), x == x
	case float64:
		return floatWord(x), x == x
	}
	return 0, false
}

func floatWord(x float64) uint64 { return math.Float64bits(x + 0) }

// addNear fills near with whole numbers, if these are near each other.
func (t *armTable) addNear(values []any, arms []uint32) bool {
	least, greatest := int64(math.MaxInt64), int64(math.MinInt64)
	for _, v := range values {
		least, greatest = min(least, v.(int64)), max(greatest, v.(int64))
	}
	span := uint64(greatest) - uint64(least)
	if len(values) == 0 || span >= uint64(nearness*(len(values)+8)) {
		return false
	}
	t.least, t.near = least, make([]uint32, span+1)
	for i := range t.near {
		t.near[i] = t.none
	}
	for i, v := range values {
		if at := &t.near[v.(int64)-least]; *at == t.none {
			*at = arms[i]
		}
	}
	return true
}

func (t *armTable) addWord(w uint64, arm uint32) {
	mask := uint64(len(t.slots) - 1)
	at := vector.HashLong(w) & mask
	for ; t.slots[at] != 0; at = (at + 1) & mask {
		if t.words[t.slots[at]-1] == w {
			return
		}
	}
	t.words, t.arms = append(t.words, w), append(t.arms, arm)
	t.slots[at] = uint32(len(t.words))
}

func (t *armTable) addText(s string, arm uint32) {
	mask := uint64(len(t.slots) - 1)
	at := vector.HashString(s) & mask
	for ; t.slots[at] != 0; at = (at + 1) & mask {
		if t.texts[t.slots[at]-1] == s {
			return
		}
	}
	t.texts, t.arms = append(t.texts, s), append(t.arms, arm)
	t.slots[at] = uint32(len(t.texts))
}

func (t *armTable) word(w uint64) uint32 {
	mask := uint64(len(t.slots) - 1)
	for at := vector.HashLong(w) & mask; t.slots[at] != 0; at = (at + 1) & mask {
		if n := t.slots[at] - 1; t.words[n] == w {
			return t.arms[n]
		}
	}
	return t.none
}

func (t *armTable) text(s string) uint32 {
	mask := uint64(len(t.slots) - 1)
	for at := vector.HashString(s) & mask; t.slots[at] != 0; at = (at + 1) & mask {
		if n := t.slots[at] - 1; t.texts[n] == s {
			return t.arms[n]
		}
	}
	return t.none
}

// find sets out to the arms of the first rows of v. NULL is in none.
func (t *armTable) find(v *vector.Vector, out []int64) {
	switch v.Type.Kind {
	case vector.KindLong:
		t.findLongs(kernel.ColumnOf[int64](v), out)
	case vector.KindDouble:
		values := kernel.ColumnOf[float64](v)
		for i := range out {
			out[i] = t.float(values.At(i))
		}
	case vector.KindFloat:
		values := kernel.ColumnOf[float32](v)
		for i := range out {
			out[i] = t.float(float64(values.At(i)))
		}
	default:
		values := kernel.ColumnOf[string](v)
		for i := range out {
			out[i] = int64(t.text(values.At(i)))
		}
	}
	if v.Valid == nil {
		return
	}
	for i := range out {
		if v.IsNull(i) {
			out[i] = int64(t.none)
		}
	}
}

func (t *armTable) findLongs(values kernel.Column[int64], out []int64) {
	if t.near == nil {
		for i := range out {
			out[i] = int64(t.word(uint64(values.At(i))))
		}
		return
	}
	near, least := t.near, uint64(t.least)
	for i := range out {
		arm := t.none
		if at := uint64(values.At(i)) - least; at < uint64(len(near)) {
			arm = near[at]
		}
		out[i] = int64(arm)
	}
}

func (t *armTable) float(x float64) int64 {
	if x != x {
		return int64(t.none)
	}
	return int64(t.word(floatWord(x)))
}
