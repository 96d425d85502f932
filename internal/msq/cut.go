package msq

import (
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// cutter cuts a plan into stages, from the leaves up.
type cutter struct {
	opts    *Options
	workers int // of a stage that may have several
	stages  []*stage
}

// fragment is a piece of the plan that is not yet a stage.
type fragment struct {
	node plan.Node
	// query is the piece as one native query says it, for reports: what lies below the exchange of
	// groups or of sorted rows is part of it.
	query     plan.Node
	inputs    []*input
	single    bool
	processor string
}

// over returns f with a node of one input on top of it.
func (f *fragment) over(n plan.Node) *fragment {
	c := *f
	c.node, c.query = plan.WithInputs(n, []plan.Node{f.node}), plan.WithInputs(n, []plan.Node{f.query})
	return &c
}

// as returns f as the part of query that it does.
func (f *fragment) as(query plan.Node) *fragment {
	c := *f
	c.query = query
	return &c
}

// seal makes a stage of f and returns what reads its output.
func (c *cutter) seal(f *fragment, s shuffle, broadcast bool) *input {
	st := &stage{number: len(c.stages), processor: f.processor, node: f.node, query: f.query, inputs: f.inputs, single: f.single, shuffle: s, columns: f.node.Columns()}
	c.stages = append(c.stages, st)
	return &input{kind: stageInput, leaf: &plan.External{Out: st.columns}, from: st, broadcast: broadcast}
}

// read returns the fragment that is the rows of an input.
func read(in *input, single bool, processor string) *fragment {
	return &fragment{node: in.leaf, query: in.leaf, inputs: []*input{in}, single: single, processor: processor}
}

// fragment returns the fragment of n, having made stages of what lies below its exchanges.
func (c *cutter) fragment(n plan.Node) (*fragment, error) {
	switch n := n.(type) {
	case *plan.External:
		leaf := *n // each leaf is a node of its own, even where a plan repeats one
		return read(&input{kind: externalInput, leaf: &leaf}, false, "scan"), nil
	case *plan.Scan:
		leaf := *n
		return read(&input{kind: tableInput, leaf: &leaf}, n.Time != 0, "scan"), nil
	case *plan.Inline:
		return read(&input{kind: inlineInput, leaf: n}, true, "scan"), nil
	case *plan.System:
		return read(&input{kind: systemInput, leaf: n}, true, "scan"), nil
	case *plan.Project:
		if rows := constants(n); rows != nil {
			return read(&input{kind: inlineInput, leaf: rows}, true, "scan"), nil
		}
		in, err := c.fragment(n.Input)
		if err != nil {
			return nil, err
		}
		return in.over(n), nil
	case *plan.Shared:
		return c.fragment(n.Input)
	case *plan.Filter, *plan.Unnest:
		in, err := c.fragment(n.Inputs()[0])
		if err != nil {
			return nil, err
		}
		return in.over(n), nil
	case *plan.Aggregate:
		return c.aggregate(n)
	case *plan.Sort:
		return c.sort(n)
	case *plan.Limit:
		return c.limit(n)
	case *plan.Join:
		return c.join(n)
	case *plan.Window:
		return c.window(n)
	case *plan.Union, *plan.SetOp:
		return c.combine(n)
	}
	return nil, queryNotSupported()
}

// constants returns a projection of literals over rows without columns, which is what a SELECT
// without FROM is, as rows; nil: n is no such.
func constants(n *plan.Project) *plan.Inline {
	in, ok := n.Input.(*plan.Inline)
	if !ok || len(in.Out) > 0 {
		return nil
	}
	rows := &vector.Batch{N: in.Rows.Rows()}
	for _, e := range n.Exprs {
		literal, ok := e.(*expr.Literal)
		if !ok {
			return nil
		}
		rows.Cols = append(rows.Cols, vector.Constant(literal.T.Runtime(), literal.Value, rows.N))
	}
	return &plan.Inline{Out: n.Columns(), Rows: rows}
}

// aggregate groups in two stages: each worker its own rows, then all rows of a group in one place.
func (c *cutter) aggregate(n *plan.Aggregate) (*fragment, error) {
	in, err := c.fragment(n.Input)
	if err != nil {
		return nil, err
	}
	whole := in.over(n)
	if c.workers == 1 || in.single {
		// One worker sees all rows: groups are whole already.
		whole.processor = "groupByPreShuffle"
		s := c.groupShuffle(whole.node.Columns(), len(n.Keys), 1)
		return read(c.seal(whole, s, false), true, "groupByPostShuffle").as(whole.query), nil
	}
	partitions := c.hashed()
	if len(n.Keys) == 0 || n.Sets != nil {
		partitions = 1
	}
	if combine, ok := combineAggregates(n); ok {
		whole.processor = "groupByPreShuffle"
		s := c.groupShuffle(whole.node.Columns(), len(n.Keys), partitions)
		out := read(c.seal(whole, s, false), partitions == 1, "groupByPostShuffle")
		post := &plan.Aggregate{Input: out.node, Aggs: combine}
		for i := range n.Keys {
			post.Keys = append(post.Keys, i)
		}
		return out.over(post).as(whole.query), nil
	}
	// Partial states can't be told apart from results here: the rows themselves move.
	s := shuffle{kind: hashShuffle, keys: n.Keys, partitions: partitions, names: keysOf(n.Keys)}
	if partitions == 1 {
		s = shuffle{kind: mixShuffle, partitions: 1}
	}
	return read(c.seal(in, s, false), partitions == 1, "groupByPostShuffle").over(n).as(whole.query), nil
}

// hashed is how many partitions rows are divided into by hashes.
func (c *cutter) hashed() int {
	return min(c.workers*max(c.opts.TargetPartitions, 1), c.opts.MaxPartitions)
}

// groupShuffle distributes groups, whose keys are the first columns. Groups that go to one place go
// there in the order of their keys.
func (c *cutter) groupShuffle(columns []plan.Column, keys, partitions int) shuffle {
	s := shuffle{kind: hashShuffle, partitions: partitions, aggregate: true}
	for i := range keys {
		s.keys = append(s.keys, i)
	}
	s.names = keysOf(s.keys)
	switch {
	case partitions > 1:
	case keys == 0:
		s.kind = mixShuffle
	case slices.ContainsFunc(columns[:keys], func(col plan.Column) bool { return !sortable(col.Type) }):
	default:
		s.kind = sortedShuffle
		order := make([]plan.SortKey, keys)
		for i := range order {
			order[i] = plan.SortKey{Column: i, NullsFirst: true}
		}
		s.order = orderOf(order)
	}
	return s
}

// sortable reports whether values of a type have an order.
func sortable(t expr.Type) bool { return t.Runtime().Kind != vector.KindComplex }

func keysOf(columns []int) []keyName {
	out := make([]keyName, len(columns))
	for i, c := range columns {
		out[i].column = c
	}
	return out
}

// combineAggregates returns the aggregates over partial results that give the results of n, if
// there are any for all of n's.
func combineAggregates(n *plan.Aggregate) ([]plan.AggCall, bool) {
	if n.Sets != nil || n.Grouping {
		return nil, false
	}
	out := make([]plan.AggCall, len(n.Aggs))
	for i, a := range n.Aggs {
		f := agg.Lookup(a.Agg.Name)
		if f == nil || f.MergedBy == "" || a.Distinct && !f.Duplicates {
			return nil, false
		}
		out[i] = plan.AggCall{Agg: agg.Spec{Name: f.MergedBy, Args: []vector.Type{a.Type.Runtime()}}, Args: []int{len(n.Keys) + i}, Filter: -1,
			Name: a.Name, Type: a.Type}
	}
	return out, true
}

// sort orders on the way to one worker: each worker its own rows, cut to the limit, then a merge.
func (c *cutter) sort(n *plan.Sort) (*fragment, error) {
	in, err := c.fragment(n.Input)
	if err != nil {
		return nil, err
	}
	whole := in.over(n).query
	if n.Limit >= 0 && n.Offset+n.Limit >= 0 {
		in = in.over(&plan.Sort{Input: in.node, Keys: n.Keys, Limit: n.Offset + n.Limit})
	}
	s := shuffle{kind: sortedShuffle, partitions: 1, order: orderOf(n.Keys)}
	for _, k := range n.Keys {
		s.names = append(s.names, keyName{k.Column, k.Desc})
	}
	out := read(c.seal(in.as(whole), s, false), true, "scan")
	if n.Limit < 0 && n.Offset == 0 {
		return out.as(whole), nil
	}
	out.processor = "limit"
	return out.over(&plan.Limit{Input: out.node, Offset: n.Offset, Count: n.Limit}).as(whole), nil
}

func (c *cutter) limit(n *plan.Limit) (*fragment, error) {
	in, err := c.fragment(n.Input)
	if err != nil {
		return nil, err
	}
	whole := in.over(n)
	if in.single {
		return whole, nil
	}
	if n.Count >= 0 && n.Offset+n.Count >= 0 {
		in = in.over(&plan.Limit{Input: in.node, Count: n.Offset + n.Count})
	}
	out := read(c.seal(in.as(whole.query), shuffle{kind: mixShuffle, partitions: 1}, false), true, "limit")
	return out.over(n).as(whole.query), nil
}

// join sends the right side to all workers of the left one, or both sides to workers by the hash of
// their keys.
func (c *cutter) join(n *plan.Join) (*fragment, error) {
	mayBroadcast := n.Kind != plan.Right && n.Kind != plan.Full
	mayHash := len(n.Keys) > 0 && n.Kind != plan.AntiNull && n.Kind != plan.Single
	left, err := c.fragment(n.Left)
	if err != nil {
		return nil, err
	}
	if mayBroadcast && (!c.opts.SortMergeJoin || !mayHash) {
		right, err := c.fragment(n.Right)
		if err != nil {
			return nil, err
		}
		in := c.seal(right, resultShuffle(right), true)
		out := *left
		out.node, out.query = plan.WithInputs(n, []plan.Node{left.node, in.leaf}), plan.WithInputs(n, []plan.Node{left.query, in.leaf})
		out.inputs = append(append([]*input(nil), left.inputs...), in)
		return &out, nil
	}
	ls, rs := shuffle{kind: mixShuffle, partitions: 1}, shuffle{kind: mixShuffle, partitions: 1}
	if mayHash {
		ls = shuffle{kind: hashShuffle, partitions: c.hashed()}
		rs = ls
		for _, k := range n.Keys {
			ls.keys, rs.keys = append(ls.keys, k.Left), append(rs.keys, k.Right)
		}
		ls.names, rs.names = keysOf(ls.keys), keysOf(rs.keys)
	}
	l := c.seal(left, ls, false)
	right, err := c.fragment(n.Right)
	if err != nil {
		return nil, err
	}
	r := c.seal(right, rs, false)
	joined := plan.WithInputs(n, []plan.Node{l.leaf, r.leaf})
	return &fragment{node: joined, query: joined, inputs: []*input{l, r}, single: !mayHash || c.workers == 1, processor: "sortMergeJoin"}, nil
}

// window brings all rows of a window partition to one worker.
func (c *cutter) window(n *plan.Window) (*fragment, error) {
	in, err := c.fragment(n.Input)
	if err != nil {
		return nil, err
	}
	s := shuffle{kind: mixShuffle, partitions: 1}
	if len(n.Partition) > 0 {
		s = shuffle{kind: hashShuffle, keys: n.Partition, partitions: c.hashed(), names: keysOf(n.Partition)}
	}
	out := read(c.seal(in, s, false), s.partitions == 1, "window")
	return out.over(n), nil
}

// combine keeps unions within a fragment; set operations need all rows of both sides in one place.
func (c *cutter) combine(n plan.Node) (*fragment, error) {
	_, union := n.(*plan.Union)
	out := &fragment{processor: "scan", single: !union}
	parts := make([]*fragment, len(n.Inputs()))
	for i, child := range n.Inputs() {
		var err error
		if parts[i], err = c.fragment(child); err != nil {
			return nil, err
		}
		out.single = out.single || parts[i].single
	}
	nodes, queries := make([]plan.Node, len(parts)), make([]plan.Node, len(parts))
	for i, p := range parts {
		if out.single && !p.single {
			// The rows of all its workers, where the others are.
			p = read(c.seal(p, shuffle{kind: mixShuffle, partitions: 1}, false), true, "scan")
		}
		nodes[i], queries[i] = p.node, p.query
		out.inputs = append(out.inputs, p.inputs...)
	}
	out.node, out.query = plan.WithInputs(n, nodes), plan.WithInputs(n, queries)
	return out, nil
}

// Columns that a writing stage adds to those of the statement.
const (
	bucketColumn = "__bucket"
	boostColumn  = "__boost"
	hashColumn   = "__hash"
)

// restricted are the output names that belong to the engine.
var restricted = map[string]bool{boostColumn: true, bucketColumn: true}

func longColumn(name string) plan.Column {
	return plan.Column{Name: name, Type: expr.Of(expr.BigInt).NotNull()}
}
