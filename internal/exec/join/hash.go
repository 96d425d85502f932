package join

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/exec/scheduler"
)

// hashTable finds the rows of a join's right side by the words of their keys. It lies in parts by
// the upper bits of the hash of the keys, as in a radix join (Manegold, Boncz, Kersten: Optimizing
// main-memory join on modern hardware, 2002), so that each part is built by one goroutine within
// its core's cache. It is read by any number of goroutines.
type hashTable struct {
	stride int  // words of a key
	bits   uint // of the hash, that tell parts apart
	parts  []part
	order  []uint32 // rows by key; nil: no key has two
}

// part is the keys of one part: an open-addressing table over entries. An entry is the words of
// a key, then which rows have it.
//
// That is row, or from and to in the upper half for positions of order when some key of the table
// has several rows. Of entries with one key only the first is found.
type part struct {
	slots   []uint64 // tag<<32 | entry+1, 0: free; the top bits of the tag are the home position
	shift   uint     // 32 - log2(len(slots))
	entries []uint64
	of      []uint32 // by entry: the first with its key; nil: no key has two. Only while the table is built
}

const (
	// partRows is how many rows a part should have: with them and its slots it fits into a core's
	// cache.
	partRows = 1 << 13
	// maxJoinBits is how many parts there are at most: more would not be written to at once without
	// waiting for memory.
	maxPartBits = 8
	// joinChunkRows is how many rows make another goroutine worth while.
	chunkRows = 1 << 15
)

// newHashTable returns a table of n keys, of which words has a stride each. Rows of without have no
// key; nil: all have one.
func newHashTable(ctx context.Context, words []uint64, stride, n int, without []bool, options *Options) (*hashTable, error) {
	h := &hashTable{stride: stride}
	for n>>h.bits > partRows && h.bits < maxPartBits {
		h.bits++
	}
	h.parts = make([]part, 1<<h.bits)
	chunks := max(1, min(options.Threads, n/chunkRows))
	if err := h.partition(ctx, words, n, without, chunks, options); err != nil {
		return nil, err
	}
	var next atomic.Int32
	var several atomic.Bool
	eachPart := func(f func(p *part)) error {
		next.Store(0)
		return options.AtOnce(ctx, chunks, func(ctx context.Context, _ int) error {
			for i := next.Add(1) - 1; int(i) < len(h.parts); i = next.Add(1) - 1 {
				if err := scheduler.Yield(ctx); err != nil {
					return err
				}
				f(&h.parts[i])
			}
			return nil
		})
	}
	if err := eachPart(func(p *part) {
		h.index(p)
		if p.of != nil {
			several.Store(true)
		}
	}); err != nil || !several.Load() {
		return h, err
	}
	begins, rows := make(map[*part]int, len(h.parts)), 0
	for i := range h.parts {
		begins[&h.parts[i]] = rows
		rows += len(h.parts[i].entries) / (stride + 1)
	}
	h.order = make([]uint32, rows)
	return h, eachPart(func(p *part) { h.group(p, begins[p]) })
}

// partition writes the entries of all parts, those of one in the order of the rows.
func (h *hashTable) partition(ctx context.Context, words []uint64, n int, without []bool, chunks int, options *Options) error {
	s, shift := h.stride, 64-h.bits
	ends := make([][]int, chunks) // by chunk and part: how many entries, then where the next is written
	chunk := func(c int) (lo, hi int) { return c * n / chunks, (c + 1) * n / chunks }
	if err := options.AtOnce(ctx, chunks, func(ctx context.Context, c int) error {
		counts := make([]int, len(h.parts))
		for lo, hi := chunk(c); lo < hi; lo++ {
			if without == nil || !without[lo] {
				counts[keys.HashWords(words[lo*s:lo*s+s])>>shift]++
			}
		}
		ends[c] = counts
		return scheduler.Yield(ctx)
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
	return options.AtOnce(ctx, chunks, func(ctx context.Context, c int) error {
		next := ends[c]
		for lo, hi := chunk(c); lo < hi; lo++ {
			if without != nil && without[lo] {
				continue
			}
			key := words[lo*s : lo*s+s]
			part := keys.HashWords(key) >> shift
			e := h.parts[part].entries[next[part]*(s+1):]
			next[part]++
			copy(e[:s], key)
			e[s] = uint64(lo)
		}
		return scheduler.Yield(ctx)
	})
}

// tag returns the part of a key's hash that slots have.
func (h *hashTable) tag(hash uint64) uint64 { return hash << h.bits >> 32 }

// index makes the slots of a part.
func (h *hashTable) index(p *part) {
	w := h.stride + 1
	n := len(p.entries) / w
	size := uint(bits.Len(uint(max(2*n, 2) - 1)))
	p.slots, p.shift = make([]uint64, 1<<size), 32-size
	mask := uint64(len(p.slots) - 1)
	for i := range n {
		key := p.entries[i*w : i*w+h.stride]
		tag := h.tag(keys.HashWords(key))
		at := tag >> p.shift
		first := i
		for ; p.slots[at] != 0; at = (at + 1) & mask {
			if slot := p.slots[at]; slot>>32 == tag {
				e := int(uint32(slot)) - 1
				if keys.EqualWords(key, p.entries[e*w:e*w+h.stride]) {
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

// group brings the rows of each key of a part together, in their order, at position begin of the
// order and behind.
func (h *hashTable) group(p *part, begin int) {
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
	positions := make([]uint32, n) // by first entry of a key: how many it has, then where its next row is written
	for _, first := range p.of {
		positions[first]++
	}
	at := uint32(begin)
	for i, count := range positions {
		positions[i], at = at, at+count
	}
	rows := make([]uint32, n)
	for i := range rows {
		rows[i] = uint32(p.entries[i*w+s])
	}
	for i, first := range p.of {
		if int(first) == i {
			p.entries[i*w+s] = uint64(positions[i])
		}
		h.order[positions[first]] = rows[i]
		positions[first]++
	}
	for i, end := range positions {
		if int(p.of[i]) == i {
			p.entries[i*w+s] |= uint64(end) << 32
		}
	}
	p.of = nil
}

// find sets to to row + 1 for each of the keys in rows, 0 where there is none; or, if some key has
// several rows, from and to to where its rows begin and end in order, which is one place where
// there are none. Keys have their hashes.
func (h *hashTable) find(rows, hashes, slots []uint64, from, to []uint32) {
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
					if keys.EqualWords(rows[i*s:i*s+s], p.entries[e:e+s]) {
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
func (h *hashTable) bytes() int64 {
	n := 4 * int64(cap(h.order))
	for i := range h.parts {
		n += 8 * int64(cap(h.parts[i].slots)+cap(h.parts[i].entries))
	}
	return n
}
