package exec

import (
	"context"
	"io"
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
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

	table   *keyTable // nil: no keys, one group
	states  []agg.State
	room    int // groups that the states have memory for: more double it
	account budget.Account
	files   *groupFiles // where it spills to
	// unfinished says that intermediate values are wanted in place of results.
	unfinished bool

	// aside says how rows can be put aside when there are many groups, nil: they can't. They are since
	// scatter is there.
	aside   *scatterable
	scatter *scatter
	rows    int // met so far
	// arguments is memory for those of a chunk of rows that were put aside.
	arguments []vector.Vector
	look      int // at how many groups to look again whether rows should be put aside
	lookNear  int // and whether keys are near each other
}

// newGrouper returns a grouper of no groups. Key columns may have lexicons; nil: none has.
func newGrouper(keys []vector.Type, lexicons []*lexicon, specs []agg.Spec, level int, env *Env) (*grouper, error) {
	g := &grouper{env: env, keys: keys, specs: specs, numeric: true, level: level, account: budget.NewAccount(env.Budget),
		files: newGroupFiles(env, level)}
	for _, s := range specs {
		types, err := s.IntermediateTypes()
		if err != nil {
			return nil, err
		}
		g.partial = append(g.partial, len(types))
		g.numeric = g.numeric && !slices.ContainsFunc(types, func(t vector.Type) bool { return !t.IsNumeric() })
	}
	if len(keys) > 0 {
		g.table = newKeyTable(keys, lexicons)
	}
	return g, g.restart()
}

