package streams

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
)

// TestPlaces: where a supervisor is, and what a reset would skip or read again.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		name, io string
		want     string
	}{
		{"from the beginning", "", `{"stream":"orders","type":"kafka","earliestOffsets":{"0":20,"1":0},"latestOffsets":{"0":500,"1":70},` +
			`"publishedOffsets":{"0":120,"1":0},"currentOffsets":{"0":150,"1":60},"resetOffsets":{"0":20,"1":0},` +
			`"skippedByReset":{"0":0,"1":0},"readAgainByReset":{"0":100,"1":0}}`},
		{"from the end", `"useEarliestOffset":false`,
			`{"stream":"orders","type":"kafka","earliestOffsets":{"0":20,"1":0},"latestOffsets":{"0":500,"1":70},` +
				`"publishedOffsets":{"0":120,"1":0},"currentOffsets":{"0":150,"1":60},"resetOffsets":{"0":500,"1":70},` +
				`"skippedByReset":{"0":380,"1":70},"readAgainByReset":{"0":0,"1":0}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, 2, func(f *fixture) {
				f.source.has("0", "0", "500")
				f.source.has("1", "0", "0")
				s := f.spec(c.io, "", "")
				f.put(s)
				f.after(2 * time.Second)
				f.source.has("0", "20", "500")
				f.source.has("1", "0", "70")
				f.store.publish("sales", stream.Positions{"0": "120"})
				task := f.only()
				task.reads("0", "150")
				task.reads("1", "60")
				got, err := Kind{"kafka", f.manager}.Positions(f.t.Context(), specification{s})
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.Marshal(got)
				if err != nil || string(text) != c.want {
					t.Errorf("got  %s, %v\nwant %s", text, err, c.want)
				}
			})
		})
	}
}

// TestPlacesAreNotKnown: of a stream that can't be reached, and of a supervisor that does not run.
func TestPlacesAreNotKnown(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		s := f.spec("", "", "")
		kind := Kind{"kafka", f.manager}
		for _, want := range []string{"does not run yet", "has not connected to its stream", "The ends of stream [orders] are not known: away"} {
			_, err := kind.Positions(f.t.Context(), specification{s})
			if e := fault.Find(err); e == nil || e.Category != fault.CategoryServiceUnavailable || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
			if want == "does not run yet" {
				f.put(s)
				continue
			}
			f.after(2 * time.Second)
			f.source.fail(errors.New("away"))
		}
	})
}
