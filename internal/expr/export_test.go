package expr

import "github.com/hengedb/henge/internal/vector"

// What the tests of package expr_test, which use functions of all families, see of this one.

const (
	PieceBytes        = pieceBytes
	MaxBatchText      = maxBatchText
	MaxConstantBytes  = maxConstantBytes
	MaxConstantsBytes = maxConstantsBytes
	MaxDepth          = maxDepth
)

var (
	AppendNormalJSON = appendNormalJSON
	JSONPaths        = jsonPaths
	MergeJSON        = mergeJSON
	JSONWriter       = jsonWriter
	WriteMultiValue  = writeMultiValue
	BoolText         = boolText
	Encode           = encode
	IsLiteral        = isLiteral
	LiftElements     = liftElements
	RuntimeValue     = runtimeValue
	TableSource      = tableSource
)

func (c *Constants) TooLarge(e Expr) bool { return c.tooLarge(e) }

func (c *Context) RoomForText() int64 { return c.textRoom() }

func (c *Context) Lookup(name string) (Mapping, error) { return c.lookup(name) }

// Len returns how many programs there are.
func (g *Programs) Len() int { return len(g.list) }

// IsTable reports whether a program looks its results up.
func (p *Program) IsTable() bool {
	_, is := p.root.(*tableNode)
	return is
}

// EvalUnshared evaluates e without sharing what comes several times in it.
func EvalUnshared(e Expr, b *vector.Batch) (*vector.Vector, error) {
	c := &compiler{ctx: &Context{}, slots: map[int]int{}, made: &made{}}
	root, err := c.compile(e)
	if err != nil {
		return nil, err
	}
	return (&Program{root: root, e: e, columns: c.columns, made: c.made, shared: &made{}}).Eval(b)
}
