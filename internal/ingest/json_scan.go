package ingest

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/vector"
)

// jsonScanner finds the members of plain records: one JSON object on one line, in strict grammar.
// It makes no tree and copies nothing; what it finds of the wanted fields are tokens that point
// into the text. Whatever it does not take it leaves to the parser, which is slower, takes more,
// and knows what to say about the rest: the scanner only ever accepts what the parser reads the
// same way.
type jsonScanner struct {
	fields []Field
	// Names are the members met so far. Hostile input must not fill memory with them: long ones and
	// those beyond maxNames are not kept.
	names map[string]*jsonMember
	// order is how members followed each other. Most records have the same ones in the same order,
	// some left out, so that a comparison or two replace a lookup.
	order []*jsonMember
	cells []jsonToken // of the record, by field
	twins []twin
	elems []jsonToken // of the lists among them
	// learning says to look whether the record has what none before it had; then it is novel.
	learning, novel bool
}

// jsonMember is a name in records.
type jsonMember struct {
	name  string
	field int  // -1: not wanted
	list  bool // the field is a list
	// head is the first 8 bytes of the name and the quote behind it, as far as mask says: most names
	// are told apart by them.
	head, mask uint64
	ordered    bool // it is in the order
	known      traits
}

func newJSONMember(name string, field int, list bool) *jsonMember {
	m := &jsonMember{name: name, field: field, list: list, mask: math.MaxUint64}
	var head [8]byte
	if n := copy(head[:], name); n < len(head) {
		head[n] = '"'
		m.mask >>= 8 * (7 - n)
	}
	m.head = binary.LittleEndian.Uint64(head[:])
	return m
}

const (
	maxNames     = 4096
	maxNameBytes = 256
	// maxSkipped is how many members of the order a record may leave out at one place before the name
	// is looked up.
	maxSkipped = 4
)

// jsonToken is a value in a record.
type jsonToken struct {
	kind jsonKind
	// from and to are the value's position in the text, of strings without the quotes; of a list its
	// elements among elems.
	from, to uint32
	number   record.Number // of jsonNumber
}

type jsonKind uint8

const (
	jsonMissing jsonKind = iota
	jsonNull
	jsonText
	jsonEscaped // text with escapes; its position includes the quotes
	jsonNumber
	jsonTrue
	jsonFalse
	jsonList   // of a list column
	jsonNested // an object, or an array elsewhere
)

func newJSONScanner(fields []Field) *jsonScanner {
	s := &jsonScanner{fields: fields, names: make(map[string]*jsonMember, len(fields)), cells: make([]jsonToken, len(fields)), twins: twinsOf(fields)}
	for i, f := range slices.Backward(fields) { // of several the first
		s.names[f.Name] = newJSONMember(f.Name, i, f.Type.Kind == vector.KindList)
	}
	return s
}

// Record scans the object at the head of text and returns its end, or -1 if it is not a plain one.
// Of members with the same name the last counts.
func (s *jsonScanner) record(text []byte) int {
	clear(s.cells)
	s.elems, s.novel = s.elems[:0], false
	i := skipBlanks(text, 1)
	if i < len(text) && text[i] == '}' {
		return i + 1
	}
	position := 0 // in order
	for members := 0; i < len(text) && text[i] == '"' && members < record.MaxFields; members++ {
		var m *jsonMember
		if m, i = s.member(text, i+1, &position); i < 0 {
			return -1
		}
		if i = skipBlanks(text, i); i == len(text) || text[i] != ':' {
			return -1
		}
		i = skipBlanks(text, i+1)
		var skipped jsonToken
		t := &skipped
		if m.field >= 0 {
			t = &s.cells[m.field]
		}
		if m.list && i < len(text) && text[i] == '[' {
			i = s.list(text, i, t)
		} else {
			i = s.value(text, i, t, 0)
		}
		if i < 0 {
			return -1
		}
		if s.learning && !s.novel {
			s.novel = !s.familiar(m, t, text)
		}
		if i = skipBlanks(text, i); i == len(text) {
			return -1
		}
		switch text[i] {
		case ',':
			i = skipBlanks(text, i+1)
		case '}':
			if !s.copyTwins() {
				return -1
			}
			return i + 1
		default:
			return -1
		}
	}
	return -1
}

// copyTwins gives fields what others of their name have. It reports false for a list, which means
// another thing to each.
func (s *jsonScanner) copyTwins() bool {
	for _, t := range s.twins {
		if s.cells[t.of].kind == jsonList {
			return false
		}
		s.cells[t.field] = s.cells[t.of]
	}
	return true
}

