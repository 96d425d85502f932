// Package plan defines the relational algebra of Henge: the operators of queries (node.go), the
// rules that rewrite a plan into a cheaper one with the same rows (Optimize), and printed plans for
// people and goldens (Format).
//
// A front end (internal/sql, internal/native) builds a plan, Optimize rewrites it, internal/exec
// runs it. Nodes are immutable and name columns by position, so that a rule that moves an
// expression only has to renumber it.
//
//	node.go, inputs.go         the operators, and how to rebuild and walk them
//	exprs.go                   operations on expressions: compare, renumber, substitute
//	print.go                   trees for goldens and EXPLAIN
//	optimize.go                the order of the rules and their switches
//	fold_constants.go          constant folding; filters that are never true become empty relations
//	common_terms.go            terms that all parts of a disjunction share become a conjunct
//	outer_joins.go             outer joins become inner if a join above rejects their NULL rows
//	push_filters.go            filter pushdown
//	push_semi_joins.go         semi-join pushdown to the input that has the key
//	anti_joins.go              outer joins that keep only the NULL rows become anti joins
//	join_keys.go               equalities of a join condition become hash keys
//	join_order.go              inner joins are ordered by the number of rows that they produce
//	inputset.go                sets of the inputs of a join tree
//	build_side.go              build side: the smaller input of an inner join is built
//	merging.go                 aggregates of the statement that do not merge partial results
//	estimate.go                estimates of the number of rows of an operator, from statistics
//	expression_pushdown.go     expressions move below a join, to an input with fewer rows
//	semi_join_reduction.go     a grouped input is reduced by the keys of the other input
//	eager_aggregation.go       the large input of a join that can't be broadcast is grouped
//	whole_means.go             the mean of integers is computed without a cast
//	linear_sums.go             sums of one number plus constants become one sum
//	functional_dependencies.go keys that other keys determine are not group keys
//	merge_projects.go          projections of projections are merged
//	push_limits.go             limits move down, a limited sort becomes a top-N
//	common_subplans.go         common subplans are computed once
//	drop_sorts.go              sorts without effect on the result are removed
//	time_intervals.go          conditions on __time become intervals of a scan
//	prune_columns.go           unused columns are not computed
//
// Each rule has a name (RuleNames). Options switches rules off one by one; this must never change a
// result, only its cost. A rule may rely on the guarantees of the operators in node.go. The package
// never reads data, only statistics of the caller.
//
// Deliberately elsewhere: how an expression is evaluated (expr), where a fragment runs (dispatch),
// plans that are shown and never run (explain, which replaces some rules by gentler ones).
package plan
