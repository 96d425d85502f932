package exec

import (
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/plan"
)

// KeptFragment is the cache of a Broker for a fragment that other servers run: the groups of each
// of their segments, as the servers return them.
type KeptFragment struct {
	cache *SegmentCache
	base  []byte
	times []chrono.Interval // of the scan; nil: all of time
}

// Fragment returns the cache for a fragment of a query in a time zone, or nil if the fragment is
// not cached. Fragments with a profile are not cached, because cached groups have no counters.
// Groups by several dimensions are cached only on the servers of their segments, which merge them
// before they send them.
func (c *SegmentCache) Fragment(f *Fragment, zone string) *KeptFragment {
	n, ok := f.Plan.(*plan.Aggregate)
	if !ok || !f.Groups || f.Remote != nil || !c.takes(n) || slices.Equal(nativeTypes(n), []string{"groupBy"}) {
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

// Key returns the key of a segment whose file has a fingerprint, with its interval and its visible
// interval.
func (k *KeptFragment) Key(id, file string, interval, visible chrono.Interval) RowKey {
	seen := []chrono.Interval{visible}
	if k.times != nil {
		seen = chrono.IntersectAll(k.times, seen)
	}
	return keptKey(k.base, id, file, !chrono.ContainsAll(seen, []chrono.Interval{interval}), seen)
}

// Get returns the cached rows of a key, or nil.
func (k *KeptFragment) Get(key RowKey) Operator {
	if !k.cache.Use {
		return nil
	}
	return k.cache.Rows.Get(key, nil)
}

// Populates reports whether groups of single segments are added to the cache.
func (k *KeptFragment) Populates() bool { return k != nil && k.cache.Populate }

// Record returns op; when it has returned all rows, they are cached.
func (k *KeptFragment) Record(key RowKey, op Operator) Operator {
	return k.cache.Rows.Record(key, nil, k.cache.MaxEntry, op)
}
