package timeline

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
)

// node is a treap of chunks ordered by interval (start, then end) and version, with the latest end
// of each subtree, so that the chunks that overlap an interval are found without visiting the
// others. Nodes are never changed: put and drop copy the path from the root, which is O(log n).
// Priorities are hashes of the keys, so equal sets have equal shapes.
type node struct {
	chunk       *Chunk
	left, right *node
	maxEnd      int64
	priority    uint64
}

func newNode(c *Chunk) *node {
	// FNV-1a of the version, then the bounds, through the finalizer of splitmix64.
	h := uint64(14695981039346656037)
	for i := range len(c.Version) {
		h = (h ^ uint64(c.Version[i])) * 1099511628211
	}
	h = mix(mix(h^uint64(c.Interval.Start)) ^ uint64(c.Interval.End))
	return &node{chunk: c, maxEnd: c.Interval.End, priority: h}
}

func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

func compareKey(a chrono.Interval, aVersion string, b chrono.Interval, bVersion string) int {
	if c := a.Compare(b); c != 0 {
		return c
	}
	return strings.Compare(aVersion, bVersion)
}

// compare orders the node's chunk against a key.
func (n *node) compare(iv chrono.Interval, version string) int {
	return compareKey(n.chunk.Interval, n.chunk.Version, iv, version)
}

// with returns a copy of n with these children.
func (n *node) with(left, right *node) *node {
	c := &node{chunk: n.chunk, left: left, right: right, priority: n.priority}
	c.update()
	return c
}

// update sets maxEnd from chunk and children; only for nodes that nobody else has seen.
func (n *node) update() {
	n.maxEnd = n.chunk.Interval.End
	if n.left != nil {
		n.maxEnd = max(n.maxEnd, n.left.maxEnd)
	}
	if n.right != nil {
		n.maxEnd = max(n.maxEnd, n.right.maxEnd)
	}
}

// find returns the chunk with the key, or nil.
func (n *node) find(iv chrono.Interval, version string) *Chunk {
	for n != nil {
		switch c := n.compare(iv, version); {
		case c == 0:
			return n.chunk
		case c > 0:
			n = n.left
		default:
			n = n.right
		}
	}
	return nil
}

// put returns the tree with a chunk, which replaces the one with its key.
func (n *node) put(c *Chunk) *node {
	if n != nil && n.find(c.Interval, c.Version) != nil {
		return n.replace(c)
	}
	return n.insert(newNode(c))
}

func (n *node) replace(c *Chunk) *node {
	switch cmp := n.compare(c.Interval, c.Version); {
	case cmp == 0:
		return &node{chunk: c, left: n.left, right: n.right, maxEnd: n.maxEnd, priority: n.priority}
	case cmp > 0:
		return n.with(n.left.replace(c), n.right)
	default:
		return n.with(n.left, n.right.replace(c))
	}
}

func (n *node) insert(fresh *node) *node {
	switch {
	case n == nil:
		return fresh
	case fresh.priority > n.priority:
		left, right := n.split(fresh.chunk)
		return fresh.with(left, right)
	case n.compare(fresh.chunk.Interval, fresh.chunk.Version) > 0:
		return n.with(n.left.insert(fresh), n.right)
	default:
		return n.with(n.left, n.right.insert(fresh))
	}
}

// split returns the trees of the chunks before and after c, whose key is not in n.
func (n *node) split(c *Chunk) (before, after *node) {
	if n == nil {
		return nil, nil
	}
	if n.compare(c.Interval, c.Version) > 0 {
		before, after = n.left.split(c)
		return before, n.with(after, n.right)
	}
	before, after = n.right.split(c)
	return n.with(n.left, before), after
}

// drop returns the tree without the chunk of a key that it has.
func (n *node) drop(iv chrono.Interval, version string) *node {
	switch c := n.compare(iv, version); {
	case c == 0:
		return join(n.left, n.right)
	case c > 0:
		return n.with(n.left.drop(iv, version), n.right)
	default:
		return n.with(n.left, n.right.drop(iv, version))
	}
}

// join returns one tree of two, all of a being before all of b.
func join(a, b *node) *node {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.priority > b.priority:
		return a.with(a.left, join(a.right, b))
	default:
		return b.with(join(a, b.left), b.right)
	}
}

// build returns the tree of chunks that are sorted by key, in linear time: the right spine grows on
// a stack, and a node that leaves the spine is final.
func build(chunks []*Chunk) *node {
	var spine []*node
	for _, c := range chunks {
		fresh := newNode(c)
		for len(spine) > 0 && spine[len(spine)-1].priority <= fresh.priority {
			fresh.left = spine[len(spine)-1]
			fresh.left.update()
			spine = spine[:len(spine)-1]
		}
		if len(spine) > 0 {
			spine[len(spine)-1].right = fresh
		}
		spine = append(spine, fresh)
	}
	for _, s := range slices.Backward(spine) {
		s.update()
	}
	if len(spine) == 0 {
		return nil
	}
	return spine[0]
}

// overlapping appends the chunks that overlap iv, by key.
func (n *node) overlapping(iv chrono.Interval, dst []*Chunk) []*Chunk {
	if n == nil || n.maxEnd <= iv.Start {
		return dst
	}
	dst = n.left.overlapping(iv, dst)
	if n.chunk.Interval.Start >= iv.End {
		return dst
	}
	if n.chunk.Interval.End > iv.Start {
		dst = append(dst, n.chunk)
	}
	return n.right.overlapping(iv, dst)
}

// each calls yield for every chunk by key, until it returns false.
func (n *node) each(yield func(*Chunk) bool) bool {
	return n == nil || n.left.each(yield) && yield(n.chunk) && n.right.each(yield)
}
