package ingest

// traits are what a field was seen to have, without how often: columns and their types depend on
// nothing else. A record that shows nothing new needs no second look.
type traits uint32

const (
	someField traits = 1 << iota // it was met, if only as null
	someLong
	someDouble
	someText
	someBoolean
	someObject
	someList
	someFlat    // a list without objects and lists in it
	someNumeral // the first text is a number
	// The kinds of elements of lists are those of values, so many bits higher.
	ofElements = 16
)

// Traits appends what each field was seen to have, in the order of Names.
func (s *Shape) Traits(dst []uint32) []uint32 {
	for i := range s.kinds {
		dst = append(dst, uint32(s.kinds[i].traits()))
	}
	return dst
}

func (k *Kinds) traits() traits {
	bits := someField
	for i, n := range [...]int{k.Longs, k.Doubles, k.Texts, k.Booleans, k.Objects, k.Lists, k.Flat, k.Numerals} {
		if n > 0 {
			bits |= someLong << i
		}
	}
	if k.Elements != nil {
		bits |= k.Elements.traits() << ofElements
	}
	return bits
}

// learn makes the scanner look for what a shape has not got.
func (s *jsonScanner) learn(shape *Shape) {
	s.learning = true
	for _, name := range shape.names {
		if s.names[name] == nil && len(s.names) < maxNames && len(name) <= maxNameBytes {
			s.names[name] = newJSONMember(name, -1, false)
		}
	}
	s.recall(shape)
}

// recall takes over what a shape has learnt.
func (s *jsonScanner) recall(shape *Shape) {
	for name, at := range shape.index {
		if m := s.names[name]; m != nil {
			m.known = shape.kinds[at].traits()
		}
	}
}

// familiar reports whether a field had values such as that of a token before.
func (s *jsonScanner) familiar(m *jsonMember, t *jsonToken, text []byte) bool {
	has := m.known
	switch t.kind {
	case jsonList:
		want := someField | someList | someFlat
		for i := t.from; i < t.to; i++ {
			e := &s.elems[i]
			switch {
			case e.kind != jsonNested:
				want |= e.traits() << ofElements
			case text[e.from] == '{':
				want = want&^someFlat | someObject<<ofElements
			default:
				want = want&^someFlat | someList<<ofElements
			}
		}
		return has&want == want
	case jsonNested:
		return s.familiarNested(has, t, text)
	}
	want := t.traits()
	return has&want == want
}

// familiarNested is familiar for an object, or a list that is not looked into. Where there were
// objects before, or lists with lists or objects, the type of the field is that of anything; what
// is left to know is whether it has a list without any.
func (s *jsonScanner) familiarNested(has traits, t *jsonToken, text []byte) bool {
	const nested = someObject<<ofElements | someList<<ofElements
	switch {
	case text[t.from] == '{':
		return has&someObject != 0
	case has&someList == 0 || has&(someObject|nested) == 0:
		return false
	case has&someFlat != 0:
		return true
	}
	first := skipBlanks(text, int(t.from)+1)
	return has&nested != 0 && (text[first] == '{' || text[first] == '[')
}

// traits are those of a value that is neither list nor object.
func (t *jsonToken) traits() traits {
	switch t.kind {
	case jsonText, jsonEscaped:
		return someField | someText
	case jsonNumber:
		if t.number.integer {
			return someField | someLong
		}
		return someField | someDouble
	case jsonTrue, jsonFalse:
		return someField | someBoolean
	}
	return someField
}
