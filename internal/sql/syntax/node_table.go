package syntax

// TableExpr is one of *Table, *Derived, *TableFunction, *Unnest, *Join, *Aliased, *Pivot, *Unpivot,
// *TableSample.
type TableExpr interface {
	Node
	tableExpr()
}

// Table is a table by its name or, with File, a file by its path, which is the only part of Name.
type Table struct {
	Pos
	Name *Name
	File bool
	// Hint is the text inside /*+ ... */ after the name.
	Hint string
}

// Derived is a query in parentheses.
type Derived struct {
	Pos
	Lateral bool
	Query   *Query
}

// TableFunction is TABLE(call), with the columns of EXTEND.
type TableFunction struct {
	Pos
	Lateral bool
	Call    *Call
	Columns []ColumnDef
}

// ColumnDef is name TYPE [NOT NULL], in EXTEND and in row types.
type ColumnDef struct {
	Pos
	Name    Ident
	Type    *TypeName
	NotNull bool
}

// Unnest is UNNEST(array, ...).
type Unnest struct {
	Pos
	Args       []Expr
	Ordinality bool
}

// Join is a join of two sides. A CrossJoin and a CommaJoin have no condition; other joins have On,
// Using or Natural. The parser accepts joins without any of them, which are invalid.
type Join struct {
	Pos
	Kind        JoinKind
	Natural     bool
	Hint        string // inside /*+ ... */ behind JOIN
	Word        Pos    // of JOIN, or the comma
	Left, Right TableExpr
	On          Expr
	Using       []Ident
}

// JoinKind is the kind of a Join.
type JoinKind uint8

// The join kinds.
const (
	InnerJoin JoinKind = iota
	LeftJoin
	RightJoin
	FullJoin
	CrossJoin
	CommaJoin
)

// String returns the keywords of the join.
func (k JoinKind) String() string {
	return [...]string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", ","}[k]
}

// Aliased is x AS alias [(columns)].
type Aliased struct {
	Pos
	X       TableExpr
	Alias   Ident
	Columns []Ident
}

// Pivot is x PIVOT (aggregates FOR axes IN (values)).
type Pivot struct {
	Pos
	X          TableExpr
	Aggregates []SelectItem
	Axes       []*Name
	Values     []PivotValue
}

// PivotValue is an element of the IN list of a Pivot: one expression per axis.
type PivotValue struct {
	Pos
	Items []Expr
	Alias Ident
}

// Unpivot is x UNPIVOT [INCLUDE NULLS] (measures FOR axes IN (columns)).
type Unpivot struct {
	Pos
	X            TableExpr
	IncludeNulls bool
	Measures     []Ident
	Axes         []Ident
	Columns      []UnpivotColumn
}

// UnpivotColumn is an element of the IN list of an Unpivot: one column per measure, and the values
// of the axes, if the text has them.
type UnpivotColumn struct {
	Pos
	Columns []*Name
	Values  []Expr
}

// TableSample is x TABLESAMPLE method(percent) [REPEATABLE(seed)].
type TableSample struct {
	Pos
	X          TableExpr
	System     bool // SYSTEM, else BERNOULLI
	Percent    Expr
	Repeatable Expr // nil without REPEATABLE
}

func (*Table) tableExpr()         {}
func (*Derived) tableExpr()       {}
func (*TableFunction) tableExpr() {}
func (*Unnest) tableExpr()        {}
func (*Join) tableExpr()          {}
func (*Aliased) tableExpr()       {}
func (*Pivot) tableExpr()         {}
func (*Unpivot) tableExpr()       {}
func (*TableSample) tableExpr()   {}
