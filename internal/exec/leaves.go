package exec

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
)

// acquiring is how many segments a query acquires at once. Where they are not in memory that is waiting, for a disk or for deep storage.
const acquiring = 16

// AcquireLeaves sets the readers of a scan's leaves, the i-th to what open(i) returns, and has the columns that the scan reads be there. When it fails
// none is left acquired.
func AcquireLeaves(ctx context.Context, scan *plan.Scan, leaves []Leaf, open func(ctx context.Context, i int) (segment.Reader, error)) error {
	names := columnsOf(scan)
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
				reader, err := open(ctx, i)
				if err != nil {
					return err
				}
				leaves[i].Reader = reader
				if segment.InPart(reader) {
					if err := segment.Fetch(one, reader, leaves[i].columns(scan, names)); err != nil {
						return err
					}
				}
			}
		})
	}
	err := g.Wait()
	if err != nil {
		for i := range leaves {
			if leaves[i].Reader != nil {
				leaves[i].Reader.Release()
				leaves[i].Reader = nil
			}
		}
	}
	return err
}

// columns returns the names of the columns that are read of a segment: those of the scan, and its times where not all of them count.
func (l *Leaf) columns(scan *plan.Scan, names []string) []string {
	info := l.Reader.Info()
	for _, iv := range (&leafScan{scan: scan, leaf: *l}).intervals() {
		if info.HasTimes && iv.Start <= info.MinTime && info.MaxTime < iv.End {
			return names
		}
	}
	return append(slices.Clone(names), segment.TimeColumn)
}

// columnsOf are the names of the columns that a scan reads.
func columnsOf(scan *plan.Scan) []string {
	names := make([]string, len(scan.Out))
	for i, c := range scan.Out {
		names[i] = c.Name
	}
	return names
}
