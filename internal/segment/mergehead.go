package segment

import (
	"cmp"

	"github.com/hengedb/henge/internal/vector"
)

// head is the next row of one input of a merge, as its key, with a window of the rows behind it.
type head struct {
	input   int
	cursors []*cursor // of the key columns
	keys    []*keyColumn
	width   int // words per row
	window  int

	words []uint64 // of the window, row after row
	rest  []*vector.Vector
	at, n int
}

func newHead(keys []*keyColumn, input, window int) *head {
	h := &head{input: input, keys: keys, window: window}
	for _, k := range keys {
		h.cursors = append(h.cursors, &cursor{source: k.sources[input]})
		h.width += k.words
	}
	return h
}

// headAt returns the key of one row of an input.
func headAt(keys []*keyColumn, input, row int) (*head, error) {
	h := newHead(keys, input, 1)
	for _, c := range h.cursors {
		c.next = row
	}
	return h, h.fill()
}

// fill reads the next window; n is 0 at the end.
func (h *head) fill() error {
	h.at, h.n = 0, 0
	h.rest = nil
	column := 0
	var one []uint64
	for i, c := range h.cursors {
		k := h.keys[i]
		if k.words == 0 {
			c.buf = Buffer{} // a row before is compared after its window is gone
		}
		if err := c.fill(h.window); err != nil {
			return err
		}
		h.n = c.vec.Len
		if h.n == 0 {
			return nil
		}
		if k.words == 0 {
			h.rest = append(h.rest, c.vec)
			continue
		}
		h.words = grown(h.words, h.n*h.width)
		one = grown(one, h.n)
		wordsOf(one, c.vec)
		if k.words == 2 {
			for r := range h.n {
				has := uint64(1)
				if c.vec.IsNull(r) {
					has = 0
				}
				h.words[r*h.width+column] = has
			}
			column++
		}
		for r, w := range one {
			h.words[r*h.width+column] = w
		}
		column++
	}
	return nil
}

func (h *head) key() []uint64 { return h.words[h.at*h.width : (h.at+1)*h.width] }

func (h *head) compare(o *head) int {
	b := o.key()
	for i, x := range h.key() {
		if x != b[i] {
			return cmp.Compare(x, b[i])
		}
	}
	for i, v := range h.rest {
		if c := compareValues(v, h.at, o.rest[i], o.at); c != 0 {
			return c
		}
	}
	return 0
}

// lastRow is the key of the row before, for telling groups apart.
type lastRow struct {
	have  bool
	words []uint64
	rest  []*vector.Vector
	at    int
}

func (l *lastRow) set(h *head) {
	l.have = true
	l.words = append(l.words[:0], h.key()...)
	l.rest, l.at = h.rest, h.at
}

func (l *lastRow) equals(h *head) bool {
	if !l.have {
		return false
	}
	for i, w := range h.key() {
		if l.words[i] != w {
			return false
		}
	}
	for i, v := range l.rest {
		if compareValues(v, l.at, h.rest[i], h.at) != 0 {
			return false
		}
	}
	return true
}
