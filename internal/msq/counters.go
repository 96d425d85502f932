package msq

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/expr"
)

// counters are the live counts of one worker in one stage. Safe for use by many goroutines.
type counters struct {
	mu struct {
		sync.Mutex
		channels map[string]*channelCounter
		sort     *sortCounter
		generate *generateCounter
		warnings map[string]int64
		cpu      map[string]time.Duration
		local    struct{ files, bytes, max int64 }
		durable  struct{ files, bytes int64 }
	}
}

func newCounters() *counters {
	c := &counters{}
	c.mu.channels = map[string]*channelCounter{}
	c.mu.warnings = map[string]int64{}
	c.mu.cpu = map[string]time.Duration{}
	return c
}

// channelCounter counts what goes through an input or output, by partition.
type channelCounter struct {
	rows, bytes, frames, files, totalFiles []int64
}

func inputName(i int) string { return "input" + strconv.Itoa(i) }

func (c *counters) channel(name string) *channelCounter {
	ch := c.mu.channels[name]
	if ch == nil {
		ch = &channelCounter{}
		c.mu.channels[name] = ch
	}
	return ch
}

// flow adds to a channel's partition.
func (c *counters) flow(name string, partition int, rows, bytes, frames int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := c.channel(name)
	addAt(&ch.rows, partition, rows)
	addAt(&ch.bytes, partition, bytes)
	addAt(&ch.frames, partition, frames)
}

// files adds read files, or files there are to read, to a channel.
func (c *counters) files(name string, read, total int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := c.channel(name)
	addAt(&ch.files, 0, read)
	addAt(&ch.totalFiles, 0, total)
}

func addAt(list *[]int64, i int, n int64) {
	for len(*list) <= i {
		*list = append(*list, 0)
	}
	(*list)[i] += n
}

func (c *counters) warn(code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.warnings[code]++
}

// spent adds time to a label of the cpu counter. Goroutines share cores, so that only the time on
// the wall is known; it stands for both.
func (c *counters) spent(label string, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.cpu[label] += d
}

// stored counts a file on the local disk.
func (c *counters) stored(files, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.local.files += files
	c.mu.local.bytes += bytes
}

// kept counts a file that went to deep storage.
func (c *counters) kept(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.durable.files++
	c.mu.durable.bytes += bytes
}

// sortCounter is the progress of a global sort: batches read and sorted (level 0), merged into runs
// (level 1), written as partitions (level 2), as the three levels of Druid's sorter. See quirk
// Q014.
type sortCounter struct {
	batches, runs, mergedRuns, partitions, mergedPartitions int64
	known                                                   bool // partitions is known
	trivial                                                 bool // there was nothing to sort
}

func (c *counters) sorting(f func(*sortCounter)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.sort == nil {
		c.mu.sort = &sortCounter{}
	}
	f(c.mu.sort)
}

// generateCounter is the progress of building segments.
type generateCounter struct{ processed, persisted, merged, pushed int64 }

func (c *counters) generating(f func(*generateCounter)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.generate == nil {
		c.mu.generate = &generateCounter{}
	}
	f(c.mu.generate)
}

