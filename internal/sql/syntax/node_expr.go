package syntax

// Expr is *Call or one of the nodes of this file with a method expr.
type Expr interface {
	Node
	expr()
}

// Name is an identifier or a path of them: x, t.x, schema.t.x.
type Name struct {
	Pos
	Parts []Ident
}

// Star is * or t.*; Parts is empty for *. Without are the columns of EXCLUDE.
type Star struct {
	Pos
	Parts, Without []Ident
}

// Number is an unsigned number. Text is as written: 12, 1.50, .5, 1e-3.
type Number struct {
	Pos
	Kind NumberKind
	Text string
}

// NumberKind is the form of a Number, which determines its type.
type NumberKind uint8

// The forms of numbers.
const (
	Integer NumberKind = iota // 12
	Decimal                   // 1.2
	Approx                    // 1e2
)

// String is a character string; Value is its decoded value. The prefixes N, U& and _charset are not
// preserved.
type String struct {
	Pos
	Value string
}

// Bytes is a binary string: X'0A'. Hex is the text between the quotes.
type Bytes struct {
	Pos
	Hex string
}

// Bool is TRUE or FALSE.
type Bool struct {
	Pos
	Value bool
}

// Unknown is UNKNOWN, the null of type BOOLEAN.
type Unknown struct{ Pos }

// Null is NULL.
type Null struct{ Pos }

// Temporal is DATE '...', TIME '...' or TIMESTAMP '...'. Text was validated as a date or time of
// that form.
type Temporal struct {
	Pos
	Kind TemporalKind
	Text string
}

// TemporalKind is the type of a Temporal.
type TemporalKind uint8

// The temporal types.
const (
	Date TemporalKind = iota
	Time
	Timestamp
)

// String returns the keyword of the type.
func (k TemporalKind) String() string { return [...]string{"DATE", "TIME", "TIMESTAMP"}[k] }

// Interval is INTERVAL [-]'text' from[(precision)] [TO to[(fraction)]].
type Interval struct {
	Pos
	Negative bool
	Text     string
	// From and To are upper-case units; To is empty for an interval of one unit.
	From, To string
	// Precision is the number of leading digits, Fraction the number of decimals of seconds; -1 if
	// missing.
	Precision, Fraction int
}

// Param is a ?; Index counts from 0.
type Param struct {
	Pos
	Index int
}

// Default is DEFAULT as an argument.
type Default struct{ Pos }

// Symbol is a word that is an argument of a special call form and not an expression: a time unit,
// BOTH, LEADING, TRAILING. It is in upper case.
type Symbol struct {
	Pos
	Word string
}

// NamedArg is name => x as an argument.
type NamedArg struct {
	Pos
	Name Ident
	X    Expr
}

// Unary is a prefix operator: Neg, Plus or Not.
type Unary struct {
	Pos
	Op Operator
	X  Expr
}

// Binary is an infix operator other than those of Chain.
type Binary struct {
	Pos
	Op          Operator
	Left, Right Expr
}

// Chain is AND, OR or || over two or more arguments, evaluated from the left.
type Chain struct {
	Pos
	Op   Operator
	Args []Expr
}

// Operator is an operator of Unary, Binary, Chain or Quantified.
type Operator uint8

// The operators.
const (
	Neg Operator = iota
	Plus
	Not

	Add
	Sub
	Mul
	Div
	Mod
	Equal
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
	IsDistinct
	IsNotDistinct
	Overlaps
	Contains
	Equals
	Precedes
	Succeeds
	ImmediatelyPrecedes
	ImmediatelySucceeds

	And
	Or
	Concat
)

// Is is x IS [NOT] test.
type Is struct {
	Pos
	X    Expr
	Not  bool
	Test Test
}

// Test is the test of an Is.
type Test uint8

// The tests.
const (
	IsNull Test = iota
	IsTrue
	IsFalse
	IsUnknown
	IsJSON
	IsJSONObject
	IsJSONArray
	IsJSONScalar
)

// String returns the keywords of the test.
func (t Test) String() string {
	return [...]string{"NULL", "TRUE", "FALSE", "UNKNOWN", "JSON VALUE", "JSON OBJECT", "JSON ARRAY", "JSON SCALAR"}[t]
}

// Between is x [NOT] BETWEEN [SYMMETRIC] low AND high.
type Between struct {
	Pos
	X, Low, High Expr
	Not          bool
	Symmetric    bool
}

