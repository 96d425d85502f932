package broker

import (
	"maps"

	"github.com/hengedb/henge/internal/explain"
	"github.com/hengedb/henge/internal/explain/native"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/vector"
)

// explain answers EXPLAIN PLAN FOR: one row with the plan, the resources and the attributes of the
// statement (docs/sql.md).
func (b *Broker) explain(p *Prepared, id string, r *rows) (*rows, error) {
	context := maps.Clone(p.Context)
	context[querycontext.SQLQueryID.Key()] = id
	if context[querycontext.QueryID.Key()] == nil {
		context[querycontext.QueryID.Key()] = id
	}
	e, err := explain.Of(p.Statement, context, func(x *plan.External) (*native.Leaf, error) { return msq.ExternalLeaf(x, 0) })
	if err != nil {
		return nil, err
	}
	for _, c := range explain.Columns {
		r.columns = append(r.columns, result.Column{Name: c.Name, Type: c.Type})
	}
	r.op = &oneBatch{&vector.Batch{N: 1, Cols: []*vector.Vector{
		vector.FromStrings([]string{e.Plan}), vector.FromStrings([]string{e.Resources}), vector.FromStrings([]string{e.Attributes}),
	}}}
	return r, nil
}
