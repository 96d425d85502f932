package expr

import (
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// The strings and arrays that a function makes for the rows of a batch are there at once, and no operator counts them before it gets them. Short
// statements make long ones: each of a row of WITH queries doubles those of the one before, and a cross join of two columns of long strings
// puts each pair together. Functions therefore have room for so much text, or as many elements, in a batch, and are refused beyond.

// textRoom returns how many bytes the strings that a function makes for a batch may have together.
func (c *Context) textRoom() int64 {
	if c != nil && c.TextRoom > 0 {
		return min(c.TextRoom, maxBatchText)
	}
	return maxBatchText
}

func tooMuchText(fn string, room int64) error {
	return fault.ResourceLimit("Function [%s] makes strings of more than [%d] bytes together for rows that are computed at once", fn, room)
}

// elementBytes is what an element of an array counts for: most are texts, which take so much beside their bytes.
const elementBytes = 16

// elementsInRoom refuses more elements than there is room for.
func elementsInRoom(fn string, elements int, room int64) error {
	if int64(elements) <= room/elementBytes {
		return nil
	}
	return fault.ResourceLimit("Function [%s] makes arrays of more than [%d] elements together for rows that are computed at once", fn, room/elementBytes)
}

// inRoom refuses what a kernel makes if it has more text or elements than there is room for.
func inRoom(x *Call, kernel Kernel, room int64) Kernel {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		v, err := kernel(args, n, valid)
		if err != nil {
			return nil, err
		}
		made := int64(0)
		for _, s := range v.Strings {
			made += int64(len(s))
		}
		if made > room {
			return nil, tooMuchText(x.Fn.Name, room)
		}
		elements := 0
		for child := v.Child; child != nil; child = child.Child {
			elements += child.Len
		}
		if err := elementsInRoom(x.Fn.Name, elements, room); err != nil {
			return nil, err
		}
		return v, nil
	}
}

// meter follows how much text a kernel has made for the rows of a batch, so that it ends as soon as there is no more room.
type meter struct {
	fn         string
	room, left int64
}

func (m *meter) add(bytes int) error {
	if m.left -= int64(bytes); m.left < 0 {
		return tooMuchText(m.fn, m.room)
	}
	return nil
}

// pass adds the result of a row, and returns it.
func (m *meter) pass(s string, ok bool, err error) (string, bool, error) {
	if err == nil {
		err = m.add(len(s))
	}
	return s, ok, err
}

// join is strings.Join where there is room for what it makes.
func (m *meter) join(parts []string, delimiter string) (string, error) {
	size := len(delimiter) * max(0, len(parts)-1)
	for _, p := range parts {
		size += len(p)
	}
	if err := m.add(size); err != nil {
		return "", err
	}
	return strings.Join(parts, delimiter), nil
}

// metered makes a Kernel constructor of a kernel that adds what it makes to a meter.
func metered(k func(args []*vector.Vector, n int, valid vector.Bitmap, m *meter) (*vector.Vector, error)) func(*Call, *Context) (Kernel, error) {
	return func(c *Call, ctx *Context) (Kernel, error) {
		room := ctx.textRoom()
		return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
			return k(args, n, valid, &meter{fn: c.Fn.Name, room: room, left: room})
		}, nil
	}
}

// growing2 is failing2 for functions that may make long strings of short ones.
func growing2[A, B scalar](f func(A, B) (string, bool, error)) func(*Call, *Context) (Kernel, error) {
	return metered(func(args []*vector.Vector, n int, valid vector.Bitmap, m *meter) (*vector.Vector, error) {
		return failing2(func(a A, b B) (string, bool, error) { return m.pass(f(a, b)) })(args, n, valid)
	})
}

// growing3 is growing2 for three arguments.
func growing3[A, B, C scalar](f func(A, B, C) (string, bool, error)) func(*Call, *Context) (Kernel, error) {
	return metered(func(args []*vector.Vector, n int, valid vector.Bitmap, m *meter) (*vector.Vector, error) {
		return failing3(func(a A, b B, c C) (string, bool, error) { return m.pass(f(a, b, c)) })(args, n, valid)
	})
}
