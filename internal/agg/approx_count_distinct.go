package agg

import (
	"math"

	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// HyperUniqueType is the type of stored and intermediate hyperUnique sketches.
var HyperUniqueType = vector.ComplexOf("hyperUnique")

var approxCountDistinct = &Function{
	Name: "APPROX_COUNT_DISTINCT", Aliases: []string{"APPROX_COUNT_DISTINCT_BUILTIN"},
	Doc:       "Estimates the number of distinct values with a standard error of 2.3 %. Also reads hyperUnique columns.",
	Signature: "'APPROX_COUNT_DISTINCT(<STRING>)'\n'APPROX_COUNT_DISTINCT(<NUMERIC>)'\n'APPROX_COUNT_DISTINCT(COMPLEX<hyperUnique>)'",
	MinArgs:   1, MaxArgs: 1, EmptyIsZero: true, Duplicates: true, CountsDifferent: true, Native: NativeForm{Kind: NativeCardinality},
	check:  countable,
	result: always(vector.Long), partial: one(HyperUniqueType),
	create: func(s Spec) State {
		return &hyperState{text: sketch.ObserveChars, held: s.Merging == MergedNot}
	},
}

// hyperUnique is the metric of the same name: its result stays a sketch.
var hyperUnique = &Function{
	Name: "HYPER_UNIQUE", Doc: "Builds a hyperUnique sketch, which APPROX_COUNT_DISTINCT reads.",
	Signature: "'HYPER_UNIQUE(<ANY>)'", MinArgs: 1, MaxArgs: 1, MaxParams: 1, Duplicates: true,
	check:  countable,
	result: always(HyperUniqueType), partial: one(HyperUniqueType),
	create: func(s Spec) State {
		text := sketch.ObserveText
		if len(s.Params) > 0 { // values of several columns
			text = sketch.ObserveMarked
		}
		return &hyperState{text: text, keep: true}
	},
}

func countable(s Spec) error {
	if s.Args[0].Kind == vector.KindComplex && s.Args[0] != HyperUniqueType {
		return badType(s, 0)
	}
	return nil
}

// hyperState keeps a sketch per group. Of a dictionary every entry is hashed once.
type hyperState struct {
	text     func(string) sketch.Observation
	keep     bool // Final gives the sketch
	held     bool // sketches are estimated as those that are not passed on
	sketches []sketch.HyperUnique
	heap     int64

	dict    *vector.Dict
	entries []sketch.Observation // by code of dict; unhashed: not yet
	scratch []sketch.Observation // memory for entries of our own
	seen    int                  // rows met with dict
	// shared remembers entries beyond this state, nil: nobody does; complete says that entries are
	// from there, and lack none.
	shared   *Observations
	complete bool
}

// Remember implements Remembering for the sketches that read text as SQL does.
func (s *hyperState) Remember(o *Observations) {
	if !s.keep {
		s.shared = o
	}
}

// unhashed is no observation that hashing gives: its bucket is out of range. It lies above all that
// are.
const unhashed = ^sketch.Observation(0)

// hashAhead is the size up to which the observations of a dictionary are kept.
const hashAhead = 1 << 22

func (s *hyperState) Grow(n int) { s.sketches = grown(s.sketches, n) }

func (s *hyperState) add(g uint32, o sketch.Observation) {
	h := &s.sketches[g]
	if h.Holds(o) {
		return
	}
	before := h.Bytes()
	h.Add(o)
	s.heap += h.Bytes() - before
}

func (s *hyperState) Update(args []*vector.Vector, groups []uint32, n int) error {
	v := args[0]
	if v.Type == HyperUniqueType {
		return s.Merge(args, groups, n)
	}
	switch {
	case v.Type.Kind == vector.KindString && v.Dict != nil && !v.Const && v.Dict.Len() <= hashAhead:
		s.use(v.Dict, n)
		s.addCodes(v, groups, n)
	default:
		if v.Const && groups == nil {
			n = min(n, 1)
		}
		for i := range n {
			s.observe(v, i, group(groups, i))
		}
	}
	return nil
}

// addCodes adds the entries that n rows of v name. Most of them change nothing whatever their group
// once there are many.
func (s *hyperState) addCodes(v *vector.Vector, groups []uint32, n int) {
	entries, floor := s.entries, s.floor()
	for i, c := range v.Codes[:n] {
		o := entries[c]
		if o < floor || !v.Valid.Get(i) {
			continue
		}
		if o == unhashed {
			o = s.text(v.Dict.Value(c))
			entries[c] = o
		}
		s.add(group(groups, i), o)
	}
}

// floorGroups is up to how many groups their least floor is looked for with each batch.
const floorGroups = 512

// floor returns an observation below which none changes the sketch of any group.
func (s *hyperState) floor() sketch.Observation {
	if len(s.sketches) > floorGroups {
		return 0
	}
	least := unhashed
	for i := range s.sketches {
		least = min(least, s.sketches[i].Floor())
	}
	return least
}

const (
	// observeShare says how many entries a dictionary may have, for each row met with it, so that all
	// are hashed for later queries.
	observeShare = 8
	// observeMost bounds the entries that are hashed at once: nothing can interrupt that.
	observeMost = 1 << 20
)

// use makes entries those of d, of which n rows follow.
func (s *hyperState) use(d *vector.Dict, n int) {
	if s.dict != d {
		s.dict, s.entries, s.seen = d, s.shared.known(d), 0
		s.complete = s.entries != nil
	}
	s.seen += n
	if s.complete {
		return
	}
	if s.shared != nil && d.Sorted && d.Len() <= min(observeShare*s.seen, observeMost) {
		if all := s.shared.of(d); all != nil {
			s.entries, s.complete = all, true
			return
		}
	}
	if s.entries == nil {
		s.scratch = grown(s.scratch[:0], d.Len())
		s.entries = s.scratch
		for i := range s.entries {
			s.entries[i] = unhashed
		}
	}
}

// observe adds row i of v; the elements of a list count one by one.
func (s *hyperState) observe(v *vector.Vector, i int, g uint32) {
	if v.IsNull(i) {
		return
	}
	switch v.Type.Kind {
	case vector.KindLong:
		s.add(g, sketch.ObserveLong(v.LongAt(i)))
	case vector.KindDouble:
		s.add(g, sketch.ObserveDouble(v.DoubleAt(i)))
	case vector.KindFloat:
		s.add(g, sketch.ObserveFloat(float32(v.DoubleAt(i))))
	case vector.KindString:
		s.add(g, s.text(v.StringAt(i)))
	case vector.KindList:
		for lo, hi := v.ListAt(i); lo < hi; lo++ {
			s.observe(v.Child, lo, g)
		}
	}
}

func (s *hyperState) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	v := parts[0]
	for i := range n {
		if v.IsNull(i) {
			continue
		}
		o, err := sketch.ParseHyperUnique(v.StringAt(i))
		if err != nil {
			return err
		}
		h := &s.sketches[group(groups, i)]
		before := h.Bytes()
		h.Merge(o)
		s.heap += h.Bytes() - before
	}
	return nil
}

