package expr

import (
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/vector"
)

// What a function that gives JSON makes of the values of a multi-value string is one JSON array,
// also of a single value. Functions around it look at its elements one by one, as they do at those
// of the string. A list that a function of lists made is a JSON array to them.

// mapJSON wraps a body that gives JSON over the values of source.
func mapJSON(source, body Expr) Expr {
	if inner, ok := mappedJSON(body); ok { // of two sources every pair
		body = &Each{Source: inner.Source, Body: inner.Body, T: listOfJSON}
	}
	return &Each{Source: source, Body: body, T: JSON}
}

// mappedJSON returns e if it is what mapJSON has made.
func mappedJSON(e Expr) (*Each, bool) {
	each, ok := e.(*Each)
	return each, ok && each.T.Base == Other
}

var listOfJSON = ArrayOf(JSON).NotNull()

// jsonListNode writes the lists of JSON of another node as JSON.
type jsonListNode struct {
	of  node
	ctx *Context
}

func (n *jsonListNode) eval(f *frame) (*vector.Vector, error) {
	lists, err := n.of.eval(f)
	if err != nil {
		return nil, err
	}
	return jsonRows(lists, f.n, jsonWriter(listOfJSON), NewMeter("JSON_OBJECT", n.ctx))
}

// jsonByValue returns which argument from the one at first on, and of those each step further,
// functions of JSON see value by value: a multi-value column, some of its values, and what was
// mapped over them. What else is multi-value was made as a list, and is one to them. -1: none.
func jsonByValue(args []Expr, first, step int) int {
	for i := first; i < len(args); i += step {
		_, mapped := mappedValues(args[i])
		if mapped || isMultiColumn(args[i]) || keepsValues(args[i]) {
			return i
		}
	}
	return -1
}

func isMultiColumn(e Expr) bool {
	_, column := e.(*Column)
	return column && e.Type().Multi
}

// atPathOfList binds JSON_VALUE of a row's values together: at the root as an array, and at other
// paths, where a list that a function made has elements, and a column nothing. Else it is not done.
func (b *Binding) atPathOfList(t Type) (bound Expr, done bool, err error) {
	column := isMultiColumn(b.Args[0])
	text, constant := LiteralValue(b.Args[1])
	if !constant || !column && !madeAsList(b.Args[0]) {
		return nil, false, nil
	}
	path, err := jsontext.ParsePath(text.(string))
	if err != nil || t.Base != Array && len(path) == 0 {
		return nil, false, err
	}
	bound, err = b.jsonValue(t)
	if err == nil && column && len(path) > 0 {
		bound = &Literal{T: bound.Type()}
	}
	return bound, true, err
}
