// Package sql turns the text of a statement into a plan: it parses (package syntax), applies SET
// and the context, resolves names against a catalog and gives every expression a type.
//
// Prepare is the one entry. What it returns, a Statement, has the plan (package plan), the outer
// columns, what the caller must be allowed to read and write, and the merged context; whoever runs
// it optimizes the plan (plan.Optimize) and hands it to an engine.
//
// # How a query is bound
//
//	SELECT d, COUNT(*) AS n FROM t WHERE a = 1 GROUP BY d HAVING COUNT(*) > 2 ORDER BY n DESC LIMIT 3
//
// A SELECT is a block (block.go). FROM gives a plan node and a scope that says which of its columns
// a name means (scope.go, from.go). WHERE is bound over that scope and becomes a Filter. All
// expressions of the other clauses are bound over the same scope, too; an aggregate, a window call
// or a subquery in them becomes a placeholder, a column with an index beyond every real one, and is
// collected in the block. Then the block is built upwards (build.go): a Project computes keys and
// arguments, an Aggregate groups, and the expressions of SELECT, HAVING and ORDER BY are rewritten
// over its columns: what equals a key becomes that key's column, a placeholder becomes its
// aggregate's, and a column that is left over is the error "not being grouped".
//
//	Sort [n#1 desc] limit=3
//	  Project [d#0, n#1]
//	    Filter >(n#1, 2)
//	      Aggregate keys=[d#0] aggs=[COUNT() as n]
//	        Project [d#1]
//	          Filter =(a#0, 1)
//	            Scan t [a, d]
//
// A subquery in an expression becomes a join on the block's input at the place where the expression
// is computed (subquery.go). If it names columns of the query around it, its plan has further
// placeholders, which decorrelate.go removes by carrying the outer values through the subquery's
// operators.
//
// Multi-value strings are VARCHAR to the user. Package expr maps functions over their values when
// it binds a call; this package puts an Unnest below an Aggregate for each key that is multi-value,
// so that grouping counts values.
//
//	prepare.go    Request, Statement, Prepare        context.go   SET and the parameters of the context that planning obeys
//	catalog.go    what tables there are              params.go    values for ?
//	query.go      WITH, set operations               values.go    VALUES
//	block.go      one SELECT                         build.go     a bound block becomes a plan
//	from.go       tables, joins, derived tables      tablefn.go   EXTERN and its relatives, APPEND
//	pivot.go      PIVOT and UNPIVOT                  group.go     GROUP BY and grouping sets
//	expression.go, operator.go, call.go, literal.go  expressions  aggregate.go, window.go  the calls that are not scalar
//	subquery.go, decorrelate.go  queries in expressions           write.go    INSERT and REPLACE, explain.go  EXPLAIN PLAN FOR
//	group_order.go  the order of groups
//	errors.go     sentences shared by several files  types.go     names of types
//
// Deliberately elsewhere: what functions do (expr, agg), how plans get better (plan), whether a
// caller may (auth, asked by the edge).
package sql
