package exec

import (
	"bytes"
	"context"

	"github.com/hengedb/henge/internal/exec/keys"
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
		first.table.MaskAlike(g.table)
		alike = alike && first.table.SameWords(g.table)
	}
	tables := make([]*keys.Table, len(workers))
	for i, g := range workers {
		g.table.MaskAlike(first.table)
		tables[i] = g.table
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
		g, err := newGrouper(first.keys, first.table.GlobalDicts(), first.specs, 0, first.env)
		if err != nil {
			return nil, err
		}
		g.unfinished = first.unfinished
		merged[i] = g
		most := 0
		for _, s := range shares {
			most = max(most, bytes.Count(s, []byte{uint8(i)}))
		}
		if g.env.Budget.Free() > int64(most)*int64(64+8*len(g.keys)) && !g.table.ApproachAll(tables) {
			g.table.Reserve(most)
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

// shares returns by group which of n shares it belongs to; alike says that all tables have the same
// words for a key. Afterwards keys and intermediate values may be read by several goroutines.
func (g *grouper) shares(ctx context.Context, n int, alike bool) ([]uint8, error) {
	out := make([]uint8, g.groups())
	hashes := make([]uint64, keys.AbsorbRows)
	for lo := 0; lo < len(out); lo += keys.AbsorbRows {
		if err := stop(ctx); err != nil {
			return nil, err
		}
		hi := min(lo+keys.AbsorbRows, len(out))
		g.table.HashKeys(lo, hi, alike, hashes[:hi-lo])
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
	rows := make([]uint32, 0, keys.AbsorbRows)
	for lo := 0; lo < len(shares); lo += keys.AbsorbRows {
		if err := stop(ctx); err != nil {
			return err
		}
		hi := min(lo+keys.AbsorbRows, len(shares))
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
