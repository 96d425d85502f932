package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
)

// Options steer Optimize. The zero value applies every rule without statistics.
type Options struct {
	// Off names rules that are not applied.
	Off []string
	// Rows estimates how many rows a scan reads before its filter; nil, or a negative answer: unknown.
	Rows func(*Scan) float64
	// LargeSide is from how many rows on the smaller side of a join is too large to be sent to the
	// servers that hold the larger one; 0: nothing is sent, all rows are here.
	LargeSide float64
	// ReducedScan is from how many rows on it is worth to read a scan by the keys of a join above; 0:
	// the default.
	ReducedScan float64
	// KeepFilters says that conditions over joins and unions stay over them, values that joins ask of
	// columns stay in their conditions, that constant rows keep their columns and unions which are
	// only counted the last of them, and that what has no constants of its type in the reference is
	// not computed beforehand, for plans that are read.
	KeepFilters bool
	// KeepUnmet says that conditions which are never true stay where they are.
	KeepUnmet bool
	// Context is the time zone and the current time of the query, for constants.
	Context expr.Context
	// Fired is told the name of a rule each time it changed the plan.
	Fired func(rule string)
}

// rules are the passes in the order they run. A rule may come twice: pushing filters down makes
// projections that can be merged, and pruning columns makes new ones. A rule with nodes of its own
// is left out where the plan has none of them.
var rules = []struct {
	name  string
	apply func(*optimizer, Node) Node
	of    nodeKinds
}{
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
	{"determined_keys", (*optimizer).determinedKeys, hasGroups},
	{"early_exprs", (*optimizer).earlyExprs, hasJoins},
	{"partial_groups", (*optimizer).partialGroups, hasJoins},
	{"share", (*optimizer).share, 0},
	{"prune_columns", (*optimizer).pruneColumns, 0},
	{"drop_sorts", (*optimizer).dropSorts, 0},
	{"reduce_sides", (*optimizer).reduceSides, hasJoins},
	{"join_side", (*optimizer).joinSide, hasJoins},
	{"merge_projects", (*optimizer).mergeProjects, 0},
}

// RuleNames returns the names of the rules, in the order they first run.
func RuleNames() []string {
	var names []string
	for _, r := range rules {
		if !slices.Contains(names, r.name) {
			names = append(names, r.name)
		}
	}
	return names
}

// Optimize returns a plan with the same rows as n that is cheaper to run. The names and types of
// n's columns stay.
func Optimize(n Node, o Options) Node {
	o.Context.Constants = &expr.Constants{}
	n = markMerging(n)
	opt := &optimizer{options: o}
	var known Node // kinds are those of
	var kinds nodeKinds
	for _, r := range rules {
		if slices.Contains(o.Off, r.name) {
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
		opt.rule = r.name
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

// MapExprs returns n with f applied to its own expressions; Scan, Filter, Project and Join have
// some.
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
