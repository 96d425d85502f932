package exec

import (
	"bytes"
	"context"
	"math"
)

// mergeGroups makes one set of tables of those of the workers, which it empties. Few groups are
// absorbed by the first table. Many are divided by a hash of their key, and each share is merged by
// a goroutine of its own into a table of its own.
func mergeGroups(ctx context.Context, workers []*grouper) ([]*grouper, error) {
	total := 0
	for _, g := range workers {
		total += g.groups()
	}
	if total == workers[0].groups() { // the others have none
		for _, g := range workers[1:] {
			g.close()
		}
		return workers[:1], nil
	}
	first := workers[0]
	if len(workers) == 1 || first.table == nil || total < first.env.many.merge {
		for _, g := range workers[1:] {
			if err := first.absorb(ctx, g); err != nil {
				return nil, err
			}
		}
		return workers[:1], nil
	}
	alike := true
	for _, g := range workers[1:] {
		first.table.maskAlike(g.table)
		alike = alike && first.table.sameWords(g.table)
	}
	for _, g := range workers {
		g.table.maskAlike(first.table)
	}
	shares := make([][]uint8, len(workers))
	env := first.env
	if err := env.atOnce(ctx, len(workers), func(ctx context.Context, i int) (err error) {
		shares[i], err = workers[i].shares(ctx, len(workers), alike)
		return err
	}); err != nil {
		return nil, err
	}
	merged := make([]*grouper, len(workers))
	for i := range merged {
		g, err := newGrouper(first.keys, first.table.lexicons(), first.specs, 0, first.env)
		if err != nil {
			return nil, err
		}
		g.unfinished = first.unfinished
		merged[i] = g
		most := 0
		for _, s := range shares {
			most = max(most, bytes.Count(s, []byte{uint8(i)}))
		}
		if g.env.Budget.Free() > int64(most)*int64(64+8*len(g.keys)) && !g.table.approachAll(workers) {
			g.table.reserve(most)
		}
	}
	if err := env.atOnce(ctx, len(merged), func(ctx context.Context, i int) error {
		for w, source := range workers {
			if err := merged[i].absorbShare(ctx, source, shares[w], uint8(i)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		for _, g := range merged {
			g.close()
		}
		return nil, err
	}
	for _, g := range workers {
		g.close()
	}
	return merged, nil
}

// approachAll makes the array by word of an empty table for the keys of all workers, if theirs have
// one.
func (t *keyTable) approachAll(workers []*grouper) bool {
	least, greatest, keys := int64(math.MaxInt64), int64(math.MinInt64), 0
	for _, g := range workers {
		if !g.table.near {
			return false
		}
		least, greatest = min(least, int64(g.table.least)), max(greatest, int64(g.table.least+uint64(len(g.table.byWord)-1)))
		keys += g.table.n
	}
	span := nearSpan(least, greatest, keys)
	if span > 0 {
		t.approachOver(least, span)
	}
	return span > 0
}

// shares returns by group which of n shares it belongs to; alike says that all tables have the same
// words for a key. Afterwards keys and intermediate values may be read by several goroutines.
func (g *grouper) shares(ctx context.Context, n int, alike bool) ([]uint8, error) {
	out := make([]uint8, g.groups())
	hashes := make([]uint64, absorbRows)
	for lo := 0; lo < len(out); lo += absorbRows {
		if err := stop(ctx); err != nil {
			return nil, err
		}
		hi := min(lo+absorbRows, len(out))
		g.table.hashKeys(lo, hi, alike, hashes[:hi-lo])
		for i, h := range hashes[:hi-lo] {
			out[lo+i] = uint8(h & 0xffff % uint64(n)) // the upper bits tell spill files apart
		}
	}
	for _, s := range g.states {
		s.Partial(0, 0)
	}
	return out, nil
}

// absorbShare merges the groups of source that belong to a share.
func (g *grouper) absorbShare(ctx context.Context, source *grouper, shares []uint8, share uint8) error {
	rows := make([]uint32, 0, absorbRows)
	for lo := 0; lo < len(shares); lo += absorbRows {
		if err := stop(ctx); err != nil {
			return err
		}
		hi := min(lo+absorbRows, len(shares))
		rows = rows[:0]
		for i, s := range shares[lo:hi] {
			if s == share {
				rows = append(rows, uint32(i))
			}
		}
		if len(rows) == 0 {
			continue
		}
		if err := g.mergeFrom(ctx, source, lo, hi, rows); err != nil {
			return err
		}
	}
	return nil
}
