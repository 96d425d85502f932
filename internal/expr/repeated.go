package expr

import (
	"hash/maphash"
	"math"

	"github.com/hengedb/henge/internal/vector"
)

// repeats are the expressions that a list of expressions has several times and that are worth
// computing once.
type repeats struct {
	facts map[Expr]repeatFacts
	byKey map[uint64][]*repeat
	of    map[Expr]*repeat
}

// repeat is an expression, all places of which share one result for the rows of a batch.
type repeat struct {
	e     Expr
	times int
	node  *sharedNode // nil: not compiled yet
}

// repeatFacts say of an expression what decides whether its places share a result.
type repeatFacts struct {
	key    uint64 // equal of equal expressions
	weight int    // how many functions and casts it has
	pure   bool   // equal rows give equal results, and some column or list is looked at
}

// sharedWeight is from how many operators on an expression of numbers is shared: fewer are
// computed as fast as their result is found again.
const sharedWeight = 4

var repeatSeed = maphash.MakeSeed()

// findRepeats returns what list has several times, nil if there is nothing to share.
func findRepeats(list []Expr) *repeats {
	r := &repeats{facts: map[Expr]repeatFacts{}, byKey: map[uint64][]*repeat{}, of: map[Expr]*repeat{}}
	several := false
	for _, e := range list {
		r.factsOf(e)
		several = r.count(e) || several
	}
	if !several {
		return nil
	}
	return r
}

// count counts the expressions of e and reports whether one came before. What is below an
// expression that came before is not counted: it is computed with it. Bodies of loops are left out,
// since they are about the elements of a list.
func (r *repeats) count(e Expr) (several bool) {
	if r.shares(e) {
		if r.met(e) {
			return true
		}
	}
	below := func(x Expr) {
		if x != nil {
			several = r.count(x) || several
		}
	}
	switch x := e.(type) {
	case *Each:
		below(x.Source)
	case *Any:
		below(x.Source)
	case *Loop:
		for _, l := range x.Lists {
			below(l)
		}
		below(x.Initial)
	default:
		mapOperands(e, func(x Expr) Expr {
			below(x)
			return x
		})
	}
	return several
}

// met notes a place of e and reports whether there was one before.
func (r *repeats) met(e Expr) bool {
	if before := r.of[e]; before != nil {
		before.times++
		return true
	}
	key := r.factsOf(e).key
	for _, before := range r.byKey[key] {
		if Equal(before.e, e) {
			before.times++
			r.of[e] = before
			return true
		}
	}
	first := &repeat{e: e, times: 1}
	r.of[e], r.byKey[key] = first, append(r.byKey[key], first)
	return false
}

// shares reports whether places of e are worth to share a result: it looks at texts, lists or
// nested data, calls a function by name, or has several operators. Conditions have faster ways than
// their values; what is below them is shared.
func (r *repeats) shares(e Expr) bool {
	switch x := e.(type) {
	case *Call:
		if _, compares := comparisonOf(x.Fn); compares || isCheap(x.Fn.Entry()) {
			return false
		}
	case *Cast, *Case, *Each, *Any, *Loop:
	default:
		return false
	}
	f := r.factsOf(e)
	return f.pure && f.weight >= sharedWeight
}

func isCheap(fn *Function) bool {
	switch fn {
	case isNullFunction, isNotNullFunction, isTrueFunction, isFalseFunction, isNotTrueFunction, isNotFalseFunction, CoalesceFunction:
		return true
	}
	return false
}

func (r *repeats) factsOf(e Expr) repeatFacts {
	switch x := e.(type) {
	case *Column:
		return repeatFacts{key: mix(1, uint64(x.Index)), pure: true}
	case *Literal:
		return repeatFacts{key: mix(2, hashOf(x.Value))}
	case *Element:
		return repeatFacts{key: mix(3, uint64(x.Depth))}
	}
	if f, ok := r.facts[e]; ok {
		return f
	}
	f := repeatFacts{}
	volatile := false
	mapOperands(e, func(x Expr) Expr {
		of := r.factsOf(x)
		f.key = mix(f.key, of.key)
		f.weight = min(f.weight+of.weight, sharedWeight)
		f.pure = f.pure || of.pure
		volatile = volatile || of.key == volatileKey
		if _, below := x.(*Element); below || x.Type().Runtime().IsNumeric() {
			return x
		}
		switch e.(type) {
		case *Call, *Cast:
			f.weight = sharedWeight
		}
		return x
	})
	switch x := e.(type) {
	case *Call:
		f.key = mix(mix(f.key, 4), maphash.String(repeatSeed, x.Fn.Entry().Name))
		volatile = volatile || x.Fn.Volatile
		f.weight++
		if c := x.Fn.Name[0]; c >= 'A' && c <= 'Z' || c == '$' {
			f.weight = sharedWeight
		}
	case *Cast:
		f.key = mix(mix(f.key, 5), uint64(x.T.Base))
		f.weight++
	case *Case:
		f.key = mix(f.key, 6)
		f.weight++
	case *In:
		f.key = mix(mix(f.key, 7), uint64(len(x.Values)))
		if len(x.Values) > 0 {
			f.key = mix(f.key, hashOf(x.Values[0]))
		}
	case *Each, *Any, *Loop:
		f.key = mix(f.key, 8)
		f.weight = sharedWeight
	case *And:
		f.key = mix(f.key, 9)
	case *Or:
		f.key = mix(f.key, 10)
	}
	if !e.Type().Runtime().IsNumeric() {
		f.weight = sharedWeight
	}
	if volatile {
		f.key, f.pure = volatileKey, false
	}
	r.facts[e] = f
	return f
}

