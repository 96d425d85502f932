// Package sql converts the text of a statement into a plan: it parses the text (package syntax),
// applies SET and the context, resolves names against a catalog and assigns a type to every
// expression.
//
// Prepare is the only entry point. It returns a Statement with the plan (package plan), the output
// columns, the required permissions, and the merged context. The caller optimizes the plan
// (plan.Optimize) and passes it to an engine.
//
// # How a query is bound
//
//	SELECT d, COUNT(*) AS n FROM t WHERE a = 1 GROUP BY d HAVING COUNT(*) > 2 ORDER BY n DESC LIMIT 3
//
// A SELECT is a block (block.go). FROM becomes a plan node and a scope that maps names to its
// columns (scope.go, from.go). WHERE is bound over that scope and becomes a Filter. The expressions
// of the other clauses are bound over the same scope. An aggregate, a window call or a subquery in
// them is replaced by a placeholder, a column whose index is higher than every real one, and
// collected in the block. Then the block is built upwards (build.go): a Project computes keys and
// arguments, an Aggregate groups, and the expressions of SELECT, HAVING and ORDER BY are rewritten
// over its columns: an expression that equals a key becomes the column of the key, and a
// placeholder becomes the column of its aggregate. A remaining column is the error "not being
// grouped".
//
//	Sort [n#1 desc] limit=3
//	  Project [d#0, n#1]
//	    Filter >(n#1, 2)
//	      Aggregate keys=[d#0] aggs=[COUNT() as n]
//	        Project [d#1]
//	          Filter =(a#0, 1)
//	            Scan t [a, d]
//
// A subquery in an expression becomes a join with the input of the block, below the operator that
// computes the expression (subquery.go). If the subquery refers to columns of the outer query, its
// plan contains further placeholders, which decorrelate.go removes: it carries the outer values
// through the operators of the subquery.
//
// Users see multi-value strings as VARCHAR. Package expr maps functions over their values when it
// binds a call. This package adds an Unnest below an Aggregate for each multi-value key, so that
// each value belongs to a group.
//
//	prepare.go      Request, Statement, Prepare      context.go   SET, and parameters for planning
//	catalog.go      the tables                       params.go    values for ?
//	query.go        WITH, set operations             values.go    VALUES
//	block.go        one SELECT                       build.go     a bound block becomes a plan
//	from.go         tables, joins, derived tables    tablefn.go   EXTERN and similar, APPEND
//	pivot.go        PIVOT and UNPIVOT                group.go     GROUP BY and grouping sets
//	expression.go, operator.go, call.go, literal.go  scalar expressions
//	aggregate.go, window.go                          aggregate and window calls
//	subquery.go, decorrelate.go                      queries in expressions
//	group_order.go  the order of groups              form.go      the form of the plan
//	shown.go        the plan of EXPLAIN PLAN FOR     write.go     INSERT and REPLACE
//	errors.go       messages of several files        types.go     names of types
//
// Deliberately elsewhere: functions (expr, agg), optimization of plans (plan), permissions (auth,
// called by the edge), the output of EXPLAIN PLAN FOR (explain).
package sql
