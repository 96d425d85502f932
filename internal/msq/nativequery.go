package msq

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/explain/native"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
)

// Query returns the native query that is equivalent to the whole job, for the payload of its task.
// It must be called before Run.
func (c *Controller) Query() (native.Query, error) {
	node, w := c.job.Plan, c.job.write()
	if w != nil {
		node = native.Clustered(w, w.Input)
	} else if x := c.job.export(); x != nil {
		node = x.Input
	}
	names := make([]string, 0, len(c.job.columns()))
	for _, col := range c.job.columns() {
		names = append(names, col.Name)
	}
	var leafErr error
	o := native.Options{Context: c.queryContext(w), Expr: c.expressions(), Tasks: true, Names: names, Leaf: func(n plan.Node) *native.Leaf {
		x, ok := n.(*plan.External)
		if !ok {
			return nil
		}
		leaf, err := ExternalLeaf(x, 0)
		leafErr = errors.Join(leafErr, err)
		return leaf
	}}
	q, err := native.Fragment(node, o)
	q.ColumnMappings = q.ColumnMappings[:min(len(names), len(q.ColumnMappings))] // without columns that are not stored
	return q, errors.Join(err, leafErr)
}

// expressions is what the expressions of the statement take from it.
func (k *core) expressions() expr.Context {
	if k.deps.Expr != nil {
		return *k.deps.Expr
	}
	return expr.Context{Zone: chrono.UTC}
}

// describe gives every stage the native query that says what it does, and its columns the names
// that they have there.
func (c *Controller) describe(w *plan.Write) error {
	leaves := map[plan.Node]*native.Leaf{}
	context := c.queryContext(w)
	o := native.Options{Context: context, Expr: c.expressions(), Tasks: true, Leaf: func(n plan.Node) *native.Leaf { return leaves[n] }}
	for _, s := range c.stages {
		if s.node == nil {
			continue
		}
		for i, in := range s.inputs {
			leaf, err := in.leafOf(i)
			if err != nil {
				return err
			}
			if leaf != nil {
				leaves[in.leaf] = leaf
			}
		}
		query := s.query
		if w != nil && s == c.rows {
			query = native.Clustered(w, query)
		}
		q, err := native.Fragment(query, o)
		if err != nil {
			return err
		}
		s.native, s.names = q, make([]string, len(s.node.Columns()))
		for i, col := range s.node.Columns() {
			s.names[i] = col.Name
			if len(q.ColumnMappings) == len(s.names) {
				s.names[i] = q.ColumnMappings[i].QueryColumn
			}
		}
	}
	if w != nil {
		if i := timeColumn(w); i >= 0 {
			c.rows.native.SetContext("__timeColumn", c.rows.names[i])
		}
	}
	for _, s := range slices.Backward(c.stages) {
		if s.node == nil {
			continue
		}
		// The first half of a grouping shows the query that both halves answer.
		for _, in := range s.inputs {
			if in.from != nil && in.from.processor == "groupByPreShuffle" && s.processor == "groupByPostShuffle" && refines(s.query, in.from.query) {
				in.from.native = s.native
			}
		}
	}
	return nil
}

// refines reports whether outer is inner with no more than columns chosen, groups filtered, ordered
// and limited.
func refines(outer, inner plan.Node) bool {
	for outer != inner {
		switch outer.(type) {
		case *plan.Project, *plan.Filter, *plan.Sort, *plan.Limit:
			outer = outer.Inputs()[0]
		default:
			return false
		}
	}
	return true
}

// queryContext is the context that the native queries of the job show.
func (k *core) queryContext(w *plan.Write) map[string]any {
	context := map[string]any{}
	maps.Copy(context, k.job.Context)
	id := strings.TrimPrefix(k.job.ID, "query-")
	context[querycontext.QueryID.Key()], context[querycontext.SQLQueryID.Key()] = id, id
	if k.job.Identity != "" {
		context[querycontext.User.Key()] = k.job.Identity
	}
	context[querycontext.InsertGrain.Key()] = nil
	maps.Copy(context, writeContext(w))
	context[querycontext.Finalize.Key()] = k.opts.FinalizeAggregation
	if context[querycontext.MaxParseExceptions.Key()] == nil {
		context[querycontext.MaxParseExceptions.Key()] = k.opts.MaxParseExceptions
	}
	return context
}

