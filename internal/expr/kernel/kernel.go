// Package kernel contains the building blocks of function kernels: views of vectors without a case
// distinction per row, loops that apply a Go function to each row, and builders of results with
// NULLs.
//
//	Unary(strings.ToLower)                        every row
//	Partial1(func(s string) (int64, bool) ...)    false: NULL
//	Failing1(func(s string) (int64, bool, error)) an error ends the query
//
// A kernel is a Func. Package expr associates kernels with functions and runs them; this package
// does not know expressions.
package kernel

import (
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

// Func computes a function for n rows. Arguments have the bound types, n rows, and any encoding.
// valid contains the rows without NULL arguments (nil: all rows); a kernel that may fail must not
// read other rows. The results for rows outside valid are unspecified: the caller sets them to
// NULL.
type Func func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error)

// Scalar is a physical type with a Go representation; booleans and instants are int64.
type Scalar interface {
	int64 | float64 | float32 | string
}

// Column is a view of a constant or flat vector that needs no case distinction per row: Mask is 0
// for a constant and all ones otherwise.
type Column[T Scalar] struct {
	Values []T
	Mask   int
}

// At returns the value of row i.
func (c Column[T]) At(i int) T { return c.Values[i&c.Mask] }

// ColumnOf returns the view of v, which has the physical type of T. Dictionary codes are resolved
// to strings, not copied.
func ColumnOf[T Scalar](v *vector.Vector) Column[T] {
	mask := -1
	if v.Const {
		mask = 0
	}
	return Column[T]{Values: ValuesOf[T](v), Mask: mask}
}

// ValuesOf returns the stored values of v; a constant has one.
func ValuesOf[T Scalar](v *vector.Vector) []T {
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

// Wrap returns values as a vector.
func Wrap[T Scalar](values []T) *vector.Vector {
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

// Results allocates the memory for the results of one kernel or node in one program.
type Results[T Scalar] struct {
	reuse bool
	last  []T
}

// ResultsOf returns an allocator for results. With reuse, it reuses the memory of the previous
// results.
func ResultsOf[T Scalar](reuse bool) *Results[T] { return &Results[T]{reuse: reuse} }

// Rows returns memory for n results; the caller sets all of them.
func (r *Results[T]) Rows(n int) []T {
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

func poison[T Scalar](values []T) {
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

// Unary is the kernel of a function that cannot fail. It also runs on rows without a value, so f
// must accept any argument.
func Unary[A, R Scalar](f func(A) R) Func {
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		a, out := ColumnOf[A](args[0]), make([]R, n)
		for i := range out {
			out[i] = f(a.At(i))
		}
		return Wrap(out), nil
	}
}

// Binary is Unary for two arguments.
func Binary[A, B, R Scalar](f func(A, B) R) Func {
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		a, b, out := ColumnOf[A](args[0]), ColumnOf[B](args[1]), make([]R, n)
		for i := range out {
			out[i] = f(a.At(i), b.At(i))
		}
		return Wrap(out), nil
	}
}

// Rows collects the results of a kernel that can return NULL: the kernel calls Null for such rows.
type Rows[R Scalar] struct {
	Out   []R
	Valid vector.Bitmap
}

// NewRows returns n valid rows.
func NewRows[R Scalar](n int) Rows[R] { return Rows[R]{Out: make([]R, n)} }

// Null makes row i NULL.
func (r *Rows[R]) Null(i int) {
	if r.Valid == nil {
		r.Valid = vector.FullBitmap(len(r.Out))
	}
	r.Valid.Clear(i)
}

// Vector returns the rows as a vector.
func (r *Rows[R]) Vector() *vector.Vector {
	v := Wrap(r.Out)
	v.Valid = r.Valid
	return v
}

// Partial1 is the kernel of a function of one argument whose result is NULL if it returns false. It
// runs on valid rows only.
func Partial1[A, R Scalar](f func(A) (R, bool)) Func {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		a, r := ColumnOf[A](args[0]), NewRows[R](n)
		for i := range r.Out {
			if !valid.Get(i) {
				continue
			}
			x, ok := f(a.At(i))
			if r.Out[i] = x; !ok {
				r.Null(i)
			}
		}
		return r.Vector(), nil
	}
}

// Partial2 is Partial1 for two arguments.
func Partial2[A, B, R Scalar](f func(A, B) (R, bool)) Func {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		a, b, r := ColumnOf[A](args[0]), ColumnOf[B](args[1]), NewRows[R](n)
		for i := range r.Out {
			if !valid.Get(i) {
				continue
			}
			x, ok := f(a.At(i), b.At(i))
			if r.Out[i] = x; !ok {
				r.Null(i)
			}
		}
		return r.Vector(), nil
	}
}

// Partial3 is Partial1 for three arguments.
func Partial3[A, B, C, R Scalar](f func(A, B, C) (R, bool)) Func {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		a, b, c, r := ColumnOf[A](args[0]), ColumnOf[B](args[1]), ColumnOf[C](args[2]), NewRows[R](n)
		for i := range r.Out {
			if !valid.Get(i) {
				continue
			}
			x, ok := f(a.At(i), b.At(i), c.At(i))
			if r.Out[i] = x; !ok {
				r.Null(i)
			}
		}
		return r.Vector(), nil
	}
}

