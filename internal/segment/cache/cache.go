// Package cache stores the segment files of a node locally, for its queries.
//
// The central type is Cache, which a Historical owns. Load makes the file of a segment local and
// keeps it until Drop. Acquire returns the open segment to a query. Fetch does both for a segment
// that is not assigned to the node; such files are evicted when others need the space. If deep
// storage is a directory of this machine, files are mapped in place without a copy.
//
// For large files, Fetch copies only the columns that queries request (partial.go), so a query that
// needs a small part of a segment on deep storage does not copy all of it.
//
// Copies are in one or several directories (location.go) and survive a restart. At startup only the
// manifest of each directory is read, one line per segment. A file is opened when a query first
// needs it. Copies are verified completely when they arrive, and again in the background
// (scrub.go). A missing or damaged copy, or a copy of another segment, is fetched again
// (repair.go).
//
// Elsewhere on purpose: the choice of segments (package duty), and queries over them (package
// exec).
package cache

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"sync"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
)

const (
	// maxMapped is how many files stay mapped when no query uses them. Linux gives a process 65,530
	// mappings by default.
	maxMapped = 20_000

	// copyBytes is what is read from deep storage at a time.
	copyBytes = 4 << 20

	// arriving is the directory of copies that are not whole yet. It is emptied at the start.
	arriving = "arriving"
)

// Options say what a Cache is made of.
type Options struct {
	// Locations are where copies are, at least one, and Strategy says which of them a file comes to.
	Locations []Location
	Strategy  Strategy
	// Store is the deep storage that segments are fetched from.
	Store deepstore.Store
	// Scrub says how often what is held is verified.
	Scrub ScrubOptions
	// Clock is the system's if it is nil.
	Clock clock.Clock
	// Log is told of damaged copies; nil: nobody is.
	Log *slog.Logger
}

// Cache holds segment files. It is used by any number of goroutines.
type Cache struct {
	opts Options
	// life is that of the Cache: objects that are read in parts stay open so long.
	life context.Context
	end  context.CancelFunc

	mu struct {
		sync.Mutex
		byID      map[string]*file // loaded, by segment id
		byKey     map[string]*file // all, by deep storage key
		cold      *list.List       // fetched and not loaded, the one used last in front
		mapped    *list.List       // mapped, the one used last in front
		locations []*location      // the slice itself stays as it is
		turn      int              // of RoundRobin
		scrub     ScrubStats
		// scrubbed is when the scrub last began with a file, in milliseconds.
		scrubbed int64
	}
}

// file is one file of deep storage, which several segments may share. Its fields belong to the
// Cache's mutex, but for key and opening.
type file struct {
	key     string
	at      *location // nil: it was not fetched yet
	size    int64
	inPlace bool                // mapped in deep storage: there is no copy
	partial *partial            // the copy, if it is there in part; nil: it is whole
	ids     map[string]struct{} // segments loaded from it; empty: it is cold
	segment *segment.Segment    // mapped, with a reference of the Cache; nil: not
	loading chan struct{}       // closed when the first fetch has ended; nil: it has
	health  health

	inCold, inMapped *list.Element

	opening sync.Mutex // held while the file is opened or fetched again
}

