package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
)

// Limits of a log.
const (
	fileBytes = 64 << 20
	tailBytes = 32 << 20
	// batchBytes bounds what one fsync waits for.
	batchBytes = 16 << 20
	// MaxName is the maximum length of names of channels, of their offsets, and of keys.
	MaxName = 512
)

// Entry contains the rows of one request.
type Entry struct {
	// Position and Time are assigned by the log; the time is in milliseconds.
	Position, Time int64
	// Channel and Offset identify the entry of a sender; Key alone identifies it for some time.
	Channel, Offset, Key string
	// Rows is the number of rows in Body, which are lines of JSON.
	Rows int
	Body []byte
	// Bad are the rejected records of the request, also lines of JSON. They become a separate entry,
	// so that readers of the log count and store them.
	Bad []byte
}

func (e *Entry) size() int64 {
	return int64(len(e.Body) + len(e.Bad) + len(e.Channel) + len(e.Offset) + len(e.Key) + 64)
}

// Receipt acknowledges that an entry is on disk.
type Receipt struct {
	Position int64
	// Duplicate is true if the log already had the entry: an entry of the channel with this or a
	// greater offset, or with the same key.
	Duplicate bool
	// Committed is the greatest offset of the channel that is on disk.
	Committed string
}

// Options are the location and the limits of a log.
type Options struct {
	// Dir is the folder of the log's files.
	Dir string
	// Disk accounts for their bytes; may be nil.
	Disk *budget.Budget
	// MaxBytes limits the unpublished bytes; 0: no limit.
	MaxBytes int64
	// FileBytes is the size from which a file is ended; 0: 64 MiB. TailBytes is the size of the newest
	// entries that are kept in memory for readers; 0: 32 MiB.
	FileBytes, TailBytes int64
	// First and Snapshot are the initial position and state of a log without files, for copies. The
	// zero values are position 0 and an empty state.
	First    int64
	Snapshot []byte
	Clock    clock.Clock
	Log      *slog.Logger
}

// Log contains the entries of one datasource on this machine that are not yet in published
// segments. All methods are safe for use by many goroutines.
type Log struct {
	o     Options
	queue chan *appending
	holds chan func()   // what the writer does between two batches
	stop  chan struct{} // closed to end the writer
	done  chan struct{} // closed when it has ended
	// writing is the writer's alone.
	writing struct {
		file *os.File
		size int64
		// memory is with the entries that are being written.
		memory *memory
		// copy, if not nil, brings entries that are on this disk to another one.
		copy func(entries []*Entry) error
		// epoch is that of the newest change of who has the log.
		epoch int64
	}

	mu struct {
		sync.Mutex
		closed bool
		// failed is why nothing is written any more.
		failed error
		files  []logFile // the last one is being written
		// next is the position behind the last entry on disk.
		next   int64
		memory *memory // as it is on disk
		bytes  int64   // of all files
		// tail are the newest entries, those up to next.
		tail     []*Entry
		tailSize int64
		// read is behind what the tasks have taken into live segments that read, published behind what
		// is in published ones.
		read, published int64
		readers         map[string]*readBy
		wanted          int           // how many tasks read the same
		changed         chan struct{} // closed when anything of this changes
	}
}

// logFile is a file of a log.
type logFile struct {
	first int64 // the position of its first entry
	path  string
	size  int64
}

// appending is an entry on its way.
type appending struct {
	entry *Entry
	// given, in the place of entry, are entries of another log with their positions, of an epoch.
	given   []*Entry
	epoch   int64
	receipt Receipt
	err     error
	done    chan struct{}
}

// Open opens the log in a folder, which it creates if it does not exist. It truncates incomplete
// entries, which were not acknowledged.
func Open(o Options) (*Log, error) {
	if err := durable.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making folder [%s]: %w", o.Dir, err)
	}
	o.FileBytes, o.TailBytes = cmp.Or(o.FileBytes, fileBytes), cmp.Or(o.TailBytes, tailBytes)
	l := &Log{
		o: o, queue: make(chan *appending), holds: make(chan func()), stop: make(chan struct{}), done: make(chan struct{}),
	}
	l.mu.changed, l.mu.readers, l.mu.wanted = make(chan struct{}), map[string]*readBy{}, 1
	if err := l.recover(); err != nil {
		return nil, err
	}
	l.writing.memory = l.mu.memory.clone()
	go l.write()
	return l, nil
}

