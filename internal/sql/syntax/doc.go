// Package syntax turns SQL text into a tree and back.
//
// Parse reads a script (SET statements and the one statement they are for), ParseExpr a single
// expression. Print writes any node as SQL that parses to the same tree again. Nothing here knows
// tables, types or functions: names are not resolved, literals keep their text, and what the
// grammar accepts may still mean nothing. Package sql binds the tree to a catalog and gives it
// meaning. Walk and Rewrite are for it.
//
// # The tree
//
// Nodes are Statements, Bodies (what a query selects from: SELECT, VALUES, TABLE, set operations),
// TableExprs, GroupItems and Exprs, each an interface with concrete structs, and some structs that
// are always of one shape (Query, Ident, OrderItem, Window, TypeName, ...). Every node embeds Pos,
// its place in the text; a node made by later code has none and the zero Pos is fine.
//
// Special call forms are plain calls, told apart by what their arguments are. A word that is no
// expression (a time unit, BOTH) is a Symbol:
//
//	EXTRACT(DAY FROM x)            Call EXTRACT [Symbol DAY, x]
//	FLOOR(x TO DAY)                Call FLOOR [x, Symbol DAY]
//	TIMESTAMPADD(DAY, 1, x)        Call TIMESTAMPADD [Symbol DAY, 1, x]
//	TRIM(BOTH 'a' FROM x)          Call TRIM [Symbol BOTH, 'a', x]        TRIM(x) has the one argument
//	SUBSTRING(x FROM 2 FOR 3)      Call SUBSTRING [x, 2, 3]
//	POSITION(x IN y FROM 2)        Call POSITION [x, y, 2]
//	OVERLAY(x PLACING y FROM 2)    Call OVERLAY [x, y, 2]
//	JSON_OBJECT(KEY 'a' VALUE 1)   Call JSON_OBJECT ['a', 1]
//	CURRENT_TIMESTAMP              Call CURRENT_TIMESTAMP [], Niladic
//
// Function and type names are upper-case whatever the text had, for they are not case-sensitive.
// AND, OR, || and set operations of one kind are flat lists (Chain, SetOp), so that a filter of
// 50,000 terms is a wide tree and not a deep one; the other operators nest to the left. Parentheses
// leave no trace but the shape of the tree.
//
// # How a statement is read
//
//	SELECT d, COUNT(*) AS n FROM t WHERE a = 1 OR b IN (2, 3) GROUP BY 1
//
// The lexer cuts it into tokens, as far as the parser has come: words (each with its keyword, if it
// is one), literals and symbols, with lines and columns. It keeps the last two blocks of them; a
// text that fails is cut again, whole, to say why. The parser is a recursive descent over them, one
// method per rule. expression reads operators by precedence climbing: an operand, then as long as
// the next operator binds tightly enough, that operator and its right side. The tree:
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
// An unexpected token ends parsing. The error then lists what could have stood there: the parser
// runs a second time and notes every token it asks for at that place (expected.go), which costs
// nothing when there is no error.
package syntax
