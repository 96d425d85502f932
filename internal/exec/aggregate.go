package exec

import (
	"context"
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
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
	// lexicons are those of the keys, until each worker has a table: these give up what is retired.
	lexicons []*lexicon
	specs    []agg.Spec // one per call
	// sets are the grouping sets; nil: one of all keys.
	sets     [][]int
	distinct []distinctRows
	plain    []int // calls without DISTINCT
	// unfinished says that intermediate values are wanted in place of results.
	unfinished bool
	// aside says how rows can be put aside; nil: they can't.
	aside *scatterable
}

// distinctRows are the calls with DISTINCT over the same arguments and filter: they see each row of
// key and arguments once.
type distinctRows struct {
	args   []int
	filter int
	calls  []int
	// sorted wants the rows in the order of the arguments, as ARRAY_AGG(DISTINCT) promises.
	sorted bool
	// aside says how rows can be put aside.
	aside *scatterable
	// each says that the argument is a multi-value string, of which the values are the arguments.
	each bool
}

func newAggregation(n *plan.Aggregate, env *Env) (*aggregation, error) {
	a := &aggregation{env: env, node: n, input: types(n.Input.Columns()), sets: n.Sets}
	for _, k := range n.Keys {
		a.keys = append(a.keys, a.input[k])
		a.lexicons = append(a.lexicons, env.lexicon(n.Input, k))
	}
	if n.Sets != nil {
		a.keys = append(a.keys, vector.Long)
		a.lexicons = append(a.lexicons, nil)
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
		each := c.Agg.Name == "COUNT" && len(c.Args) == 1 && n.Input.Columns()[c.Args[0]].Type.Multi
		at := slices.IndexFunc(a.distinct, func(d distinctRows) bool {
			return slices.Equal(d.args, c.Args) && d.filter == c.Filter && d.each == each
		})
		if at < 0 {
			at = len(a.distinct)
			a.distinct = append(a.distinct, distinctRows{args: c.Args, filter: c.Filter, each: each, aside: &scatterable{}})
		}
		d := &a.distinct[at]
		d.calls = append(d.calls, i)
		d.sorted = d.sorted || f.InOrder
	}
	a.aside = a.scatterableOf()
	// Check the calls now and not with the first row.
	if _, err := newGrouper(a.keys, a.lexicons, a.specs, 0, env); err != nil {
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
}

// newPartial returns the groups of a worker that takes its memory from memory.
func (a *aggregation) newPartial(memory *budget.Budget) (*partialGroups, error) {
	p := &partialGroups{a: a}
	env := *a.env
	env.Budget = memory
	var err error
	if p.main, err = newGrouper(a.keys, a.lexicons, a.specs, 0, &env); err != nil {
		return nil, err
	}
	p.main.unfinished = a.unfinished
	if p.main.table != nil {
		p.main.aside = a.aside
	}
	for _, d := range a.distinct {
		keys, lexicons := slices.Clone(a.keys), slices.Clone(a.lexicons)
		for _, arg := range d.args {
			t, l := a.input[arg], a.env.lexicon(a.node.Input, arg)
			if d.each {
				t, l = t.Elem(), nil
			}
			keys, lexicons = append(keys, t), append(lexicons, l)
		}
		g, err := newGrouper(keys, lexicons, nil, 0, &env)
		if err != nil {
			return nil, err
		}
		if a.sets == nil {
			g.aside = d.aside
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
		b = p.a.compact(b)
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

// compact is Batch.Compact for the columns that are used.
func (a *aggregation) compact(b *vector.Batch) *vector.Batch {
	out := &vector.Batch{N: len(b.Sel), Cols: make([]*vector.Vector, len(b.Cols))}
	use := func(c int) {
		if c >= 0 && out.Cols[c] == nil {
			out.Cols[c] = b.Cols[c].Gather(b.Sel)
		}
	}
	for _, k := range a.node.Keys {
		use(k)
	}
	for _, c := range a.node.Aggs {
		use(c.Filter)
		for _, arg := range c.Args {
			use(arg)
		}
	}
	return out
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
		if err := p.distinct[i].meet(cols, n); err != nil {
			return err
		}
	}
	return nil
}

// addPlain folds a batch into the calls without DISTINCT.
func (p *partialGroups) addPlain(keys []*vector.Vector, b *vector.Batch) error {
	if s := p.main.scatter; s != nil {
		return s.add(keys, b.Cols, b.N)
	}
	groups := p.main.find(keys, b.N)
	for _, i := range p.a.plain {
		call := &p.a.node.Aggs[i]
		p.args = p.args[:0]
		for _, arg := range call.Args {
			p.args = append(p.args, b.Cols[arg])
		}
		if err := update(p.main.states[i], p.args, groups, b, call.Filter); err != nil {
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
func update(s agg.State, args []*vector.Vector, groups []uint32, b *vector.Batch, filter int) error {
	if filter < 0 {
		return s.Update(args, groups, b.N)
	}
	rows := trueRows(b.Cols[filter], b.N)
	switch len(rows) {
	case 0:
		return nil
	case b.N:
		return s.Update(args, groups, b.N)
	}
	few := make([]*vector.Vector, len(args))
	for i, a := range args {
		few[i] = a.Gather(rows)
	}
	var some []uint32
	if groups != nil {
		some = make([]uint32, len(rows))
		for i, r := range rows {
			some[i] = groups[r]
		}
	}
	return s.Update(few, some, len(rows))
}

// trueRows returns the rows in which a BOOLEAN column is true.
func trueRows(v *vector.Vector, n int) []uint32 {
	rows := make([]uint32, 0, n)
	for i := range n {
		if !v.IsNull(i) && v.LongAt(i) > 0 {
			rows = append(rows, uint32(i))
		}
	}
	return rows
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
					g.table.settleMet()
				}
			}
			return nil
		}); err != nil {
			return nil, err
		}
		if done, err := a.countMet(mains[0], sets, d); done || err != nil {
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