// snapshot renders the counters; all leaves out those of releases before 31 when it is false. Empty
// ones are left out; an empty snapshot is nil.
func (c *counters) snapshot(all bool) (json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b objectBuilder
	for _, name := range c.channelNames() {
		text, empty, err := c.mu.channels[name].json()
		if err != nil {
			return nil, err
		}
		b.optional(!empty, name, text)
	}
	if c.mu.sort != nil {
		text, err := c.mu.sort.json()
		if err != nil {
			return nil, err
		}
		b.add("sortProgress", text)
	}
	if len(c.mu.warnings) > 0 {
		var w objectBuilder
		w.add("type", "warnings")
		for _, code := range slices.Sorted(maps.Keys(c.mu.warnings)) {
			w.add(code, c.mu.warnings[code])
		}
		text, err := w.done()
		if err != nil {
			return nil, err
		}
		b.add("warnings", json.RawMessage(text))
	}
	if all && len(c.mu.cpu) > 0 {
		var w objectBuilder
		w.add("type", "cpus")
		for _, label := range slices.Sorted(maps.Keys(c.mu.cpu)) {
			w.add(label, map[string]any{"type": "cpu", "cpu": c.mu.cpu[label].Nanoseconds(), "wall": c.mu.cpu[label].Nanoseconds()})
		}
		text, err := w.done()
		if err != nil {
			return nil, err
		}
		b.add("cpu", json.RawMessage(text))
	}
	if g := c.mu.generate; g != nil {
		b.add("segmentGenerationProgress", struct {
			Type      string `json:"type"`
			Processed int64  `json:"rowsProcessed"`
			Persisted int64  `json:"rowsPersisted"`
			Merged    int64  `json:"rowsMerged"`
			Pushed    int64  `json:"rowsPushed"`
		}{"segmentGenerationProgress", g.processed, g.persisted, g.merged, g.pushed})
	}
	if l := c.mu.local; all && l.files > 0 {
		b.add("storage", struct {
			Type     string `json:"type"`
			Reserved int64  `json:"localBytesReserved"`
			Files    int64  `json:"localFilesWritten"`
			Bytes    int64  `json:"localBytesWritten"`
			Durable  int64  `json:"durableFileCount"`
			Written  int64  `json:"durableBytesWritten"`
		}{"storage", l.bytes, l.files, l.bytes, c.mu.durable.files, c.mu.durable.bytes})
	}
	if b.buf.Len() == 0 {
		return nil, b.err
	}
	return b.done()
}

// channelNames returns inputs by number, then output, then shuffle.
func (c *counters) channelNames() []string {
	rank := func(name string) string {
		if n, ok := strings.CutPrefix(name, "input"); ok {
			return fmt.Sprintf("0%06s", n)
		}
		return map[string]string{"output": "1", "shuffle": "2"}[name] + name
	}
	names := slices.Collect(maps.Keys(c.mu.channels))
	sort.Slice(names, func(i, j int) bool { return rank(names[i]) < rank(names[j]) })
	return names
}

// json renders a channel: arrays that are all zero are left out.
func (ch *channelCounter) json() (text json.RawMessage, empty bool, err error) {
	var b objectBuilder
	b.add("type", "channel")
	empty = true
	for _, a := range []struct {
		name   string
		values []int64
	}{{"rows", ch.rows}, {"bytes", ch.bytes}, {"frames", ch.frames}, {"files", ch.files}, {"totalFiles", ch.totalFiles}} {
		if slices.ContainsFunc(a.values, func(n int64) bool { return n != 0 }) {
			b.add(a.name, a.values)
			empty = false
		}
	}
	text, err = b.done()
	return text, empty, err
}

func (s *sortCounter) json() (json.RawMessage, error) {
	var b objectBuilder
	b.add("type", "sortProgress")
	if s.trivial {
		b.add("totalMergingLevels", -1)
		b.add("levelToTotalBatches", struct{}{})
		b.add("levelToMergedBatches", struct{}{})
		b.add("totalMergersForUltimateLevel", -1)
		b.add("triviallyComplete", true)
		b.add("progressDigest", double(1))
		return b.done()
	}
	if s.batches == 0 {
		b.add("totalMergingLevels", -1)
		b.add("levelToTotalBatches", struct{}{})
		b.add("levelToMergedBatches", struct{}{})
		b.add("totalMergersForUltimateLevel", -1)
		return b.done()
	}
	last := int64(-1)
	if s.known {
		last = s.partitions
	}
	b.add("totalMergingLevels", 3)
	b.add("levelToTotalBatches", levels{s.batches, max(s.runs, 1), last})
	merged := levels{s.batches}
	if s.mergedRuns > 0 {
		merged = append(merged, s.mergedRuns)
	}
	if s.mergedPartitions > 0 {
		merged = append(merged, s.mergedPartitions)
	}
	b.add("levelToMergedBatches", merged)
	b.add("totalMergersForUltimateLevel", last)
	digest := 1.0 / 3
	if s.mergedRuns > 0 {
		digest += float64(s.mergedRuns) / float64(max(s.runs, 1)) / 3
	}
	if s.known && s.partitions > 0 {
		digest += float64(s.mergedPartitions) / float64(s.partitions) / 3
	}
	b.add("progressDigest", double(min(round(digest), 1)))
	return b.done()
}

