package pg

// Ident is a name. Name is folded to lower case unless it was quoted. Raw is the original spelling.
type Ident struct {
	At     int
	Name   string
	Raw    string
	Quoted bool
}

// Statement is one statement of a text. Source is the text of the statement without surrounding
// blanks.
type Statement struct {
	Source string
	// At is the byte offset of Source in the whole text.
	At   int
	Node Node
	// Params is the number of the highest $n.
	Params int
}

// Node is the syntax tree of a statement.
type Node interface{ node() }

type (
	// Select is a query.
	Select struct{ Query *Query }
	// Native is a statement that only package sql can parse, such as INSERT, REPLACE and EXPLAIN PLAN
	// FOR.
	Native struct {
		Verb string
		// Why is the syntax error of the statement as PostgreSQL; nil: PostgreSQL does not have its verb.
		Why error
	}
	// Explain is EXPLAIN [ANALYZE] of a query.
	Explain struct {
		Analyze, JSON bool
		Query         *Query
	}
	// Set is SET name = values. Nil Values mean DEFAULT.
	Set struct {
		Name   string
		Values []string
		Local  bool
	}
	// Show is SHOW name.
	Show struct{ Name string }
	// Reset is RESET name; "all" means ALL.
	Reset struct{ Name string }
	// Txn is a transaction statement: begin, commit, rollback, savepoint, release, rollback to.
	Txn struct {
		Kind string
		Name string
		// Isolation is the requested isolation level, "" if none was given.
		Isolation string
		// Chain starts a new transaction immediately.
		Chain bool
		// ReadOnly and ReadWrite are the requested access mode, if one was given.
		ReadOnly, ReadWrite bool
	}
	// Declare is DECLARE name CURSOR FOR query.
	Declare struct {
		Name         string
		Hold, Scroll bool
		Binary       bool
		Query        *Query
	}
	// Fetch is FETCH or MOVE. Direction is forward, backward, absolute or relative.
	Fetch struct {
		Name      string
		Move      bool
		Direction string
		Count     int64
		All       bool
	}
	// CloseCursor is CLOSE name; "" means ALL.
	CloseCursor struct{ Name string }
	// Copy is COPY .. TO STDOUT or FROM STDIN.
	Copy struct {
		Query   *Query
		Table   []Ident
		Columns []Ident
		From    bool
		// At is the position of the table.
		At int
		// Where is the target or source if it is not STDOUT or STDIN.
		Where   string
		Options map[string]string
	}
	// Insert is INSERT INTO table (columns) VALUES (..), .. Nil values mean DEFAULT.
	Insert struct {
		At      int
		Table   *Table
		Columns []Ident
		Values  *Values
	}
	// Prepare is PREPARE name (types) AS statement.
	Prepare struct {
		Name  string
		Types []TypeName
		Body  *Statement
	}
	// Execute is EXECUTE name (values).
	Execute struct {
		Name string
		Args []Expr
	}
	// Deallocate is DEALLOCATE name; "" means ALL.
	Deallocate struct{ Name string }
	// Discard is DISCARD what.
	Discard struct{ What string }
	// Accepted is a statement that is accepted but has no effect: LISTEN, UNLISTEN, NOTIFY.
	Accepted struct{ Tag string }
	// Refused is a statement of PostgreSQL that is not supported.
	Refused struct{ Verb string }
)

func (*Select) node()      {}
func (*Native) node()      {}
func (*Explain) node()     {}
func (*Set) node()         {}
func (*Show) node()        {}
func (*Reset) node()       {}
func (*Txn) node()         {}
func (*Declare) node()     {}
func (*Insert) node()      {}
func (*Fetch) node()       {}
func (*CloseCursor) node() {}
func (*Copy) node()        {}
func (*Prepare) node()     {}
func (*Execute) node()     {}
func (*Deallocate) node()  {}
func (*Discard) node()     {}
func (*Accepted) node()    {}
func (*Refused) node()     {}

// Query is WITH .. body ORDER BY .. LIMIT .. OFFSET.
type Query struct {
	At        int
	With      []CTE
	Recursive bool
	Body      Body
	OrderBy   []Order
	Limit     Expr // nil: all
	Offset    Expr
}

// CTE is a query of WITH.
type CTE struct {
	Name    Ident
	Columns []Ident
	Query   *Query
}

// Order is an item of ORDER BY. Nulls is "", "first" or "last".
type Order struct {
	X     Expr
	Desc  bool
	Nulls string
}

// Body is what a query selects from.
type Body interface{ body() }

type (
	// Block is a SELECT.
	Block struct {
		At         int
		Distinct   bool
		DistinctOn []Expr
		Items      []Item
		From       []From
		Where      Expr
		GroupBy    []Expr
		Having     Expr
		Windows    map[string]*Over
	}
	// SetOp is UNION, INTERSECT or EXCEPT.
	SetOp struct {
		Op          string
		All         bool
		Left, Right *Query
	}
	// Values is VALUES (..), ...
	Values struct {
		At   int
		Rows [][]Expr
	}
)

