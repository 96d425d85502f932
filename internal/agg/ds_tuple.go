package agg

import (
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// maxTupleArgs bounds the key and the values of a tuple sketch.
const maxTupleArgs = 1 + sketch.MaxTupleValues

// defaultTupleSize is the size of tuple sketches that do not give one: that of the library which
// Druid uses. See quirk Q008.
const defaultTupleSize = 4096

var dsTuple = &Function{
	Name: "DS_TUPLE_DOUBLES", Doc: "Builds a tuple sketch, which holds distinct keys with the sums of their numbers, or merges " +
		"tuple sketches.",
	Signature: "'DS_TUPLE_DOUBLES(<key>, <NUMERIC>, ...)'\n'DS_TUPLE_DOUBLES(<key>, <NUMERIC>, ..., <nominalEntries>)'\n" +
		"'DS_TUPLE_DOUBLES(<sketch>)'\n'DS_TUPLE_DOUBLES(<sketch>, <nominalEntries>)'",
	MinArgs: 1, MaxArgs: maxTupleArgs, MaxParams: 2, Sketch: true, Keyed: true, Finishes: FinishesUnlessAsked,
	check: func(s Spec) error {
		if _, err := s.tupleSize(); err != nil {
			return err
		}
		if w, err := s.wholeParam(1, 1); err != nil || w < 0 || w > sketch.MaxTupleValues {
			return fault.InvalidInput("A tuple sketch has from [1] to [%d] values per key", sketch.MaxTupleValues)
		}
		switch a := s.Args[0]; {
		case a == TupleType && len(s.Args) == 1:
		case len(s.Args) == 1:
			return fault.InvalidInput("Aggregation [%s] needs a number beside the key", s.Name)
		case a.Kind == vector.KindString, a.Kind == vector.KindList && a.Elem().Kind == vector.KindString:
		default:
			return badType(s, 0)
		}
		for i, a := range s.Args[1:] {
			if !a.IsNumeric() {
				return badType(s, i+1)
			}
		}
		return nil
	},
	result: always(TupleType), partial: one(TupleType),
	create: func(s Spec) State {
		size, _ := s.tupleSize() // checked
		width := len(s.Args) - 1
		if w, _ := s.wholeParam(1, 0); width == 0 {
			width = int(w) // 0: that of the first sketch
		}
		var chars []byte
		values := make([]float64, width)
		return newSketchState(sketchForm[*tupleGroup]{
			typ:   TupleType,
			fresh: func() (*tupleGroup, error) { return &tupleGroup{size: size, width: width}, nil },
			parse: func(p string) (*tupleGroup, error) {
				t, err := sketch.ParseTuple(p)
				return &tupleGroup{parsed: t}, err
			},
			add: func(u *tupleGroup, args []*vector.Vector, i int) error {
				for j := range values {
					values[j] = args[j+1].DoubleAt(i)
				}
				return eachText(args[0], i, func(x string) error {
					if x != "" {
						chars = append(chars[:0], x...)
						u.of(width).Add(sketch.HashText(chars), values)
					}
					return nil
				})
			},
			merge: func(into, from *tupleGroup) error { return into.of(from.parsed.Width()).Merge(from.parsed) },
			adopt: func(into, from *tupleGroup) error {
				if into.width == 0 && from.parsed.Empty() {
					into.hint = from.parsed.Width()
					return nil
				}
				return into.of(from.parsed.Width()).Adopt(from.parsed)
			},
			store: func(dst []byte, u *tupleGroup) ([]byte, error) {
				return u.of(max(u.hint, 1)).Result().AppendBinary(dst), nil
			},
			grouped: func(dst []byte, u *tupleGroup) ([]byte, error) {
				return u.of(max(u.hint, 1)).Again().AppendBinary(dst), nil
			},
		}.kept().of(s))
	},
}

// tupleSize is how many keys a tuple sketch keeps. One that only merges others may have any size.
func (s Spec) tupleSize() (int, error) {
	if len(s.Args) == 1 {
		return s.entries(defaultTupleSize, 1)
	}
	return s.entries(defaultTupleSize, leastKeys)
}

// tupleGroup is a group's union, or a sketch that was read and is about to be merged into one.
type tupleGroup struct {
	size, width int
	hint        int // values per key of an empty sketch, which says nothing about those of others
	union       *sketch.TupleUnion
	parsed      *sketch.Tuple
}

// of returns the union; it is made for width values per key, unless the call gives their number.
func (u *tupleGroup) of(width int) *sketch.TupleUnion {
	if u.union == nil {
		if u.width > 0 {
			width = u.width
		}
		u.union = sketch.NewTupleUnion(u.size, width)
	}
	return u.union
}

// Bytes returns the memory held.
func (u *tupleGroup) Bytes() int64 {
	if u.union == nil {
		return 48
	}
	return 48 + u.union.Bytes()
}
