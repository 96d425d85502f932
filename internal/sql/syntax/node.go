package syntax

import "github.com/hengedb/henge/internal/fault"

// Node is any part of a parsed statement.
type Node interface {
	// Span is the position of the node in the text; zero for a node without a text.
	Span() fault.Span
}

// Pos is the position of a node; every node embeds it.
type Pos struct{ At fault.Span }

// Span returns the position.
func (p Pos) Span() fault.Span { return p.At }

// Ident is one identifier. It is case-sensitive.
type Ident struct {
	Pos
	Name string
	// Quoted is true if it was quoted in the text.
	Quoted bool
}

// Statement is one of *Query, *Insert, *Explain, *Set.
type Statement interface {
	Node
	statement()
}

// Script is the result of Parse: SET statements and the statement to which they apply.
type Script struct {
	Sets      []*Set
	Statement Statement
	// Params is the number of parameters (?) in the statement.
	Params int
}

// Span returns the position of the statement.
func (s *Script) Span() fault.Span { return s.Statement.Span() }

// Set is SET name = literal. Value is a literal, or a Unary minus over a Number.
type Set struct {
	Pos
	Name  Ident
	Value Expr
}

// Explain is EXPLAIN PLAN ... FOR statement, EXPLAIN ANALYZE statement, or EXPLAIN ACCESS FOR USER
// name statement.
type Explain struct {
	Pos
	// Analyze is true for EXPLAIN ANALYZE.
	Analyze bool
	// User is the user of EXPLAIN ACCESS; nil for other forms.
	User      *String
	Detail    ExplainDetail
	Format    ExplainFormat
	Statement Statement // a *Query or *Insert
}

// ExplainDetail is the requested amount of detail of an Explain.
type ExplainDetail uint8

// The details.
const (
	ExplainDefault ExplainDetail = iota
	ExplainExcludingAttributes
	ExplainIncludingAttributes
	ExplainIncludingAllAttributes
)

// ExplainFormat is the requested format of an Explain.
type ExplainFormat uint8

// The formats.
const (
	ExplainFormatDefault ExplainFormat = iota
	ExplainFormatXML
	ExplainFormatJSON
	ExplainFormatDot
)

// Insert is INSERT INTO or REPLACE INTO.
type Insert struct {
	Pos
	Replace bool
	// Target is the table; nil when Export is set.
	Target  *Name
	Export  *Export
	Columns []Ident
	// Overwrite is the clause of a REPLACE; nil if it is missing, which the grammar accepts and the
	// binder rejects.
	Overwrite *Overwrite
	Query     *Query
	// PartitionedBy is nil if the clause is missing.
	PartitionedBy *PartitionedBy
	ClusteredBy   []OrderItem
}

// Export is the target EXTERN(destination) AS format of an Insert.
type Export struct {
	Pos
	Destination *Call
	// Format has no name if the clause is missing, which the grammar accepts and the binder rejects.
	Format Ident
}

// Overwrite is OVERWRITE ALL (Where is nil) or OVERWRITE WHERE.
type Overwrite struct {
	Pos
	Where Expr
}

// PartitionedBy is PARTITIONED BY ALL [TIME] (Granularity is nil) or an expression: a Name like
// DAY, a String with a period, a Call of FLOOR or TIME_FLOOR.
type PartitionedBy struct {
	Pos
	Granularity Expr
}

// Query is a query expression with its clauses around the body.
type Query struct {
	Pos
	With    []CTE
	Body    Body
	OrderBy []OrderItem
	// Limit and Offset are a Number, a Param or nil. LIMIT ALL is nil, FETCH FIRST n ROWS ONLY and
	// LIMIT start, n are the same as LIMIT n.
	Limit, Offset Expr
}

// CTE is name [(columns)] AS (query).
type CTE struct {
	Pos
	Name    Ident
	Columns []Ident
	Query   *Query
}

// OrderItem is an element of ORDER BY or CLUSTERED BY.
type OrderItem struct {
	Pos
	X     Expr
	Desc  bool
	Nulls NullOrder
}

// NullOrder is the NULLS part of an OrderItem.
type NullOrder uint8

// The null orders.
const (
	NullsDefault NullOrder = iota
	NullsFirst
	NullsLast
)

// Body is one of *Select, *Values, *TableQuery, *SetOp, *Query (in parentheses, because it has its
// own clauses).
type Body interface {
	Node
	body()
}

// Select is a SELECT without the clauses of Query.
type Select struct {
	Pos
	// Hint is the text inside /*+ ... */ after SELECT.
	Hint     string
	Distinct bool
	Items    []SelectItem
	From     TableExpr // nil without FROM
	Where    Expr
	GroupBy  *GroupBy
	Having   Expr
	Windows  []WindowDef
	Qualify  Expr
}

// SelectItem is an element of the select list; it has no alias if Alias has no name.
type SelectItem struct {
	Pos
	X     Expr
	Alias Ident
}

// GroupBy is a GROUP BY clause.
type GroupBy struct {
	Pos
	Distinct bool
	Items    []GroupItem
}

// GroupItem is one of *GroupExpr, *GroupTuple, *Rollup, *Cube, *GroupingSets.
type GroupItem interface {
	Node
	groupItem()
}

// GroupExpr groups by one expression; an integer Number is an ordinal.
type GroupExpr struct {
	Pos
	X Expr
}

// GroupTuple is (a, b) or () in a GROUP BY.
type GroupTuple struct {
	Pos
	Items []Expr
}

// Rollup is ROLLUP (...).
type Rollup struct {
	Pos
	Items []GroupItem
}

// Cube is CUBE (...).
type Cube struct {
	Pos
	Items []GroupItem
}

// GroupingSets is GROUPING SETS (...).
type GroupingSets struct {
	Pos
	Items []GroupItem
}

// WindowDef is name AS (window) of a WINDOW clause.
type WindowDef struct {
	Pos
	Name   Ident
	Window *Window
}

// Values is VALUES row, row ...
type Values struct {
	Pos
	Rows []*Row
}

// TableQuery is TABLE name.
type TableQuery struct {
	Pos
	Name *Name
}

// SetOp is a chain of set operations of one kind, evaluated from the left. INTERSECT binds tighter
// than UNION and EXCEPT.
type SetOp struct {
	Pos
	Op   SetOperator
	All  bool
	Arms []Body
}

// SetOperator is the kind of a SetOp.
type SetOperator uint8

// The set operators; MINUS is Except.
const (
	Union SetOperator = iota
	Intersect
	Except
)

func (*Query) statement()   {}
func (*Insert) statement()  {}
func (*Explain) statement() {}
func (*Set) statement()     {}

func (*Select) body()     {}
func (*Values) body()     {}
func (*TableQuery) body() {}
func (*SetOp) body()      {}
func (*Query) body()      {}

func (*GroupExpr) groupItem()    {}
func (*GroupTuple) groupItem()   {}
func (*Rollup) groupItem()       {}
func (*Cube) groupItem()         {}
func (*GroupingSets) groupItem() {}
