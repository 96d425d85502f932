package wire

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/hengedb/henge/internal/fault"
)

// ErrCorrupt marks bytes that are not a plan of this release.
var ErrCorrupt = errors.New("corrupt plan")

// coder writes fields to out, or reads them from in. After the first error it does nothing. What is
// written stays untouched: others may run it, or write it too.
type coder struct {
	reading bool
	out     []byte
	in      []byte
	depth   int
	err     error

	// varies is set when the plan calls a function whose result depends on more than its arguments.
	varies bool
	// results says that the bytes stand for the results of the plan, not only for what is sent of it.
	results bool
}

func (c *coder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fault.Runtime(format, args...).WithCause(ErrCorrupt)
	}
}

// enter counts a level of nesting; false: there are too many, or an error came before.
func (c *coder) enter() bool {
	if c.depth++; c.depth > maxDepth {
		c.fail("A plan nests deeper than [%d] levels", maxDepth)
	}
	return c.err == nil
}

func (c *coder) leave() { c.depth-- }

// uint codes a number of variable length.
func (c *coder) uint(p *uint64) {
	switch {
	case c.err != nil:
	case !c.reading:
		c.out = binary.AppendUvarint(c.out, *p)
	default:
		v, n := binary.Uvarint(c.in)
		if n <= 0 {
			c.fail("A plan can't be read: a number is cut short")
			return
		}
		*p, c.in = v, c.in[n:]
	}
}

// integer codes any kind of whole number.
func integer[T ~int | ~int32 | ~int64 | ~uint8](c *coder, p *T) {
	v := uint64(int64(*p)<<1) ^ uint64(int64(*p)>>63)
	c.uint(&v)
	if c.reading {
		x := int64(v>>1) ^ -int64(v&1)
		if *p = T(x); int64(*p) != x {
			c.fail("A plan can't be read: number [%d] is out of range", x)
		}
	}
}

func (c *coder) bool(p *bool) {
	v := uint64(0)
	if *p {
		v = 1
	}
	if c.uint(&v); c.reading {
		*p = v != 0
	}
}

func (c *coder) double(p *float64) {
	v := math.Float64bits(*p)
	switch {
	case c.err != nil:
	case !c.reading:
		c.out = binary.LittleEndian.AppendUint64(c.out, v)
	case len(c.in) < 8:
		c.fail("A plan can't be read: a number is cut short")
	default:
		*p, c.in = math.Float64frombits(binary.LittleEndian.Uint64(c.in)), c.in[8:]
	}
}

// take reads n bytes, which belong to the input.
func (c *coder) take(n uint64) []byte {
	if n > uint64(len(c.in)) {
		c.fail("A plan can't be read: a text is cut short")
		return nil
	}
	b := c.in[:n]
	c.in = c.in[n:]
	return b
}

func (c *coder) text(p *string) {
	n := uint64(len(*p))
	c.uint(&n)
	switch {
	case c.err != nil:
	case c.reading:
		*p = string(c.take(n))
	default:
		c.out = append(c.out, *p...)
	}
}

// list codes the elements of a slice and whether it is nil.
func list[T any](c *coder, p *[]T, each func(*T)) {
	n := uint64(0)
	if *p != nil {
		n = uint64(len(*p)) + 1
	}
	c.uint(&n)
	if c.err != nil {
		return
	}
	if c.reading {
		if n == 0 {
			*p = nil
			return
		}
		if n-1 > uint64(len(c.in)) { // each takes a byte at least
			c.fail("A plan can't be read: a list is cut short")
			return
		}
		*p = make([]T, n-1)
	}
	for i := range *p {
		if each(&(*p)[i]); c.err != nil {
			return
		}
	}
}

func integers(c *coder, p *[]int) { list(c, p, func(x *int) { integer(c, x) }) }
