package timeline

import (
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
)

// TombstoneIntervals returns the intervals in which a replacement must hide existing segments by
// tombstones. drop contains the replaced intervals without those of the new segments, used the
// intervals of the existing segments. The result has one interval for each bucket of the
// granularity that has old data, clipped to drop; a part without start or end is one interval. More
// than limit intervals are a fault.
func TombstoneIntervals(drop, used []chrono.Interval, granularity chrono.Granularity, limit int) ([]chrono.Interval, error) {
	var out []chrono.Interval
	add := func(iv chrono.Interval) error {
		// Neighbouring pieces of old data may fall into one bucket.
		if n := len(out); n > 0 && out[n-1] == iv {
			return nil
		}
		if len(out) >= limit {
			return fault.InvalidInput("Replacing needs more than [%d] tombstones of granularity [%s]: use a coarser granularity or a shorter interval",
				limit, granularity)
		}
		out = append(out, iv)
		return nil
	}
	drop = chrono.Condense(drop)
	for _, part := range chrono.IntersectAll(drop, used) {
		if part.Start <= chrono.MinInstant || part.End >= chrono.MaxInstant {
			if err := add(part); err != nil {
				return nil, err
			}
			continue
		}
		i, _ := slices.BinarySearchFunc(drop, part, func(d, p chrono.Interval) int {
			if d.End <= p.Start {
				return -1
			}
			return boolInt(d.Start > p.Start)
		})
		for bucket := range granularity.Iterate(part) {
			clipped, ok := bucket.Intersect(drop[i])
			if !ok {
				continue
			}
			if err := add(clipped); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
