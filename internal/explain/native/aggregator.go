package native

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// grouping is GROUPING, which no aggregate of rows is.
var grouping = &agg.Function{Name: "GROUPING"}

// functionOf is the function of an aggregate.
func functionOf(a *plan.AggCall) *agg.Function {
	if f := agg.Lookup(a.Agg.Name); f != nil {
		return f
	}
	return grouping
}

// aggregator writes aggregate i of the group.
func (g *groupWriter) aggregator(i int) {
	call := &g.s.group.node.Aggs[i]
	fn := functionOf(call)
	name := g.aggPrefix + strconv.Itoa(g.aggCount)
	g.aggCount++
	g.aggNames = append(g.aggNames, name)
	var cond expr.Expr
	if call.Filter >= 0 {
		cond = g.s.w.condition(g.s.group.args[call.Filter])
	}
	args := g.arguments(call.Args)
	if len(args) > 0 && fn.Native.Kind != agg.NativeSum && fn.Native.Kind != agg.NativeMean {
		if value, only := oneBranch(args[0]); only != nil && !isOne(value) {
			args[0] = value
			if fn.Counts && value.Type().Nullable {
				only = and(notNull(value), only)
			}
			if cond = and(cond, only); fn.Counts {
				args = nil
			}
		}
	}
	add := func(spec object, cond expr.Expr, name string) {
		if cond != nil {
			filter := g.s.filterSpec(cond, g.virtuals)
			if filter == nil {
				filter = obj("type", "true")
			}
			spec = obj("type", "filtered", "aggregator", spec, "filter", filter, "name", name)
		}
		g.aggs = append(g.aggs, spec)
	}
	if finalized := finalizing(fn); finalized != "" && g.s.isInner {
		state := name + ":a"
		g.posts = append(g.posts, obj("type", finalized, "name", name, "fieldName", state))
		name = state
	}
	if fn == grouping {
		fields := make([]string, len(args))
		for j, a := range args {
			fields[j] = g.virtuals.column(a)
		}
		g.aggs = append(g.aggs, obj("type", "grouping", "name", name, "groupings", fields))
		return
	}
	switch fn.Native.Kind {
	case agg.NativeCount:
		if len(args) > 0 {
			cond = and(counted(args[0]), cond)
		}
		add(obj("type", "count", "name", name), cond, name)
	case agg.NativeSum:
		value, only := filteredSum(args[0])
		if only != nil {
			cond = and(cond, only)
		}
		if isOne(value) && only != nil {
			add(obj("type", "count", "name", name), cond, name)
			return
		}
		add(obj("type", sumKind(value), "name", name, "fieldName", g.summed(value)), cond, name)
	case agg.NativeMean:
		g.mean(args[0], cond, name, add)
	case agg.NativeCardinality:
		field := g.virtuals.column(withoutCast(args[0]))
		if args[0].Type().Base == expr.Other {
			add(obj("type", "hyperUnique", "name", name, "fieldName", field, "isInputHyperUnique", false, "round", true), cond, name)
			return
		}
		dim := obj("type", "default", "dimension", field, "outputName", field, "outputType", runtimeName(args[0].Type()))
		add(obj("type", "cardinality", "name", name, "fields", []object{dim}, "byRow", false, "round", true), cond, name)
	case agg.NativeBits:
		add(g.bits(fn, args[0], name), and(notNull(args[0]), cond), name)
	case agg.NativeHLL:
		add(g.hllSketch(call, args[0], name), cond, name)
	case agg.NativeArray, agg.NativeArrays, agg.NativeText:
		if fold := g.collected(call, args, name); fold != nil {
			if fn.Native.Kind == agg.NativeText {
				cond = and(notNull(args[0]), cond)
			}
			add(fold, cond, name)
			return
		}
		add(g.simple(call, args, name), cond, name)
	default:
		add(g.simple(call, args, name), cond, name)
	}
}

// mean writes a mean as a sum and a count; add adds an aggregator of the rows of a condition.
func (g *groupWriter) mean(value, cond expr.Expr, name string, add func(spec object, cond expr.Expr, name string)) {
	sum, count := name+":sum", name+":count"
	known := cond
	if g.s.w.isOfUnknown(value) || isColumn(value) && slices.Contains([]any{"query", "inline"}, g.s.source[0].value) {
		if c, ok := value.(*expr.Case); ok && c.Else == nil {
			var only expr.Expr
			if value, only = filteredSum(value); only != nil {
				cond = and(cond, only)
			}
		}
		if known = notNull(value); cond != nil {
			known = and(known, cond)
		}
	}
	add(obj("type", sumKind(value), "name", sum, "fieldName", g.field(value)), cond, sum)
	add(obj("type", "count", "name", count), known, count)
	fields := []object{obj("type", "fieldAccess", "fieldName", sum), obj("type", "fieldAccess", "fieldName", count)}
	g.posts = append(g.posts, obj("type", "arithmetic", "name", name, "fn", "quotient", "fields", fields))
}

