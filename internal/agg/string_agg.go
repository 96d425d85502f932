package agg

import "github.com/hengedb/henge/internal/vector"

var stringAgg = &Function{
	Name: "STRING_AGG", Aliases: []string{"LISTAGG"}, Doc: "Concatenates the strings that are not NULL, with a separator. " +
		"Multi-value strings contribute each value.",
	Signature: "'STRING_AGG(<expr>, <separator>)'\n'STRING_AGG(<expr>, <separator>, <maxSizeBytes>)'",
	MinArgs:   1, MaxArgs: 1, MaxParams: 2, InOrder: true, SortedForm: "STRING_AGG_DISTINCT_VALUES",
	Gives: GivesOwn, ParamKinds: []ParamKind{TextParam, LongParam}, Native: NativeForm{Kind: NativeText},
	Casts: ToText, TakesSeveral: true,
	check: func(s Spec) error {
		t := s.Args[0]
		if t.Kind == vector.KindList {
			t = t.Elem()
		}
		if t.Kind != vector.KindString {
			return badType(s, 0)
		}
		return s.sizeParam(1)
	},
	result: always(vector.String), partial: one(vector.String),
	create: func(s Spec) State {
		return &joinState{name: s.Name, separator: s.textParam(0, ""), max: s.longParam(1, defaultMaxBytes)}
	},
}

// joinState grows one text per group. The intermediate form is the text so far.
type joinState struct {
	name, separator string
	max             int64
	texts           [][]byte
	seen            []bool
	heap            int64
}

func (s *joinState) Grow(n int) { s.texts, s.seen = grown(s.texts, n), grown(s.seen, n) }

func (s *joinState) Update(args []*vector.Vector, groups []uint32, n int) error {
	return textsByGroup(args[0], groups, n, s.append)
}

// textsByGroup calls add with the group and each text of n rows, those of lists too.
func textsByGroup(v *vector.Vector, groups []uint32, n int, add func(group uint32, text string) error) error {
	for i := range n {
		if v.IsNull(i) {
			continue
		}
		g := group(groups, i)
		if err := eachText(v, i, func(text string) error { return add(g, text) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *joinState) append(g uint32, text string) error {
	before := cap(s.texts[g])
	if s.seen[g] {
		s.texts[g] = append(s.texts[g], s.separator...)
	}
	s.texts[g], s.seen[g] = append(s.texts[g], text...), true
	s.heap += int64(cap(s.texts[g]) - before)
	if int64(len(s.texts[g])) > s.max {
		return tooLarge(s.name, s.max)
	}
	return nil
}

func (s *joinState) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	return s.Update(parts, groups, n)
}

func (s *joinState) Partial(lo, hi int) []*vector.Vector {
	out := make([]string, hi-lo)
	for i := range out {
		out[i] = string(s.texts[lo+i])
	}
	v := vector.FromStrings(out)
	v.Valid = validOf(s.seen[lo:hi])
	return []*vector.Vector{v}
}

func (s *joinState) Final(lo, hi int) (*vector.Vector, error) { return s.Partial(lo, hi)[0], nil }

func (s *joinState) Bytes() int64 { return 24*int64(cap(s.texts)) + int64(cap(s.seen)) + s.heap }
