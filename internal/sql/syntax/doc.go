// Package syntax parses SQL text into a tree and prints trees as SQL.
//
// Parse reads a script (SET statements and the statement that they precede), ParseExpr a single
// expression. Print writes any node as SQL that parses to the same tree. The package does not know
// tables, types or functions: names are not resolved, literals keep their text, and the grammar
// accepts statements without meaning. Package sql binds the tree to a catalog. Walk and Rewrite are
// for the binder.
//
// # The tree
//
// Nodes are Statements, Bodies (SELECT, VALUES, TABLE, set operations), TableExprs, GroupItems and
// Exprs, each an interface with concrete structs, and some structs with a fixed shape (Query,
// Ident, OrderItem, Window, TypeName, ...). Every node embeds Pos, its position in the text; nodes
// that later code creates have the zero Pos.
//
// Special call forms are ordinary calls, distinguished by their arguments. A word that is not an
// expression (a time unit, BOTH) is a Symbol:
//
//	EXTRACT(DAY FROM x)            Call EXTRACT [Symbol DAY, x]
//	FLOOR(x TO DAY)                Call FLOOR [x, Symbol DAY]
//	TIMESTAMPADD(DAY, 1, x)        Call TIMESTAMPADD [Symbol DAY, 1, x]
//	TRIM(BOTH 'a' FROM x)          Call TRIM [Symbol BOTH, 'a', x], TRIM(x): one argument
//	SUBSTRING(x FROM 2 FOR 3)      Call SUBSTRING [x, 2, 3]
//	POSITION(x IN y FROM 2)        Call POSITION [x, y, 2]
//	OVERLAY(x PLACING y FROM 2)    Call OVERLAY [x, y, 2]
//	JSON_OBJECT(KEY 'a' VALUE 1)   Call JSON_OBJECT ['a', 1]
//	CURRENT_TIMESTAMP              Call CURRENT_TIMESTAMP [], Niladic
//
// Function and type names are case-insensitive and stored in upper case. AND, OR, || and set
// operations of one kind are flat lists (Chain, SetOp), so a filter of 50,000 terms is a wide tree
// and not a deep one; the other operators nest to the left. Parentheses are only visible in the
// shape of the tree.
//
// # How a statement is read
//
//	SELECT d, COUNT(*) AS n FROM t WHERE a = 1 OR b IN (2, 3) GROUP BY 1
//
// The lexer produces tokens on demand: words (with their keyword, if they are one), literals and
// symbols, with lines and columns. It keeps the last two blocks of tokens; if parsing fails, the
// text is scanned again completely to explain the error. The parser is a recursive descent parser
// with one method per rule. The method expression reads operators by precedence climbing: an
// operand, then, as long as the next operator binds tightly enough, that operator and its right
// side. The tree:
//
//	Query
//	  Select
//	    Items: Name d; Call COUNT [Star] AS n
//	    From:  Table t
//	    Where: Chain OR
//	             Binary = (Name a, Number 1)
//	             InList (Name b, [Number 2, Number 3])
//	    GroupBy: GroupExpr Number 1
//
// An unexpected token ends parsing. The error lists the tokens that are possible at that position:
// the parser runs a second time and records every token that it tries there (expected.go), so
// successful parsing costs nothing.
package syntax