// bits writes the fold of numbers by their bits.
func (g *groupWriter) bits(fn *agg.Function, value expr.Expr, name string) object {
	field := g.field(value)
	fold := fn.Native.Name + `("__acc", "` + field + `")`
	// quirk Q015: Clients compare the text: Druid puts the name in place of the field's anywhere in
	// fold.
	combine := strings.ReplaceAll(fold, field, name)
	return obj("type", "expression", "name", name, "fields", []string{field}, "accumulatorIdentifier", "__acc", "initialValue", "0",
		"initialCombineValue", "0", "isNullUnlessAggregated", true, "shouldAggregateNullInputs", false,
		"shouldCombineAggregateNullInputs", false, "fold", fold, "combine", combine, "maxSizeBytes", 1024)
}

// field is the column that an aggregator reads: it converts by itself, but for texts that are
// numbers.
func (g *groupWriter) field(e expr.Expr) string {
	if c, ok := e.(*expr.Cast); ok && c.T.IsNumeric() && c.X.Type().IsCharacter() {
		return g.virtuals.column(e)
	}
	return g.virtuals.column(withoutCast(e))
}

// summed is the column that a sum reads: what is computed of FLOATs is DOUBLE.
func (g *groupWriter) summed(e expr.Expr) string {
	if typeOfFloats(e).Base == expr.Float && !isColumn(e) && !g.s.w.stepwise {
		return g.virtuals.columnAs(e, expr.Of(expr.Double))
	}
	return g.field(e)
}

// finalizing is the post-aggregator that makes a result of what an aggregator ends with; "": that
// is one.
func finalizing(fn *agg.Function) string {
	switch {
	case fn.Native.Kind == agg.NativeCardinality:
		return "hyperUniqueCardinality"
	case fn.PicksRow:
		return "finalizingFieldAccess"
	}
	return ""
}

// collected writes an aggregate that gathers values in an array as the fold that it is for native
// queries; nil: it is none, for its values are ordered.
func (g *groupWriter) collected(call *plan.AggCall, args []expr.Expr, name string) object {
	if len(args) != 1 {
		return nil
	}
	params, kind := call.Agg.Params, functionOf(call).Native.Kind
	none, finalize := strings.Replace(runtimeName(call.Type), "FLOAT", "DOUBLE", 1)+"[]", "" // native arrays of FLOATs are of DOUBLEs
	if kind == agg.NativeText {
		if len(params) == 0 {
			return nil
		}
		separator, ok := params[0].(string)
		if !ok {
			return nil
		}
		text := "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(separator) + "'" // quirk Q015: Druid writes other marks as they are
		none, params, finalize = "[]", params[1:], "if(array_length(o) == 0, null, array_to_string(o, "+text+"))"
	}
	size := any(1024)
	if len(params) > 0 {
		size = params[0]
	}
	one, all := "array_append", "array_concat"
	if call.Distinct {
		one, all = "array_set_add", "array_set_add_all"
	}
	if kind == agg.NativeArrays {
		one = all
	}
	field := g.field(args[0])
	out := obj("type", "expression", "name", name, "fields", []string{field}, "accumulatorIdentifier", "__acc", "initialValue", none,
		"initialCombineValue", none, "isNullUnlessAggregated", true, "shouldAggregateNullInputs", kind == agg.NativeArray,
		"shouldCombineAggregateNullInputs", false, "fold", one+`("__acc", "`+field+`")`, "combine", all+`("__acc", "`+name+`")`)
	if finalize != "" {
		out.set("finalize", finalize)
	}
	out.set("maxSizeBytes", size)
	return out
}

// hllSketch writes an HLL sketch, built of values or merged of sketches, of which one aggregate
// gives the estimate.
func (g *groupWriter) hllSketch(call *plan.AggCall, arg expr.Expr, name string) object {
	kind := "HLLSketchBuild"
	if arg.Type().Base == expr.Other {
		kind = "HLLSketchMerge"
	}
	params := []any{12, "HLL_4"}
	copy(params, call.Agg.Params)
	out := obj("type", kind, "name", name, "fieldName", g.virtuals.column(withoutCast(arg)), "lgK", params[0], "tgtHllType", params[1])
	if isHLL(call) {
		out.set("shouldFinalize", false)
	}
	out.set("round", true)
	return out
}

// isHLL reports whether the result of an aggregate is an HLL sketch, and not an estimate.
func isHLL(call *plan.AggCall) bool {
	fn := functionOf(call)
	return fn.Native.Kind == agg.NativeHLL && fn.SketchName == ""
}

