package exec

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
)

// acquiring is how many segments a query acquires at once. Where they are not in memory that is
// waiting, for a disk or for deep storage.
const acquiring = 16

// AcquireLeaves sets the readers of the leaves of a scan: leaf i gets the result of open(i) unless
// it already has a reader. It also makes the columns to be read available. If it fails, no leaf
// remains acquired.
func AcquireLeaves(ctx context.Context, scan *plan.Scan, columns []string, leaves []Leaf, open func(ctx context.Context, i int) (segment.Reader, error)) error {
	var next atomic.Int64
	g := NewGroup(ctx)
	for range min(acquiring, len(leaves)) {
		g.Go(func(one context.Context) error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(leaves) {
					return nil
				}
				if one.Err() != nil {
					return context.Cause(one)
				}
				if leaves[i].Reader == nil {
					reader, err := open(ctx, i)
					if err != nil {
						return err
					}
					leaves[i].Reader = reader
				}
				reader := leaves[i].Reader
				names := leaves[i].columns(scan, columns)
				readFrom(ctx, reader, names)
				if segment.InPart(reader) {
					if err := segment.Fetch(one, reader, names); err != nil {
						return err
					}
				}
			}
		})
	}
	err := g.Wait()
	if err != nil {
		ReleaseLeaves(leaves)
	}
	return err
}

// ReleaseLeaves releases the readers of leaves that have one.
func ReleaseLeaves(leaves []Leaf) {
	for i := range leaves {
		if leaves[i].Reader != nil {
			leaves[i].Reader.Release()
			leaves[i].Reader = nil
		}
	}
}

// columns returns the names of the columns that are read of a segment: those of the scan, and its
// times where not all of them count.
func (l *Leaf) columns(scan *plan.Scan, names []string) []string {
	info := l.Reader.Info()
	for _, iv := range l.intervals(scan) {
		if info.HasTimes && iv.Start <= info.MinTime && info.MaxTime < iv.End {
			return names
		}
	}
	return append(slices.Clone(names), segment.TimeColumn)
}

// intervals returns the part of time in which rows count.
func (l *Leaf) intervals(scan *plan.Scan) []chrono.Interval {
	visible := []chrono.Interval{l.Visible}
	if scan.Intervals == nil {
		return visible
	}
	return chrono.IntersectAll(visible, scan.Intervals)
}

// bytes is what columns take in the file, for the rows that can count.
func (l *leafScan) bytes(names []string) int64 {
	info := l.leaf.Reader.Info()
	size := int64(0)
	for _, name := range names {
		if c := info.Column(name); c != nil && c.Path == "" {
			size += c.Size
		}
	}
	return int64(float64(size) / float64(max(1, info.Rows)) * float64(l.rows))
}
