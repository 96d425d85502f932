package expr

import (
	"strings"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// The strings and arrays that a function makes for the rows of a batch are there at once, and no
// operator counts them before it gets them. Short statements make long ones: each of a row of WITH
// queries doubles those of the one before, and a cross join of two columns of long strings puts
// each pair together. Functions therefore have room for so much text, or as many elements, in a
// batch, and are refused beyond.

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

// elementBytes is what an element of an array counts for: most are texts, which take so much beside
// their bytes.
const elementBytes = 16

// askedBytes is after how many bytes a kernel asks again whether the query goes on.
const askedBytes = 1 << 20

// elementsInRoom refuses more elements than there is room for.
func elementsInRoom(fn string, elements int, room int64) error {
	if int64(elements) <= room/elementBytes {
		return nil
	}
	return tooManyElements(fn, room)
}

func tooManyElements(fn string, room int64) error {
	return fault.ResourceLimit("Function [%s] makes arrays of more than [%d] elements together for rows that are computed at once", fn, room/elementBytes)
}

// partsOfRoom is how many times the room of one function those of an expression have together: a
// call has what all its arguments made.
const partsOfRoom = 4

// made counts what the functions of a program have made for the rows of a batch.
type made struct{ bytes int64 }

func (m *made) add(bytes, room int64) error {
	if m.bytes += bytes; m.bytes > partsOfRoom*room {
		return fault.ResourceLimit("Functions of an expression make strings and arrays of more than [%d] bytes together for rows that are computed at once", partsOfRoom*room)
	}
	return nil
}

// inRoom refuses what a kernel makes if it has more text or elements than there is room for, alone
// or together with what was made before.
func inRoom(x *Call, run Kernel, room int64, before *made) Kernel {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		v, err := run(args, n, valid)
		if err != nil {
			return nil, err
		}
		text := int64(0)
		for _, s := range v.Strings {
			text += int64(len(s))
		}
		if text > room {
			return nil, tooMuchText(x.Fn.Name, room)
		}
		elements := 0
		for child := v.Child; child != nil; child = child.Child {
			elements += child.Len
		}
		if err := elementsInRoom(x.Fn.Name, elements, room); err != nil {
			return nil, err
		}
		return v, before.add(text+elementBytes*int64(elements), room)
	}
}

// Meter measures the size of the results of a kernel for a batch. It stops the kernel when the
// limit is exceeded or the query must end.
type Meter struct {
	fn         string
	room, left int64
	ctx        *Context
	asked      int64 // what was left when the query was last asked whether it goes on
}

// NewMeter returns the meter of one call of a function for a batch.
func NewMeter(fn string, ctx *Context) *Meter {
	room := ctx.textRoom()
	return &Meter{fn: fn, room: room, left: room, ctx: ctx, asked: room}
}

// Add counts bytes of strings before they are created.
func (m *Meter) Add(bytes int) error {
	if m.left -= int64(bytes); m.left < 0 {
		return tooMuchText(m.fn, m.room)
	}
	return m.ask()
}

// AddElements counts elements of arrays.
func (m *Meter) AddElements(n int) error {
	if m.left -= int64(n) * elementBytes; m.left < 0 {
		return tooManyElements(m.fn, m.room)
	}
	return m.ask()
}

// AddTexts counts the strings in rows lo to hi (exclusive) of v, including elements. Many of them
// may share memory.
func (m *Meter) AddTexts(v *vector.Vector, lo, hi int) error {
	switch v.Type.Kind {
	case vector.KindList:
		for ; lo < hi; lo++ {
			from, to := v.ListAt(lo)
			if err := m.AddTexts(v.Child, from, to); err != nil {
				return err
			}
		}
	case vector.KindString, vector.KindComplex:
		for ; lo < hi; lo++ {
			if v.IsNull(lo) {
				continue
			}
			if err := m.Add(len(v.StringAt(lo))); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask returns why the query has to end, if much was made since it was last asked.
func (m *Meter) ask() error {
	if m.asked-m.left < askedBytes {
		return nil
	}
	m.asked = m.left
	return m.ctx.Stopped()
}

// Pass adds the result of a row, and returns it.
func (m *Meter) Pass(s string, ok bool, err error) (string, bool, error) {
	if err == nil {
		err = m.Add(len(s))
	}
	return s, ok, err
}

// Join is strings.Join, limited by the meter.
func (m *Meter) Join(parts []string, delimiter string) (string, error) {
	size := len(delimiter) * max(0, len(parts)-1)
	for _, p := range parts {
		size += len(p)
	}
	if err := m.Add(size); err != nil {
		return "", err
	}
	return strings.Join(parts, delimiter), nil
}

// Metered returns a Kernel constructor for a kernel that counts its results in a meter.
func Metered(k func(args []*vector.Vector, n int, valid vector.Bitmap, m *Meter) (*vector.Vector, error)) func(*Call, *Context) (Kernel, error) {
	return func(c *Call, ctx *Context) (Kernel, error) {
		return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
			return k(args, n, valid, NewMeter(c.Fn.Name, ctx))
		}, nil
	}
}

// Growing2 is kernel.Failing2 for functions that can create long strings from short ones.
func Growing2[A, B kernel.Scalar](f func(A, B) (string, bool, error)) func(*Call, *Context) (Kernel, error) {
	return Metered(func(args []*vector.Vector, n int, valid vector.Bitmap, m *Meter) (*vector.Vector, error) {
		return kernel.Failing2(func(a A, b B) (string, bool, error) { return m.Pass(f(a, b)) })(args, n, valid)
	})
}

// Growing3 is Growing2 for three arguments.
func Growing3[A, B, C kernel.Scalar](f func(A, B, C) (string, bool, error)) func(*Call, *Context) (Kernel, error) {
	return Metered(func(args []*vector.Vector, n int, valid vector.Bitmap, m *Meter) (*vector.Vector, error) {
		return kernel.Failing3(func(a A, b B, c C) (string, bool, error) { return m.Pass(f(a, b, c)) })(args, n, valid)
	})
}
