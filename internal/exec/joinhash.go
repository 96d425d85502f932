package exec

import (
	"context"
	"math/bits"
	"sync/atomic"
)

// joinHash finds the rows of a join's right side by the words of their keys. It lies in parts by
// the upper bits of the hash of the keys, as in a radix join (Manegold, Boncz, Kersten: Optimizing
// main-memory join on modern hardware, 2002), so that each part is built by one goroutine within
// its core's cache. It is read by any number of goroutines.
type joinHash struct {
	stride int  // words of a key
	bits   uint // of the hash, that tell parts apart
	parts  []joinPart
	order  []uint32 // rows by key; nil: no key has two
}

// joinPart is the keys of one part: an open-addressing table over entries. An entry is the words of
// a key, then which rows have it.
//
// That is row, or from and to in the upper half for places of order when some key of the table has
// several rows. Of entries with one key only the first is found.
type joinPart struct {
	slots   []uint64 // tag<<32 | entry+1, 0: free; the top bits of the tag are the home place
	shift   uint     // 32 - log2(len(slots))
	entries []uint64
	of      []uint32 // by entry: the first with its key; nil: no key has two. Only while the table is built
}

const (
	// joinPartRows is how many rows a part should have: with them and its slots it fits into a core's
	// cache.
	joinPartRows = 1 << 13
	// maxJoinBits is how many parts there are at most: more would not be written to at once without
	// waiting for memory.
	maxJoinBits = 8
	// joinChunkRows is how many rows make another goroutine worth while.
	joinChunkRows = 1 << 15
)

// newJoinHash returns a table of n keys, of which words has a stride each. Rows of without have no
// key; nil: all have one.
func newJoinHash(ctx context.Context, words []uint64, stride, n int, without []bool, env *Env) (*joinHash, error) {
	h := &joinHash{stride: stride}
	for n>>h.bits > joinPartRows && h.bits < maxJoinBits {
		h.bits++
	}
	h.parts = make([]joinPart, 1<<h.bits)
	chunks := max(1, min(env.Threads, n/joinChunkRows))
	if err := h.spread(ctx, words, n, without, chunks, env); err != nil {
		return nil, err
	}
	var next atomic.Int32
	var several atomic.Bool
	eachPart := func(f func(p *joinPart)) error {
		next.Store(0)
		return env.atOnce(ctx, chunks, func(ctx context.Context, _ int) error {
			for i := next.Add(1) - 1; int(i) < len(h.parts); i = next.Add(1) - 1 {
				if err := stop(ctx); err != nil {
					return err
				}
				f(&h.parts[i])
			}
			return nil
		})
	}
	if err := eachPart(func(p *joinPart) {
		h.index(p)
		if p.of != nil {
			several.Store(true)
		}
	}); err != nil || !several.Load() {
		return h, err
	}
	begins, rows := make(map[*joinPart]int, len(h.parts)), 0
	for i := range h.parts {
		begins[&h.parts[i]] = rows
		rows += len(h.parts[i].entries) / (stride + 1)
	}
	h.order = make([]uint32, rows)
	return h, eachPart(func(p *joinPart) { h.group(p, begins[p]) })
}

// spread writes the entries of all parts, those of one in the order of the rows.
func (h *joinHash) spread(ctx context.Context, words []uint64, n int, without []bool, chunks int, env *Env) error {
	s, shift := h.stride, 64-h.bits
	ends := make([][]int, chunks) // by chunk and part: how many entries, then where the next is written
	chunk := func(c int) (lo, hi int) { return c * n / chunks, (c + 1) * n / chunks }
	if err := env.atOnce(ctx, chunks, func(ctx context.Context, c int) error {
		counts := make([]int, len(h.parts))
		for lo, hi := chunk(c); lo < hi; lo++ {
			if without == nil || !without[lo] {
				counts[hashWords(words[lo*s:lo*s+s])>>shift]++
			}
		}
		ends[c] = counts
		return stop(ctx)
	}); err != nil {
		return err
	}
	for p := range h.parts {
		entries := 0
		for c := range chunks {
			ends[c][p], entries = entries, entries+ends[c][p]
		}
		h.parts[p].entries = make([]uint64, entries*(s+1))
	}
	return env.atOnce(ctx, chunks, func(ctx context.Context, c int) error {
		next := ends[c]
		for lo, hi := chunk(c); lo < hi; lo++ {
			if without != nil && without[lo] {
				continue
			}
			key := words[lo*s : lo*s+s]
			part := hashWords(key) >> shift
			e := h.parts[part].entries[next[part]*(s+1):]
			next[part]++
			copy(e[:s], key)
			e[s] = uint64(lo)
		}
		return stop(ctx)
	})
}

