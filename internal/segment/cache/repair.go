package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/segment"
)

const (
	// firstRest is how long after a damaged file could not be had anew it is tried again; each further
	// failure doubles it.
	firstRest = 250 * time.Millisecond
	// longestRest bounds that: queries find a file within seconds that has been put right.
	longestRest = 4 * time.Second
)

// health is what is known of the bytes of a file. It belongs to the Cache's mutex.
type health struct {
	verified int64     // when all of it was last verified, in milliseconds; 0: not yet
	turn     int64     // from when on it waits for the scrub; 0: the scrub has not seen it
	damaged  int64     // when it was last found to be damaged; 0: never
	reason   string    // what was wrong with it then
	mended   int64     // when it was last had anew after that; 0: it was not
	failures int       // how often having it anew has failed in a row
	rests    time.Time // it is not tried again before
	failure  string    // why it failed last
}

// Copy tells of the bytes that a Cache has of a segment. Instants are milliseconds.
type Copy struct {
	Size int64
	// Verified is when all of its bytes were last verified, or fetched and verified; 0: not since the
	// start.
	Verified int64
	// Damaged is when they were last found to be damaged, and Reason what was wrong; 0: never since
	// the start.
	Damaged int64
	Reason  string
	// Mended is when they were had anew after that; 0: they were not, and Failure is why.
	Mended  int64
	Failure string
}

// Copy returns what is known of the bytes of a loaded segment; false: it is not loaded.
func (c *Cache) Copy(id string) (Copy, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.mu.byID[id]
	if f == nil {
		return Copy{}, false
	}
	h := &f.health
	return Copy{f.size, h.verified, h.damaged, h.reason, h.mended, h.failure}, true
}

// openAs opens a file that is to be the one that key stands for.
func openAs(path, key string) (*segment.Segment, error) {
	s, err := segment.Open(path)
	if err != nil {
		return nil, err
	}
	if err := s.CheckName(key); err != nil {
		s.Release()
		return nil, err
	}
	return s, nil
}

// openWhole is openAs for a file of which every byte is verified.
func openWhole(path, key string) (*segment.Segment, error) {
	s, err := openAs(path, key)
	if err != nil {
		return nil, err
	}
	if err := s.Verify(); err != nil {
		s.Release()
		return nil, err
	}
	return s, nil
}

// reopen maps the bytes that there are of f anew: none of them has been verified then.
func (c *Cache) reopen(ctx context.Context, f *file, part *partial) (*segment.Segment, error) {
	if part == nil {
		path, err := c.where(f)
		if err != nil {
			return nil, err
		}
		return openAs(path, f.key)
	}
	s, err := segment.OpenPartial(ctx, part.path, part)
	if err != nil {
		return nil, err
	}
	if err := s.CheckName(f.key); err != nil {
		s.Release()
		return nil, err
	}
	return s, nil
}

// where returns the path of f, which is a copy or lies in deep storage.
func (c *Cache) where(f *file) (string, error) {
	if f.inPlace {
		return c.opts.Store.(deepstore.OnDisk).Path(f.key)
	}
	return f.path(), nil
}

// damagedLocked reports whether to have the file anew since it was found to be damaged.
func (c *Cache) damagedLocked(f *file) bool {
	return f.segment != nil && f.segment.Damaged() && !c.opts.Clock.Now().Before(f.health.rests)
}

// renew has a file anew that is damaged: its copy from deep storage, or a file of deep storage in
// place, which somebody may have put right. Queries that hold the old one keep it. When there is no
// better one to be had, it returns what there is, none of it verified: columns that are not damaged
// can be read. It is tried again after a rest.
func (c *Cache) renew(ctx context.Context, f *file, id string, kept bool) (s *segment.Segment, err error) {
	c.mu.Lock()
	part := f.partial
	c.mu.Unlock()
	c.found(ctx, f, id, nil)
	switch {
	case part != nil:
		part.Spoiled(0, part.size)
		s, err = c.reopen(ctx, f, part)
	case f.inPlace:
		var path string
		if path, err = c.where(f); err == nil {
			s, err = openWhole(path, f.key)
		}
	default:
		s, err = c.fetch(ctx, f, id, kept)
	}
	if err == nil {
		c.mended(f)
		return c.keep(f, s), nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c.mu.Lock()
	rest := min(firstRest<<min(f.health.failures, 10), longestRest)
	f.health.failures++
	f.health.rests, f.health.failure = c.opts.Clock.Now().Add(rest), err.Error()
	known := c.mu.byKey[f.key] == f
	c.mu.Unlock()
	c.opts.Log.ErrorContext(ctx, "failed to replace a damaged segment file; "+
		"retrying", "segment", id, "object", f.key, "after", rest, "error", err)
	if known {
		if s, openErr := c.reopen(ctx, f, part); openErr == nil {
			return c.keep(f, s), nil
		}
	}
	return nil, c.openFault(id, f, err)
}

// found notes that a file is damaged; a nil reason: as its segment has said.
func (c *Cache) found(ctx context.Context, f *file, id string, reason error) {
	text := "a query or the scrub has found a checksum that does not match"
	if reason != nil {
		text = reason.Error()
		if corrupt, ok := errors.AsType[*segment.CorruptError](reason); ok {
			text = corrupt.Reason
			if corrupt.Column != "" {
				text = fmt.Sprintf("column [%s]: %s", corrupt.Column, corrupt.Reason)
			}
		}
	}
	c.mu.Lock()
	h := &f.health
	first := h.damaged == 0 || h.mended > 0
	if first {
		h.damaged, h.mended, h.reason = clock.Millis(c.opts.Clock), 0, text
		c.mu.scrub.Damaged++
	}
	c.mu.Unlock()
	if first {
		c.opts.Log.WarnContext(ctx, "segment file is damaged", "segment", id, "object", f.key, "reason", text)
	}
}

// mended notes that a damaged file was had anew.
func (c *Cache) mended(f *file) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := &f.health
	h.failures, h.rests, h.failure = 0, time.Time{}, ""
	if h.damaged > 0 && h.mended == 0 {
		h.mended = max(h.damaged, clock.Millis(c.opts.Clock))
		c.mu.scrub.Mended++
	}
}
