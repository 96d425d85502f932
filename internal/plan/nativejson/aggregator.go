package nativejson

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// aggregator writes aggregate i of the group.
func (g *grouped) aggregator(i int) {
	call := &g.s.group.node.Aggs[i]
	name := g.aggPrefix + strconv.Itoa(g.aggCount)
	g.aggCount++
	g.aggNames = append(g.aggNames, name)
	var cond expr.Expr
	if call.Filter >= 0 {
		cond = g.s.w.condition(g.s.group.args[call.Filter])
	}
	args := make([]expr.Expr, len(call.Args))
	for j, a := range call.Args {
		args[j] = plain(g.s.group.args[a])
	}
	if len(args) > 0 && call.Agg.Name != "SUM" && call.Agg.Name != "AVG" {
		if value, only := oneBranch(args[0]); only != nil && !isOne(value) {
			args[0] = value
			if call.Agg.Name == "COUNT" && value.Type().Nullable {
				only = and(notNull(value), only)
			}
			if cond = and(cond, only); call.Agg.Name == "COUNT" {
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
	if finalized := finalizing(call.Agg.Name); finalized != "" && g.s.isInner {
		state := name + ":a"
		g.posts = append(g.posts, obj("type", finalized, "name", name, "fieldName", state))
		name = state
	}
	switch call.Agg.Name {
	case "COUNT":
		if len(args) > 0 {
			cond = and(counted(args[0]), cond)
		}
		add(obj("type", "count", "name", name), cond, name)
	case "SUM":
		value, only := filteredSum(args[0])
		if only != nil {
			cond = and(cond, only)
		}
		if isOne(value) && only != nil {
			add(obj("type", "count", "name", name), cond, name)
			return
		}
		add(obj("type", sumKind(value), "name", name, "fieldName", g.summed(value)), cond, name)
	case "GROUPING":
		fields := make([]string, len(args))
		for j, a := range args {
			fields[j] = g.virtuals.column(a)
		}
		g.aggs = append(g.aggs, obj("type", "grouping", "name", name, "groupings", fields))
	case "AVG":
		sum, count := name+":sum", name+":count"
		value := args[0]
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
	case "APPROX_COUNT_DISTINCT":
		field := g.virtuals.column(withoutCast(args[0]))
		if args[0].Type().Base == expr.Other {
			add(obj("type", "hyperUnique", "name", name, "fieldName", field, "isInputHyperUnique", false, "round", true), cond, name)
			return
		}
		dim := obj("type", "default", "dimension", field, "outputName", field, "outputType", runtimeName(args[0].Type()))
		add(obj("type", "cardinality", "name", name, "fields", []object{dim}, "byRow", false, "round", true), cond, name)
	case "BIT_AND", "BIT_OR", "BIT_XOR":
		fn := map[string]string{"BIT_AND": "bitwiseAnd", "BIT_OR": "bitwiseOr", "BIT_XOR": "bitwiseXor"}[call.Agg.Name]
		field := g.field(args[0])
		fold := fn + `("__acc", "` + field + `")`
		// Clients compare the text: the reference puts the name in place of the field's anywhere in fold.
		combine := strings.ReplaceAll(fold, field, name)
		add(obj("type", "expression", "name", name, "fields", []string{field}, "accumulatorIdentifier", "__acc", "initialValue", "0",
			"initialCombineValue", "0", "isNullUnlessAggregated", true, "shouldAggregateNullInputs", false,
			"shouldCombineAggregateNullInputs", false, "fold", fold, "combine", combine,
			"maxSizeBytes", 1024), and(notNull(args[0]), cond), name)
	case "DS_HLL", "APPROX_COUNT_DISTINCT_DS_HLL":
		add(g.hllSketch(call, args[0], name), cond, name)
	case "ARRAY_AGG", "ARRAY_CONCAT_AGG", "STRING_AGG":
		if fold := g.collected(call, args, name); fold != nil {
			if call.Agg.Name == "STRING_AGG" {
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

// field is the column that an aggregator reads: it converts by itself, but for texts that are
// numbers.
func (g *grouped) field(e expr.Expr) string {
	if c, ok := e.(*expr.Cast); ok && c.T.IsNumeric() && c.X.Type().IsCharacter() {
		return g.virtuals.column(e)
	}
	return g.virtuals.column(withoutCast(e))
}

// summed is the column that a sum reads: what is computed of FLOATs is DOUBLE.
func (g *grouped) summed(e expr.Expr) string {
	if typeOfFloats(e).Base == expr.Float && !isColumn(e) && !g.s.w.asItIs {
		return g.virtuals.columnAs(e, expr.Of(expr.Double))
	}
	return g.field(e)
}

// finalizing is the post-aggregator that makes a result of what an aggregator ends with; "": that
// is one.
func finalizing(name string) string {
	switch name {
	case "APPROX_COUNT_DISTINCT":
		return "hyperUniqueCardinality"
	case "EARLIEST", "EARLIEST_BY", "LATEST", "LATEST_BY", "ANY_VALUE":
		return "finalizingFieldAccess"
	}
	return ""
}

// collected writes an aggregate that gathers values in an array as the fold that it is for native
// queries; nil: it is none, for its values are ordered.
func (g *grouped) collected(call *plan.AggCall, args []expr.Expr, name string) object {
	if len(args) != 1 {
		return nil
	}
	params := call.Agg.Params
	none, finalize := strings.Replace(runtimeName(call.Type), "FLOAT", "DOUBLE", 1)+"[]", "" // native arrays of FLOATs are of DOUBLEs
	if call.Agg.Name == "STRING_AGG" {
		if len(params) == 0 {
			return nil
		}
		separator, ok := params[0].(string)
		if !ok {
			return nil
		}
		text := "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(separator) + "'" // the reference writes other marks as they are
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
	if call.Agg.Name == "ARRAY_CONCAT_AGG" {
		one = all
	}
	field := g.field(args[0])
	out := obj("type", "expression", "name", name, "fields", []string{field}, "accumulatorIdentifier", "__acc", "initialValue", none,
		"initialCombineValue", none, "isNullUnlessAggregated", true, "shouldAggregateNullInputs", call.Agg.Name == "ARRAY_AGG",
		"shouldCombineAggregateNullInputs", false, "fold", one+`("__acc", "`+field+`")`, "combine", all+`("__acc", "`+name+`")`)
	if finalize != "" {
		out.set("finalize", finalize)
	}
	out.set("maxSizeBytes", size)
	return out
}

// hllSketch writes an HLL sketch, built of values or merged of sketches, of which one aggregate
// gives the estimate.
func (g *grouped) hllSketch(call *plan.AggCall, arg expr.Expr, name string) object {
	kind := "HLLSketchBuild"
	if arg.Type().Base == expr.Other {
		kind = "HLLSketchMerge"
	}
	params := []any{12, "HLL_4"}
	copy(params, call.Agg.Params)
	out := obj("type", kind, "name", name, "fieldName", g.virtuals.column(withoutCast(arg)), "lgK", params[0], "tgtHllType", params[1])
	if call.Agg.Name == "DS_HLL" {
		out.set("shouldFinalize", false)
	}
	out.set("round", true)
	return out
}

// simple writes an aggregator that is a type name and the column it reads.
func (g *grouped) simple(call *plan.AggCall, args []expr.Expr, name string) object {
	suffix := map[string]string{"MIN": "Min", "MAX": "Max", "EARLIEST": "First", "EARLIEST_BY": "First", "LATEST": "Last", "LATEST_BY": "Last",
		"ANY_VALUE": "Any"}[call.Agg.Name]
	kind := strings.ToLower(call.Agg.Name)
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
	if strings.HasSuffix(suffix, "st") {
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
// they may be: for the reference, that is one of numbers.
func isUnsizedText(call *plan.AggCall) bool {
	switch call.Agg.Name {
	case "EARLIEST", "EARLIEST_BY", "LATEST", "LATEST_BY", "ANY_VALUE":
		return call.Type.IsCharacter() && (len(call.Agg.Params) == 0 || call.Agg.Params[0] == int64(math.MaxInt32)) // which stands for none
	}
	return false
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

// filteredSum reads SUM(CASE WHEN cond THEN x ELSE 0 END) as the sum of x where cond is true. The
// reference looks for the whole number 0 only.
func filteredSum(e expr.Expr) (value, cond expr.Expr) {
	if c, ok := e.(*expr.Call); ok && (c.Fn.Name == "COALESCE" || c.Fn.Name == "NVL") && len(c.Args) == 2 { // a CASE of what is known
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
	return &expr.Call{Fn: expr.MustLookup("IS NOT NULL"), Args: []expr.Expr{e}, T: expr.Of(expr.Boolean).NotNull()}
}
