package shared

import (
	"context"
	"errors"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
)

const (
	// feedWait is how long a feed waits for records before it looks what is wanted.
	feedWait = time.Second
	// recordBytes is what a record takes beside its bytes.
	recordBytes = 200
)

// pauser is a reader that can let partitions wait without dropping what has come of them.
type pauser interface {
	// Pause says which of the assigned partitions wait, in place of those before.
	Pause(partitions map[stream.Partition]bool)
}

// feed reads the partitions of a stream that several readers want.
type feed struct {
	s       *Sources
	key     string
	config  stream.Config
	compare func(a, b stream.Position) int
	users   int // sources; Sources.mu guards it
	news    signal

	mu struct {
		sync.Mutex
		// wanted are the positions of all readers of a partition.
		wanted map[stream.Partition]map[*reader]stream.Position
		// parts are the partitions that are shared.
		parts   map[stream.Partition]*window
		running bool
		// broken says that it can't read at all: nothing is shared.
		broken  bool
		trouble error // that keeps it from reading now
	}
}

// window is what is kept of a partition.
type window struct {
	batches []stream.Batch
	sizes   []int
	bytes   int
	// from is where the window begins, next where it ends: that is read next.
	from, next stream.Position
	followers  map[*reader]bool
	// lost says that the stream does not have the position next.
	lost bool
}

// wantLocked notes that a reader wants a partition, and where it is.
func (f *feed) wantLocked(r *reader, p stream.Partition, at stream.Position) {
	if f.mu.wanted[p] == nil {
		f.mu.wanted[p] = map[*reader]stream.Position{}
	}
	f.mu.wanted[p][r] = at
}

// leaveLocked notes that a reader does not want a partition any more. One that is left with it
// reads by itself.
func (f *feed) leaveLocked(r *reader, p stream.Partition) {
	delete(f.mu.wanted[p], r)
	if part := f.mu.parts[p]; part != nil {
		part.leave(r)
	}
	if len(f.mu.wanted[p]) == 0 {
		delete(f.mu.wanted, p)
	}
	if len(f.mu.wanted[p]) < 2 {
		f.endLocked(p)
	}
	f.news.raise()
}

// endLocked shares a partition no longer.
func (f *feed) endLocked(p stream.Partition) {
	if part := f.mu.parts[p]; part != nil {
		delete(f.mu.parts, p)
		part.evictAll()
	}
}

// leave ends the following of a reader. Without followers nothing is kept.
func (w *window) leave(r *reader) {
	delete(w.followers, r)
	if len(w.followers) == 0 {
		w.batches, w.sizes, w.bytes, w.from = nil, nil, 0, w.next
	}
}

// evictAll has all followers read by themselves.
func (w *window) evictAll() {
	for r := range w.followers {
		w.leave(r)
		r.news.raise()
	}
}

// partLocked returns the part of a partition that a reader could follow; nil: it reads by itself.
func (f *feed) partLocked(p stream.Partition, at stream.Position) *window {
	all := f.mu.wanted[p]
	if len(all) < 2 || f.mu.broken || f.s.life.Err() != nil {
		return nil
	}
	part := f.mu.parts[p]
	if part == nil {
		part = &window{followers: map[*reader]bool{}}
		f.mu.parts[p] = part
		if !f.mu.running {
			f.mu.running = true
			f.s.feeding.Go(f.run)
		}
	}
	if len(part.followers) == 0 { // it begins where the first of the readers is
		first := at
		for _, o := range all {
			if f.compare(o, first) > 0 {
				first = o
			}
		}
		if part.next != first {
			part = &window{from: first, next: first, followers: map[*reader]bool{}}
			f.mu.parts[p] = part
		}
	}
	if part.lost || f.compare(at, part.from) < 0 || f.compare(at, part.next) > 0 {
		return nil
	}
	return part
}

// takeLocked returns what a part has from a position on.
func (w *window) take(at stream.Position, compare func(a, b stream.Position) int) []stream.Batch {
	i := sort.Search(len(w.batches), func(i int) bool { return compare(w.batches[i].Next, at) > 0 })
	if i == len(w.batches) {
		return nil
	}
	out := slices.Clone(w.batches[i:])
	records := out[0].Records
	out[0].Records = records[sort.Search(len(records), func(i int) bool { return compare(records[i].Position, at) >= 0 }):]
	return out
}