// TargetContext returns the target of the statement as keys of the query context; empty for
// queries.
func (c *Controller) TargetContext() map[string]any { return writeContext(c.job.write()) }

// writeContext is what the context says of the target of an INSERT or REPLACE; w may be nil.
func writeContext(w *plan.Write) map[string]any {
	context := map[string]any{}
	if w != nil {
		context[querycontext.InsertGrain.Key()] = segmentGranularityText(w.PartitionBy)
		if w.Replace {
			context[querycontext.ReplacedChunks.Key()] = replacedText(w)
		}
	}
	return context
}

// replacedText is what a REPLACE overwrites, as the context holds it.
func replacedText(w *plan.Write) string {
	if w.ReplaceAll {
		return "all"
	}
	var texts []string
	for _, iv := range overwritten(w) {
		texts = append(texts, iv.String())
	}
	return strings.Join(texts, ",")
}

// leafOf returns what an input is in the stage's query; nil: what it says of itself.
func (in *input) leafOf(number int) (*native.Leaf, error) {
	leaf := &native.Leaf{Number: number}
	switch x := in.leaf.(type) {
	case *plan.External:
		if in.kind == stageInput {
			leaf.Names = in.from.names
			return leaf, nil
		}
		return ExternalLeaf(x, number)
	case *plan.Scan:
		return leaf, nil
	}
	return nil, nil
}

// ExternalLeaf returns the source and the format of external data with their defaults. number is
// the index among the inputs.
func ExternalLeaf(x *plan.External, number int) (*native.Leaf, error) {
	source, err := ingest.ParseSource(x.Source)
	if err != nil {
		return nil, err
	}
	format, err := ingest.ParseFormat(x.Format)
	if err != nil {
		return nil, err
	}
	return &native.Leaf{Number: number, Source: source, Format: format}, nil
}

// filter is what the rows of the stage's only input, a table, are filtered by; nil: by nothing.
func (s *stage) filter() any {
	if len(s.inputs) != 1 || s.inputs[0].kind != tableInput {
		return nil
	}
	return s.native.Get("filter")
}

// limitOf returns the limit of a stage whose other work is to choose columns; nil: it has none.
func limitOf(n plan.Node) *plan.Limit {
	if p, ok := n.(*plan.Project); ok {
		n = p.Input
	}
	limit, _ := n.(*plan.Limit)
	return limit
}

// processorJSON describes what a stage does with its rows.
func (s *stage) processorJSON() (any, error) {
	if n := limitOf(s.node); n != nil && s.processor == "limit" {
		return struct {
			Type   string `json:"type"`
			Offset int64  `json:"offset"`
			Limit  int64  `json:"limit,omitempty"`
		}{"limit", n.Offset, max(n.Count, 0)}, nil
	}
	query, err := jsontext.Marshal(s.native.Query)
	if err != nil {
		return nil, err
	}
	out := struct {
		Type      string          `json:"type"`
		Prefix    string          `json:"rightPrefix,omitempty"`
		Condition string          `json:"condition,omitempty"`
		JoinType  string          `json:"joinType,omitempty"`
		Query     json.RawMessage `json:"query"`
	}{Type: s.processor, Query: query}
	if s.processor == "sortMergeJoin" {
		var join struct {
			Source struct {
				Prefix    string `json:"rightPrefix"`
				Condition string `json:"condition"`
				JoinType  string `json:"joinType"`
			} `json:"dataSource"`
		}
		if err := json.Unmarshal(query, &join); err != nil {
			return nil, err
		}
		out.Prefix, out.Condition, out.JoinType = join.Source.Prefix, join.Source.Condition, join.Source.JoinType
	}
	return out, nil
}
