package expr

import (
	"strings"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// The MV_ functions see a row of a multi-value string as an array of its values, and a row without
// values as one that holds a NULL.

var mvFunctions = []*Function{
	lengthOfList("MV_LENGTH", nil, "Returns the number of values of a multi-value string."),
	elementAt("MV_OFFSET", "array_offset", 0, true, "Returns the value of a multi-value string at a position counted from 0."),
	elementAt("MV_ORDINAL", "array_ordinal", 1, true, "Returns the value of a multi-value string at a position counted from 1."),
	indexOf("MV_OFFSET_OF", "array_offset_of", 0, "Returns the position, counted from 0, of a value in a multi-value string."),
	indexOf("MV_ORDINAL_OF", "array_ordinal_of", 1, "Returns the position, counted from 1, of a value in a multi-value string."),
	appendOne("MV_APPEND", "array_append", 0, true, "Adds a value at the end of a multi-value string."),
	appendOne("MV_PREPEND", "array_prepend", 1, true, "Adds a value at the start of a multi-value string."),
	concatLists("MV_CONCAT", true, "Returns the values of one multi-value string followed by those of another."),
	sliceOf("MV_SLICE", true, "Returns the values from a start position, counted from 0, to an end position, which is excluded."),
	joinList("MV_TO_STRING", "Joins the values of a multi-value string with a delimiter."),
	splitText("STRING_TO_MV", true, "Splits a string into a multi-value string at the matches of a regular expression."),
	mvContainsFunction, mvOverlapFunction,
	mvFilter("MV_FILTER_ONLY", "Keeps the values of a multi-value string that are in an array.", true),
	mvFilter("MV_FILTER_NONE", "Drops the values of a multi-value string that are in an array.", false),
	mvFilterRegexFunction, mvFilterPrefixFunction,
}

// HoldsNull reports whether the function treats a NULL argument i as a list that contains a NULL.
func (x *Call) HoldsNull(i int) bool {
	e := x.Args[i]
	if !x.Fn.NullsOfMaps || e.Type().Base != Array {
		return false
	}
	for {
		c, ok := e.(*Cast)
		if !ok {
			_, mapped := mappedValues(e)
			return mapped
		}
		e = c.X
	}
}

// heldNullNode gives the lists of another node, with one that holds a NULL for each that is NULL.
type heldNullNode struct {
	of node
	t  vector.Type
}

func (n *heldNullNode) eval(f *frame) (*vector.Vector, error) {
	lists, err := n.of.eval(f)
	if err != nil || !lists.HasNulls() {
		return lists, err
	}
	b := vector.NewBuilder(n.t, f.n)
	for i := range f.n {
		if lists.IsNull(i) {
			b.Child().AppendNull()
		} else {
			lo, hi := lists.ListAt(i)
			b.Child().AppendRange(lists.Child, lo, hi)
		}
		b.AppendList()
	}
	return b.Build(), nil
}

// values wants a multi-value string, which a plain string is too, but no array.
func (b *Binding) values(i int) {
	if t := b.Type(i); !t.IsCharacter() && t.Base != Null {
		b.Mismatch()
		return
	}
	b.array(i, Of(Varchar))
}

// valuesOrArray wants a multi-value string or an array of any type, whose elements it makes texts
// as those of the string are.
func (b *Binding) valuesOrArray(i int) {
	if b.Type(i).Base != Array {
		b.values(i)
		return
	}
	b.array(i, Type{})
	b.texts(i)
}

// isArrayAsText tells an array that valuesOrArray made texts of from a multi-value string.
func isArrayAsText(e Expr) bool {
	for {
		c, ok := e.(*Cast)
		if !ok {
			return e.Type().Base == Array
		}
		e = c.X
	}
}

// MadeOfValues reports whether a list is the result of a function of lists on a multi-value string:
// if such a list is NULL, it is not a list that contains a NULL, unlike a row without values.
func MadeOfValues(e Expr) bool {
	for {
		c, ok := e.(*Cast)
		if !ok {
			break
		}
		e = c.X
	}
	return madeAsList(e) || keepsValues(e)
}

// keepsValues reports whether e is some of the values of a multi-value string.
func keepsValues(e Expr) bool {
	c, ok := e.(*Call)
	return ok && (c.Fn.Name == "MV_FILTER_ONLY" || c.Fn.Name == "MV_FILTER_NONE")
}

// wanted wants the values to look for, an array or one value, as texts: 1.0 is not 1.
func (b *Binding) wanted(i int) {
	b.array(i, Of(Varchar))
	if b.Err == nil && !castable(b.elem(i), Of(Varchar)) {
		b.Mismatch()
	}
	b.texts(i)
}

var mvContainsFunction = mvPredicate("MV_CONTAINS", AllOfThem, "Returns whether a multi-value string contains all values of an array.",
	arrayContainsFunction, func(values, wanted *vector.Vector, i int) bool { return hasAll(values, i, wanted, i) })

var mvOverlapFunction = mvPredicate("MV_OVERLAP", AnyOfThem, "Returns whether a multi-value string contains any value of an array.",
	arrayOverlapFunction, func(values, wanted *vector.Vector, i int) bool { return hasAny(values, i, wanted, i) })

// mvPredicate makes MV_CONTAINS or MV_OVERLAP. A NULL in the place of the array stands in
// MV_CONTAINS for an array of a NULL, unless a column of arrays has it; in MV_OVERLAP it shares no
// value with any row. Of an array that is no column it is what the function of arrays is; a column
// of arrays that is NULL has no values; of what a function made that is NULL the result is.
func mvPredicate(name string, has HasValues, summary string, ofArray *Function,
	holds func(values, wanted *vector.Vector, i int) bool) *Function {
	return &Function{
		Name: name, Min: 2, Max: 2, SeesLists: true, SeesNulls: true, Summary: summary, HasValues: has,
		Forms: ListForms("array, array"),
		Bind: func(b *Binding) (Expr, error) {
			if t := b.Type(1); t.IsTime() || t.Base == Boolean {
				b.Mismatch()
			}
			if b.Err != nil {
				return nil, b.Err
			}
			if _, column := b.Args[0].(*Column); b.Type(0).Base == Array && !column {
				if ofArray == arrayOverlapFunction {
					b.array(1, b.elem(0))
				}
				if b.Err != nil {
					return nil, b.Err
				}
				return NewCall(ofArray, b.Args, b.At)
			}
			b.valuesOrArray(0)
			b.wanted(1)
			return b.Call(Of(Boolean).NotNull().OrNull(b.Err == nil && MadeOfValues(b.Args[0])))
		},
		Kernel: func(c *Call, _ *Context) (Kernel, error) {
			made, array, forNull := c.T.Nullable, isArrayAsText(c.Args[0]), has == AllOfThem && !isArrayColumn(c.Args[1])
			return func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
				r, values, wanted := kernel.NewRows[int64](n), args[0], args[1]
				for i := range r.Out {
					empty := values.IsNull(i) || hasNoValue(values, i)
					switch {
					case made && values.IsNull(i):
						r.Null(i)
					case wanted.IsNull(i):
						r.Out[i] = kernel.Bool(forNull && (empty && !array || !values.IsNull(i) && hasNull(values, i)))
					case array:
						r.Out[i] = kernel.Bool(holds(values, wanted, i))
					case empty:
						r.Out[i] = kernel.Bool(asksForNull(wanted, i, has == AllOfThem))
					default:
						r.Out[i] = kernel.Bool(holds(values, wanted, i))
					}
				}
				return r.Vector(), nil
			}, nil
		},
	}
}

