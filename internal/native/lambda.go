package native

import (
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
)

// loopForm is a function that takes a lambda.
type loopForm struct {
	kind expr.LoopKind
	// cartesian says that it takes as many lists as the lambda has parameters for them.
	cartesian bool
}

var loopForms = map[string]loopForm{
	"map": {expr.LoopMap, false}, "cartesian_map": {expr.LoopMap, true}, "filter": {expr.LoopKeep, false}, "any": {expr.LoopSome, false},
	"all": {expr.LoopEvery, false}, "fold": {expr.LoopFold, false}, "cartesian_fold": {expr.LoopFold, true},
}

func isLoop(name string) bool {
	_, ok := loopForms[name]
	return ok
}

func loopNames() []string {
	var out []string
	for name := range loopForms {
		out = append(out, name)
	}
	return out
}

func itoa(n int) string { return strconv.Itoa(n) }

// param is a parameter of a lambda around what is being bound.
type param struct {
	name string
	t    expr.Type
}

// parameter returns the element that a name stands for inside lambdas, nil if it is no parameter.
// The innermost of a name counts.
func (s *scope) parameter(name string) expr.Expr {
	for i, p := range slices.Backward(s.params) {
		if p.name == name {
			return &expr.Element{Depth: len(s.params) - 1 - i, T: p.t}
		}
	}
	return nil
}

// loop binds a function of a lambda.
func (s *scope) loop(n *callNode, l *lambdaNode) (expr.Expr, error) {
	f, ok := loopForms[n.name]
	if !ok {
		return nil, invalid("Function [%s] of native expressions takes no lambda", n.name)
	}
	args := make([]expr.Expr, len(n.args)-1)
	for i, a := range n.args[1:] {
		x, err := s.bind(a)
		if err != nil {
			return nil, err
		}
		args[i] = x
	}
	least := 1
	if f.kind == expr.LoopFold {
		least = 2
	}
	if len(args) < least || len(args) > least && !f.cartesian {
		return nil, wrongCount(n.name, least+1, least+1)
	}
	if len(l.params) != len(args) {
		return nil, invalid("The lambda of function [%s] of native expressions has [%d] parameters, but there are [%d] arguments for it", n.name, len(l.params),
			len(args))
	}
	out := &expr.Loop{Kind: f.kind}
	lists := args
	if f.kind == expr.LoopFold {
		lists = args[:len(args)-1]
	}
	for _, x := range lists {
		x, err := list(x)
		if err != nil {
			return nil, err
		}
		if isUnknown(x) {
			x = &expr.Literal{T: expr.ArrayOf(textType)}
		}
		out.Lists = append(out.Lists, x)
	}
	e, err := s.over(out, l, args)
	if err != nil {
		return nil, err
	}
	if e, err = expr.Fold(e, &expr.Context{}); err == nil && isNullConstant(e) {
		e = unknown()
	}
	return e, err
}

// over binds the body of a loop over lists.
func (s *scope) over(out *expr.Loop, l *lambdaNode, args []expr.Expr) (expr.Expr, error) {
	params := slices.Clip(s.params)
	for i, x := range out.Lists {
		params = append(params, param{l.params[i], x.Type().Elem()})
	}
	if out.Kind == expr.LoopFold {
		initial := operand(args[len(args)-1])
		if isUnknown(initial) {
			return initial, nil
		}
		out.Initial, out.T = initial, initial.Type().OrNull(true)
		params = append(params, param{l.params[len(l.params)-1], out.T})
	}
	body, err := s.inside(params, l.body)
	if err != nil {
		return nil, err
	}
	if last := out.Lists[len(out.Lists)-1].Type(); len(out.Lists) > 1 && out.Kind == expr.LoopMap {
		// The values that are combined are all made what those of the last list are.
		declared := operand(body).Type()
		for i, x := range out.Lists {
			if x, err = expr.NewCast(x, last, fault.Span{}); err != nil {
				return nil, err
			}
			out.Lists[i], params[len(s.params)+i].t = x, last.Elem()
		}
		if body, err = s.inside(params, l.body); err != nil {
			return nil, err
		}
		if body, err = convert(body, declared); err != nil {
			return nil, err
		}
	}
	switch out.Kind {
	case expr.LoopMap:
		if body = operand(body); isUnknown(body) {
			body = &expr.Literal{T: textType}
		}
		if body.Type().Multi {
			return nil, fault.Unsupported("A lambda of function [map] that returns a multi-value string is not supported; apply [mv_to_array] to it")
		}
		out.T = expr.ArrayOf(body.Type())
	case expr.LoopFold:
		if body, err = convert(body, out.T); err != nil {
			return nil, err
		}
	default:
		if body, err = condition(body); err != nil {
			return nil, err
		}
		out.T = out.Lists[0].Type().OrNull(true)
		if out.Kind != expr.LoopKeep {
			out.T = boolType.NotNull()
		}
	}
	out.Body = body
	if c, ok := args[0].(*expr.Column); ok && out.Kind == expr.LoopKeep && c.T.Multi {
		return call("ARRAY_TO_MV", out) // a part of a multi-value string is one
	}
	return out, nil
}

// inside binds a lambda's body among parameters.
func (s *scope) inside(params []param, body syntaxNode) (expr.Expr, error) {
	outer := s.params
	s.params = params
	defer func() { s.params = outer }()
	return s.bind(body)
}