// simple writes an aggregator that is a type name and the column it reads.
func (g *groupWriter) simple(call *plan.AggCall, args []expr.Expr, name string) object {
	fn := functionOf(call)
	suffix, kind := "", strings.ToLower(call.Agg.Name)
	if fn.Native.Kind == agg.NativeTyped {
		suffix = fn.Native.Name
	}
	if suffix != "" {
		kind = numberKind(args[0]) + suffix
	}
	if isUnsizedText(call) {
		if kind = "double" + suffix; !isColumn(args[0]) {
			args = slices.Clone(args)
			args[0] = &expr.Cast{X: args[0], T: expr.Of(expr.Double)}
		}
	}
	out := obj("type", kind, "name", name)
	if len(args) > 0 {
		out.set("fieldName", g.field(args[0]))
	}
	if fn.ByTime {
		out.set("timeColumn", g.virtuals.column(args[1]))
	}
	if strings.HasPrefix(kind, "string") {
		size := any(1024)
		if len(call.Agg.Params) > 0 {
			size = call.Agg.Params[0]
		}
		out.set("maxStringBytes", size)
	} else if suffix == "" { // numbers have no size
		for i, p := range call.Agg.Params {
			out.set("param"+strconv.Itoa(i), p)
		}
	}
	return out
}

// isUnsizedText reports whether an aggregate picks one of several texts without saying how long
// they may be: for Druid, that is one of numbers. See quirk Q015.
func isUnsizedText(call *plan.AggCall) bool {
	if !functionOf(call).PicksRow || !call.Type.IsCharacter() {
		return false
	}
	return len(call.Agg.Params) == 0 || call.Agg.Params[0] == int64(math.MaxInt32) // which stands for none
}

// numberKind is the first part of an aggregator's type name.
func numberKind(e expr.Expr) string {
	switch e.Type().Runtime().Kind {
	case vector.KindLong:
		return "long"
	case vector.KindDouble:
		return "double"
	case vector.KindFloat:
		return "float"
	}
	return "string"
}

// sumKind is the type of a sum: that of FLOATs is DOUBLE.
func sumKind(e expr.Expr) string {
	if kind := numberKind(e); kind != "float" {
		return kind + "Sum"
	}
	return "doubleSum"
}

// filteredSum reads SUM(CASE WHEN cond THEN x ELSE 0 END) as the sum of x where cond is true. Druid
// looks for the whole number 0 only. See quirk Q015.
func filteredSum(e expr.Expr) (value, cond expr.Expr) {
	if c, ok := firstKnownOf(e); ok && len(c.Args) == 2 { // a CASE of what is known
		if l, ok := c.Args[1].(*expr.Literal); ok && l.Value == int64(0) {
			return c.Args[0], operandTested("IS NOT NULL", c.Args[0])
		}
	}
	c, ok := e.(*expr.Case)
	if !ok || len(c.Whens) != 1 {
		return e, nil
	}
	if l, ok := c.Whens[0].Then.(*expr.Literal); ok && l.Value == nil && c.Else != nil {
		return c.Else, &expr.Not{X: c.Whens[0].Cond}
	}
	if l, ok := c.Else.(*expr.Literal); c.Else != nil && (!ok || l.Value != nil && l.Value != int64(0)) {
		return e, nil
	}
	return c.Whens[0].Then, c.Whens[0].Cond
}

// oneBranch reads a CASE that has a value where cond is true, else NULL.
func oneBranch(e expr.Expr) (value, cond expr.Expr) {
	c, ok := e.(*expr.Case)
	if !ok || len(c.Whens) != 1 {
		return e, nil
	}
	isNull := func(e expr.Expr) bool {
		l, ok := e.(*expr.Literal)
		return e == nil || ok && l.Value == nil
	}
	switch {
	case isNull(c.Else):
		return c.Whens[0].Then, c.Whens[0].Cond
	case isNull(c.Whens[0].Then):
		return c.Else, &expr.Not{X: c.Whens[0].Cond}
	}
	return e, nil
}

// counted is the condition of rows that COUNT(e) counts. Of CASE WHEN cond THEN 1 END it is cond.
func counted(e expr.Expr) expr.Expr {
	if value, cond := oneBranch(e); cond != nil && isOne(value) {
		return cond
	}
	return notNull(e)
}

func isOne(e expr.Expr) bool {
	l, ok := e.(*expr.Literal)
	return ok && l.Value == int64(1)
}

func notNull(e expr.Expr) expr.Expr {
	return &expr.Call{Fn: catalog.MustLookup("IS NOT NULL"), Args: []expr.Expr{e}, T: expr.Of(expr.Boolean).NotNull()}
}

// arguments are the arguments of an aggregate, by their numbers among those of the group.
func (g *groupWriter) arguments(numbers []int) []expr.Expr {
	args := make([]expr.Expr, len(numbers))
	for i, n := range numbers {
		args[i] = plain(g.s.group.args[n])
	}
	return args
}
