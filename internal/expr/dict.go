package expr

import (
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// dictSource finds the one string column or element that e is a pure function of. Such an
// expression is evaluated once per dictionary entry. A bare source has nothing to gain.
func dictSource(e Expr) (Expr, bool) {
	switch e.(type) {
	case *Column, *Element, *Literal:
		return nil, false
	}
	if e.Type().Runtime().Kind == vector.KindList {
		return nil, false
	}
	var source Expr
	pure := true
	Walk(e, func(x Expr) bool {
		switch x := x.(type) {
		case *Column, *Element:
			if source != nil && !Equal(source, x) || x.Type().Runtime() != vector.String {
				pure = false
			}
			source = x
		case *Call:
			pure = pure && !x.Fn.Volatile
		case *Each, *Any, *Loop:
			pure = false
		}
		return pure
	})
	return source, pure && source != nil
}

// compileRemembered compiles an expression whose results are kept beyond a call, so that their
// memory is not used again.
func (c *compiler) compileRemembered(e Expr) (node, error) {
	outer, kept := c.ctx, *c.ctx
	kept.Reuse = false
	c.inDict, c.ctx = true, &kept
	inner, err := c.compileNode(e)
	c.inDict, c.ctx = false, outer
	return inner, err
}

func (c *compiler) compileDict(e Expr, source Expr) (node, error) {
	inner, err := c.compileRemembered(e)
	if err != nil {
		return nil, err
	}
	in, err := c.compileNode(source)
	if err != nil {
		return nil, err
	}
	n := &dictNode{inner: inner, source: in, nullable: source.Type().Nullable, reuse: c.ctx.Reuse}
	if x, ok := source.(*Column); ok {
		n.slot = c.slot(x.Index)
	} else {
		n.depth = source.(*Element).Depth
		n.slot = -1
	}
	return n, nil
}

// dictNode evaluates a function of one string over the entries of the dictionary it comes with, and
// remembers the results. Without a dictionary it evaluates over the rows.
type dictNode struct {
	inner  node
	source node
	slot   int // of the column, -1: the element of depth
	depth  int
	// nullable says that NULL is an entry, too: of texts that never are NULL it might break what the
	// types of functions promise.
	nullable bool
	seen     []*dictResults // most recent first
	reuse    bool
	memory   vector.Gatherer // of results, where it is used again
}

// dictResults are the results of a node for the entries of one dictionary. Entry dict.Len() is that
// of NULL.
type dictResults struct {
	dict    *vector.Dict
	rows    int            // rows met before the entries were evaluated
	batches int            // that they came in
	failed  bool           // some entry, perhaps of no row that counts, is an error
	values  *vector.Vector // nil: not evaluated yet; flat, or encoded with a dictionary of its own
	present *vector.Vector // those of the texts, if none of them is NULL; else nil
	truth   []bool         // for predicates: by entry
}

func (n *dictNode) eval(f *frame) (*vector.Vector, error) {
	v, err := n.source.eval(f)
	if err != nil {
		return nil, err
	}
	r := n.results(v, f)
	if r == nil {
		return n.inner.eval(f)
	}
	values := r.values
	if v.Valid == nil && r.present != nil {
		values = r.present
	}
	if n.reuse {
		return n.memory.Gather(values, entries(v)), nil
	}
	return values.Gather(entries(v)), nil
}

func (n *dictNode) filter(f *frame) ([]uint32, error) {
	v, err := n.source.eval(f)
	if err != nil {
		return nil, err
	}
	r := n.results(v, f)
	if r == nil {
		return filter(n.inner, f)
	}
	if r.truth == nil {
		r.truth = make([]bool, r.values.Len)
		for i := range r.truth {
			r.truth[i] = !r.values.IsNull(i) && r.values.LongAt(i) > 0
		}
	}
	out := make([]uint32, 0, v.Len)
	if v.Valid == nil {
		for i, c := range v.Codes[:v.Len] {
			if r.truth[c] {
				out = append(out, uint32(i))
			}
		}
		return out, nil
	}
	for i, c := range entries(v) {
		if r.truth[c] {
			out = append(out, uint32(i))
		}
	}
	return out, nil
}

// entries returns the entry of each row: its code, or that of NULL.
func entries(v *vector.Vector) []uint32 {
	if v.Valid == nil {
		return v.Codes[:v.Len]
	}
	out, null := make([]uint32, v.Len), uint32(v.Dict.Len())
	for i, c := range v.Codes[:v.Len] {
		if out[i] = c; !v.Valid.Get(i) {
			out[i] = null
		}
	}
	return out
}

// results returns the results for v's dictionary, or nil when the rows are to be evaluated one by
// one.
func (n *dictNode) results(v *vector.Vector, f *frame) *dictResults {
	if v.Dict == nil || v.Const || v.Valid != nil && !n.nullable {
		return nil
	}
	r := n.lookup(v.Dict)
	if r.failed {
		return nil
	}
	if r.values == nil {
		r.rows, r.batches = r.rows+v.Len, r.batches+1
		if size := v.Dict.Len(); size > dictFree && size > r.rows && size > r.toCome(v.Dict) {
			return nil
		}
		if r.values = n.evaluate(v.Dict, f); r.values == nil {
			r.failed = true
			return nil
		}
		if entries := v.Dict.Len(); !r.values.Const && r.values.Valid != nil && r.values.Valid.Count(entries) == entries {
			present := *r.values
			present.Valid = nil
			r.present = &present
		}
	}
	return r
}

// toCome estimates how many rows with entries of d there will be: as large a share of the column's
// as of the batches so far.
func (r *dictResults) toCome(d *vector.Dict) int {
	return int(float64(d.Rows) * float64(r.rows) / float64(r.batches*vector.BatchRows))
}

func (n *dictNode) lookup(d *vector.Dict) *dictResults {
	for i, r := range n.seen {
		if r.dict == d {
			copy(n.seen[1:i+1], n.seen[:i])
			n.seen[0] = r
			return r
		}
	}
	if len(n.seen) < maxDictCaches {
		n.seen = append(n.seen, nil)
	}
	copy(n.seen[1:], n.seen)
	n.seen[0] = &dictResults{dict: d}
	return n.seen[0]
}

// evaluate computes the entries of d and NULL, nil if some entry is an error: the error counts only
// if a row has that entry.
func (n *dictNode) evaluate(d *vector.Dict, f *frame) *vector.Vector {
	entries := all(d.Len() + one(n.nullable))
	in := vector.FromCodes(entries, d)
	if n.nullable {
		if entries[d.Len()] = 0; d.Len() == 0 {
			in.Dict = noText
		}
		in.Valid = vector.FullBitmap(len(entries))
		in.Valid.Clear(len(entries) - 1)
	}
	inner := &frame{n: len(entries), cols: make([]*vector.Vector, len(f.cols))}
	if n.slot >= 0 {
		inner.cols[n.slot] = in
	} else {
		inner.elems = make([]*vector.Vector, n.depth+1)
		inner.elems[n.depth] = in
		if n.depth == 0 {
			inner.elem = in
		}
	}
	out, err := n.inner.eval(inner)
	if err != nil {
		return nil
	}
	if out.Type == vector.String {
		return encode(out)
	}
	return out.Flat()
}

// noText stands for a dictionary without entries where the code of a null row must be within one.
var noText = vector.NewDict([]string{""})

// encode returns a string vector as codes into a dictionary of its distinct values. The bytes are
// copied, so that the results outlive the segment the strings came from.
func encode(v *vector.Vector) *vector.Vector {
	values := kernel.ColumnOf[string](v)
	codes, distinct := make([]uint32, v.Len), []string{}
	index := make(map[string]uint32, min(v.Len, 1<<10))
	last, lastCode := "", uint32(0) // neighbours in a dictionary often have equal results
	for i := range codes {
		if v.IsNull(i) {
			continue
		}
		s := values.At(i)
		if s == last && len(distinct) > 0 {
			codes[i] = lastCode
			continue
		}
		code, ok := index[s]
		if !ok {
			code = uint32(len(distinct))
			index[s] = code
			distinct = append(distinct, s)
		}
		codes[i] = code
		last, lastCode = s, code
	}
	if len(distinct) == 0 {
		distinct = append(distinct, "") // codes of null rows must be within the dictionary
	}
	out := vector.FromCodes(codes, vector.NewDict(distinct))
	if v.Valid != nil {
		if v.Const {
			out.Valid = vector.NewBitmap(v.Len)
			if v.Valid.Get(0) {
				out.Valid = nil
			}
		} else {
			out.Valid = v.Valid
		}
	}
	return out
}
