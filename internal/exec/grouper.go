package exec

import (
	"context"
	"io"
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/exec/spill"
	"github.com/hengedb/henge/internal/vector"
)

// grouper is a table of groups: their keys and, per aggregate, a state with a value for each.
// Without aggregates it is a set of rows.
//
// When it does not fit in memory its groups are written to files (groupFiles), and it starts over
// empty. In the end each file is merged by a grouper of its own, which may do the same one level
// further down.
//
// A grouper belongs to one goroutine. Its files may be shared with those of other workers.
type grouper struct {
	env     *Env
	keys    []vector.Type
	specs   []agg.Spec
	partial []int // by aggregate: how many intermediate vectors it has
	numeric bool  // all of them have numbers
	level   int

	table   *keys.Table // nil: no keys, one group
	states  []agg.State
	room    int // groups that the states have memory for: more double it
	account budget.Account
	files   *groupFiles // where it spills to
	// unfinished says that intermediate values are wanted in place of results.
	unfinished bool

	// partitionable says how rows can be partitioned when there are many groups, nil: they can't. They
	// are since partitioner is set.
	partitionable *partitionable
	partitioner   *partitioner
	rows          int // seen so far
	// arguments is memory for the arguments of a chunk of partitioned rows.
	arguments []vector.Vector
	look      int // at how many groups to look again whether rows should be partitioned
	lookNear  int // and whether keys are near each other
}

// newGrouper returns a grouper of no groups. Key columns may have global dictionaries; nil: none
// has.
func newGrouper(columns []vector.Type, dicts []*keys.GlobalDict, specs []agg.Spec, level int, env *Env) (*grouper, error) {
	g := &grouper{env: env, keys: columns, specs: specs, numeric: true, level: level, account: budget.NewAccount(env.Budget),
		files: newGroupFiles(env, level)}
	for _, s := range specs {
		types, err := s.IntermediateTypes()
		if err != nil {
			return nil, err
		}
		g.partial = append(g.partial, len(types))
		g.numeric = g.numeric && !slices.ContainsFunc(types, func(t vector.Type) bool { return !t.IsNumeric() })
	}
	if len(columns) > 0 {
		g.table = keys.NewTable(columns, dicts)
	}
	return g, g.restart()
}

// restart makes the states of no groups (of one, without keys).
func (g *grouper) restart() error {
	if g.table != nil {
		g.table.Reset()
	}
	return g.makeStates()
}

func (g *grouper) makeStates() error {
	g.states, g.room = g.states[:0], 0
	for _, s := range g.specs {
		st, err := s.New()
		if err != nil {
			return err
		}
		if r, ok := st.(agg.Remembering); ok {
			r.Remember(g.env.Observations)
		}
		if g.table == nil {
			st.Grow(1)
		}
		g.states = append(g.states, st)
	}
	return nil
}

// find returns the groups of n rows, nil without keys, and makes room for new ones. The slice is
// valid until the next call.
func (g *grouper) find(keys []*vector.Vector, n int) []uint32 {
	if g.table == nil {
		return nil
	}
	before := g.table.Len()
	groups := g.table.Find(keys, n)
	g.grow(before)
	return groups
}

// sibling returns a grouper of no groups whose table has the same words for keys. It reserves no
// memory.
func (g *grouper) sibling() (*grouper, error) {
	o := &grouper{env: g.env, keys: g.keys, specs: g.specs, partial: g.partial, numeric: g.numeric, level: g.level, unfinished: g.unfinished,
		table: g.table.Sibling(), files: newGroupFiles(g.env, g.level)}
	return o, o.makeStates()
}

// clear drops all groups of a sibling and keeps its memory for others, reserved. It reports false
// if the grouper can't: it spilled, or has states of other kinds.
func (g *grouper) clear() bool {
	if g.files.used() || slices.ContainsFunc(g.states, func(s agg.State) bool { _, ok := s.(agg.Clearing); return !ok }) {
		return false
	}
	g.table.Clear()
	for _, s := range g.states {
		s.(agg.Clearing).Clear()
	}
	return true
}

// consider is called after n more rows, and looks for a quicker way to find groups when there
// are many: an array in place of hashing, or partitioned rows.
func (g *grouper) consider(n int) {
	g.rows += n
	if g.table == nil || g.partitioner != nil {
		return
	}
	groups := g.table.Len()
	many := g.partitionable != nil && groups >= max(g.look, g.env.many.partition)
	if !many && groups < max(g.lookNear, g.env.many.near) {
		return
	}
	g.lookNear = 2 * groups
	_, span := g.table.Nearness()
	switch cached := span > 0 && span*(4+8*len(g.states)) <= g.env.many.cache; {
	case cached:
		g.look = 2 * groups
	case many && g.startPartitioning(span > 0):
		return
	}
	g.table.Approach(g.env.Budget.Free())
}

