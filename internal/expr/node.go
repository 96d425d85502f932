package expr

import "github.com/hengedb/henge/internal/fault"

// Expr is a typed scalar expression over the columns of one input. The concrete nodes are Column,
// Literal, Call, Cast, Case, And, Or, Not, In, Each, Any, Loop and Element; no other type
// implements it. Nodes are immutable: rewrites build new ones.
type Expr interface {
	// Type returns the SQL type of the value.
	Type() Type
	expr()
}

// Column is input column Index.
type Column struct {
	Index int
	Name  string
	T     Type
}

// Literal is a constant: nil, int64 (also booleans as 0 and 1, times in milliseconds, months),
// float64, float32, string or []any.
type Literal struct {
	Value any
	T     Type
}

// Call applies a function of the catalog. Args already have the types of the kernel: binding
// inserted the casts.
type Call struct {
	Fn   *Function
	Args []Expr
	T    Type
	At   fault.Span
}

// Cast converts X; a value that cannot be converted becomes NULL, never an error.
type Cast struct {
	X Expr
	T Type
	// Implied: a function implicitly converts X to T, so native queries omit the cast. Nothing else
	// depends on it.
	Implied bool
}

// When is one arm of a Case.
type When struct{ Cond, Then Expr }

// Case is the searched CASE: the result of the first arm whose condition is true, else Else (nil:
// NULL). Other arms are not evaluated.
type Case struct {
	Whens []When
	Else  Expr
	T     Type
}

// And is the three-valued conjunction of two or more terms.
type And struct{ Terms []Expr }

// Or is the three-valued disjunction of two or more terms.
type Or struct{ Terms []Expr }

// Not is the three-valued negation.
type Not struct{ X Expr }

// In tests X against constants of X's type with SQL's NULL rules: true on a match, else NULL if X
// is NULL or HasNull.
type In struct {
	X       Expr
	Values  []any // int64, float64 or string; no nils
	HasNull bool
}

// Each maps Body over the values of the multi-value string Source; the result is multi-value again.
// Inside Body, Element is one value. A row without values yields Body of NULL, and a row whose only
// result is NULL has no values. If Body is multi-value itself, all its values are included.
type Each struct {
	Source Expr
	Body   Expr
	T      Type
}

// Any is the predicate on a multi-value string that is true if Body, a predicate of Element, is
// true for at least one value, else NULL if Body is NULL for at least one value, and false
// otherwise; for a row without values it is Body of NULL.
type Any struct {
	Source Expr
	Body   Expr
}

// Element is the current value of the Each or Any that is Depth levels further out (0: the
// innermost). A Loop has one level per list.
type Element struct {
	Depth int
	T     Type
}

// Type returns the type of the column.
func (e *Column) Type() Type { return e.T }

// Type returns the type of the constant.
func (e *Literal) Type() Type { return e.T }

// Type returns the result type that binding determined.
func (e *Call) Type() Type { return e.T }

// Type returns the target type.
func (e *Cast) Type() Type { return e.T }

// Type returns the least restrictive type of the arms.
func (e *Case) Type() Type { return e.T }

// Type returns BOOLEAN.
func (e *And) Type() Type { return Of(Boolean) }

// Type returns BOOLEAN.
func (e *Or) Type() Type { return Of(Boolean) }

// Type returns BOOLEAN.
func (e *Not) Type() Type { return Of(Boolean).NotNull().OrNull(e.X.Type().Nullable) }

// Type returns BOOLEAN.
func (e *In) Type() Type { return Of(Boolean) }

// Type returns a multi-value string.
func (e *Each) Type() Type { return e.T }

// Type returns BOOLEAN.
func (e *Any) Type() Type { return Of(Boolean) }

// Type returns the type of one value.
func (e *Element) Type() Type { return e.T }

func (*Column) expr()  {}
func (*Literal) expr() {}
func (*Call) expr()    {}
func (*Cast) expr()    {}
func (*Case) expr()    {}
func (*And) expr()     {}
func (*Or) expr()      {}
func (*Not) expr()     {}
func (*In) expr()      {}
func (*Each) expr()    {}
func (*Any) expr()     {}
func (*Element) expr() {}

// TextLiteral returns a constant string.
func TextLiteral(s string) *Literal { return &Literal{Value: s, T: Of(Varchar).NotNull()} }

// LongLiteral returns a constant BIGINT.
func LongLiteral(x int64) Expr { return &Literal{Value: x, T: Of(BigInt).NotNull()} }
