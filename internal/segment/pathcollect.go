package segment

import (
	"cmp"
	"slices"

	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/vector"
)

// pathCollector collects what stands at the paths of a nested column while that is written. Its
// values are walked over once, beside a tree of the names that were met; each node of it that
// scalars stand at keeps them.
//
// It keeps to what JSON_VALUE finds in a text. Where that could tell more than a column of one type
// holds (numbers here and strings there), or finds one of several (a name twice in one object), the
// path has no column.
type pathCollector struct {
	root    *pathNode
	nodes   int
	rows    int
	memory  account
	skipped bool // a value was no JSON: what JSON_VALUE makes of such, only it knows
}

func newPathCollector(budget Budget) *pathCollector {
	return &pathCollector{root: &pathNode{path: "$"}, nodes: 1, memory: account{budget: budget}}
}

// watching returns feed with the collector beside it. The feed is to be asked once.
func (c *pathCollector) watching(feed columnFeed) columnFeed {
	return func(f func(*vector.Vector) error) error {
		return feed(func(v *vector.Vector) error {
			c.add(v)
			return f(v)
		})
	}
}

// add takes the rows of a flat vector.
func (c *pathCollector) add(v *vector.Vector) {
	for i := range v.Len {
		if c.skipped {
			return
		}
		if v.Valid.Get(i) {
			s := v.Strings[i]
			end, ok := c.walk(c.root, s, 0, 0)
			if !ok || jsontext.Space(s, end) != len(s) {
				c.close()
				c.skipped = true
			}
		}
		c.rows++
	}
	c.account()
}

// walk takes the value of s that begins at or after i, which stands at n, and returns its end.
func (c *pathCollector) walk(n *pathNode, s string, i, depth int) (end int, ok bool) {
	i = jsontext.Space(s, i)
	if i < len(s) && s[i] == '{' && depth < maxPathDepth {
		return c.object(n, s, i, depth)
	}
	if end, ok = jsontext.End(s, i, depth); ok {
		n.take(s[i:end], c.rows)
	}
	return end, ok
}

func (c *pathCollector) object(n *pathNode, s string, i, depth int) (end int, ok bool) {
	i = jsontext.Space(s, i+1)
	if i < len(s) && s[i] == '}' {
		return i + 1, true
	}
	for member := 0; ; member++ {
		key, value, ok := jsontext.Key(s, i)
		if !ok {
			return value, false
		}
		child := c.child(n, key, member)
		switch {
		case child == nil || child.dead:
			i, ok = jsontext.End(s, value, depth+1)
		case child.met == c.rows+1: // a name twice in one object
			child.kill()
			i, ok = jsontext.End(s, value, depth+1)
		default:
			child.met = c.rows + 1
			i, ok = c.walk(child, s, value, depth+1)
		}
		if !ok {
			return i, false
		}
		next, more, ok := jsontext.Next(s, i, '}')
		if !ok || !more {
			return next, ok
		}
		i = next
	}
}

// child returns the node below n of a raw key, nil if it has none. Objects have their members in
// the same order mostly: the position of one tells where to look first.
func (c *pathCollector) child(n *pathNode, key string, position int) *pathNode {
	if position < len(n.children) && n.children[position].key == key {
		return n.children[position]
	}
	name := jsontext.Text(key)
	if child := n.byName[name]; child != nil {
		return child
	}
	if c.nodes >= maxPathNodes || len(n.path)+len(name) > maxPathBytes || !jsontext.Nameable(name) {
		return nil
	}
	c.nodes++
	child := &pathNode{key: string([]byte(key)), path: jsontext.Child(n.path, name)}
	if n.byName == nil {
		n.byName = map[string]*pathNode{}
	}
	n.byName[string([]byte(name))] = child
	n.children = append(n.children, child)
	return child
}

// account asks for the memory that the values take. Where there is not as much, the path with the
// most of them does without a column. There must be twice as much: the columns can't be written
// without what they need, and paths can.
func (c *pathCollector) account() {
	for {
		total, most := int64(0), c.root
		c.root.each(func(n *pathNode) {
			total += n.bytes()
			if n.bytes() > most.bytes() {
				most = n
			}
		})
		if total <= maxPathValueBytes && c.memory.set(2*total) == nil {
			c.memory.set(total) // releasing does not fail
			return
		}
		if most.bytes() == 0 { // what is left is names
			c.close()
			c.skipped = true
			return
		}
		most.drop()
	}
}

// chosen returns the nodes whose values become columns, by path.
func (c *pathCollector) chosen() []*pathNode {
	var out []*pathNode
	if c.skipped {
		return nil
	}
	c.root.each(func(n *pathNode) {
		if n.kind != vector.KindInvalid && !n.dropped && n.values() >= (c.rows+pathShare-1)/pathShare {
			out = append(out, n)
		}
	})
	byPath := func(a, b *pathNode) int { return cmp.Compare(a.path, b.path) }
	slices.SortFunc(out, func(a, b *pathNode) int { return cmp.Or(cmp.Compare(b.values(), a.values()), byPath(a, b)) })
	out = out[:min(len(out), maxPathColumns)]
	slices.SortFunc(out, byPath)
	return out
}

// close gives up what was collected.
func (c *pathCollector) close() {
	c.root = &pathNode{}
	c.memory.set(0) // releasing does not fail
}

// pathNode is a path, and what was met there.
type pathNode struct {
	key      string // as it stood in a text, with quotes
	path     string
	children []*pathNode // in the order in which they were met
	byName   map[string]*pathNode
	met      int  // the row where it was met last, plus one
	dead     bool // it, and all below, can have no column: a name was twice in one object

	// What stood at the path: scalars of one kind, one after the other, and a bit for each row that
	// has one. A path whose scalars are dropped gets no column, but those below may.
	kind    vector.Kind
	dropped bool
	mixed   bool // of doubles: whole numbers are among them
	valid   vector.Bitmap
	longs   []int64
	doubles []float64
	codes   []uint32
	texts   interner
}