func (*Block) body()  {}
func (*SetOp) body()  {}
func (*Values) body() {}

// Item is an output column.
type Item struct {
	X Expr
	// As is the alias. If Name is "", there is none.
	As Ident
}

// From is an item of FROM.
type From interface{ from() }

type (
	// Table is a table name. Parts are its catalog, schema and name, as far as given.
	Table struct {
		At      int
		Parts   []Ident
		Alias   Ident
		Columns []Ident
	}
	// Derived is (query) AS alias.
	Derived struct {
		At      int
		Lateral bool
		Query   *Query
		Alias   Ident
		Columns []Ident
	}
	// Function is a call in FROM.
	Function struct {
		At         int
		Lateral    bool
		Call       *Call
		Ordinality bool
		Alias      Ident
		Columns    []Ident
		Types      []TypeName
	}
	// Join joins two items. Kind is cross, inner, left, right or full.
	Join struct {
		At          int
		Kind        string
		Natural     bool
		Left, Right From
		On          Expr
		Using       []Ident
	}
)

func (*Table) from()    {}
func (*Derived) from()  {}
func (*Function) from() {}
func (*Join) from()     {}

// TypeName is the name of a type in lower case, without its schema.
type TypeName struct {
	At    int
	Name  string
	Mods  []string
	Array int // how many [] follow it
}

// Expr is an expression. Pos is the byte offset at which it begins.
type Expr interface{ Pos() int }

// At is the position of an expression.
type At int

// Pos implements Expr.
func (a At) Pos() int { return int(a) }

// The classes of constants.
const (
	Null = iota
	Bool
	Int
	Num
	Text
	Bits
)

type (
	// Const is a literal.
	Const struct {
		At
		Kind int
		Text string
	}
	// Param is $n.
	Param struct {
		At
		N int
	}
	// Name is a column or a part of a column.
	Name struct {
		At
		Parts []Ident
	}
	// Star is * or t.*.
	Star struct {
		At
		Of []Ident
	}
	// Unary is a prefix operator with its operand.
	Unary struct {
		At
		Op string
		X  Expr
	}
	// Binary is a binary operator, including AND and OR.
	Binary struct {
		At
		Op   string
		L, R Expr
	}
	// Cast is x::type, CAST and type 'x'.
	Cast struct {
		At
		X    Expr
		Type TypeName
	}
	// Call is a function call. Name has no schema if the schema was pg_catalog.
	Call struct {
		At
		Schema   string
		Name     string
		Raw      string
		Args     []Expr
		Star     bool
		Distinct bool
		OrderBy  []Order
		Within   []Order
		Filter   Expr
		Over     *Over
		// Bare says that the call has no parentheses, like current_user.
		Bare bool
	}
	// Case is CASE.
	Case struct {
		At
		X     Expr
		Whens []When
		Else  Expr
	}
	// Sub is (query).
	Sub struct {
		At
		Query *Query
	}
	// Exists is EXISTS (query).
	Exists struct {
		At
		Query *Query
	}
	// Array is ARRAY[..] or, with a Query, ARRAY(query).
	Array struct {
		At
		Items []Expr
		Query *Query
	}
	// Quantified is x op ANY (array or query).
	Quantified struct {
		At
		X     Expr
		Op    string
		All   bool
		Set   Expr
		Query *Query
	}
	// In is x IN (..).
	In struct {
		At
		X     Expr
		Not   bool
		List  []Expr
		Query *Query
	}
	// Between is x BETWEEN a AND b.
	Between struct {
		At
		X, Low, High   Expr
		Not, Symmetric bool
	}
	// Like is LIKE, ILIKE or SIMILAR TO, according to Op.
	Like struct {
		At
		X, Pattern, Escape Expr
		Op                 string
		Not                bool
	}
	// Is is x IS test. The tests are null, true, false, unknown and document.
	Is struct {
		At
		X    Expr
		Test string
		Not  bool
	}
	// Distinct is x IS DISTINCT FROM y.
	Distinct struct {
		At
		X, Y Expr
		Not  bool
	}
	// Subscript is x[i] or, with Slice, x[lo:hi].
	Subscript struct {
		At
		X, Lo, Hi Expr
		Slice     bool
	}
	// Field is (x).name.
	Field struct {
		At
		X    Expr
		Name Ident
	}
	// Row is (a, b) or ROW(a, b).
	Row struct {
		At
		Items []Expr
	}
)

// When is WHEN cond THEN x.
type When struct{ Cond, Then Expr }

// Over is a window definition.
type Over struct {
	Name        string
	PartitionBy []Expr
	OrderBy     []Order
	// Frame is the original text of ROWS or RANGE ...
	Frame string
}
