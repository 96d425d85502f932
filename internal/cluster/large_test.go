package cluster

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/timeline"
)

// TestASegmentTakesLittleMemory measures what a Broker keeps of each segment of a large cluster:
// its descriptor in the timeline, and which of 200 Historicals hold its two copies.
func TestASegmentTakesLittleMemory(t *testing.T) {
	const segments, servers, most = 200_000, 200, 500
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	base := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	schema := timeline.SchemaOfNames([]string{"page", "user", "channel"}, []string{"count", "added"})
	described := func(i int) *timeline.Segment {
		partition, hour := i/100%4, int64(i/400)
		id := timeline.SegmentID{DataSource: fmt.Sprintf("datasource%02d", i%100), Version: fmt.Sprintf("2026-03-%02dT00:00:00.000Z", 1+i%25),
			Interval: chrono.Interval{Start: base + hour*chrono.Hour, End: base + (hour+1)*chrono.Hour}, Partition: partition}
		s := &timeline.Segment{ID: id, Shard: timeline.Numbered{Partition: partition, Core: 4}, Schema: schema, File: id.String(), Size: 400 << 20, Rows: 5_000_000}
		return s.Locate(json.RawMessage(fmt.Sprintf(`{"type":"s3_zip","bucket":"analytics","key":"segments/%s/%s_%s/%s/%d/%016x.segment"}`, id.DataSource,
			chrono.FormatMillis(id.Interval.Start, chrono.UTC), chrono.FormatMillis(id.Interval.End, chrono.UTC), id.Version, partition, i*7919)))
	}
	var interner timeline.Interner
	state := timeline.NewState(1, func(yield func(*timeline.Segment) bool) {
		for i := range segments {
			s := described(i)
			interner.Segment(s)
			if !yield(s) {
				return
			}
		}
	})
	timelines := heap()
	inventory := NewInventory(InventoryOptions{})
	for n := range servers {
		s := &server{at: Beginning, as: &dispatch.Server{Name: fmt.Sprintf("historical%03d:8083", n)}}
		inventory.mu.servers[s.as.Name] = s
		d := &Delta{}
		for i := n; i < 2*segments; i += servers {
			d.Changes = append(d.Changes, Change{Action: "load", ID: described((i + i/segments*7) % segments).ID.String()})
		}
		inventory.mu.Lock()
		inventory.noteLocked(s, d, nil)
		inventory.mu.Unlock()
	}
	all := heap()
	t.Logf("[%d] bytes in the timeline, [%d] in the inventory", (timelines-before)/segments, (all-timelines)/segments)
	if each := (all - before) / segments; each > most {
		t.Errorf("a segment takes [%d] bytes, more than [%d]", each, most)
	}
	runtime.KeepAlive(state)
	runtime.KeepAlive(inventory)
	runtime.KeepAlive(&interner)
}
