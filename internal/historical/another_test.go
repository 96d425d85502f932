package historical

import (
	"bytes"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
)

// A metastore that has lost its last moments gives a segment id again. A Historical that holds the
// file that had the id before does not answer with its rows, whichever way it is asked: it says
// that it does not hold the segment, or reads the file that is meant, and tells that what it had is
// gone.
func TestAnIDThatIsGivenAgain(t *testing.T) {
	iv := chrono.Interval{Start: 0, End: 86_400_000}
	for _, dataSource := range []string{"wiki", "a", "0"} { // the last two stand in fingerprints
		id := timeline.SegmentID{DataSource: dataSource, Interval: iv, Version: "v1"}
		for _, o := range []struct {
			what string
			ask  func(h *Historical, of *timeline.Segment) (segment.Reader, error)
			none bool
		}{
			{"a fragment that takes it for held", func(h *Historical, of *timeline.Segment) (segment.Reader, error) {
				return Named{h}.Held(t.Context(), of.ID.String(), segment.FingerprintOf(of))
			}, true},
			{"a fragment that says where it is", func(h *Historical, of *timeline.Segment) (segment.Reader, error) {
				return Named{h}.Acquire(t.Context(), of.ID.String(), of.LoadSpec())
			}, false},
			{"a query of the process", func(h *Historical, of *timeline.Segment) (segment.Reader, error) {
				return h.Acquire(t.Context(), of)
			}, false},
		} {
			t.Run(dataSource+"/"+o.what, func(t *testing.T) {
				b := newBench(t, notHere)
				put := func(stem string, rows int) *timeline.Segment {
					content := b.file(rows)
					file, err := segment.OpenAt(bytes.NewReader(content), int64(len(content)), stem)
					if err != nil {
						t.Fatal(err)
					}
					defer file.Release()
					key := segment.FileName("segments/"+dataSource+"/"+stem, file.Info().Fingerprint)
					if err := b.deep.Put(t.Context(), key, bytes.NewReader(content)); err != nil {
						t.Fatal(err)
					}
					return (&timeline.Segment{ID: id, Shard: timeline.Numbered{Core: 1}, Size: int64(len(content))}).Locate(b.deep.LoadSpec(key))
				}
				forgotten, meant := put("first", 3), put("second", 5)
				if failed := b.load(item(forgotten)); len(failed) > 0 {
					t.Fatal(failed)
				}
				before, err := b.Changes().Since(t.Context(), cluster.Beginning, 0, b.clock)
				if err != nil {
					t.Fatal(err)
				}
				reader, err := o.ask(b.Historical, meant)
				switch {
				case o.none:
					if f := fault.Find(err); f == nil || f.Category != fault.CategoryNotFound {
						t.Fatalf("the segment is %v, %v", reader, err)
					}
				case err != nil:
					t.Fatal(err)
				default:
					if n := reader.Info().Rows; n != 5 {
						t.Errorf("it has [%d] rows", n)
					}
					reader.Release()
				}
				after, err := b.Changes().Since(t.Context(), before.Counter, 0, b.clock)
				if err != nil || after == nil || len(after.Changes) != 1 || after.Changes[0].Action != "drop" || after.Changes[0].ID != id.String() {
					t.Errorf("announced are %+v, %v", after, err)
				}
				if failed := b.load(item(meant)); len(failed) > 0 {
					t.Errorf("the file that is meant is not loaded: %v", failed)
				}
				reader, err = Named{b.Historical}.Held(t.Context(), id.String(), segment.FingerprintOf(meant))
				if err != nil {
					t.Fatal(err)
				}
				defer reader.Release()
				if n := reader.Info().Rows; n != 5 {
					t.Errorf("then it has [%d] rows", n)
				}
			})
		}
	}
}