// restart makes the states of no groups (of one, without keys).
func (g *grouper) restart() error {
	if g.table != nil {
		g.table.reset()
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
	before := g.table.len()
	groups := g.table.find(keys, n)
	g.grow(before)
	return groups
}

// sibling returns a grouper of no groups whose table has the same words for keys. It reserves no
// memory.
func (g *grouper) sibling() (*grouper, error) {
	o := &grouper{env: g.env, keys: g.keys, specs: g.specs, partial: g.partial, numeric: g.numeric, level: g.level, unfinished: g.unfinished,
		table: g.table.sibling(), files: newGroupFiles(g.env, g.level)}
	return o, o.makeStates()
}

// consider is told that n more rows were met, and looks for a quicker way to find groups when there
// are many: an array in place of hashing, or putting rows aside.
func (g *grouper) consider(n int) {
	g.rows += n
	if g.table == nil || g.scatter != nil {
		return
	}
	groups := g.table.len()
	many := g.aside != nil && groups >= max(g.look, g.env.many.aside)
	if !many && groups < max(g.lookNear, g.env.many.near) {
		return
	}
	g.lookNear = 2 * groups
	_, span := g.table.nearness()
	switch cached := span > 0 && span*(4+8*len(g.states)) <= g.env.many.cache; {
	case cached:
		g.look = 2 * groups
	case many && g.putAside(span > 0):
		return
	}
	g.table.approach(g.env.Budget.Free())
}

// putAside begins to put rows aside, whose keys may be near each other, if that is quicker.
func (g *grouper) putAside(near bool) bool {
	if len(g.keys) == 1 && !g.table.cols[0].isNumber() || !g.table.sharesWords() {
		g.aside = nil // an array by word does better, or words mean nothing elsewhere
		return false
	}
	if g.rows > scatterRepeats*g.table.len() {
		g.look = 2 * g.table.len()
		return false
	}
	g.scatter = newScatter(g, g.aside, near)
	return true
}

// meet adds n rows of keys to a set of rows.
func (g *grouper) meet(keys []*vector.Vector, n int) error {
	if g.scatter != nil {
		return g.scatter.add(keys, nil, n)
	}
	if !g.table.meet(keys, n) {
		g.find(keys, n)
		g.consider(n)
	}
	return nil
}

// grow makes room in the states when there are more groups than before.
func (g *grouper) grow(before int) {
	if after := g.table.len(); after != before {
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
	return g.table.len()
}

// bytes returns the memory held.
func (g *grouper) bytes() int64 {
	n := int64(0)
	if g.table != nil {
		n = g.table.bytes()
	}
	for _, s := range g.states {
		n += s.Bytes()
	}
	if g.scatter != nil {
		n += g.scatter.bytes()
	}
	return n
}

// smallTable is up to how many bytes of groups growth is not reserved before it happens: a worker
// takes no more than a few of these.
const smallTable = 1 << 20

// ahead returns how much more memory the groups may take while n more are added. What has no room
// for them is there twice while it grows, and twice as large afterwards.
func (g *grouper) ahead(n int) int64 {
	if g.table == nil || g.bytes() < smallTable {
		return 0
	}
	more := g.table.ahead(n)
	if g.table.len()+n > g.room {
		for _, s := range g.states {
			more += 2 * s.Bytes()
		}
	}
	return more
}

// fits reserves what the groups take and what the next rows may add; false says that they do not
// fit.
func (g *grouper) fits() bool {
	if g.table != nil && g.table.full() {
		return false
	}
	return g.account.TrySet(g.bytes() + g.ahead(absorbRows))
}

// fit reserves, spills if that fails, and refuses if even that is of no use.
func (g *grouper) fit(ctx context.Context) error {
	if g.fits() {
		return nil
	}
	return g.spill(ctx)
}

// maxSpillLevel bounds how often a partition is split again: each level takes four bits of the
// hash.
const maxSpillLevel = 8

// spill writes all groups to the files and starts over.
func (g *grouper) spill(ctx context.Context) error {
	if g.table != nil {
		g.table.numberMet()
	}
	if g.table == nil || g.env.Spill == nil || g.level >= maxSpillLevel || g.table.len() == 0 && g.scatter == nil {
		return g.account.Set(g.bytes())
	}
	if err := g.files.write(ctx, g); err != nil {
		return err
	}
	if g.scatter != nil {
		if err := g.scatter.spill(ctx, g.files.write); err != nil {
			return err
		}
	}
	if err := g.restart(); err != nil {
		return err
	}
	if g.scatter != nil && !g.table.sharesWords() { // a lexicon was retired
		g.scatter, g.aside = nil, nil
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
	for lo := 0; lo < o.groups(); lo += absorbRows {
		if err := stop(ctx); err != nil {
			return err
		}
		if err := g.mergeFrom(ctx, o, lo, min(lo+absorbRows, o.groups()), nil); err != nil {
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
	case g.table.sameWords(o.table) && g.table.masked == o.table.masked:
		before := g.table.len()
		groups = g.table.findWords(o.table, lo, hi, rows)
		g.grow(before)
	default:
		groups = g.find(gathered(o.table.keys(lo, hi), rows), n)
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

// absorbRows is how many groups are handed from one table to another at once.
const absorbRows = 1 << 14

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
	g.table, g.states, g.scatter = nil, nil, nil
}

// groupsOp yields the groups in memory.
type groupsOp struct {
	g  *grouper
	lo int
}

func (o *groupsOp) Next(ctx context.Context) (*vector.Batch, error) {
	if err := stop(ctx); err != nil {
		return nil, err
	}
	hi := min(o.lo+o.g.env.BatchRows, o.g.groups())
	if o.lo >= hi {
		return nil, io.EOF
	}
	b := &vector.Batch{N: hi - o.lo}
	if o.g.table != nil {
		b.Cols = o.g.table.keys(o.lo, hi)
	}
	for _, s := range o.g.states {
		if o.g.unfinished {
			b.Cols = append(b.Cols, s.Partial(o.lo, hi)...)
			continue
		}
		v, err := s.Final(o.lo, hi)
		if err != nil {
			return nil, err
		}
		b.Cols = append(b.Cols, v)
	}
	o.lo = hi
	return b, nil
}

func (o *groupsOp) Close() { o.g.close() }
