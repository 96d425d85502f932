package expr

import (
	"github.com/hengedb/henge/internal/fault"
)

// binding is a call being bound. Its methods check one argument each and cast it; after the first
// that does not fit, the others do nothing and call returns the error.
type binding struct {
	fn   *Function
	args []Expr
	at   fault.Span
	err  error
	// several is the argument, plus one, of which a function of lists wants one number and which has
	// several; 0: none.
	several int
}

// call ends a binding: the call with result type t, nullable if an argument is or the function says
// so.
func (b *binding) call(t Type) (Expr, error) {
	if b.err != nil {
		return nil, b.err
	}
	if !b.fn.SeesNulls {
		t.Nullable = t.Nullable || b.anyNullable()
	}
	return &Call{Fn: b.fn.entry(), Args: b.args, T: t, At: b.at}, nil
}

// strict is call for a function that is NULL only where an argument is.
func (b *binding) strict(t Type) (Expr, error) { return b.call(t.NotNull()) }

func (b *binding) anyNullable() bool {
	for _, a := range b.args {
		if a.Type().Nullable {
			return true
		}
	}
	return false
}

// has reports whether argument i was given.
func (b *binding) has(i int) bool { return i < len(b.args) }

// typ returns the type of argument i.
func (b *binding) typ(i int) Type { return b.args[i].Type() }

// mismatch records that the types of the arguments fit none of the forms.
func (b *binding) mismatch() {
	if b.err == nil {
		b.err = typeError(b.fn, b.args, b.at)
	}
}

func (b *binding) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fault.InvalidSQL(b.at, format, args...)
	}
}

// cast casts argument i to t. What functions of lists see as a list of several values stays one:
// its values become texts, and where one number is wanted, the call is mapped over them.
func (b *binding) cast(i int, t Type) {
	from := b.typ(i)
	switch {
	case b.err != nil:
	case !from.Multi || t.Base == Array || from.IsCharacter() && t.IsCharacter():
		b.args[i] = coerce(b.args[i], t)
	case t.IsCharacter():
		b.args[i], b.err = NewCast(b.args[i], t, b.at)
	default:
		b.several = i + 1
		b.args[i] = &Literal{T: t.OrNull(true)}
	}
}

// number wants a number; text is read as one, and a boolean counts as 0 or 1.
func (b *binding) number(i int) {
	switch t := b.typ(i); {
	case t.IsNumeric():
		if t.Base == Float {
			b.cast(i, Of(Double))
		}
	case t.IsCharacter():
		b.cast(i, Of(Decimal))
	case t.Base == Null:
		b.cast(i, Of(Integer))
	default:
		b.mismatch()
	}
}

// double wants a number and makes it a DOUBLE.
func (b *binding) double(i int) {
	b.number(i)
	b.cast(i, Of(Double))
}

// exactNumber wants a number and takes no text for one.
func (b *binding) exactNumber(i int) {
	if b.typ(i).IsCharacter() {
		b.mismatch()
		return
	}
	b.number(i)
}

// long wants a number and cuts it to a whole one.
func (b *binding) long(i int) {
	b.exactNumber(i)
	b.cast(i, Of(BigInt))
}

// whole wants a whole number.
func (b *binding) whole(i int) {
	if t := b.typ(i); !t.IsInteger() && t.Base != Null {
		b.mismatch()
		return
	}
	b.cast(i, Of(BigInt))
}

// text wants a string.
func (b *binding) text(i int) {
	if t := b.typ(i); !t.IsCharacter() && t.Base != Null {
		b.mismatch()
		return
	}
	b.cast(i, Of(Varchar))
}

// anyText wants a string and casts other scalars to one.
func (b *binding) anyText(i int) {
	switch t := b.typ(i); {
	case t.IsCharacter():
	case t.Base == Null, t.Base == Boolean, t.IsNumeric(), t.IsTime():
		b.cast(i, Of(Varchar))
	default:
		b.mismatch()
	}
}

// instant wants a DATE or TIMESTAMP; text is read as one.
func (b *binding) instant(i int) {
	switch t := b.typ(i); {
	case t.Base == Timestamp:
	case t.Base == Date, t.IsCharacter(), t.Base == Null:
		b.cast(i, Of(Timestamp))
	default:
		b.mismatch()
	}
}

// boolean wants a BOOLEAN.
func (b *binding) boolean(i int) {
	switch b.typ(i).Base {
	case Boolean:
	case Null:
		b.cast(i, Of(Boolean))
	default:
		b.mismatch()
	}
}

// constant wants a constant and returns its value, nil for NULL. Casts of constants count: they are
// what binding itself inserts.
func (b *binding) constant(i int, what string) any {
	if b.err != nil {
		return nil
	}
	folded, err := Fold(b.args[i], &Context{})
	if err != nil {
		b.err = err
		return nil
	}
	if l, ok := folded.(*Literal); ok {
		b.args[i] = folded
		return l.Value
	}
	b.mustBeLiteral(what)
	return nil
}

// written wants a constant that is written as one, not computed; a cast of it will do.
func (b *binding) written(i int) {
	e := b.args[i]
	for {
		c, ok := e.(*Cast)
		if !ok {
			break
		}
		e = c.X
	}
	if _, ok := e.(*Literal); !ok {
		b.fail("Argument to function '%s' must be a literal", b.fn.Name)
	}
}

func (b *binding) mustBeLiteral(what string) {
	b.fail("Argument to function '%s' must be a literal: it is the %s", b.fn.Name, what)
}

// constantText wants a constant string and returns it; NULL is not accepted.
func (b *binding) constantText(i int, what string) string {
	b.text(i)
	s, ok := b.constant(i, what).(string)
	if !ok {
		b.mustBeLiteral(what)
	}
	return s
}
