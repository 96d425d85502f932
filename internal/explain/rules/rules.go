// Package rules contains the rewrite rules for plans that are only shown. Most are rules of package
// plan; some are replaced by gentler rules that preserve the form of the statement.
//
//	keep_conditions.go  push_filters: conditions above joins and unions stay above them
//	keep_unmet.go       fold_constants, time_intervals: conditions that are never true stay
//	keep_columns.go     prune_columns: unused columns that EXPLAIN PLAN FOR shows
//
// Native and Bindable are the two lists, for explain/native and explain/bindable.
package rules

import "github.com/hengedb/henge/internal/plan"

// native are the rules that leave a plan in the form of its statement, in the order they run.
var native = []string{
	"fold_constants", "merge_projects", "push_filters", "time_intervals", "join_order", "fold_constants", "merge_projects", "time_intervals",
	"whole_means", "expression_pushdown", "eager_aggregation", "prune_columns", "drop_sorts", "merge_projects",
}

// Native returns the rules for native queries. With unmet, the rules keep conditions that are never
// true.
func Native(unmet bool) []plan.Rule {
	out := make([]plan.Rule, len(native))
	for i, name := range native {
		out[i] = gentle(name, unmet)
	}
	return out
}

// Bindable returns the rules for trees over system tables. Only the sides of joins are pruned.
func Bindable(joins bool) []plan.Rule {
	var out []plan.Rule
	for _, r := range plan.Rules() {
		if r.Name == "set_ops" || r.Name == "common_subplans" || r.Name == "prune_columns" && !joins {
			continue
		}
		out = append(out, gentle(r.Name, false))
	}
	return out
}

// gentle is the rule of a name for a plan that is shown.
func gentle(name string, unmet bool) plan.Rule {
	switch name {
	case "fold_constants":
		return folding(unmet)
	case "push_filters":
		return keepConditions
	case "time_intervals":
		if unmet {
			return keepEmptyTimes
		}
	case "prune_columns":
		return keepColumns
	}
	return plan.RuleNamed(name)
}
