package exec

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/vector"
)

// RowKey is the SHA-256 of everything on which cached rows depend.
type RowKey [sha256.Size]byte

// RowCache is an LRU cache of the rows of operators, as frames, with a size limit in bytes. It is
// safe for use by many goroutines. A nil RowCache is always empty.
type RowCache struct {
	o RowCacheOptions

	mu struct {
		sync.Mutex
		entries map[RowKey]*list.Element // of *KeptRows
		recent  *list.List               // the last used first
		stats   CacheStats
	}
}

// RowCacheOptions are the settings of a RowCache.
type RowCacheOptions struct {
	// MaxBytes bounds all rows.
	MaxBytes int64
	// Expire is the lifetime of cached rows; 0: unlimited.
	Expire time.Duration
	Memory *budget.Budget
	Clock  clock.Clock // nil: nothing expires
}

// CacheStats are counters since the start; Entries and Bytes are the current values.
type CacheStats struct {
	Entries, Bytes          int64
	Hits, Misses, Evictions int64
	Puts, Oversized         int64
}

// KeptRows are the cached rows of one key.
type KeptRows struct {
	key    RowKey
	tag    any
	frames [][]byte
	size   int64
	since  time.Time
}

// keptOverhead is about what kept rows take beside their frames.
const keptOverhead = 512

// NewRowCache returns an empty cache.
func NewRowCache(o RowCacheOptions) *RowCache {
	c := &RowCache{o: o}
	c.mu.entries, c.mu.recent = map[RowKey]*list.Element{}, list.New()
	return c
}

// Get returns the rows of a key, or nil. fits, if not nil, is called with the tag of the rows and
// reports whether they are still valid; invalid rows are removed.
func (c *RowCache) Get(key RowKey, fits func(tag any) bool) Operator {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at, found := c.mu.entries[key]
	if found {
		e := at.Value.(*KeptRows)
		if fits != nil && !fits(e.tag) || c.o.Expire > 0 && c.o.Clock.Now().Sub(e.since) >= c.o.Expire {
			c.dropLocked(at)
			found = false
		}
	}
	if !found {
		c.mu.stats.Misses++
		return nil
	}
	c.mu.stats.Hits++
	c.mu.recent.MoveToFront(at)
	return &keptSource{frames: at.Value.(*KeptRows).frames}
}

// Record returns op; when it has returned all rows, they are cached, unless they exceed the given
// number of bytes. tag is for Get.
func (c *RowCache) Record(key RowKey, tag any, most int64, op Operator) Operator {
	if c == nil {
		return op
	}
	return &recording{Operator: op, cache: c, most: most, rows: &KeptRows{key: key, tag: tag, size: keptOverhead}}
}

// put keeps rows, if there is memory for them, and forgets those that were not used for long.
func (c *RowCache) put(e *KeptRows) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, found := c.mu.entries[e.key]; found {
		c.dropLocked(at)
	}
	for c.mu.stats.Bytes+e.size > c.o.MaxBytes && c.mu.recent.Len() > 0 {
		c.dropLocked(c.mu.recent.Back())
		c.mu.stats.Evictions++
	}
	if e.size > c.o.MaxBytes || !c.o.Memory.TryReserve(e.size) {
		c.mu.stats.Oversized++
		return
	}
	if c.o.Expire > 0 {
		e.since = c.o.Clock.Now()
	}
	c.mu.entries[e.key] = c.mu.recent.PushFront(e)
	c.mu.stats.Puts++
	c.mu.stats.Bytes += e.size
}

func (c *RowCache) dropLocked(at *list.Element) {
	e := c.mu.recent.Remove(at).(*KeptRows)
	delete(c.mu.entries, e.key)
	c.mu.stats.Bytes -= e.size
	c.o.Memory.Release(e.size)
}

// Stats returns the counts.
func (c *RowCache) Stats() CacheStats {
	if c == nil {
		return CacheStats{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.mu.stats
	out.Entries = int64(len(c.mu.entries))
	return out
}

// oversized counts rows that were too large.
func (c *RowCache) oversized() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.stats.Oversized++
}

// keptSource gives kept rows.
type keptSource struct{ frames [][]byte }

func (s *keptSource) Next(ctx context.Context) (*vector.Batch, error) {
	if err := stop(ctx); err != nil {
		return nil, err
	}
	if len(s.frames) == 0 {
		return nil, io.EOF
	}
	b, _, err := vector.DecodeFrame(s.frames[0])
	s.frames = s.frames[1:]
	return b, err
}

func (s *keptSource) Close() { s.frames = nil }

// recording copies the rows of an operator on their way.
type recording struct {
	Operator
	cache *RowCache
	most  int64
	rows  *KeptRows // nil: they are too many, or were kept
}

func (r *recording) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := r.Operator.Next(ctx)
	switch {
	case r.rows == nil:
	case errors.Is(err, io.EOF):
		r.cache.put(r.rows)
		r.rows = nil
	case err != nil:
		r.rows = nil
	default:
		frame, bad := vector.AppendFrame(nil, b)
		r.rows.size += int64(cap(frame))
		if r.rows.frames = append(r.rows.frames, frame); bad != nil || r.rows.size > r.most {
			r.cache.oversized()
			r.rows = nil
		}
	}
	return b, err
}