// InList is x [NOT] IN (a, b, ...).
type InList struct {
	Pos
	X    Expr
	Not  bool
	List []Expr
}

// InQuery is x [NOT] IN (query).
type InQuery struct {
	Pos
	X     Expr
	Not   bool
	Query *Query
}

// Like is x [NOT] LIKE pattern [ESCAPE escape] and its relatives.
type Like struct {
	Pos
	Kind       LikeKind
	X, Pattern Expr
	Escape     Expr // nil without ESCAPE
	Not        bool
}

// LikeKind is the kind of a Like.
type LikeKind uint8

// The kinds of LIKE.
const (
	LikePlain LikeKind = iota
	LikeIgnoreCase
	LikeSimilar
)

// String returns the keywords of the operator.
func (k LikeKind) String() string { return [...]string{"LIKE", "ILIKE", "SIMILAR TO"}[k] }

// Quantified is x op ANY|SOME|ALL (set). Set is a *Subquery, or a *Row of the listed values.
type Quantified struct {
	Pos
	X   Expr
	Op  Operator
	All bool // ALL, else ANY (SOME is the same)
	Set Expr
}

// Case is CASE [operand] WHEN ... END.
type Case struct {
	Pos
	Operand Expr // nil for the searched form
	Whens   []When
	Else    Expr // nil without ELSE
}

// When is WHEN a, b THEN x. Only the form with an operand has more than one condition.
type When struct {
	Pos
	Conds []Expr
	Then  Expr
}

// Cast is CAST(x AS type), x::type, or TRY_CAST and SAFE_CAST, which are Safe.
type Cast struct {
	Pos
	X    Expr
	Type *TypeName
	Safe bool
}

// TypeName is a type in the text.
type TypeName struct {
	Pos
	// Name is upper-case with one form per type: VARCHAR also for CHARACTER VARYING, CHAR for
	// CHARACTER, DOUBLE for DOUBLE PRECISION. A type of several name parts has them joined by dots.
	// TYPE('x') is TYPE. An interval has its units: INTERVAL DAY TO SECOND.
	Name string
	// Args are the precision and scale or length.
	Args []int
	// Native is x of TYPE('x').
	Native string
	// Zone is set for WITH TIME ZONE and WITH LOCAL TIME ZONE.
	Zone TypeZone
	// Fields are the fields of ROW(...).
	Fields []ColumnDef
	// Arrays is the number of keywords ARRAY after the type.
	Arrays int
}

// TypeZone is the time zone part of a type.
type TypeZone uint8

// The time zone parts.
const (
	NoZone TypeZone = iota
	WithZone
	WithLocalZone
)

// Row is (a, b) or ROW(a, ...).
type Row struct {
	Pos
	Items []Expr
}

// Array is ARRAY[a, ...].
type Array struct {
	Pos
	Items []Expr
}

// Item is x[index].
type Item struct {
	Pos
	X, Index Expr
}

// Field is x.name if x is not a Name.
type Field struct {
	Pos
	X    Expr
	Name Ident
}

// Subquery is a query as a value.
type Subquery struct {
	Pos
	Query *Query
}

// Exists is EXISTS (query).
type Exists struct {
	Pos
	Query *Query
}

func (*Name) expr()       {}
func (*Star) expr()       {}
func (*Number) expr()     {}
func (*String) expr()     {}
func (*Bytes) expr()      {}
func (*Bool) expr()       {}
func (*Unknown) expr()    {}
func (*Null) expr()       {}
func (*Temporal) expr()   {}
func (*Interval) expr()   {}
func (*Param) expr()      {}
func (*Default) expr()    {}
func (*Symbol) expr()     {}
func (*NamedArg) expr()   {}
func (*Unary) expr()      {}
func (*Binary) expr()     {}
func (*Chain) expr()      {}
func (*Is) expr()         {}
func (*Between) expr()    {}
func (*InList) expr()     {}
func (*InQuery) expr()    {}
func (*Like) expr()       {}
func (*Quantified) expr() {}
func (*Case) expr()       {}
func (*Cast) expr()       {}
func (*Row) expr()        {}
func (*Array) expr()      {}
func (*Item) expr()       {}
func (*Field) expr()      {}
func (*Subquery) expr()   {}
func (*Exists) expr()     {}
