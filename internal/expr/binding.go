package expr

import (
	"github.com/hengedb/henge/internal/fault"
)

// Binding is a call that is being bound. Its methods check and cast one argument each. After the
// first invalid argument, the other methods do nothing, and Call returns the error.
type Binding struct {
	// Fn is the function, under the name in the statement.
	Fn *Function
	// Args are the arguments, which binding replaces by their casts.
	Args []Expr
	// At is the position of the call.
	At fault.Span
	// Err is the first error.
	Err error
	// several is the argument, plus one, of which a function of lists wants one number and which has
	// several; 0: none.
	several int
}

// Call ends a binding. It returns the call with result type t, which is nullable if an argument is
// nullable or the function requires it.
func (b *Binding) Call(t Type) (Expr, error) {
	if b.Err != nil {
		return nil, b.Err
	}
	if !b.Fn.SeesNulls {
		t.Nullable = t.Nullable || b.AnyNullable()
	}
	return &Call{Fn: b.Fn.Entry(), Args: b.Args, T: t, At: b.At}, nil
}

// Strict is Call for a function that is NULL only if an argument is NULL.
func (b *Binding) Strict(t Type) (Expr, error) { return b.Call(t.NotNull()) }

// AnyNullable reports whether an argument may be NULL.
func (b *Binding) AnyNullable() bool {
	for _, a := range b.Args {
		if a.Type().Nullable {
			return true
		}
	}
	return false
}

// Has reports whether the call has argument i.
func (b *Binding) Has(i int) bool { return i < len(b.Args) }

// Type returns the type of argument i.
func (b *Binding) Type(i int) Type { return b.Args[i].Type() }

// Mismatch records that the types of the arguments do not match any form.
func (b *Binding) Mismatch() {
	if b.Err == nil {
		b.Err = TypeError(b.Fn, b.Args, b.At)
	}
}

// Fail rejects the call with a message.
func (b *Binding) Fail(format string, args ...any) {
	if b.Err == nil {
		b.Err = fault.InvalidSQL(b.At, format, args...)
	}
}

// Cast casts argument i to t. A list of several values, as functions of lists see it, remains a
// list: its values become strings, or, if a single number is required, the call is mapped over
// them.
func (b *Binding) Cast(i int, t Type) {
	from := b.Type(i)
	switch {
	case b.Err != nil:
	case !from.Multi || t.Base == Array || from.IsCharacter() && t.IsCharacter():
		b.Args[i] = Coerce(b.Args[i], t)
	case t.IsCharacter():
		b.Args[i], b.Err = NewCast(b.Args[i], t, b.At)
	default:
		b.several = i + 1
		b.Args[i] = &Literal{T: t.OrNull(true)}
	}
}

// Number requires a number; strings are parsed as numbers, and booleans are 0 or 1.
func (b *Binding) Number(i int) {
	switch t := b.Type(i); {
	case t.IsNumeric():
		if t.Base == Float {
			b.Cast(i, Of(Double))
		}
	case t.IsCharacter():
		b.Cast(i, Of(Decimal))
	case t.Base == Null:
		b.Cast(i, Of(Integer))
	default:
		b.Mismatch()
	}
}

// Double requires a number and casts it to DOUBLE.
func (b *Binding) Double(i int) {
	b.Number(i)
	b.Cast(i, Of(Double))
}

// ExactNumber requires a number and rejects strings.
func (b *Binding) ExactNumber(i int) {
	if b.Type(i).IsCharacter() {
		b.Mismatch()
		return
	}
	b.Number(i)
}

// Long requires a number and truncates it to an integer.
func (b *Binding) Long(i int) {
	b.ExactNumber(i)
	b.Cast(i, Of(BigInt))
}

// Whole requires an integer.
func (b *Binding) Whole(i int) {
	if t := b.Type(i); !t.IsInteger() && t.Base != Null {
		b.Mismatch()
		return
	}
	b.Cast(i, Of(BigInt))
}

// Text requires a string.
func (b *Binding) Text(i int) {
	if t := b.Type(i); !t.IsCharacter() && t.Base != Null {
		b.Mismatch()
		return
	}
	b.Cast(i, Of(Varchar))
}

// AnyText requires a scalar and casts it to a string.
func (b *Binding) AnyText(i int) {
	switch t := b.Type(i); {
	case t.IsCharacter():
	case t.Base == Null, t.Base == Boolean, t.IsNumeric(), t.IsTime():
		b.Cast(i, Of(Varchar))
	default:
		b.Mismatch()
	}
}

// Instant requires a DATE or TIMESTAMP; strings are parsed as timestamps.
func (b *Binding) Instant(i int) {
	switch t := b.Type(i); {
	case t.Base == Timestamp:
	case t.Base == Date, t.IsCharacter(), t.Base == Null:
		b.Cast(i, Of(Timestamp))
	default:
		b.Mismatch()
	}
}

// Boolean requires a BOOLEAN.
func (b *Binding) Boolean(i int) {
	switch b.Type(i).Base {
	case Boolean:
	case Null:
		b.Cast(i, Of(Boolean))
	default:
		b.Mismatch()
	}
}

// Constant requires a constant and returns its value, nil for NULL. Casts of constants are
// constants, because binding inserts casts.
func (b *Binding) Constant(i int, what string) any {
	if b.Err != nil {
		return nil
	}
	folded, err := Fold(b.Args[i], &Context{})
	if err != nil {
		b.Err = err
		return nil
	}
	if l, ok := folded.(*Literal); ok {
		b.Args[i] = folded
		return l.Value
	}
	b.MustBeLiteral(what)
	return nil
}

// Written requires a literal or a cast of a literal, not a computed constant.
func (b *Binding) Written(i int) {
	e := b.Args[i]
	for {
		c, ok := e.(*Cast)
		if !ok {
			break
		}
		e = c.X
	}
	if _, ok := e.(*Literal); !ok {
		b.Fail("Argument to function '%s' must be a literal", b.Fn.Name)
	}
}

// MustBeLiteral records that an argument, described by what, is not a constant.
func (b *Binding) MustBeLiteral(what string) {
	b.Fail("Argument to function '%s' must be a literal: it is the %s", b.Fn.Name, what)
}

// ConstantText requires a constant string other than NULL and returns it.
func (b *Binding) ConstantText(i int, what string) string {
	b.Text(i)
	s, ok := b.Constant(i, what).(string)
	if !ok {
		b.MustBeLiteral(what)
	}
	return s
}

// WantConstant records an error if the call has argument i and it is not constant. Its value may
// depend on the time zone and the time of the query, which are unknown during binding.
func (b *Binding) WantConstant(i int, what string) {
	if b.Has(i) && !IsConstant(b.Args[i]) {
		b.MustBeLiteral(what)
	}
}