// startPartitioning begins to partition rows, whose keys may be near each other, if that is
// quicker.
func (g *grouper) startPartitioning(near bool) bool {
	if len(g.keys) == 1 && !g.table.Cols[0].IsNumber() || !g.table.SharesWords() {
		g.partitionable = nil // an array by word does better, or words mean nothing elsewhere
		return false
	}
	if g.rows > partitionRepeatLimit*g.table.Len() {
		g.look = 2 * g.table.Len()
		return false
	}
	g.partitioner = newPartitioner(g, g.partitionable, near)
	return true
}

// addDistinct adds n rows of keys to a set of rows.
func (g *grouper) addDistinct(keys []*vector.Vector, n int) error {
	if g.partitioner != nil {
		return g.partitioner.add(keys, nil, n)
	}
	if !g.table.AddDistinct(keys, n) {
		g.find(keys, n)
		g.consider(n)
	}
	return nil
}

// grow makes room in the states when there are more groups than before.
func (g *grouper) grow(before int) {
	if after := g.table.Len(); after != before {
		for _, s := range g.states {
			s.Grow(after)
		}
		if after > g.room {
			g.room = max(after, 2*g.room)
		}
	}
}

// groups returns how many groups are in memory.
func (g *grouper) groups() int {
	if g.table == nil {
		return 1
	}
	return g.table.Len()
}

// bytes returns the memory held.
func (g *grouper) bytes() int64 {
	n := int64(0)
	if g.table != nil {
		n = g.table.Bytes()
	}
	for _, s := range g.states {
		n += s.Bytes()
	}
	if g.partitioner != nil {
		n += g.partitioner.bytes()
	}
	return n
}

// ahead returns how much more memory the groups may take while n more are added. What has no room
// for them is there twice while it grows, and twice as large afterwards.
func (g *grouper) ahead(n int) int64 {
	if g.table == nil || g.bytes() < keys.SmallTable {
		return 0
	}
	more := g.table.Ahead(n)
	if g.table.Len()+n > g.room {
		for _, s := range g.states {
			more += 2 * s.Bytes()
		}
	}
	return more
}

// fits reserves what the groups take and what the next rows may add; false says that they do not
// fit.
func (g *grouper) fits() bool {
	if g.table != nil && g.table.Full() {
		return false
	}
	return g.account.TrySet(g.bytes() + g.ahead(keys.AbsorbRows))
}

// fit reserves, spills if that fails, and refuses if even that is of no use.
func (g *grouper) fit(ctx context.Context) error {
	if g.fits() {
		return nil
	}
	return g.spill(ctx)
}

// maxSpillLevel bounds how often a partition is split again.
const maxSpillLevel = spill.MaxLevel

// spill writes all groups to the files and starts over.
func (g *grouper) spill(ctx context.Context) error {
	if g.table != nil {
		g.table.NumberDistinct()
	}
	if g.table == nil || g.env.Spill == nil || g.level >= maxSpillLevel || g.table.Len() == 0 && g.partitioner == nil {
		return g.account.Set(g.bytes())
	}
	if err := g.files.write(ctx, g); err != nil {
		return err
	}
	if g.partitioner != nil {
		if err := g.partitioner.spill(ctx, g.files.write); err != nil {
			return err
		}
	}
	if err := g.restart(); err != nil {
		return err
	}
	if g.partitioner != nil && !g.table.SharesWords() { // a global dictionary was retired
		g.partitioner, g.partitionable = nil, nil
	}
	return g.account.Set(g.bytes())
}

// each calls f with the groups in memory from lo up to, not including, hi, so many at a time, and
// their intermediate values.
func (g *grouper) each(rows int, f func(lo, hi int, parts []*vector.Vector) error) error {
	for lo := 0; lo < g.groups(); lo += rows {
		hi := min(lo+rows, g.groups())
		var parts []*vector.Vector
		for _, s := range g.states {
			parts = append(parts, s.Partial(lo, hi)...)
		}
		if err := f(lo, hi, parts); err != nil {
			return err
		}
	}
	return nil
}

// merge folds n rows of keys and intermediate values.
func (g *grouper) merge(keys, parts []*vector.Vector, n int) error {
	return g.mergeStates(parts, g.find(keys, n), n)
}

// mergeStates folds n rows of intermediate values into groups.
func (g *grouper) mergeStates(parts []*vector.Vector, groups []uint32, n int) error {
	for i, s := range g.states {
		if err := s.Merge(parts[:g.partial[i]], groups, n); err != nil {
			return err
		}
		parts = parts[g.partial[i]:]
	}
	return nil
}