// Open returns the cache in its locations, with what it held when it was last used. What was in a
// location that is no longer one is as if it had not been loaded.
func Open(opts Options) (*Cache, error) {
	c := &Cache{opts: opts.withDefaults()}
	c.life, c.end = context.WithCancel(context.Background())
	c.mu.byID, c.mu.byKey = map[string]*file{}, map[string]*file{}
	c.mu.cold, c.mu.mapped = list.New(), list.New()
	_, onDisk := opts.Store.(deepstore.OnDisk)
	for _, o := range opts.Locations {
		p, err := openLocation(o, func(p *location, l line) bool {
			f := c.mu.byKey[l.Key]
			if c.mu.byID[l.ID] != nil || f != nil && f.at != p {
				return false // this location was none for a while, and another one has the segment now
			}
			if f == nil { // deep storage may have been on this machine then and be elsewhere now: a copy that is not there is fetched
				f = &file{key: l.Key, at: p, size: l.Size, inPlace: l.InPlace && onDisk, ids: map[string]struct{}{}}
				c.mu.byKey[l.Key] = f
				p.used += f.size
			}
			f.ids[l.ID] = struct{}{}
			c.mu.byID[l.ID] = f
			p.ids++
			return true
		})
		if err != nil {
			return nil, errors.Join(err, c.closeLogsLocked())
		}
		c.mu.locations = append(c.mu.locations, p)
	}
	return c, nil
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Load makes the file of a segment local and keeps it until Drop. It returns when the segment can
// be queried, also after a restart. To load what is loaded does nothing.
func (c *Cache) Load(ctx context.Context, id string, loadSpec json.RawMessage) error {
	key, err := c.opts.Store.Key(loadSpec)
	if err != nil {
		return fmt.Errorf("loading segment [%s]: %w", id, err)
	}
	for {
		f, err := c.ensure(ctx, id, key, true)
		if err != nil {
			return err
		}
		err = c.complete(ctx, f, id)
		c.mu.Lock()
		if err != nil && c.mu.byKey[key] == f {
			c.mu.Unlock()
			return err
		}
		if c.mu.byKey[key] != f { // made room for another meanwhile
			c.mu.Unlock()
			continue
		}
		defer c.mu.Unlock()
		if old := c.mu.byID[id]; old == f {
			return nil
		} else if old != nil {
			return fault.Defensive("Segment [%s] is loaded from another file already", id)
		}
		if err := f.at.log.add(line{ID: id, Key: key, Size: f.size, InPlace: f.inPlace}); err != nil {
			return err
		}
		if f.inCold != nil {
			c.mu.cold.Remove(f.inCold)
			f.inCold = nil
		}
		f.ids[id] = struct{}{}
		c.mu.byID[id] = f
		f.at.ids++
		return nil
	}
}

// Drop ends what Load began. Queries that hold the segment keep it until they release it.
func (c *Cache) Drop(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.mu.byID[id]
	if f == nil {
		return nil
	}
	if err := f.at.log.remove(id, f.at.ids-1, c.linesLocked(f.at, id)); err != nil {
		return err
	}
	f.at.ids--
	delete(c.mu.byID, id)
	delete(f.ids, id)
	if len(f.ids) == 0 {
		c.forgetLocked(f)
	}
	return nil
}

// HoldsOther reports whether a segment is loaded from another file than that with a fingerprint, as
// far as the names of both say so. A metastore that has lost its last moments gives ids again.
func (c *Cache) HoldsOther(id, fingerprint string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.mu.byID[id]
	if f == nil || fingerprint == "" {
		return false
	}
	has := segment.FingerprintIn(f.key)
	return has != "" && has != fingerprint
}

// Acquire returns the open segment of a loaded id with a reference that the caller releases.
func (c *Cache) Acquire(ctx context.Context, id string) (*segment.Segment, error) {
	c.mu.Lock()
	f := c.mu.byID[id]
	c.mu.Unlock()
	if f == nil {
		return nil, fault.NotFound("Segment [%s] is not loaded on this node", id)
	}
	return c.open(ctx, f, id)
}

// Fetch returns the open segment of any id with a reference that the caller releases, and fetches
// its file if need be. The file stays until its room is needed. The load spec is only asked for if
// the segment is not loaded.
func (c *Cache) Fetch(ctx context.Context, id string, loadSpec func() json.RawMessage) (*segment.Segment, error) {
	c.mu.Lock()
	loaded := c.mu.byID[id]
	c.mu.Unlock()
	if loaded != nil { // as nearly all are
		if s, err := c.open(ctx, loaded, id); err == nil || c.knows(loaded) {
			return s, err
		}
	}
	key, err := c.opts.Store.Key(loadSpec())
	if err != nil {
		return nil, fmt.Errorf("fetching segment [%s]: %w", id, err)
	}
	for {
		f, err := c.ensure(ctx, id, key, false)
		if err != nil {
			return nil, err
		}
		s, err := c.open(ctx, f, id)
		if err == nil || c.knows(f) {
			return s, err
		}
		// Between the two it was dropped, or has made room for others: what failed is that its copy is
		// gone.
	}
}

// knows reports whether f has neither made room for others nor been dropped.
func (c *Cache) knows(f *file) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.byKey[f.key] == f
}

// Holds reports whether a segment is loaded.
func (c *Cache) Holds(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.byID[id] != nil
}

// Loaded returns the ids that are loaded, sorted.
func (c *Cache) Loaded() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]string, 0, len(c.mu.byID))
	for id := range c.mu.byID {
		out = append(out, id)
	}
	sort.Strings(out)
	return out
}

// Locations returns where copies are.
func (c *Cache) Locations() []Location { return c.opts.Locations }

// Used returns the bytes of the files held, those of Fetch included.
func (c *Cache) Used() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	used := int64(0)
	for _, p := range c.mu.locations {
		used += p.used
	}
	return used
}