// volatileKey is the key of everything that has a volatile function in it.
const volatileKey = 0

func mix(h, x uint64) uint64 {
	h = (h ^ x + 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd
	return max(h^h>>32, 1)
}

func hashOf(value any) uint64 {
	switch x := value.(type) {
	case string:
		return maphash.String(repeatSeed, x)
	case int64:
		return uint64(x)
	case float64:
		if x != x {
			return 1
		}
		return math.Float64bits(x)
	case []any:
		return uint64(len(x))
	}
	return 0
}

// sharedNode computes an expression once for the rows of a frame, wherever the statement has it.
// It is evaluated for no row for which none of its places is: a place takes the rows it wants of
// what was computed for the frames around, or computes them.
type sharedNode struct{ in node }

// sharedPart is the value of a shared expression for some rows of a frame.
type sharedPart struct {
	rows []uint32 // ascending; nil: all
	v    *vector.Vector
}

func (n *sharedNode) eval(f *frame) (*vector.Vector, error) {
	f = f.around()
	if v := n.known(f); v != nil {
		return v, nil
	}
	v, err := n.in.eval(f)
	if err != nil {
		return nil, err
	}
	f.share(n, nil, v)
	if f.parent != nil {
		f.parent.around().share(n, f.sel, v)
	}
	return v, nil
}

// known returns the value for the rows of f if it was computed for them, else nil.
func (n *sharedNode) known(f *frame) *vector.Vector {
	have, some := f.shared[n]
	if some && have.rows == nil {
		return have.v
	}
	if f.parent == nil {
		return nil
	}
	outer := f.parent.around()
	var v *vector.Vector
	if whole := n.known(outer); whole != nil {
		v = whole.Gather(f.sel)
	} else if part, ok := outer.shared[n]; ok {
		places := placesOf(f.sel, part.rows)
		if places == nil {
			return nil
		}
		v = part.v.Gather(places)
	} else {
		return nil
	}
	f.share(n, nil, v)
	return v
}

// placesOf returns where each of rows is in among, both ascending, and nil if one is not there.
func placesOf(rows, among []uint32) []uint32 {
	if len(rows) > 0 && (len(among) == 0 || rows[0] < among[0]) {
		return nil
	}
	out, at := make([]uint32, len(rows)), 0
	for i, r := range rows {
		for at < len(among) && among[at] < r {
			at++
		}
		if at == len(among) || among[at] != r {
			return nil
		}
		out[i] = uint32(at)
	}
	return out
}

// around returns the frame of the same rows without elements, which shared expressions don't look
// at.
func (f *frame) around() *frame {
	for f.same {
		f = f.parent
	}
	return f
}

// share keeps the value of n for rows of f, nil: all, in place of what it has for fewer. The rows
// are copied: whoever has named them may use their memory again.
func (f *frame) share(n *sharedNode, rows []uint32, v *vector.Vector) {
	if f.shared == nil {
		f.shared = map[*sharedNode]sharedPart{}
	}
	if rows != nil {
		rows = append(make([]uint32, 0, len(rows)), rows...)
	}
	f.shared[n] = sharedPart{rows: rows, v: v}
}

// compileShared compiles an expression that comes several times, at its first place.
func (c *compiler) compileShared(r *repeat) (node, error) {
	if r.node != nil {
		return r.node, nil
	}
	ctx, inDict, made := c.ctx, c.inDict, c.made
	kept := *ctx
	kept.Reuse = false // one result is looked at while the next is computed for other rows
	c.ctx, c.inDict, c.made = &kept, false, c.madeShared
	in, err := c.compileAlone(r.e)
	c.ctx, c.inDict, c.made = ctx, inDict, made
	if err != nil {
		return nil, err
	}
	r.node = &sharedNode{in: in}
	return r.node, nil
}