// Failing1 is Partial1 for a function that may also return an error, which ends the query.
func Failing1[A, R Scalar](f func(A) (R, bool, error)) Func {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		a, r := ColumnOf[A](args[0]), NewRows[R](n)
		for i := range r.Out {
			if !valid.Get(i) {
				continue
			}
			x, ok, err := f(a.At(i))
			if err != nil {
				return nil, err
			}
			if r.Out[i] = x; !ok {
				r.Null(i)
			}
		}
		return r.Vector(), nil
	}
}

// Failing2 is Failing1 for two arguments.
func Failing2[A, B, R Scalar](f func(A, B) (R, bool, error)) Func {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		a, b, r := ColumnOf[A](args[0]), ColumnOf[B](args[1]), NewRows[R](n)
		for i := range r.Out {
			if !valid.Get(i) {
				continue
			}
			x, ok, err := f(a.At(i), b.At(i))
			if err != nil {
				return nil, err
			}
			if r.Out[i] = x; !ok {
				r.Null(i)
			}
		}
		return r.Vector(), nil
	}
}

// Failing3 is Failing1 for three arguments.
func Failing3[A, B, C, R Scalar](f func(A, B, C) (R, bool, error)) Func {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		a, b, c, r := ColumnOf[A](args[0]), ColumnOf[B](args[1]), ColumnOf[C](args[2]), NewRows[R](n)
		for i := range r.Out {
			if !valid.Get(i) {
				continue
			}
			x, ok, err := f(a.At(i), b.At(i), c.At(i))
			if err != nil {
				return nil, err
			}
			if r.Out[i] = x; !ok {
				r.Null(i)
			}
		}
		return r.Vector(), nil
	}
}

// Over returns a kernel for a loop over the values of one argument, including the values of null
// rows.
func Over[A, R Scalar](reuse bool, op func(dst []R, src []A)) Func {
	results := ResultsOf[R](reuse)
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		out, v := results.Rows(n), args[0]
		if src := ValuesOf[A](v); !v.Const {
			op(out, src[:n])
		} else if n > 0 {
			op(out[:1], src[:1])
			for i := range out {
				out[i] = out[0]
			}
		}
		return Wrap(out), nil
	}
}

// OnFirst runs a kernel on the first argument only: the other arguments are constants that the
// kernel already contains, and may be NULL.
func OnFirst(k Func) Func {
	return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		first := args[:1]
		valid := ValidRows(first, n)
		v, err := k(first, n, valid)
		if err != nil || valid == nil {
			return v, err
		}
		return WithValid(v, valid), nil
	}
}

// ValidRows returns the rows for which all args have a value; nil: all rows.
func ValidRows(args []*vector.Vector, rows int) vector.Bitmap {
	var valid vector.Bitmap
	for _, v := range args {
		if v.Valid == nil {
			continue
		}
		if v.Const {
			if v.Valid.Get(0) {
				continue
			}
			return vector.NewBitmap(rows)
		}
		valid = vector.And(valid, v.Valid, rows)
	}
	return valid
}

// WithValid returns v with the rows outside valid set to NULL.
func WithValid(v *vector.Vector, valid vector.Bitmap) *vector.Vector {
	out := *v
	if v.Const {
		if v.AllNull() {
			return v
		}
		out = *v.Flat()
	}
	out.Valid = vector.And(out.Valid, valid, out.Len)
	return &out
}

// Bool returns a BOOLEAN in the representation of vectors: 1 or 0.
func Bool(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Texts formats values into one buffer per batch, without an allocation per row.
func Texts[A Scalar](appendTo func([]byte, A) []byte) Func {
	return func(args []*vector.Vector, n int, valid vector.Bitmap) (*vector.Vector, error) {
		a := ColumnOf[A](args[0])
		buf, ends := make([]byte, 0, 16*n), make([]int, n)
		for i := range ends {
			if valid.Get(i) {
				buf = appendTo(buf, a.At(i))
			}
			ends[i] = len(buf)
		}
		return vector.FromStrings(Cut(string(buf), ends)), nil
	}
}

// Cut slices a string at ascending positions.
func Cut(text string, ends []int) []string {
	out, start := make([]string, len(ends)), 0
	for i, end := range ends {
		out[i] = text[start:end]
		start = end
	}
	return out
}

// Nulls is the kernel whose result is NULL in every row.
func Nulls(t vector.Type) Func {
	return func(_ []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		return vector.Nulls(t, n), nil
	}
}

// AsComplex returns a vector of strings as a vector of serialized complex values.
func AsComplex(v *vector.Vector, t vector.Type) *vector.Vector {
	if v == nil {
		return nil
	}
	out := *v
	if out.Dict != nil {
		out = *v.Flat()
	}
	out.Type = t
	return &out
}