// member returns the member whose name begins at i, and the position behind its closing quote.
// *position is where it is expected in the order.
func (s *jsonScanner) member(text []byte, i int, position *int) (*jsonMember, int) {
	if i+8 <= len(text) {
		head := binary.LittleEndian.Uint64(text[i:])
		for at := *position; at < len(s.order) && at < *position+maxSkipped; at++ {
			m := s.order[at]
			if head&m.mask != m.head {
				continue
			}
			if end := i + len(m.name); end < i+8 || end < len(text) && text[end] == '"' && string(text[i+8:end]) == m.name[8:] {
				*position = at + 1
				return m, end + 1
			}
		}
	}
	end := plainText(text, i)
	if end < 0 || text[end] != '"' {
		return nil, -1
	}
	m := s.names[string(text[i:end])]
	if m == nil {
		m = newJSONMember(string(text[i:end]), -1, false)
		if len(s.names) >= maxNames || len(m.name) > maxNameBytes {
			return m, end + 1
		}
		s.names[m.name] = m
	}
	if !m.ordered {
		s.order = slices.Insert(s.order, *position, m)
		m.ordered = true
		*position++
	}
	return m, end + 1
}

// list scans the array at i as the elements of a list and returns its end, or -1.
func (s *jsonScanner) list(text []byte, i int, t *jsonToken) int {
	t.kind, t.from = jsonList, uint32(len(s.elems))
	i = skipBlanks(text, i+1)
	for i < len(text) && text[i] != ']' {
		var e jsonToken
		if i = s.value(text, i, &e, 1); i < 0 {
			return -1
		}
		s.elems = append(s.elems, e)
		if i = afterElement(text, i, ']'); i < 0 {
			return -1
		}
	}
	if i >= len(text) {
		return -1
	}
	t.to = uint32(len(s.elems))
	return i + 1
}

// afterElement returns the position of the next element, or of the closing bracket, or -1.
func afterElement(text []byte, i int, closing byte) int {
	i = skipBlanks(text, i)
	switch {
	case i == len(text):
		return -1
	case text[i] == closing:
		return i
	case text[i] != ',':
		return -1
	}
	if i = skipBlanks(text, i+1); i == len(text) || text[i] == closing {
		return -1
	}
	return i
}

// value scans the value at i and returns its end, or -1.
func (s *jsonScanner) value(text []byte, i int, t *jsonToken, depth int) int {
	if i >= len(text) {
		return -1
	}
	switch text[i] {
	case '"':
		end := plainText(text, i+1)
		if end < 0 {
			return -1
		}
		if text[end] == '"' {
			t.kind, t.from, t.to = jsonText, uint32(i+1), uint32(end)
			return end + 1
		}
		if end = escapedText(text, end); end < 0 {
			return -1
		}
		t.kind, t.from, t.to = jsonEscaped, uint32(i), uint32(end)
		return end
	case '{', '[':
		end := s.nested(text, i, depth+1)
		t.kind, t.from, t.to = jsonNested, uint32(i), uint32(end)
		return end
	case 'n':
		t.kind = jsonNull
		return literal(text, i, "null")
	case 't':
		t.kind = jsonTrue
		return literal(text, i, "true")
	case 'f':
		t.kind = jsonFalse
		return literal(text, i, "false")
	}
	t.kind, t.from = jsonNumber, uint32(i)
	if i = record.ScanNumber(text, i, &t.number); i >= 0 {
		t.to = uint32(i)
	}
	return i
}

func literal(text []byte, i int, word string) int {
	if end := i + len(word); end <= len(text) && string(text[i:end]) == word {
		return end
	}
	return -1
}

// Nested checks the object or array at i and returns its end, or -1.
func (s *jsonScanner) nested(text []byte, i, depth int) int {
	if depth > record.MaxDepth/2 { // what is deeper is rare, and the parser's to refuse
		return -1
	}
	object := text[i] == '{'
	closing := byte(']')
	if object {
		closing = '}'
	}
	var t jsonToken
	i = skipBlanks(text, i+1)
	for i < len(text) && text[i] != closing {
		if object {
			if text[i] != '"' {
				return -1
			}
			if i = s.value(text, i, &t, depth); i < 0 {
				return -1
			}
			if i = skipBlanks(text, i); i == len(text) || text[i] != ':' {
				return -1
			}
			i = skipBlanks(text, i+1)
		}
		if i = s.value(text, i, &t, depth); i < 0 {
			return -1
		}
		if i = afterElement(text, i, closing); i < 0 {
			return -1
		}
	}
	if i >= len(text) {
		return -1
	}
	return i + 1
}

func skipBlanks(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	return i
}

// plainText returns the position of the first quote or backslash at or after i, or -1 if there is
// none or a control character comes first.
func plainText(text []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(text); i += 8 {
		// In each term the lowest marked byte is a true one: below a byte that is subtracted from nothing
		// is borrowed.
		w := binary.LittleEndian.Uint64(text[i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		if found := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & tops; found != 0 {
			if i += bits.TrailingZeros64(found) / 8; text[i] < ' ' {
				return -1
			}
			return i
		}
	}
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			return i
		case c < ' ':
			return -1
		}
	}
	return -1
}

// escapedText returns the position behind the string whose first backslash is at i, or -1.
func escapedText(text []byte, i int) int {
	for i >= 0 && i < len(text) && text[i] == '\\' {
		if i+1 >= len(text) || text[i+1] < ' ' {
			return -1
		}
		i = plainText(text, i+2)
	}
	if i < 0 || i >= len(text) {
		return -1
	}
	return i + 1
}
