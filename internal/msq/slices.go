package msq

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
)

// Segments supplies the segments of existing datasources as slices of the input of a stage. Like
// files, slices are divided between its workers, and each worker opens its own.
type Segments interface {
	// Visible returns the segments of a scan that contain rows, in the state of the timeline that the
	// job has pinned.
	Visible(scan *plan.Scan) []Slice
	// Open opens a segment, which the caller releases. It fetches the file from deep storage if it is
	// not local.
	Open(ctx context.Context, id string, loadSpec json.RawMessage) (segment.Reader, error)
}

// Slice is a segment with its visible interval.
type Slice struct {
	Of      *timeline.Segment
	Visible chrono.Interval
}

// partSlice is a Slice on its way to another process.
type partSlice struct {
	ID       string
	Visible  chrono.Interval
	LoadSpec json.RawMessage
	rows     int64 // of the file, for dividing
}

// sliced returns the segments of a scan as slices; false: scans are read through exec.Tables.
func (k *core) sliced(scan *plan.Scan) ([]partSlice, bool) {
	if k.deps.Segments == nil {
		return nil, false
	}
	var out []partSlice
	for _, s := range k.deps.Segments.Visible(scan) {
		out = append(out, partSlice{s.Of.ID.String(), s.Visible, s.Of.LoadSpec(), s.Of.Rows})
	}
	return out, true
}

// assignSlices divides slices so that workers get about equally many rows; each keeps their order.
func assignSlices(list []partSlice, workers int) [][]partSlice {
	out, load := make([][]partSlice, workers), make([]int64, workers)
	for _, s := range list {
		least := slices.Index(load, slices.Min(load))
		load[least] += max(s.rows, 1)
		out[least] = append(out[least], s)
	}
	return out
}

// slicesOf finds the input of a scan, also of a copy that an operator made of it.
func (in *inputs) slicesOf(scan *plan.Scan) (int, error) {
	if i, x := in.position(scan); x != nil {
		return i, nil
	}
	found := -1
	for i, x := range in.order.stage.inputs {
		s, ok := x.leaf.(*plan.Scan)
		if !ok || s.DataSource != scan.DataSource || !slices.Equal(s.Intervals, scan.Intervals) {
			continue
		}
		if found >= 0 && !slices.EqualFunc(in.order.slices[found], in.order.slices[i], partSlice.equal) {
			return 0, fault.Defensive("A stage reads datasource [%s] in a way that it does not know", scan.DataSource)
		}
		found = i
	}
	if found < 0 {
		return 0, fault.Defensive("A stage reads datasource [%s], which is not one of its inputs", scan.DataSource)
	}
	return found, nil
}

func (s partSlice) equal(o partSlice) bool { return s.ID == o.ID && s.Visible == o.Visible }

// opening is how many segments a worker opens at once. Where they are not at hand that is waiting
// for deep storage.
const opening = 16

// openSlices opens the segments of a worker. When it fails none is left open.
func (in *inputs) openSlices(ctx context.Context, list []partSlice) ([]exec.Leaf, error) {
	leaves, numbers := make([]exec.Leaf, len(list)), make([]int, len(list))
	for i := range list {
		leaves[i].Visible, numbers[i] = list[i].Visible, i
	}
	err := several(ctx, opening, numbers, func(ctx context.Context, i int) (err error) {
		leaves[i].Reader, err = in.job.deps.Segments.Open(ctx, list[i].ID, list[i].LoadSpec)
		return err
	})
	if err == nil {
		return leaves, nil
	}
	for _, l := range leaves {
		if l.Reader != nil {
			l.Reader.Release()
		}
	}
	return nil, err
}