// absorb takes over the groups that o has in memory, and empties it.
func (g *grouper) absorb(ctx context.Context, o *grouper) error {
	for lo := 0; lo < o.groups(); lo += keys.AbsorbRows {
		if err := stop(ctx); err != nil {
			return err
		}
		if err := g.mergeFrom(ctx, o, lo, min(lo+keys.AbsorbRows, o.groups()), nil); err != nil {
			return err
		}
	}
	o.account.Close()
	o.table, o.states = nil, nil
	return nil
}

// mergeFrom folds groups lo+rows[i] of o, or with rows nil all from lo up to, not including, hi.
func (g *grouper) mergeFrom(ctx context.Context, o *grouper, lo, hi int, rows []uint32) error {
	n := hi - lo
	if rows != nil {
		n = len(rows)
	}
	var groups []uint32
	switch {
	case g.table == nil:
	case g.table.SameWords(o.table) && g.table.Masked == o.table.Masked:
		before := g.table.Len()
		groups = g.table.FindWords(o.table, lo, hi, rows)
		g.grow(before)
	default:
		groups = g.find(gathered(o.table.Keys(lo, hi), rows), n)
	}
	var from []uint32
	for i, s := range g.states {
		if a, ok := s.(agg.Absorbing); ok && groups != nil {
			if from == nil {
				from = numbered(lo, hi, rows)
			}
			a.Absorb(o.states[i], from, groups)
			continue
		}
		if err := s.Merge(gathered(o.states[i].Partial(lo, hi), rows), groups, n); err != nil {
			return err
		}
	}
	return g.fit(ctx)
}

// numbered returns the numbers lo+rows[i], or with rows nil all from lo up to, not including, hi.
func numbered(lo, hi int, rows []uint32) []uint32 {
	if rows == nil {
		out := make([]uint32, hi-lo)
		for i := range out {
			out[i] = uint32(lo + i)
		}
		return out
	}
	out := make([]uint32, len(rows))
	for i, r := range rows {
		out[i] = uint32(lo) + r
	}
	return out
}

// gathered returns the given rows of cols, or with rows nil all.
func gathered(cols []*vector.Vector, rows []uint32) []*vector.Vector {
	if rows == nil {
		return cols
	}
	out := make([]*vector.Vector, len(cols))
	for i, c := range cols {
		out[i] = c.Gather(rows)
	}
	return out
}

// results returns the groups as batches of the keys and, per aggregate, the result. It ends the
// grouper's life apart from close.
func (g *grouper) results(ctx context.Context) (Operator, error) {
	if !g.files.used() {
		return &groupsOp{g: g}, nil
	}
	parts, err := spilledParts(ctx, []*grouper{g})
	if err != nil {
		return nil, err
	}
	return &partsOp{groupSource{parts: parts}}, nil
}

func (g *grouper) close() {
	g.account.Close()
	g.files.close()
	g.table, g.states, g.partitioner = nil, nil, nil
}

// groupsOp yields the groups in memory.
type groupsOp struct {
	g    *grouper
	lo   int
	top  *topKeys // see aggregateOp
	rows []uint32
}

func (o *groupsOp) narrowTop(k *topKeys) { o.top = k }

func (o *groupsOp) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if err := stop(ctx); err != nil {
			return nil, err
		}
		lo := o.lo
		hi := min(lo+o.g.env.BatchRows, o.g.groups())
		if lo >= hi {
			return nil, io.EOF
		}
		o.lo = hi
		if o.top == nil || !o.top.known.Load() {
			return o.batch(lo, hi, nil)
		}
		// The results tell which groups are left; keys are made of these only.
		by, err := o.g.states[o.top.column-len(o.g.keys)].Final(lo, hi)
		if err != nil {
			return nil, err
		}
		if o.rows = o.top.wanted(by, o.rows[:0]); len(o.rows) > 0 {
			return o.batch(lo, hi, o.rows)
		}
	}
}

// batch returns the groups lo+rows[i], or with rows nil all from lo up to, not including, hi.
func (o *groupsOp) batch(lo, hi int, rows []uint32) (*vector.Batch, error) {
	b := &vector.Batch{N: hi - lo}
	if rows != nil {
		b.N = len(rows)
	}
	switch {
	case o.g.table == nil:
	case rows != nil:
		b.Cols = o.g.table.KeysAt(lo, rows)
	default:
		b.Cols = o.g.table.Keys(lo, hi)
	}
	for _, s := range o.g.states {
		if o.g.unfinished {
			b.Cols = append(b.Cols, s.Partial(lo, hi)...)
			continue
		}
		v, err := s.Final(lo, hi)
		if err != nil {
			return nil, err
		}
		if rows != nil {
			v = v.Gather(rows)
		}
		b.Cols = append(b.Cols, v)
	}
	return b, nil
}

func (o *groupsOp) Close() { o.g.close() }