// tag returns the part of a key's hash that slots have.
func (h *joinHash) tag(hash uint64) uint64 { return hash << h.bits >> 32 }

// index makes the slots of a part.
func (h *joinHash) index(p *joinPart) {
	w := h.stride + 1
	n := len(p.entries) / w
	size := uint(bits.Len(uint(max(2*n, 2) - 1)))
	p.slots, p.shift = make([]uint64, 1<<size), 32-size
	mask := uint64(len(p.slots) - 1)
	for i := range n {
		key := p.entries[i*w : i*w+h.stride]
		tag := h.tag(hashWords(key))
		at := tag >> p.shift
		first := i
		for ; p.slots[at] != 0; at = (at + 1) & mask {
			if slot := p.slots[at]; slot>>32 == tag {
				e := int(uint32(slot)) - 1
				if equalWords(key, p.entries[e*w:e*w+h.stride]) {
					first = e
					break
				}
			}
		}
		if first == i {
			p.slots[at] = tag<<32 | uint64(i+1)
		} else if p.of == nil {
			p.of = make([]uint32, n)
			for e := range i {
				p.of[e] = uint32(e)
			}
		}
		if p.of != nil {
			p.of[i] = uint32(first)
		}
	}
}

// group brings the rows of each key of a part together, in their order, at place begin of the order
// and behind.
func (h *joinHash) group(p *joinPart, begin int) {
	s, w := h.stride, h.stride+1
	n := len(p.entries) / w
	if p.of == nil {
		for i := range n {
			e := &p.entries[i*w+s]
			at := uint64(begin + i)
			h.order[at] = uint32(*e)
			*e = at | (at+1)<<32
		}
		return
	}
	places := make([]uint32, n) // by first entry of a key: how many it has, then where its next row is written
	for _, first := range p.of {
		places[first]++
	}
	at := uint32(begin)
	for i, count := range places {
		places[i], at = at, at+count
	}
	rows := make([]uint32, n)
	for i := range rows {
		rows[i] = uint32(p.entries[i*w+s])
	}
	for i, first := range p.of {
		if int(first) == i {
			p.entries[i*w+s] = uint64(places[i])
		}
		h.order[places[first]] = rows[i]
		places[first]++
	}
	for i, end := range places {
		if int(p.of[i]) == i {
			p.entries[i*w+s] |= uint64(end) << 32
		}
	}
	p.of = nil
}

// find sets to to row + 1 for each of the keys in rows, 0 where there is none; or, if some key has
// several rows, from and to to where its rows begin and end in order, which is one place where
// there are none. Keys have their hashes.
func (h *joinHash) find(rows, hashes, slots []uint64, from, to []uint32) {
	shift := 64 - h.bits
	for i, hash := range hashes { // so that the memory for many rows is waited for at once
		p := &h.parts[hash>>shift]
		slots[i] = p.slots[h.tag(hash)>>p.shift]
	}
	s, w := h.stride, h.stride+1
	for i, slot := range slots[:len(hashes)] {
		found := uint64(0)
		if slot != 0 {
			p := &h.parts[hashes[i]>>shift]
			tag := h.tag(hashes[i])
			mask := uint64(len(p.slots) - 1)
			for at := tag >> p.shift; slot != 0; slot = p.slots[at] {
				if slot>>32 == tag {
					e := (int(uint32(slot)) - 1) * w
					if equalWords(rows[i*s:i*s+s], p.entries[e:e+s]) {
						found = p.entries[e+s]
						if h.order == nil {
							found++
						}
						break
					}
				}
				at = (at + 1) & mask
			}
		}
		if h.order == nil {
			to[i] = uint32(found)
		} else {
			from[i], to[i] = uint32(found), uint32(found>>32)
		}
	}
}

// bytes returns the memory held.
func (h *joinHash) bytes() int64 {
	n := 4 * int64(cap(h.order))
	for i := range h.parts {
		n += 8 * int64(cap(h.parts[i].slots)+cap(h.parts[i].entries))
	}
	return n
}
