package syntax

// Call is a function call. Name is upper-case; see the package comment for special forms.
type Call struct {
	Pos
	// Qualifier is the qualifier of the name, as in ext.f(x); usually empty.
	Qualifier []Ident
	Name      string
	Args      []Expr
	Distinct  bool
	// Niladic calls have no parentheses: CURRENT_TIMESTAMP. With a precision, CURRENT_TIMESTAMP(3),
	// they are ordinary.
	Niladic bool
	Nulls   NullTreatment
	// OrderBy is the clause inside the parentheses, WithinGroup the clause after them.
	OrderBy, WithinGroup []OrderItem
	Filter               Expr
	Over                 *Window
	// JSON contains the clauses of the JSON functions; nil if there are none.
	JSON *JSONClauses
}

// NullTreatment is IGNORE NULLS or RESPECT NULLS.
type NullTreatment uint8

// The null treatments.
const (
	NullTreatmentDefault NullTreatment = iota
	RespectNulls
	IgnoreNulls
)

// JSONClauses are the clauses inside JSON_VALUE, JSON_QUERY, JSON_EXISTS, JSON_OBJECT, JSON_ARRAY
// and their aggregates.
type JSONClauses struct {
	Pos
	Returning *TypeName
	Wrapper   JSONWrapper
	// OnEmpty and OnError are nil if the clause is missing.
	OnEmpty, OnError *JSONBehavior
	// Null is the null clause of a constructor.
	Null JSONNull
}

// JSONBehavior is the behavior before ON EMPTY or ON ERROR. Value is the expression of JSONDefault.
type JSONBehavior struct {
	Pos
	Kind  JSONBehaviorKind
	Value Expr
}

// JSONBehaviorKind is the kind of a JSONBehavior.
type JSONBehaviorKind uint8

// The behaviors.
const (
	JSONError JSONBehaviorKind = iota
	JSONNullValue
	JSONEmptyArray
	JSONEmptyObject
	JSONTrue
	JSONFalse
	JSONUnknown
	JSONDefault
)

// JSONWrapper is the wrapper clause of JSON_QUERY.
type JSONWrapper uint8

// The wrappers.
const (
	JSONWrapperDefault JSONWrapper = iota
	JSONWithoutWrapper
	JSONWithWrapper // unconditional
	JSONWithConditionalWrapper
)

// JSONNull is the null clause of a JSON constructor.
type JSONNull uint8

// The null clauses.
const (
	JSONNullDefault JSONNull = iota
	JSONNullOnNull
	JSONAbsentOnNull
)

// Window is the window after OVER, or a definition of the WINDOW clause.
type Window struct {
	Pos
	// Base is the name of another window; without a name, there is no base window.
	Base Ident
	// Bare is true if the window is only that name, without parentheses: OVER w.
	Bare        bool
	PartitionBy []Expr
	OrderBy     []OrderItem
	Frame       *Frame
}

// Frame is the frame of a Window.
type Frame struct {
	Pos
	Unit  FrameUnit
	Start FrameBound
	// End is valid only if Between is set: the text has both bounds.
	Between bool
	End     FrameBound
	Exclude FrameExclude
}

// FrameUnit is the unit of a Frame.
type FrameUnit uint8

// The units of frames.
const (
	FrameRows FrameUnit = iota
	FrameRange
	FrameGroups
)

// String returns the keyword of the unit.
func (u FrameUnit) String() string { return [...]string{"ROWS", "RANGE", "GROUPS"}[u] }

// FrameBound is one bound of a Frame; Offset is set for OffsetPreceding and OffsetFollowing.
type FrameBound struct {
	Pos
	Kind   BoundKind
	Offset Expr
}

// BoundKind is the kind of a FrameBound.
type BoundKind uint8

// The kinds of bounds, in the order they come in a partition.
const (
	UnboundedPreceding BoundKind = iota
	OffsetPreceding
	CurrentRow
	OffsetFollowing
	UnboundedFollowing
)

// String returns the keywords of the bound after its offset.
func (k BoundKind) String() string {
	return [...]string{"UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING", "UNBOUNDED FOLLOWING"}[k]
}

// FrameExclude is the EXCLUDE clause of a Frame.
type FrameExclude uint8

// The exclusions.
const (
	ExcludeDefault FrameExclude = iota
	ExcludeNoOthers
	ExcludeCurrentRow
	ExcludeGroup
	ExcludeTies
)

func (*Call) expr() {}
