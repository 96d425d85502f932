package msq

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
)

// sliced gives the segments of a bench as slices, and counts how often one is opened.
type sliced struct {
	b      *bench
	opened atomic.Int64
}

func (s *sliced) Visible(scan *plan.Scan) []Slice {
	var out []Slice
	for _, seg := range s.b.meta.used {
		iv := seg.ID.Interval
		if seg.IsTombstone() || seg.ID.DataSource != scan.DataSource || scan.Intervals != nil && !iv.Overlaps(scan.Intervals[0]) {
			continue
		}
		if scan.Intervals != nil {
			iv, _ = iv.Intersect(scan.Intervals[0])
		}
		out = append(out, Slice{seg, iv})
	}
	return out
}

func (s *sliced) Open(_ context.Context, id string, loadSpec json.RawMessage) (segment.Reader, error) {
	s.opened.Add(1)
	for _, seg := range s.b.meta.used {
		if seg.ID.String() == id && string(seg.LoadSpec()) == string(loadSpec) {
			return s.b.open(seg)
		}
	}
	return nil, fmt.Errorf("no segment [%s]", id)
}

// Workers read the segments of a datasource, here and in other processes, each segment once: also
// where a statement reads it twice.
func TestSegmentsAreReadByOtherProcesses(t *testing.T) {
	for name, context := range map[string]map[string]any{
		"alone": {"maxNumTasks": 4}, "helped": {"maxNumTasks": 4, "helped": true}, "one worker": {"maxNumTasks": 2},
		"durable": {"maxNumTasks": 4, "helped": true, "durableShuffleStorage": true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if _, _, err := b.run(b.insertOf(b.filesOf(twelve(), twelve(), twelve())), nil); err != nil {
				t.Fatal(err)
			}
			s := &sliced{b: b}
			b.deps.Segments, b.deps.Tables = s, nil
			h := &testSession{}
			if context["helped"] != nil {
				delete(context, "helped")
				h = b.helped(2)
			}
			scan := func(intervals ...chrono.Interval) plan.Node {
				return &plan.Scan{DataSource: "w", Intervals: intervals, Out: b.insertOf(b.filesOf(twelve())).Input.Columns(), Limit: -1}
			}
			first := b.meta.used[0].ID.Interval
			both := &plan.Union{Ins: []plan.Node{scan(), scan(first)}, Out: scan().Columns()}
			_, out, err := b.run(&plan.Write{Input: both, DataSource: "copy", PartitionBy: days(t), Cluster: []int{1}}, context)
			if err != nil {
				t.Fatal(err)
			}
			if b.deps.Join != nil && h.parts.Load() < 2 || s.opened.Load() != 4 {
				t.Errorf("[%d] parts elsewhere, [%d] segments opened", h.parts.Load(), s.opened.Load())
			}
			rows := map[string]int{}
			for _, seg := range out.Segments {
				for _, r := range b.rows(seg) {
					rows[fmt.Sprint(r)]++
				}
			}
			want := map[string]int{}
			for i, seg := range b.meta.used[:3] {
				for _, r := range b.rows(seg) {
					want[fmt.Sprint(r)]++
					if i == 0 {
						want[fmt.Sprint(r)]++
					}
				}
			}
			if d := cmp.Diff(want, rows); d != "" {
				t.Error(d)
			}
		})
	}
}