// asksForNull reports whether row i of wanted, which is not NULL, has NULLs, or with all nothing
// else: that is what a row without values has.
func asksForNull(wanted *vector.Vector, i int, all bool) bool {
	lo, hi := wanted.ListAt(i)
	nulls := 0
	for k := lo; k < hi; k++ {
		nulls += one(wanted.Child.IsNull(k))
	}
	if all {
		return nulls == hi-lo
	}
	return nulls > 0
}

func hasNull(list *vector.Vector, i int) bool {
	for lo, hi := list.ListAt(i); lo < hi; lo++ {
		if list.Child.IsNull(lo) {
			return true
		}
	}
	return false
}

// mvFilter makes MV_FILTER_ONLY and MV_FILTER_NONE.
func mvFilter(name, summary string, keep bool) *Function {
	return &Function{
		Name: name, Min: 2, Max: 2, SeesLists: true, SeesNulls: true, Summary: summary,
		Forms: ListForms("expr, array"),
		Bind: func(b *Binding) (Expr, error) {
			if t := b.Type(1); t.Base != Array && t.Base != Null {
				b.Mismatch()
			}
			if t := b.Type(0); t.IsNumeric() || t.IsTime() || t.Base == Boolean {
				b.Cast(0, Of(Varchar))
			}
			b.values(0)
			b.wanted(1)
			return b.Call(MultiString)
		},
		Kernel: listBuilder(func(to *elements, args []*vector.Vector, i int) (bool, error) {
			if args[1].IsNull(i) {
				return false, nil // whether a value is in it is not known of any
			}
			return keepValues(to.Builder, args[0], i, func(k int) bool { return (findElement(args[1], i, args[0].Child, k) >= 0) == keep }), nil
		}),
	}
}

