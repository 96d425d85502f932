package exec

import (
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/plan"
)

// KeptFragment is what a Broker keeps of a fragment that other servers run: the groups of each of
// their segments, as they give them.
type KeptFragment struct {
	cache *SegmentCache
	base  []byte
	times []chrono.Interval // of the scan; nil: all of time
}

// Fragment returns what the cache does for a fragment of a query in a time zone; nil: nothing. What
// operators did can't be told from what was kept, and groupings by several dimensions are not kept
// far from their segments: there they are merged before they are sent.
func (c *SegmentCache) Fragment(f *Fragment, zone string) *KeptFragment {
	n, ok := f.Plan.(*plan.Aggregate)
	if !ok || !f.Groups || f.Far != nil || !c.takes(n) || slices.Equal(nativeTypes(n), []string{"groupBy"}) {
		return nil
	}
	k := &KeptFragment{cache: c}
	bare, ok := k.bare(n)
	if !ok {
		return nil
	}
	if k.base = keptBase(bare, zone); k.base == nil {
		return nil
	}
	k.base = append(k.base, 0)
	for _, need := range f.Need { // other columns may come as nulls
		if need {
			k.base = append(k.base, 1)
		} else {
			k.base = append(k.base, 2)
		}
	}
	k.base = append(k.base, "far"...) // not what a server of this process keeps under the same name
	return k
}

// bare returns a chain whose scan has no bounds of time, which k notes; false: the plan is no
// chain, or depends on more than its segments.
func (k *KeptFragment) bare(n plan.Node) (plan.Node, bool) {
	if scan, ok := n.(*plan.Scan); ok {
		k.times = scan.Intervals
		c := *scan
		c.Intervals = nil
		return &c, scan.Limit < 0
	}
	inputs := n.Inputs()
	if len(inputs) != 1 {
		return nil, false
	}
	in, ok := k.bare(inputs[0])
	if !ok {
		return nil, false
	}
	return plan.WithInputs(n, []plan.Node{in}), true
}

// Key is the key of one segment, of which the file has a fingerprint, with rows in an interval, of
// which those in another one count.
func (k *KeptFragment) Key(id, file string, interval, visible chrono.Interval) RowKey {
	seen := []chrono.Interval{visible}
	if k.times != nil {
		seen = chrono.IntersectAll(k.times, seen)
	}
	return keptKey(k.base, id, file, !chrono.ContainsAll(seen, []chrono.Interval{interval}), seen)
}

// Get returns what is kept under a key, nil if there is nothing.
func (k *KeptFragment) Get(key RowKey) Operator {
	if !k.cache.Use {
		return nil
	}
	return k.cache.Rows.Get(key, nil)
}

// Populates reports whether groups of single segments are wanted.
func (k *KeptFragment) Populates() bool { return k != nil && k.cache.Populate }

// Record returns op, whose rows are kept when it has given all of them.
func (k *KeptFragment) Record(key RowKey, op Operator) Operator {
	return k.cache.Rows.Record(key, nil, k.cache.MaxEntry, op)
}
