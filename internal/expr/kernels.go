package expr

import (
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

// scalar is a physical type that a Go value stands for; booleans and instants are int64.
type scalar interface {
	int64 | float64 | float32 | string
}

// column is a view of a constant or flat vector that needs no case distinction per row: mask is 0
// for a constant and all ones otherwise.
type column[T scalar] struct {
	values []T
	mask   int
}

func (c column[T]) at(i int) T { return c.values[i&c.mask] }

// columnOf returns the view of v, which has the physical type of T. Dictionary codes are resolved
// to strings, not copied.
func columnOf[T scalar](v *vector.Vector) column[T] {
	mask := -1
	if v.Const {
		mask = 0
	}
	return column[T]{values: valuesOf[T](v), mask: mask}
}

func valuesOf[T scalar](v *vector.Vector) []T {
	var values any
	switch any(*new(T)).(type) {
	case int64:
		values = v.Longs
	case float64:
		values = v.Doubles
	case float32:
		values = v.Floats
	case string:
		values = stringsOf(v)
	}
	return values.([]T)
}

// stringsOf returns the strings of a vector, one of a constant.
func stringsOf(v *vector.Vector) []string {
	if v.Dict == nil {
		return v.Strings
	}
	n := v.Len
	if v.Const {
		n = 1
	}
	out := make([]string, n)
	if v.Dict.Len() > 0 {
		for i, c := range v.Codes[:n] {
			out[i] = v.Dict.Value(c)
		}
	}
	return out
}

// wrap returns values as a vector.
func wrap[T scalar](values []T) *vector.Vector {
	switch x := any(values).(type) {
	case []int64:
		return vector.FromLongs(x)
	case []float64:
		return vector.FromDoubles(x)
	case []float32:
		return vector.FromFloats(x)
	default:
		return vector.FromStrings(any(values).([]string))
	}
}

// results hands out the memory for the results of one kernel or node in one program.
type results[T scalar] struct {
	reuse bool
	last  []T
}

func resultsOf[T scalar](ctx *Context) *results[T] { return &results[T]{reuse: ctx.Reuse} }

// rows returns room for n results, all of which the caller sets.
func (r *results[T]) rows(n int) []T {
	if !r.reuse {
		return make([]T, n)
	}
	if invariant.Enabled { // the results before are released
		poison(r.last)
		r.last = nil
	}
	if cap(r.last) < n {
		r.last = make([]T, n)
	}
	return r.last[:n]
}

func poison[T scalar](values []T) {
	switch x := any(values).(type) {
	case []int64:
		invariant.Poison(x)
	case []float64:
		invariant.Poison(x)
	case []float32:
		invariant.Poison(x)
	case []string:
		invariant.PoisonStrings(x)
	}
}

// unary is the kernel of a function without failure. It also runs on rows without a value, so f
// must take any argument.
func unary[A, R scalar](f func(A) R) Kernel {
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		a, out := columnOf[A](args[0]), make([]R, n)
		for i := range out {
			out[i] = f(a.at(i))
		}
		return wrap(out), nil
	}
}

// binary is unary for two arguments.
func binary[A, B, R scalar](f func(A, B) R) Kernel {
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		a, b, out := columnOf[A](args[0]), columnOf[B](args[1]), make([]R, n)
		for i := range out {
			out[i] = f(a.at(i), b.at(i))
		}
		return wrap(out), nil
	}
}

// rows collects the results of a kernel that may give NULL: call null for such rows.
type rows[R scalar] struct {
	out   []R
	valid vector.Bitmap
}

func newRows[R scalar](n int) rows[R] { return rows[R]{out: make([]R, n)} }

func (r *rows[R]) null(i int) {
	if r.valid == nil {
		r.valid = vector.FullBitmap(len(r.out))
	}
	r.valid.Clear(i)
}

func (r *rows[R]) vector() *vector.Vector {
	v := wrap(r.out)
	v.Valid = r.valid
	return v
}

// partial1 is the kernel of a function of one argument that gives NULL when it reports false. It
// runs on valid rows only.
func partial1[A, R scalar](f func(A) (R, bool)) Kernel {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		a, r := columnOf[A](args[0]), newRows[R](n)
		for i := range r.out {
			if !valid.Get(i) {
				continue
			}
			x, ok := f(a.at(i))
			if r.out[i] = x; !ok {
				r.null(i)
			}
		}
		return r.vector(), nil
	}
}

// partial2 is partial1 for two arguments.
func partial2[A, B, R scalar](f func(A, B) (R, bool)) Kernel {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		a, b, r := columnOf[A](args[0]), columnOf[B](args[1]), newRows[R](n)
		for i := range r.out {
			if !valid.Get(i) {
				continue
			}
			x, ok := f(a.at(i), b.at(i))
			if r.out[i] = x; !ok {
				r.null(i)
			}
		}
		return r.vector(), nil
	}
}

// partial3 is partial1 for three arguments.
func partial3[A, B, C, R scalar](f func(A, B, C) (R, bool)) Kernel {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		a, b, c, r := columnOf[A](args[0]), columnOf[B](args[1]), columnOf[C](args[2]), newRows[R](n)
		for i := range r.out {
			if !valid.Get(i) {
				continue
			}
			x, ok := f(a.at(i), b.at(i), c.at(i))
			if r.out[i] = x; !ok {
				r.null(i)
			}
		}
		return r.vector(), nil
	}
}

// failing1 is partial1 for a function that may also end the query.
func failing1[A, R scalar](f func(A) (R, bool, error)) Kernel {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		a, r := columnOf[A](args[0]), newRows[R](n)
		for i := range r.out {
			if !valid.Get(i) {
				continue
			}
			x, ok, err := f(a.at(i))
			if err != nil {
				return nil, err
			}
			if r.out[i] = x; !ok {
				r.null(i)
			}
		}
		return r.vector(), nil
	}
}

// failing2 is failing1 for two arguments.
func failing2[A, B, R scalar](f func(A, B) (R, bool, error)) Kernel {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		a, b, r := columnOf[A](args[0]), columnOf[B](args[1]), newRows[R](n)
		for i := range r.out {
			if !valid.Get(i) {
				continue
			}
			x, ok, err := f(a.at(i), b.at(i))
			if err != nil {
				return nil, err
			}
			if r.out[i] = x; !ok {
				r.null(i)
			}
		}
		return r.vector(), nil
	}
}

// failing3 is failing1 for three arguments.
func failing3[A, B, C, R scalar](f func(A, B, C) (R, bool, error)) Kernel {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		a, b, c, r := columnOf[A](args[0]), columnOf[B](args[1]), columnOf[C](args[2]), newRows[R](n)
		for i := range r.out {
			if !valid.Get(i) {
				continue
			}
			x, ok, err := f(a.at(i), b.at(i), c.at(i))
			if err != nil {
				return nil, err
			}
			if r.out[i] = x; !ok {
				r.null(i)
			}
		}
		return r.vector(), nil
	}
}

// fixed makes a Kernel constructor of a kernel that needs neither the call nor the context. All
// programs share it, so it keeps no state.
func fixed(k Kernel) func(*Call, *Context) (Kernel, error) {
	return func(*Call, *Context) (Kernel, error) { return k, nil }
}

// byType makes a Kernel constructor that chooses by the physical type of the first argument.
func byType(long, double Kernel) func(*Call, *Context) (Kernel, error) {
	return func(c *Call, _ *Context) (Kernel, error) {
		if c.Args[0].Type().Runtime() == vector.Long {
			return long, nil
		}
		return double, nil
	}
}