// Append writes an entry and returns when it is on disk. The log assigns the position and the time,
// and retains the body.
func (l *Log) Append(ctx context.Context, e Entry) (Receipt, error) {
	for name, text := range map[string]string{"channel": e.Channel, "offset": e.Offset, "Idempotency-Key": e.Key} {
		if len(text) > MaxName {
			return Receipt{}, fault.InvalidInput("The %s has [%d] bytes; it may have [%d]", name, len(text), MaxName)
		}
	}
	if size := max(len(e.Body), len(e.Bad)); size > MaxLines {
		return Receipt{}, fault.InvalidInput("The rows have [%d] bytes as lines of JSON; those of one request may have [%d]", size, MaxLines)
	}
	if (e.Channel == "") != (e.Offset == "") {
		return Receipt{}, fault.InvalidInput("Rows with a [channel] need an [offset], and an [offset] needs a [channel]")
	}
	l.mu.Lock()
	full, failed := l.o.MaxBytes > 0 && l.mu.bytes+e.size() > l.o.MaxBytes, l.mu.failed
	l.mu.Unlock()
	if failed != nil {
		return Receipt{}, failed
	}
	if full {
		return Receipt{}, fault.Capacity("[%d] bytes wait to be published, the limit of [service.ingest.push.maxBytes]. "+
			"Send the rows again later", l.o.MaxBytes)
	}
	a := &appending{entry: &e, done: make(chan struct{})}
	err := l.pass(ctx, a)
	return a.receipt, err
}

// pass gives an appending to the writer, and waits until it is written.
func (l *Log) pass(ctx context.Context, a *appending) error {
	select {
	case l.queue <- a:
	case <-l.stop:
		return l.ended()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	<-a.done // this is one write and one fsync, and those of a copy
	return a.err
}

func (l *Log) ended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.failed != nil {
		return l.mu.failed
	}
	return fault.Unavailable("This worker is stopping; send the rows again when it is back")
}

// Close stops the writer and waits for its end.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.mu.closed {
		l.mu.Unlock()
		return nil
	}
	l.mu.closed = true
	l.raiseLocked()
	l.mu.Unlock()
	close(l.stop)
	<-l.done
	return nil
}

// raiseLocked wakes those who wait for a change.
func (l *Log) raiseLocked() {
	close(l.mu.changed)
	l.mu.changed = make(chan struct{})
}

// Channel returns the greatest offset of a channel that is on disk; false: it has none.
func (l *Log) Channel(name string) (Mark, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ok := l.mu.memory.Channels[name]
	return m, ok
}

// Bounds returns the positions of the first entry and after the last entry.
func (l *Log) Bounds() (earliest, latest int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.files[0].first, l.mu.next
}

// Unpublished reports whether some entries are not in published segments.
func (l *Log) Unpublished() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.published < l.mu.next
}

// Bytes returns the total size of the files in bytes.
func (l *Log) Bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.bytes
}

// AwaitRead returns when the entry at a position can be queried, AwaitPublished when it is in a
// published segment.
func (l *Log) AwaitRead(ctx context.Context, position int64) error {
	return l.await(ctx, func() bool { return l.mu.read > position })
}

// AwaitPublished returns when the entry at a position is in a published segment.
func (l *Log) AwaitPublished(ctx context.Context, position int64) error {
	return l.await(ctx, func() bool { return l.mu.published > position })
}

func (l *Log) await(ctx context.Context, reached func() bool) error {
	for {
		l.mu.Lock()
		ok, ended, changed := reached(), l.mu.closed || l.mu.failed != nil, l.mu.changed
		l.mu.Unlock()
		switch {
		case ok:
			return nil
		case ended: // nobody reads it here any more
			return l.ended()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Published records that all entries before a position are in published segments, and deletes the
// files that contain only such entries.
func (l *Log) Published(position int64) error {
	l.mu.Lock()
	if position > l.mu.published {
		l.mu.published = position
		l.raiseLocked()
	}
	var gone []logFile
	for len(l.mu.files) > 1 && l.mu.files[1].first <= l.mu.published {
		gone = append(gone, l.mu.files[0])
		l.mu.bytes -= l.mu.files[0].size
		l.mu.files = l.mu.files[1:]
	}
	l.mu.Unlock()
	var errs []error
	for _, f := range gone {
		if err := os.Remove(f.path); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("deleting [%s]: %w", f.path, err))
		}
		l.o.Disk.Release(f.size)
	}
	return errors.Join(errs...)
}

// files returns the files of a folder by their first positions.
func filesOf(dir string) ([]logFile, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading folder [%s]: %w", dir, err)
	}
	var out []logFile
	for _, entry := range list {
		name, ok := strings.CutSuffix(entry.Name(), ".log")
		first, err := strconv.ParseInt(name, 10, 64)
		if !ok || err != nil {
			continue // what an interrupted start has left
		}
		out = append(out, logFile{first: first, path: filepath.Join(dir, entry.Name())})
	}
	slices.SortFunc(out, func(a, b logFile) int { return int(a.first - b.first) })
	return out, nil
}

func (l *Log) pathOf(first int64) string {
	return filepath.Join(l.o.Dir, fmt.Sprintf("%020d.log", first))
}
