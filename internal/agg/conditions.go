package agg

import "github.com/hengedb/henge/internal/vector"

var (
	countIf = &Function{
		Name: "COUNT_IF", Aliases: []string{"COUNTIF"}, Doc: "Counts the rows in which the condition is true.", Signature: "'COUNT_IF(<BOOLEAN>)'",
		MinArgs: 1, MaxArgs: 1, Casts: ToBoolean, EmptyIsZero: true, check: truths, result: always(vector.Long), partial: one(vector.Long),
		create: func(Spec) State { return &countIfState{} },
	}
	every = ofTruths("EVERY", "BOOL_AND", "Returns whether the condition is true in all rows. Rows where it is NULL "+
		"are ignored.", false)
	some = ofTruths("SOME", "BOOL_OR", "Returns whether the condition is true in at least one row.", true)
)

// ofTruths describes a function of booleans, which are 0 and 1, so that it is an extreme of theirs.
func ofTruths(name, alias, doc string, greatest bool) *Function {
	return &Function{
		Name: name, Aliases: []string{alias}, Doc: doc, Signature: "'" + name + "(<BOOLEAN>)'", MinArgs: 1, MaxArgs: 1, Casts: ToBoolean, Duplicates: true,
		check: truths, result: argType, partial: argTypes,
		create: func(Spec) State { return newExtreme(vector.Long, greatest) },
	}
}

func truths(s Spec) error {
	if s.Args[0].Kind != vector.KindLong {
		return badType(s, 0)
	}
	return nil
}

// countIfState counts what is true, and merges as a count.
type countIfState struct{ countState }

func (s *countIfState) Update(args []*vector.Vector, groups []uint32, n int) error {
	v := args[0]
	for i := range n {
		if !v.IsNull(i) && v.LongAt(i) != 0 {
			s.n[group(groups, i)]++
		}
	}
	return nil
}