// Close ends the use of the cache. Queries that hold segments keep them.
func (c *Cache) Close() error {
	c.end()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.mu.byKey {
		c.unmapLocked(f)
		if len(f.ids) == 0 {
			c.removeLocked(f) // it would not be known after a restart
		}
	}
	c.mu.byKey, c.mu.byID = map[string]*file{}, map[string]*file{}
	return c.closeLogsLocked()
}

func (c *Cache) closeLogsLocked() error {
	var errs []error
	for _, p := range c.mu.locations {
		errs = append(errs, p.log.close())
	}
	return errors.Join(errs...)
}

// ensure returns the file with this key, fetched; one that was not there yet is fetched whole, or
// as far as it is asked for. Goroutines that want the same file wait for one of them.
func (c *Cache) ensure(ctx context.Context, id, key string, whole bool) (*file, error) {
	for {
		c.mu.Lock()
		f := c.mu.byKey[key]
		if f == nil {
			f = &file{key: key, ids: map[string]struct{}{}, loading: make(chan struct{})}
			c.mu.byKey[key] = f
			c.mu.Unlock()
			return f, c.first(ctx, f, id, whole)
		}
		loading := f.loading
		c.mu.Unlock()
		if loading == nil {
			return f, nil
		}
		select {
		case <-loading:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// first fetches a file that was not there.
func (c *Cache) first(ctx context.Context, f *file, id string, whole bool) error {
	s, err := c.fetch(ctx, f, id, whole)
	c.mu.Lock()
	defer c.mu.Unlock()
	close(f.loading)
	f.loading = nil
	if err != nil {
		c.forgetLocked(f)
		return err
	}
	f.inCold = c.mu.cold.PushFront(f)
	c.mapLocked(f, s)
	return nil
}

// fetch makes the file local, and opens it. Unless it is to be whole, what is large comes as it is
// asked for.
func (c *Cache) fetch(ctx context.Context, f *file, id string, whole bool) (*segment.Segment, error) {
	if disk, ok := c.opts.Store.(deepstore.OnDisk); ok {
		f.inPlace = true
		path, err := disk.Path(f.key)
		if err != nil {
			return nil, err
		}
		s, err := openAs(path, f.key)
		if err != nil {
			return nil, c.openFault(id, f, err)
		}
		if err := c.reserve(f, id, s.Info().Size); err != nil {
			s.Release()
			return nil, err
		}
		return s, nil
	}
	life := ctx
	if !whole {
		life = c.life
	}
	o, err := c.opts.Store.Open(life, f.key)
	if err != nil {
		return nil, c.openFault(id, f, err)
	}
	if !whole && o.Size() >= wholeBelow {
		return c.fetchPart(ctx, f, id, o)
	}
	defer o.Close() // it was only read
	if err := c.reserve(f, id, o.Size()); err != nil {
		return nil, err
	}
	path := f.path()
	temp, err := f.at.copy(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("fetching segment [%s] from deep storage: %w", id, err)
	}
	s, err := openWhole(temp, f.key)
	if err == nil {
		if err = install(temp, path); err != nil {
			s.Release()
		}
	}
	if err != nil {
		os.Remove(temp) // the next start finds what stays
		return nil, fmt.Errorf("segment [%s] as fetched from deep storage object [%s]: %w", id, f.key, err)
	}
	return s, nil
}

// copy copies an object to a file of its own.
func (p *location) copy(ctx context.Context, o deepstore.Object) (path string, err error) {
	out, err := os.CreateTemp(filepath.Join(p.Dir, arriving), "*")
	if err != nil {
		return "", writeFault(filepath.Join(p.Dir, arriving), err)
	}
	defer func() {
		if closeErr := out.Close(); err == nil && closeErr != nil {
			err = writeFault(out.Name(), closeErr)
		}
		if err != nil {
			os.Remove(out.Name()) // the next start finds what stays
		}
	}()
	buf := make([]byte, min(copyBytes, max(o.Size(), 1)))
	for at := int64(0); at < o.Size(); {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := o.ReadAt(buf[:min(int64(len(buf)), o.Size()-at)], at)
		if n > 0 {
			if _, err := out.Write(buf[:n]); err != nil {
				return "", writeFault(out.Name(), err)
			}
			at += int64(n)
		}
		if err != nil && !(errors.Is(err, io.EOF) && at == o.Size()) {
			return "", err
		}
	}
	return out.Name(), nil
}

// install gives an arrived file its name.
func install(temp, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return writeFault(path, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return writeFault(path, err)
	}
	return nil
}

func writeFault(path string, err error) error {
	if durable.IsFull(err) {
		return fault.Runtime("Disk is full: segment cache file [%s] can't be written", path).WithCause(err)
	}
	return fmt.Errorf("segment cache file [%s]: %w", path, err)
}

// openFault names the segment of a file that is not there.
func (c *Cache) openFault(id string, f *file, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.Runtime("Segment [%s] can't be loaded: deep storage has no object [%s]; it was removed or never arrived there",
			id, f.key).WithCause(err)
	}
	return fmt.Errorf("loading segment [%s]: %w", id, err)
}

// reserve makes room for the file in its location.
func (c *Cache) reserve(f *file, id string, size int64) error {
	p, err := c.settle(f, id, size)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.partial != nil && c.mu.byKey[f.key] != f {
		return writeFault(f.partial.path, fs.ErrNotExist) // it has made room for others
	}
	for p.left() < size-f.size {
		oldest := c.mu.cold.Back()
		for oldest != nil && (oldest.Value.(*file) == f || oldest.Value.(*file).at != p) {
			oldest = oldest.Prev()
		}
		if oldest == nil {
			return fault.Capacity("Segment [%s] of [%d] bytes does not fit into the segment cache: %s", id, size, c.roomLocked())
		}
		c.forgetLocked(oldest.Value.(*file))
	}
	p.used += size - f.size
	f.size = size
	return nil
}

// open returns the segment of f, mapped, with a reference for the caller.
func (c *Cache) open(ctx context.Context, f *file, id string) (*segment.Segment, error) {
	if s := c.use(f); s != nil {
		return s, nil
	}
	f.opening.Lock()
	defer f.opening.Unlock()
	if s := c.use(f); s != nil {
		return s, nil
	}
	c.mu.Lock()
	part, kept, damaged := f.partial, len(f.ids) > 0, c.damagedLocked(f)
	c.mu.Unlock()
	if damaged {
		return c.renew(ctx, f, id, kept)
	}
	s, err := c.reopen(ctx, f, part)
	if err != nil && part == nil && !f.inPlace && (errors.Is(err, segment.ErrCorrupt) || errors.Is(err, fs.ErrNotExist)) {
		c.found(ctx, f, id, err)
		if s, err = c.fetch(ctx, f, id, kept); err == nil {
			c.mended(f)
		}
	}
	if err != nil {
		return nil, c.openFault(id, f, err)
	}
	return c.keep(f, s), nil
}

// use returns the segment of f with a reference if it is mapped.
func (c *Cache) use(f *file) *segment.Segment {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.inCold != nil {
		c.mu.cold.MoveToFront(f.inCold)
	}
	if f.segment == nil || c.damagedLocked(f) || !f.segment.Acquire() {
		return nil
	}
	c.mu.mapped.MoveToFront(f.inMapped)
	return f.segment
}

// keep makes s, whose reference it takes over, the segment of f, and returns it with a reference
// for the caller.
func (c *Cache) keep(f *file, s *segment.Segment) *segment.Segment {
	s.Acquire() // it is open: the caller's reference has not been released
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.byKey[f.key] != f { // dropped meanwhile: the caller's reference is the only one
		s.Release()
		return s
	}
	c.mapLocked(f, s)
	return s
}

// mapLocked gives f its mapped segment, and unmaps the one that was unused for longest if they are
// too many.
func (c *Cache) mapLocked(f *file, s *segment.Segment) {
	c.unmapLocked(f)
	f.segment = s
	f.inMapped = c.mu.mapped.PushFront(f)
	if c.mu.mapped.Len() > maxMapped {
		c.unmapLocked(c.mu.mapped.Back().Value.(*file))
	}
}

func (c *Cache) unmapLocked(f *file) {
	if f.segment == nil {
		return
	}
	f.segment.Release()
	f.segment = nil
	c.mu.mapped.Remove(f.inMapped)
	f.inMapped = nil
}

// forgetLocked removes a file that no segment is loaded from.
func (c *Cache) forgetLocked(f *file) {
	c.unmapLocked(f)
	if f.inCold != nil {
		c.mu.cold.Remove(f.inCold)
		f.inCold = nil
	}
	if c.mu.byKey[f.key] == f {
		delete(c.mu.byKey, f.key)
		if f.at != nil { // it was fetched
			f.at.used -= f.size
			c.removeLocked(f)
		}
	}
}

// removeLocked removes the copy of a file. Sweep finds what stays.
func (c *Cache) removeLocked(f *file) {
	switch {
	case f.partial != nil:
		f.partial.close()
	case !f.inPlace:
		os.Remove(f.path())
	}
}

// path returns the file of a copy.
func (f *file) path() string {
	sum := sha256.Sum256([]byte(f.key))
	name := hex.EncodeToString(sum[:16])
	return filepath.Join(f.at.Dir, name[:2], name+".segment")
}
