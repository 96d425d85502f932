package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
)

// Options control Optimize. The zero value applies every rule without statistics.
type Options struct {
	// Off contains the names of rules that are not applied.
	Off []string
	// Rows estimates the number of rows that a scan reads before its filter; nil or a negative result:
	// unknown.
	Rows func(*Scan) float64
	// BroadcastRowLimit is the number of rows from which the smaller side of a join is not broadcast
	// to the servers that hold the larger side; 0: all rows are local, and nothing is sent.
	BroadcastRowLimit float64
	// SemiJoinMinRows is the minimum number of rows of a scan for semi-join reduction by the keys of a
	// join above; 0: the default.
	SemiJoinMinRows float64
	// Rules are the rules to apply, in order; nil: the package variable Rules.
	Rules []Rule
	// Context is the time zone and the current time of the query, for constant folding.
	Context expr.Context
	// Fired is called with the name of a rule each time the rule changes the plan.
	Fired func(rule string)
}

// Rule is a pass over a plan under a name.
type Rule struct {
	Name  string
	apply func(*optimizer, Node) Node
	// of are the nodes that the rule is about; it is left out where the plan has none of them. 0: all.
	of nodeKinds
}

// NewRule returns a rule that is not in Rules, for plans that are not run.
func NewRule(name string, apply func(n Node, c expr.Context) Node) Rule {
	return Rule{Name: name, apply: func(o *optimizer, n Node) Node { return apply(n, o.options.Context) }}
}

// Apply applies only this rule.
func (r Rule) Apply(n Node, c expr.Context) Node {
	return r.apply(&optimizer{options: Options{Context: c}}, n)
}

// RuleNamed returns the rule of Rules with a name.
func RuleNamed(name string) Rule {
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.Name == name })
	return rules[i]
}

// Rules are the passes that make a plan cheaper to run, in the order of their application.
func Rules() []Rule { return slices.Clone(rules) }

// A rule may come twice: pushing filters down makes projections that can be merged, and pruning
// columns makes new ones.
var rules = []Rule{
	{"set_ops", (*optimizer).setOps, hasSetOps},
	{"fold_constants", (*optimizer).foldConstants, 0},
	{"merge_projects", (*optimizer).mergeProjects, 0},
	{"common_terms", (*optimizer).commonTerms, 0},
	{"outer_joins", (*optimizer).outerJoins, hasJoins},
	{"push_filters", (*optimizer).pushFilters, 0},
	{"time_intervals", (*optimizer).timeIntervals, 0},
	{"push_semi_joins", (*optimizer).pushSemiJoins, hasJoins},
	{"join_order", (*optimizer).joinOrder, hasJoins},
	{"join_keys", (*optimizer).joinKeys, hasJoins},
	{"anti_joins", (*optimizer).antiJoins, hasJoins},
	{"fold_constants", (*optimizer).foldConstants, 0},
	{"merge_projects", (*optimizer).mergeProjects, 0},
	{"push_limits", (*optimizer).pushLimits, 0},
	{"time_intervals", (*optimizer).timeIntervals, 0},
	{"whole_means", (*optimizer).wholeMeans, hasGroups},
	{"linear_sums", (*optimizer).linearSums, hasGroups},
	{"functional_dependencies", (*optimizer).functionalDependencies, hasGroups},
	{"expression_pushdown", (*optimizer).expressionPushdown, hasJoins},
	{"eager_aggregation", (*optimizer).eagerAggregation, hasJoins},
	{"common_subplans", (*optimizer).commonSubplans, 0},
	{"prune_columns", (*optimizer).pruneColumns, 0},
	{"drop_sorts", (*optimizer).dropSorts, 0},
	{"semi_join_reduction", (*optimizer).semiJoinReduction, hasJoins},
	{"build_side", (*optimizer).buildSide, hasJoins},
	{"merge_projects", (*optimizer).mergeProjects, 0},
}

// RuleNames returns the names of the rules, in the order of their first application.
func RuleNames() []string {
	var names []string
	for _, r := range rules {
		if !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	return names
}

// Optimize returns a plan with the same rows as n that is cheaper to run. The names and types of
// the columns of n do not change.
func Optimize(n Node, o Options) Node {
	o.Context.Constants = &expr.Constants{}
	n = markMerging(n)
	opt := &optimizer{options: o}
	var known Node // kinds are those of
	var kinds nodeKinds
	list := o.Rules
	if list == nil {
		list = rules
	}
	for _, r := range list {
		if slices.Contains(o.Off, r.Name) {
			continue
		}
		if n != known {
			known, kinds = n, kindsOf(n)
		}
		if r.of != 0 && kinds&r.of == 0 {
			continue
		}
		if o.Context.Stopped() != nil {
			break // whoever runs the plan finds the same
		}
		opt.rule = r.Name
		n = r.apply(opt, n)
	}
	return n
}

// nodeKinds are the kinds of nodes a plan has, of those that rules are about.
type nodeKinds uint8

const (
	hasJoins nodeKinds = 1 << iota
	hasGroups
	hasSetOps
)

func kindsOf(n Node) (kinds nodeKinds) {
	Walk(n, func(n Node) bool {
		switch n.(type) {
		case *Join:
			kinds |= hasJoins
		case *Aggregate:
			kinds |= hasGroups
		case *SetOp:
			kinds |= hasSetOps
		}
		return true
	})
	return kinds
}

type optimizer struct {
	options Options
	rule    string // the one that runs
	sizes   map[*Join]joinSize
}

// fired reports that the running rule changed the plan.
func (o *optimizer) fired() {
	if o.options.Fired != nil {
		o.options.Fired(o.rule)
	}
}

// MapExprs returns n with f applied to its own expressions; only Scan, Filter, Project and Join
// have expressions.
func MapExprs(n Node, f func(expr.Expr) expr.Expr) Node {
	switch x := n.(type) {
	case *Scan:
		if x.Filter != nil {
			if e := f(x.Filter); e != x.Filter {
				c := *x
				c.Filter = e
				return &c
			}
		}
	case *Filter:
		if e := f(x.Cond); e != x.Cond {
			return &Filter{Input: x.Input, Cond: e}
		}
	case *Project:
		if list, changed := mapList(x.Exprs, f); changed {
			return &Project{Input: x.Input, Exprs: list, Names: x.Names}
		}
	case *Join:
		if x.On != nil {
			if e := f(x.On); e != x.On {
				c := *x
				c.On = e
				return &c
			}
		}
	}
	return n
}