// run reads until nothing is shared any more.
func (f *feed) run() {
	err := f.read(f.s.life)
	if err == nil {
		return
	}
	if f.s.life.Err() == nil { // the readers find out by themselves what is wrong
		f.s.log.Warn("several tasks read the same stream separately", "stream", f.config.Name+f.config.Pattern,
			"error", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.running, f.mu.broken = false, true
	for p := range f.mu.parts {
		f.endLocked(p)
	}
}

// read reads with one reader; nil: nothing is shared any more.
func (f *feed) read(ctx context.Context) error {
	source, err := f.s.open(ctx, f.config)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // it was only read
	from, err := source.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // as above
	waits, ok := from.(pauser)
	if !ok {
		return fault.Defensive("A stream whose partitions can't wait is to be shared")
	}
	var assigned map[stream.Partition]*window
	for ctx.Err() == nil {
		news := f.news.next()
		due, positions, full, over := f.due()
		if over {
			return nil
		}
		if !sameParts(due, assigned) {
			if err := from.Assign(ctx, positions); err != nil {
				return err
			}
			assigned = due
		}
		waits.Pause(full)
		if len(due) == len(full) {
			select {
			case <-news.Done():
			case <-ctx.Done():
			}
			continue
		}
		batches, err := pollUntil(ctx, news, func(ctx context.Context) ([]stream.Batch, error) { return from.Poll(ctx, feedWait) })
		f.deliver(assigned, batches, err)
	}
	return ctx.Err()
}

func sameParts(a, b map[stream.Partition]*window) bool {
	if b == nil || len(a) != len(b) {
		return false
	}
	for p, x := range a {
		if b[p] != x {
			return false
		}
	}
	return true
}

// due returns the parts that are read, and from where on: those with followers. Full are those of
// which the first follower has much to read. over says that nothing is shared any more.
func (f *feed) due() (due map[stream.Partition]*window, positions stream.Positions, full map[stream.Partition]bool, over bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.mu.parts) == 0 {
		f.mu.running = false
		return nil, nil, nil, true
	}
	due, positions, full = map[stream.Partition]*window{}, stream.Positions{}, map[stream.Partition]bool{}
	for p, part := range f.mu.parts {
		if len(part.followers) == 0 || part.lost {
			continue
		}
		due[p], positions[p] = part, part.next
		if f.aheadLocked(p, part) > f.windowLocked()/2 {
			full[p] = true
		}
	}
	return due, positions, full, false
}

// windowLocked is how many bytes are kept of a partition.
func (f *feed) windowLocked() int { return f.s.limit / max(1, len(f.mu.parts)) }

// aheadLocked returns how many bytes no follower has read yet.
func (f *feed) aheadLocked(p stream.Partition, part *window) int {
	var first stream.Position
	for r := range part.followers {
		if at := f.mu.wanted[p][r]; first == "" || f.compare(at, first) > 0 {
			first = at
		}
	}
	ahead := 0
	for i, b := range slices.Backward(part.batches) {
		if f.compare(b.Next, first) <= 0 {
			break
		}
		ahead += part.sizes[i]
	}
	return ahead
}

// deliver puts what came into the windows, and wakes followers. Who is behind a window then reads
// by itself.
func (f *feed) deliver(assigned map[stream.Partition]*window, batches []stream.Batch, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lost, isLost := errors.AsType[*stream.OffsetError](err)
	switch {
	case isLost:
		if part := f.mu.parts[lost.Partition]; part != nil && part == assigned[lost.Partition] {
			part.lost = true
			part.evictAll()
		}
	case err != nil:
		f.mu.trouble = err
	default:
		f.mu.trouble = nil
	}
	for _, b := range batches {
		part := f.mu.parts[b.Partition]
		if part == nil || part != assigned[b.Partition] {
			continue
		}
		size := recordBytes
		for i := range b.Records {
			k := &b.Records[i]
			size += recordBytes + len(k.Key) + len(k.Value)
			for _, h := range k.Headers {
				size += len(h.Name) + len(h.Value)
			}
		}
		part.batches, part.sizes = append(part.batches, b), append(part.sizes, size)
		part.next, part.bytes = b.Next, part.bytes+size
		f.trimLocked(b.Partition, part)
		for r := range part.followers {
			r.news.raise()
		}
	}
}

// trimLocked drops the beginning of a window that is too long.
func (f *feed) trimLocked(p stream.Partition, part *window) {
	n := 0
	for limit := f.windowLocked(); part.bytes > limit && n < len(part.batches)-1; n++ {
		part.bytes -= part.sizes[n]
		part.from = part.batches[n].Next
	}
	if n == 0 {
		return
	}
	part.batches, part.sizes = slices.Clone(part.batches[n:]), slices.Clone(part.sizes[n:])
	for r := range part.followers {
		if f.compare(f.mu.wanted[p][r], part.from) < 0 {
			part.leave(r)
			r.news.raise()
		}
	}
}
