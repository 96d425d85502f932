// Package plan gives the relational algebra of Henge: the operators a query is made of (node.go),
// the rules that turn a plan into a cheaper one with the same rows (Optimize), and texts of plans
// for people and goldens (Format).
//
// A front end (internal/sql, internal/native) builds a plan, Optimize rewrites it, internal/exec
// runs it. Nodes are immutable and name columns by position, so that a rule that moves an
// expression only has to renumber it.
//
//	node.go, inputs.go the operators, and how to rebuild and walk them
//	exprs.go           what rules do with expressions: compare, renumber, substitute
//	print.go           trees for goldens and EXPLAIN
//	optimize.go        the order of the rules and their switches
//	fold_constants.go  expressions without columns become literals, filters that are never true become empty relations
//	common_terms.go    what all parts of a disjunction ask is a condition of its own
//	outer_joins.go     outer joins whose rows of NULLs no join above keeps become inner
//	push_filters.go    conditions move towards the rows they judge
//	push_semi_joins.go the existence of a partner is asked on the side that it is of
//	anti_joins.go      outer joins of which only the NULL rows are kept become anti joins
//	join_keys.go       equalities of a join condition become hash keys
//	join_order.go      neighbouring inner joins are made in the order that makes the fewest rows
//	inputset.go        sets of the inputs of a tree of joins
//	join_side.go       the smaller side of an inner join is built, the larger one probes
//	merging.go         which aggregates merge nothing, as the statement was written
//	estimate.go        how many rows an operator gives, as far as statistics tell
//	early_exprs.go     what a projection takes from one side of a join is computed there, where that has fewer rows
//	reduce_sides.go    what is grouped for a join is read for the keys that the other side has
//	partial_groups.go  the large side of a join is grouped before it, where the other one can't be sent to its servers
//	whole_means.go     the mean of whole numbers is taken without a cast
//	linear_sums.go     sums of one number plus constants are one sum
//	determined_keys.go keys that others determine are not grouped by
//	merge_projects.go  a projection of a projection is one
//	push_limits.go     limits move down, a limited sort becomes a top-N, a limited scan stops early
//	share.go           parts that occur twice are computed once
//	drop_sorts.go      orders that nobody sees are not made
//	time_intervals.go  conditions on __time become intervals of a scan
//	prune_columns.go   columns nobody reads are not computed
//
// Each rule has a name (RuleNames); Options switches rules off one by one, which must never change
// an answer, only its price. What a rule may assume is what node.go says about the operators;
// nothing here looks at data, only at statistics a caller gives.
//
// Deliberately elsewhere: how an expression is evaluated (expr), where a fragment runs (dispatch),
// the JSON of native queries (plan/nativejson).
package plan