func (n *pathNode) each(f func(*pathNode)) {
	f(n)
	for _, child := range n.children {
		child.each(f)
	}
}

func (n *pathNode) kill() {
	n.drop()
	n.dead = true
	n.children, n.byName = nil, nil
}

// drop gives up the scalars of the path.
func (n *pathNode) drop() {
	*n = pathNode{key: n.key, path: n.path, children: n.children, byName: n.byName, met: n.met, dead: n.dead, dropped: true}
}

func (n *pathNode) values() int { return len(n.longs) + len(n.doubles) + len(n.codes) }

func (n *pathNode) bytes() int64 {
	return int64(8*cap(n.valid)+8*cap(n.longs)+8*cap(n.doubles)+4*cap(n.codes)) + 2*n.texts.bytes() // sorting the texts takes as much
}

// take notes a raw value that stands at the path in a row. What is no scalar, or null, is no value
// of the path's.
func (n *pathNode) take(raw string, row int) {
	if n.dropped {
		return
	}
	switch raw[0] {
	case '{', '[', 'n':
		return
	case '"':
		n.text(jsontext.Text(raw), row)
	case 't', 'f':
		n.text(raw, row)
	default:
		n.number(raw, row)
	}
}

func (n *pathNode) text(s string, row int) {
	if !n.is(vector.KindString) {
		n.drop()
		return
	}
	code, err := n.texts.add(s)
	if err != nil { // there is more text than a dictionary holds
		n.drop()
		return
	}
	n.codes = append(n.codes, code)
	n.has(row)
}

// number keeps whole numbers as such until one is met that is not: from then on all are doubles, if
// they can be.
func (n *pathNode) number(raw string, row int) {
	long, double, whole := jsontext.Number(raw)
	if whole && n.is(vector.KindLong) {
		n.longs = append(n.longs, long)
		n.has(row)
		return
	}
	if n.kind == vector.KindLong {
		n.doubles = make([]float64, len(n.longs), cap(n.longs))
		for i, x := range n.longs {
			n.doubles[i] = float64(x)
			if !exactDouble(x) {
				n.drop()
				return
			}
		}
		n.kind, n.mixed, n.longs = vector.KindDouble, true, nil
	}
	if !n.is(vector.KindDouble) || whole && !exactDouble(long) {
		n.drop()
		return
	}
	if whole {
		double, n.mixed = float64(long), true
	}
	n.doubles = append(n.doubles, double)
	n.has(row)
}

func exactDouble(x int64) bool { return -exactWholes <= x && x <= exactWholes }

// is reports whether the values of the path are of a kind; the first one decides.
func (n *pathNode) is(kind vector.Kind) bool {
	if n.kind == vector.KindInvalid {
		n.kind = kind
	}
	return n.kind == kind
}

func (n *pathNode) has(row int) {
	for len(n.valid)*64 <= row {
		n.valid = append(n.valid, 0)
	}
	n.valid.Set(row)
}

// feed hands out the column of the path, of so many rows; codes are those of the numbers that texts
// has.
func (n *pathNode) feed(rows int, codes []uint32) columnFeed {
	return func(f func(*vector.Vector) error) error {
		at := 0 // in the values
		for from := 0; from < rows; from += BlockRows {
			v := &vector.Vector{Type: vector.Type{Kind: n.kind}, Len: min(BlockRows, rows-from), Valid: vector.NewBitmap(BlockRows)}
			if words := from / 64; words < len(n.valid) {
				copy(v.Valid, n.valid[words:])
			}
			switch n.kind {
			case vector.KindLong:
				v.Longs = make([]int64, v.Len)
				at += spread(v.Longs, n.longs[at:], v.Valid, func(x int64) int64 { return x })
			case vector.KindDouble:
				v.Doubles = make([]float64, v.Len)
				at += spread(v.Doubles, n.doubles[at:], v.Valid, func(x float64) float64 { return x })
			default:
				v.Codes = make([]uint32, v.Len)
				at += spread(v.Codes, n.codes[at:], v.Valid, func(x uint32) uint32 { return codes[x] })
			}
			if v.Valid.Count(v.Len) == v.Len {
				v.Valid = nil
			}
			if err := f(v); err != nil {
				return err
			}
		}
		return nil
	}
}

// spread puts values into the rows of dst that have one, and returns how many there are.
func spread[T any](dst, values []T, valid vector.Bitmap, f func(T) T) int {
	n := 0
	for i := range dst {
		if valid.Get(i) {
			dst[i] = f(values[n])
			n++
		}
	}
	return n
}

// encode writes the column of the path, of so many rows, in the nested column called name. Then the
// values are gone.
func (n *pathNode) encode(file *fileWriter, name string, rows, bitmapValues int) (*columnMeta, error) {
	defer n.drop()
	e := &columnEncoder{file: file, rows: rows, nulls: rows - n.values(), bitmapValues: bitmapValues,
		top: &columnMeta{ColumnInfo: ColumnInfo{Name: name, Type: vector.Type{Kind: n.kind}, Path: n.path, Mixed: n.mixed}, rows: rows}}
	var codes []uint32
	if n.kind == vector.KindString {
		var dict *vector.Dict
		dict, codes = n.texts.sorted()
		e.dict = emitting(dict)
	}
	e.feed = n.feed(rows, codes)
	return e.top, e.encode()
}
