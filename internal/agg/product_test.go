package agg

import "github.com/hengedb/henge/internal/vector"

// Product is an aggregate that Henge does not have: one literal and one State. AGENTS.md shows it
// as the example of a new aggregate.
var Product = &Function{
	Name: "PRODUCT", Doc: "Returns the product of the values.",
	Signature: "'PRODUCT(<NUMERIC>)'", MinArgs: 1, MaxArgs: 1, Casts: ToDouble, MergedBy: "PRODUCT",
	result: always(vector.Double), partial: one(vector.Double),
	create: func(Spec) State { return &productState{} },
}

type productState struct {
	product []float64
	seen    []bool
}

func (s *productState) Grow(n int) { s.product, s.seen = grown(s.product, n), grown(s.seen, n) }

func (s *productState) Update(args []*vector.Vector, groups []uint32, n int) error {
	v := args[0].Flat()
	for i := range n {
		if v.IsNull(i) {
			continue
		}
		g := group(groups, i)
		if !s.seen[g] {
			s.product[g], s.seen[g] = 1, true
		}
		s.product[g] *= v.Doubles[i]
	}
	return nil
}

// Merge is Update: the intermediate value of a product is a product.
func (s *productState) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	return s.Update(parts, groups, n)
}

func (s *productState) Partial(lo, hi int) []*vector.Vector {
	v := vector.FromDoubles(copied(s.product, lo, hi))
	v.Valid = validOf(s.seen[lo:hi])
	return []*vector.Vector{v}
}

func (s *productState) Final(lo, hi int) (*vector.Vector, error) { return s.Partial(lo, hi)[0], nil }

func (s *productState) Bytes() int64 { return 8*int64(cap(s.product)) + int64(cap(s.seen)) }