// Absorb implements Absorbing.
func (s *hyperState) Absorb(o State, from, groups []uint32) {
	theirs := o.(*hyperState).sketches
	for i, g := range groups {
		h := &s.sketches[g]
		before := h.Bytes()
		h.Merge(&theirs[from[i]])
		s.heap += h.Bytes() - before
	}
}

func (s *hyperState) Partial(lo, hi int) []*vector.Vector {
	return []*vector.Vector{s.written(lo, hi, (*sketch.HyperUnique).AppendWhole)}
}

func (s *hyperState) written(lo, hi int, form func(*sketch.HyperUnique, []byte) []byte) *vector.Vector {
	b := vector.NewBuilder(HyperUniqueType, hi-lo)
	var buf []byte
	for g := lo; g < hi; g++ {
		buf = form(&s.sketches[g], buf[:0])
		b.AppendString(string(buf))
	}
	return b.Build()
}

func (s *hyperState) Final(lo, hi int) (*vector.Vector, error) {
	if s.keep {
		return s.written(lo, hi, (*sketch.HyperUnique).AppendBinary), nil
	}
	out, estimate := make([]int64, hi-lo), (*sketch.HyperUnique).Estimate
	if s.held {
		estimate = (*sketch.HyperUnique).EstimateHeld
	}
	for i := range out {
		if e := math.Round(estimate(&s.sketches[lo+i])); e < math.MaxInt64 {
			out[i] = int64(e)
		} else {
			out[i] = math.MaxInt64
		}
	}
	return vector.FromLongs(out), nil
}

func (s *hyperState) Bytes() int64 {
	return 64*int64(cap(s.sketches)) + s.heap + 4*int64(cap(s.scratch))
}