// keepValues appends the values of row i at positions that keep holds for, and reports whether
// there are any.
func keepValues(b *vector.Builder, values *vector.Vector, i int, keep func(k int) bool) bool {
	if values.IsNull(i) {
		return false
	}
	some := false
	for lo, hi := values.ListAt(i); lo < hi; lo++ {
		if keep(lo) {
			b.AppendFrom(values.Child, lo)
			some = true
		}
	}
	return some
}

var mvFilterRegexFunction = &Function{
	Name: "MV_FILTER_REGEX", Min: 2, Max: 2, SeesLists: true,
	Summary: "Keeps the values of a multi-value string that match a regular expression.",
	Forms:   ListForms("expr, pattern"),
	Bind: func(b *Binding) (Expr, error) {
		b.values(0)
		b.Pattern(1)
		return b.Call(MultiString)
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		p, err := PatternOf(c, 1, ctx)
		if err != nil {
			return nil, err
		}
		return keepingKernel(c, ctx, p.Matches)
	},
}

var mvFilterPrefixFunction = &Function{
	Name: "MV_FILTER_PREFIX", Min: 2, Max: 2, SeesLists: true,
	Summary: "Keeps the values of a multi-value string that start with a prefix.",
	Forms:   ListForms("expr, prefix"),
	Bind: func(b *Binding) (Expr, error) {
		b.values(0)
		b.ConstantText(1, "prefix")
		return b.Call(MultiString)
	},
	Kernel: func(c *Call, ctx *Context) (Kernel, error) {
		x, _ := LiteralValue(c.Args[1])
		prefix, _ := x.(string)
		return keepingKernel(c, ctx, func(s string) (bool, error) { return strings.HasPrefix(s, prefix), nil })
	},
}

// keepingKernel keeps the values a predicate holds for; a row of which none is left is empty, not
// NULL.
func keepingKernel(c *Call, ctx *Context, keep func(string) (bool, error)) (Kernel, error) {
	return listBuilder(func(to *elements, args []*vector.Vector, i int) (bool, error) {
		var failure error
		keepValues(to.Builder, args[0], i, func(k int) bool {
			if args[0].Child.IsNull(k) || failure != nil {
				return false
			}
			var ok bool
			ok, failure = keep(args[0].Child.StringAt(k))
			return ok
		})
		return true, failure
	})(c, ctx)
}
