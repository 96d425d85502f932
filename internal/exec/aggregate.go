package exec

import (
	"context"
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// aggregation is an Aggregate node, resolved: what each worker does with a batch.
type aggregation struct {
	env   *Env
	node  *plan.Aggregate
	input []vector.Type
	keys  []vector.Type // of the groups: the node's keys and, with grouping sets, the number of the set
	// dicts are those of the keys, until each worker has a table: these give up what is retired.
	dicts []*keys.GlobalDict
	specs []agg.Spec // one per call
	// sets are the grouping sets; nil: one of all keys.
	sets     [][]int
	distinct []distinctRows
	plain    []int // calls without DISTINCT
	// unfinished says that intermediate values are wanted in place of results.
	unfinished bool
	// partitionable says how rows can be partitioned; nil: they can't.
	partitionable *partitionable
}

// distinctRows are the calls with DISTINCT over the same arguments and filter: they see each row of
// key and arguments once.
type distinctRows struct {
	args   []int
	filter int
	calls  []int
	// sorted wants the rows in the order of the arguments, as ARRAY_AGG(DISTINCT) promises.
	sorted bool
	// partitionable says how rows can be partitioned.
	partitionable *partitionable
	// each says that the argument is a multi-value string, of which the values are the arguments.
	each bool
}

func newAggregation(n *plan.Aggregate, env *Env) (*aggregation, error) {
	a := &aggregation{env: env, node: n, input: types(n.Input.Columns()), sets: n.Sets}
	for _, k := range n.Keys {
		a.keys = append(a.keys, a.input[k])
		a.dicts = append(a.dicts, env.globalDict(n.Input, k))
	}
	if n.Sets != nil {
		a.keys = append(a.keys, vector.Long)
		a.dicts = append(a.dicts, nil)
	}
	for i, c := range n.Aggs {
		a.specs = append(a.specs, c.Agg)
		f := agg.Lookup(c.Agg.Name)
		if c.Distinct && f != nil && f.DistinctForm != "" {
			f = agg.Lookup(f.DistinctForm)
			a.specs[i].Name = f.Name
		}
		if !c.Distinct || f == nil || f.Duplicates || len(c.Args) == 0 {
			a.plain = append(a.plain, i)
			continue
		}
		each := f.Counts && len(c.Args) == 1 && n.Input.Columns()[c.Args[0]].Type.Multi
		at := slices.IndexFunc(a.distinct, func(d distinctRows) bool {
			return slices.Equal(d.args, c.Args) && d.filter == c.Filter && d.each == each
		})
		if at < 0 {
			at = len(a.distinct)
			a.distinct = append(a.distinct, distinctRows{args: c.Args, filter: c.Filter, each: each, partitionable: &partitionable{}})
		}
		d := &a.distinct[at]
		d.calls = append(d.calls, i)
		d.sorted = d.sorted || f.InOrder
	}
	a.partitionable = a.partitionableOf()
	// Check the calls now and not with the first row.
	if _, err := newGrouper(a.keys, a.dicts, a.specs, 0, env); err != nil {
		return nil, err
	}
	return a, nil
}

// partialGroups is what one worker has: the groups with the calls that are plain, and the different
// rows of each DISTINCT.
type partialGroups struct {
	a        *aggregation
	main     *grouper
	distinct []*grouper
	args     []*vector.Vector
	keys     []*vector.Vector
	dense    batchMemory
	sieve    sieve
}

// batchMemory is what the rows of a selection are copied to, again with each batch: no state keeps
// vectors.
type batchMemory struct {
	out       vector.Batch
	gatherers []vector.Gatherer // by column
}

// sieve has the rows that the filter of one call lets through, until the next call.
type sieve struct {
	rows, groups []uint32
	gatherers    []vector.Gatherer // by argument
	args         []*vector.Vector
}

// newPartial returns the groups of a worker that takes its memory from memory.
func (a *aggregation) newPartial(memory *budget.Budget) (*partialGroups, error) {
	p := &partialGroups{a: a}
	env := *a.env
	env.Budget = memory
	var err error
	if p.main, err = newGrouper(a.keys, a.dicts, a.specs, 0, &env); err != nil {
		return nil, err
	}
	p.main.unfinished = a.unfinished
	if p.main.table != nil {
		p.main.partitionable = a.partitionable
	}
	for _, d := range a.distinct {
		keys, dicts := slices.Clone(a.keys), slices.Clone(a.dicts)
		for _, arg := range d.args {
			t, l := a.input[arg], a.env.globalDict(a.node.Input, arg)
			if d.each {
				t, l = t.Elem(), nil
			}
			keys, dicts = append(keys, t), append(dicts, l)
		}
		g, err := newGrouper(keys, dicts, nil, 0, &env)
		if err != nil {
			return nil, err
		}
		if a.sets == nil {
			g.partitionable = d.partitionable
		}
		p.distinct = append(p.distinct, g)
	}
	return p, nil
}

func (p *partialGroups) close() {
	p.main.close()
	for _, d := range p.distinct {
		d.close()
	}
}

// all lists the tables.
func (p *partialGroups) all() []*grouper { return append([]*grouper{p.main}, p.distinct...) }

// pool makes the memory held part of the query's: what a worker may take is no share any more.
func (p *partialGroups) pool() {
	for _, g := range p.all() {
		held := g.account.Held()
		g.account.Close()
		g.env, g.account = p.a.env, budget.NewAccount(p.a.env.Budget)
		g.account.TrySet(held) // if another query was quicker, the next fit finds out
	}
}

// start makes the groups that exist without any row: that of an empty grouping set, unless there
// are keys. One worker does so.
func (p *partialGroups) start() {
	for i, set := range p.a.sets {
		if len(set) == 0 && len(p.a.node.Keys) == 0 {
			p.main.find(p.keyColumns(&vector.Batch{N: 1}, i), 1)
		}
	}
}

// add folds a batch.
func (p *partialGroups) add(ctx context.Context, b *vector.Batch) error {
	if b.Sel != nil {
		b = p.compact(b)
	}
	if p.a.sets == nil {
		if err := p.addSet(b, -1); err != nil {
			return err
		}
		return p.fit(ctx)
	}
	for i := range p.a.sets { // of which there may be thousands
		if err := stop(ctx); err != nil {
			return err
		}
		if err := p.addSet(b, i); err != nil {
			return err
		}
		if err := p.fit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// compact is Batch.Compact for the columns that are used. The batch is valid until the next call.
func (p *partialGroups) compact(b *vector.Batch) *vector.Batch {
	d := &p.dense
	if len(d.gatherers) < len(b.Cols) {
		d.gatherers = make([]vector.Gatherer, len(b.Cols))
		d.out.Cols = make([]*vector.Vector, len(b.Cols))
	}
	d.out.N = len(b.Sel)
	clear(d.out.Cols)
	use := func(c int) {
		if c >= 0 && d.out.Cols[c] == nil {
			d.out.Cols[c] = d.gatherers[c].Gather(b.Cols[c], b.Sel)
		}
	}
	for _, k := range p.a.node.Keys {
		use(k)
	}
	for _, c := range p.a.node.Aggs {
		use(c.Filter)
		for _, arg := range c.Args {
			use(arg)
		}
	}
	return &d.out
}

// keyColumns returns the key columns of b under grouping set number set, -1: there are no sets.
func (p *partialGroups) keyColumns(b *vector.Batch, set int) []*vector.Vector {
	p.keys = p.keys[:0]
	if set < 0 {
		for _, k := range p.a.node.Keys {
			p.keys = append(p.keys, b.Cols[k])
		}
		return p.keys
	}
	for i, k := range p.a.node.Keys {
		if slices.Contains(p.a.sets[set], i) {
			p.keys = append(p.keys, b.Cols[k])
		} else {
			p.keys = append(p.keys, vector.Nulls(p.a.keys[i], b.N))
		}
	}
	return append(p.keys, vector.Constant(vector.Long, int64(set), b.N))
}

func (p *partialGroups) addSet(b *vector.Batch, set int) error {
	keys := p.keyColumns(b, set)
	if err := p.addPlain(keys, b); err != nil {
		return err
	}
	for i, d := range p.a.distinct {
		cols := slices.Clone(keys)
		for _, arg := range d.args {
			cols = append(cols, b.Cols[arg])
		}
		n := b.N
		if d.filter >= 0 {
			rows := trueRows(b.Cols[d.filter], b.N)
			if n = len(rows); n == 0 {
				continue
			}
			for c := range cols {
				cols[c] = cols[c].Gather(rows)
			}
		}
		if d.each {
			if cols, n = eachValue(cols, n); n == 0 {
				continue
			}
		}
		if err := p.distinct[i].addDistinct(cols, n); err != nil {
			return err
		}
	}
	return nil
}

// addPlain folds a batch into the calls without DISTINCT.
func (p *partialGroups) addPlain(keys []*vector.Vector, b *vector.Batch) error {
	if s := p.main.partitioner; s != nil {
		return s.add(keys, b.Cols, b.N)
	}
	groups := p.main.find(keys, b.N)
	for _, i := range p.a.plain {
		call := &p.a.node.Aggs[i]
		p.args = p.args[:0]
		for _, arg := range call.Args {
			p.args = append(p.args, b.Cols[arg])
		}
		if err := p.sieve.update(p.main.states[i], p.args, groups, b, call.Filter); err != nil {
			return err
		}
	}
	p.main.consider(b.N)
	return nil
}

// eachValue gives a row per value of the last of cols, a list, instead of one per list.
func eachValue(cols []*vector.Vector, n int) (out []*vector.Vector, rows int) {
	lists := cols[len(cols)-1].Flat()
	var from, values []uint32
	for i := range n {
		if lists.IsNull(i) {
			continue
		}
		for lo, hi := lists.ListAt(i); lo < hi; lo++ {
			from, values = append(from, uint32(i)), append(values, uint32(lo))
		}
	}
	for _, c := range cols[:len(cols)-1] {
		out = append(out, c.Gather(from))
	}
	if lists.Child == nil { // all lists are NULL
		return append(out, vector.Nulls(lists.Type.Elem(), 0)), 0
	}
	return append(out, lists.Child.Gather(values)), len(values)
}

// update folds the rows of b that the filter column, -1: none, lets through.
func (s *sieve) update(state agg.State, args []*vector.Vector, groups []uint32, b *vector.Batch, filter int) error {
	if filter < 0 {
		return state.Update(args, groups, b.N)
	}
	s.rows = appendTrueRows(s.rows[:0], b.Cols[filter], b.N)
	switch len(s.rows) {
	case 0:
		return nil
	case b.N:
		return state.Update(args, groups, b.N)
	}
	if len(s.gatherers) < len(args) {
		s.gatherers = make([]vector.Gatherer, len(args))
	}
	s.args = s.args[:0]
	for i, a := range args {
		s.args = append(s.args, s.gatherers[i].Gather(a, s.rows))
	}
	if groups == nil {
		return state.Update(s.args, nil, len(s.rows))
	}
	s.groups = vector.Sized(s.groups, len(s.rows))
	for i, r := range s.rows {
		s.groups[i] = groups[r]
	}
	return state.Update(s.args, s.groups, len(s.rows))
}

// appendTrueRows appends the rows in which a BOOLEAN column is true to out.
func appendTrueRows(out []uint32, v *vector.Vector, n int) []uint32 {
	if v.Const || v.Valid != nil {
		for i := range n {
			if !v.IsNull(i) && v.LongAt(i) > 0 {
				out = append(out, uint32(i))
			}
		}
		return out
	}
	k := len(out)
	out = slices.Grow(out, n)[:k+n]
	for i, x := range v.Longs[:n] { // without a branch to mispredict
		out[k] = uint32(i)
		k += one(x > 0)
	}
	return out[:k]
}

// fit reserves what all tables take, and spills the largest ones until they fit.
func (p *partialGroups) fit(ctx context.Context) error {
	for {
		fits := true
		for _, g := range p.all() {
			fits = g.fits() && fits
		}
		if fits {
			return nil
		}
		largest := p.main
		for _, g := range p.distinct {
			if g.bytes() > largest.bytes() {
				largest = g
			}
		}
		before := largest.bytes()
		if err := largest.spill(ctx); err != nil {
			return err
		}
		if largest.bytes() >= before { // nothing left to give
			return largest.account.Set(largest.bytes())
		}
	}
}

// finish folds the different rows of each DISTINCT into their calls, and returns the groups of all
// workers.
func (a *aggregation) finish(ctx context.Context, workers []*partialGroups) (*groupParts, error) {
	mains := make([]*grouper, len(workers))
	for i, w := range workers {
		mains[i] = w.main
	}
	for i, d := range a.distinct {
		sets := make([]*grouper, len(workers))
		for j, w := range workers {
			sets[j] = w.distinct[i]
		}
		// Texts of segments that are mapped may be read.
		if err := segment.Guard(func() error {
			for _, g := range sets {
				if g.table != nil {
					g.table.SettleDistinct()
				}
			}
			return nil
		}); err != nil {
			return nil, err
		}
		if done, err := a.countDistinct(mains[0], sets, d); done || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		if err := a.leaveRoom(ctx, workers, i); err != nil {
			return nil, err
		}
		parts, err := partsOf(ctx, sets)
		if err != nil {
			return nil, err
		}
		err = a.foldParts(ctx, mains, parts, d)
		parts.close()
		if err != nil {
			return nil, err
		}
	}
	return partsOf(ctx, mains)
}

// leaveRoom spills what the workers hold beside the different rows of a DISTINCT that went to
// files, while it leaves too little memory for merging these.
func (a *aggregation) leaveRoom(ctx context.Context, workers []*partialGroups, distinct int) error {
	room, spilled := a.env.Budget.Free(), false
	for _, w := range workers {
		d := w.distinct[distinct]
		room += d.account.Held()
		spilled = spilled || d.files.used()
	}
	for _, w := range workers {
		for _, g := range append([]*grouper{w.main}, w.distinct[distinct+1:]...) {
			if !spilled || room >= leastShare {
				return nil
			}
			held := g.account.Held()
			if err := g.spill(ctx); err != nil {
				return err
			}
			room += held - g.account.Held()
		}
	}
	return nil
}

// foldParts gives the calls of d each of the different rows once: on several cores, each into the
// groups of one worker, unless the order of the rows matters.
func (a *aggregation) foldParts(ctx context.Context, mains []*grouper, parts *groupParts, d distinctRows) error {
	source := &groupSource{parts: parts}
	if d.sorted {
		rows := a.sortArgs(source, d)
		defer rows.Close()
		return a.fold(ctx, mains[0], rows, d)
	}
	workers := min(len(mains), parts.n, parts.takers)
	if workers <= 1 {
		return a.fold(ctx, mains[0], source, d)
	}
	return a.env.atOnce(ctx, workers, func(ctx context.Context, i int) error {
		return a.fold(ctx, mains[i], &groupSource{parts: parts}, d)
	})
}

// fold gives the calls of d each of the different rows, which nobody else does.
func (a *aggregation) fold(ctx context.Context, main *grouper, rows Operator, d distinctRows) error {
	k := len(a.keys)
	return Drain(ctx, rows, func(b *vector.Batch) error {
		groups := main.find(b.Cols[:k], b.N)
		for _, c := range d.calls {
			if err := main.states[c].Update(b.Cols[k:], groups, b.N); err != nil {
				return err
			}
		}
		return main.fit(ctx)
	})
}

// sortArgs orders the different rows of a DISTINCT by their arguments: as the aggregation's rows,
// if these are in an order of them, else ascending.
func (a *aggregation) sortArgs(rows Operator, d distinctRows) Operator {
	types := slices.Clone(a.keys)
	var keys []plan.SortKey
	for i, arg := range d.args {
		types = append(types, a.input[arg])
		key := plan.SortKey{NullsFirst: true}
		if at := slices.IndexFunc(a.node.Order, func(k plan.SortKey) bool { return k.Column == arg }); at >= 0 {
			key = a.node.Order[at]
		}
		key.Column = len(a.keys) + i
		keys = append(keys, key)
	}
	return newSortOf(rows, types, keys, 0, -1, a.env)
}

// globalDict returns the global dictionary of the string column that column of node is, as a scan
// reads it; nil: it is none.
func (e *Env) globalDict(node plan.Node, column int) *keys.GlobalDict {
	if e.GlobalDicts == nil {
		return nil
	}
	for {
		switch n := node.(type) {
		case *plan.Scan:
			if c := n.Out[column]; c.Type.Runtime() == vector.String && !c.Type.Multi {
				return e.GlobalDicts.Of(n.DataSource, c.Name)
			}
			return nil
		case *plan.Filter:
			node = n.Input
		case *plan.Project:
			c, ok := n.Exprs[column].(*expr.Column)
			if !ok {
				return nil
			}
			node, column = n.Input, c.Index
		case *plan.Join:
			if column >= len(n.Left.Columns()) {
				return nil
			}
			node = n.Left
		case *plan.Union:
			for _, in := range n.Ins[1:] {
				if e.globalDict(in, column) == nil {
					return nil
				}
			}
			node = n.Ins[0] // tables that are put together have many texts in common
		default:
			return nil
		}
	}
}