// round takes off the last bits of a sum of thirds.
func round(x float64) float64 {
	if x > 0.9999999 {
		return 1
	}
	return x
}

// levels is a map from level to count.
type levels []int64

// MarshalJSON returns {"0":..,"1":..}.
func (l levels) MarshalJSON() ([]byte, error) {
	var b objectBuilder
	for i, n := range l {
		b.add(strconv.Itoa(i), n)
	}
	return b.done()
}

// double is a number that always shows a fraction, as Java prints it.
type double float64

// MarshalJSON returns 1.0, not 1.
func (d double) MarshalJSON() ([]byte, error) { return expr.AppendDouble(nil, float64(d)), nil }

// countersState is what counters have counted, as workers in other processes tell it.
type countersState struct {
	Channels                   map[string]channelState  `json:",omitempty"`
	Sort                       *sortState               `json:",omitempty"`
	Generate                   *generateState           `json:",omitempty"`
	Warnings                   map[string]int64         `json:",omitempty"`
	CPU                        map[string]time.Duration `json:",omitempty"`
	LocalFiles, LocalBytes     int64                    `json:",omitempty"`
	DurableFiles, DurableBytes int64                    `json:",omitempty"`
}

type channelState struct{ Rows, Bytes, Frames, Files, TotalFiles []int64 }

type sortState struct {
	Batches, Runs, MergedRuns, Partitions, MergedPartitions int64
	Known, Trivial                                          bool
}

type generateState struct{ Processed, Persisted, Merged, Pushed int64 }

// state returns what was counted so far.
func (c *counters) state() countersState {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := countersState{
		Channels: map[string]channelState{}, Warnings: maps.Clone(c.mu.warnings), CPU: maps.Clone(c.mu.cpu), LocalFiles: c.mu.local.files,
		LocalBytes: c.mu.local.bytes, DurableFiles: c.mu.durable.files, DurableBytes: c.mu.durable.bytes,
	}
	for name, ch := range c.mu.channels {
		s.Channels[name] = channelState{
			slices.Clone(ch.rows), slices.Clone(ch.bytes), slices.Clone(ch.frames), slices.Clone(ch.files), slices.Clone(ch.totalFiles),
		}
	}
	if n := c.mu.sort; n != nil {
		s.Sort = &sortState{n.batches, n.runs, n.mergedRuns, n.partitions, n.mergedPartitions, n.known, n.trivial}
	}
	if g := c.mu.generate; g != nil {
		s.Generate = &generateState{g.processed, g.persisted, g.merged, g.pushed}
	}
	return s
}

// set makes the counters say what a worker in another process says.
func (c *counters) set(s countersState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.mu.channels)
	for name, ch := range s.Channels {
		c.mu.channels[name] = &channelCounter{ch.Rows, ch.Bytes, ch.Frames, ch.Files, ch.TotalFiles}
	}
	c.mu.sort = nil
	if n := s.Sort; n != nil {
		c.mu.sort = &sortCounter{n.Batches, n.Runs, n.MergedRuns, n.Partitions, n.MergedPartitions, n.Known, n.Trivial}
	}
	c.mu.generate = nil
	if g := s.Generate; g != nil {
		c.mu.generate = &generateCounter{g.Processed, g.Persisted, g.Merged, g.Pushed}
	}
	clear(c.mu.warnings)
	maps.Copy(c.mu.warnings, s.Warnings)
	clear(c.mu.cpu)
	maps.Copy(c.mu.cpu, s.CPU)
	c.mu.local.files, c.mu.local.bytes = s.LocalFiles, s.LocalBytes
	c.mu.durable.files, c.mu.durable.bytes = s.DurableFiles, s.DurableBytes
}
