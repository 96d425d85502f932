package agg

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/vector"
)

// stringAggDistinct runs STRING_AGG(DISTINCT x) of lists, which is about their values, and over a
// window.
var stringAggDistinct = &Function{
	Name: "STRING_AGG_DISTINCT_VALUES", Doc: "Joins the different values of lists, in order, with the separator between them.", Internal: true,
	Signature: "'STRING_AGG_DISTINCT_VALUES(<ARRAY>, <separator>)'", MinArgs: 1, MaxArgs: 1, MaxParams: 2, Duplicates: true,
	check: func(s Spec) error {
		if t := s.Args[0]; t != vector.String && t != vector.ListOf(vector.String) {
			return badType(s, 0)
		}
		return s.sizeParam(1)
	},
	result: always(vector.String), partial: one(vector.ListOf(vector.String)),
	create: func(s Spec) State {
		return &textsState{name: "STRING_AGG", separator: s.textParam(0, ""), max: s.longParam(1, defaultMaxBytes)}
	},
}

// textsState keeps the different texts of each group. The intermediate form is a list of them, null
// of a group without any.
type textsState struct {
	name, separator string
	max             int64
	sets            []map[string]struct{}
	sizes           []int64 // by group, in bytes
	heap            int64
}

func (s *textsState) Grow(n int) { s.sets, s.sizes = grown(s.sets, n), grown(s.sizes, n) }

func (s *textsState) Update(args []*vector.Vector, groups []uint32, n int) error {
	return textsByGroup(args[0], groups, n, s.add)
}

func (s *textsState) add(g uint32, text string) error {
	if _, known := s.sets[g][text]; known {
		return nil
	}
	if s.sets[g] == nil {
		s.sets[g] = map[string]struct{}{}
	}
	s.sets[g][strings.Clone(text)] = struct{}{}
	if s.sizes[g] > 0 {
		s.sizes[g] += int64(len(s.separator))
	}
	s.sizes[g] += int64(len(text))
	s.heap += int64(len(text)) + 48
	if s.sizes[g] > s.max {
		return tooLarge(s.name, s.max)
	}
	return nil
}

func (s *textsState) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	return s.Update(parts, groups, n)
}

// texts returns those of a group in order.
func (s *textsState) texts(g int) []string {
	out := make([]string, 0, len(s.sets[g]))
	for text := range s.sets[g] {
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

func (s *textsState) Partial(lo, hi int) []*vector.Vector {
	b := vector.NewBuilder(vector.ListOf(vector.String), hi-lo)
	for g := lo; g < hi; g++ {
		if s.sets[g] == nil {
			b.AppendNull()
			continue
		}
		for _, text := range s.texts(g) {
			b.Child().AppendString(text)
		}
		b.AppendList()
	}
	return []*vector.Vector{b.Build()}
}

func (s *textsState) Final(lo, hi int) (*vector.Vector, error) {
	b := vector.NewBuilder(vector.String, hi-lo)
	for g := lo; g < hi; g++ {
		if s.sets[g] == nil {
			b.AppendNull()
		} else {
			b.AppendString(strings.Join(s.texts(g), s.separator))
		}
	}
	return b.Build(), nil
}

func (s *textsState) Bytes() int64 { return 8*int64(cap(s.sets)+cap(s.sizes)) + s.heap }
