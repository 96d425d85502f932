package streams

import (
	"context"
	"maps"
	"slices"

	"github.com/hengedb/henge/internal/stream"
)

// learn takes note of the partitions that the stream has.
func (k *keeper) learn(partitions []stream.Partition) {
	partitions = slices.SortedFunc(slices.Values(partitions), comparePartitions)
	if k.earlier == nil {
		k.earlier = map[stream.Partition]bool{}
		for _, p := range partitions {
			k.earlier[p] = true
		}
	}
	if slices.Equal(partitions, k.known) {
		return
	}
	k.known = partitions
	switch {
	case slices.Equal(partitions, k.assigned):
		k.newSince = 0
	case k.newSince == 0:
		k.newSince = k.now()
	}
}

// repartition spreads the partitions anew when there are others: at once where nobody reads, else
// after the groups have read on for a while, so that who writes to the new ones later does not
// overtake who wrote before.
func (k *keeper) repartition(ctx context.Context) {
	if len(k.known) == 0 || slices.Equal(k.known, k.assigned) {
		return
	}
	switch {
	case k.first: // tasks of before may read only some
		blocked := k.unread()
		k.assigned = slices.DeleteFunc(slices.Clone(k.known), func(p stream.Partition) bool { return blocked[p] })
		k.newSince = 0
		if len(blocked) > 0 {
			k.newSince = k.now()
		}
		return
	case len(k.reading) > 0:
		if k.newSince == 0 || k.now()-k.newSince < k.spec().Tuning.RepartitionTransition {
			return
		}
		k.finish(ctx, slices.Collect(maps.Values(k.reading)))
	}
	k.assigned, k.newSince = slices.Clone(k.known), 0
}

// unread returns the partitions that groups don't read which read others of theirs.
func (k *keeper) unread() map[stream.Partition]bool {
	out := map[stream.Partition]bool{}
	for id, partitions := range k.assignment(k.known) {
		g := k.reading[id]
		if g == nil {
			continue
		}
		for _, p := range partitions {
			if _, ok := g.starts[p]; !ok {
				out[p] = true
			}
		}
	}
	return out
}
