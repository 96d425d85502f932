package cache

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/segment"
)

// Checksums are looked at when bytes are first touched. What changes on the disk, or in memory,
// afterwards is found by the scrub: it verifies every file that is held once in each period, the
// one first that was verified longest ago, evenly spread over the period.

// ScrubOptions say how often what is held is verified.
type ScrubOptions struct {
	// Period is the time in which each byte is verified once; 0: never.
	Period time.Duration
	// Rate is how many bytes are verified in a second; 0: as fast as the disk gives them. It is
	// exceeded where it would not do for the period.
	Rate int64
}

// ScrubStats count since the start.
type ScrubStats struct {
	// Bytes were verified in so many Files by the scrub.
	Bytes, Files int64
	// Damaged files were found, by queries too, and Mended of them were had anew.
	Damaged, Mended int64
}

// ScrubStats returns the counts so far, and for how long the file has waited whose turn is next.
func (c *Cache) ScrubStats() (ScrubStats, time.Duration) {
	now := clock.Millis(c.opts.Clock)
	c.mu.Lock()
	defer c.mu.Unlock()
	oldest := now
	for _, f := range c.mu.byKey {
		if f.health.turn > 0 {
			oldest = min(oldest, f.health.turn)
		}
	}
	return c.mu.scrub, time.Duration(now-oldest) * time.Millisecond
}

const (
	// scrubShare is the part of the period, in percent, in which all files are verified: the rest is
	// for those that take longer.
	scrubShare = 80
	// scrubIdle is the longest time between two looks for files to verify.
	scrubIdle = time.Minute
)

// RunScrub verifies what is held until ctx is done.
func (c *Cache) RunScrub(ctx context.Context) error {
	period := c.opts.Scrub.Period
	if period <= 0 {
		return nil
	}
	for ctx.Err() == nil {
		f, id, wait := c.due(period * scrubShare / 100)
		if f == nil {
			_ = c.opts.Clock.Sleep(ctx, wait) // the loop looks why
			continue
		}
		c.scrub(ctx, f, id)
	}
	return nil
}

// due returns the file whose turn it is, with a segment in it, or how long to wait. Files take
// turns evenly over the span, the one first that was verified longest ago; one that nobody has
// verified counts from when it is first seen.
func (c *Cache) due(span time.Duration) (f *file, id string, wait time.Duration) {
	now := clock.Millis(c.opts.Clock)
	c.mu.Lock()
	defer c.mu.Unlock()
	var oldest *file
	held := 0
	if c.mu.scrubbed == 0 {
		c.mu.scrubbed = now
	}
	for _, f := range c.mu.byKey {
		if f.loading != nil || f.at == nil {
			continue
		}
		held++
		if f.health.turn == 0 {
			f.health.turn = now
		}
		if oldest == nil || f.health.turn < oldest.health.turn || f.health.turn == oldest.health.turn && f.key < oldest.key {
			oldest = f
		}
	}
	if oldest == nil {
		return nil, "", min(span, scrubIdle)
	}
	step := max(span.Milliseconds()/int64(held), 1)
	at := min(oldest.health.turn+span.Milliseconds(), c.mu.scrubbed+step)
	if at > now {
		return nil, "", min(time.Duration(at-now)*time.Millisecond, scrubIdle)
	} // a file without a segment is one that a query has fetched

	c.mu.scrubbed, oldest.health.turn = now, now
	for id = range oldest.ids {
		break
	}
	return oldest, id, 0
}

// scrub verifies a file, and has it anew if it is damaged.
func (c *Cache) scrub(ctx context.Context, f *file, id string) {
	c.mu.Lock()
	s, part, total := f.segment, f.partial, int64(0)
	if s != nil && !s.Acquire() {
		s = nil
	}
	for _, p := range c.mu.locations {
		total += p.used
	}
	c.mu.Unlock()
	mapped := s != nil
	var err error
	if !mapped { // nobody has read it lately
		if part != nil {
			return
		}
		var path string
		if path, err = c.where(f); err == nil {
			s, err = openAs(path, f.key)
		}
	}
	verified := int64(0)
	rate := c.opts.Scrub.Rate
	if rate > 0 {
		rate = max(rate, total/max(int64(c.opts.Scrub.Period/time.Second*scrubShare/100), 1))
	}
	if err == nil {
		err = s.Scrub(ctx, func(ctx context.Context, n int) error {
			verified += int64(n)
			if rate == 0 {
				return ctx.Err()
			}
			return c.opts.Clock.Sleep(ctx, time.Duration(n)*time.Second/time.Duration(rate))
		})
		s.Release()
	}
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	c.mu.scrub.Bytes += verified
	c.mu.scrub.Files++
	if err == nil {
		f.health.verified = clock.Millis(c.opts.Clock)
	}
	known := c.mu.byKey[f.key] == f
	c.mu.Unlock()
	if !known || err == nil || !errors.Is(err, segment.ErrCorrupt) && !errors.Is(err, fs.ErrNotExist) {
		if known && err != nil {
			c.opts.Log.ErrorContext(ctx, "failed to verify a segment file", "segment", id, "object", f.key, "error", err)
		}
		return
	}
	c.found(ctx, f, id, err)
	c.mend(ctx, f, id, mapped)
}

// mend has a damaged file anew.
func (c *Cache) mend(ctx context.Context, f *file, id string, mapped bool) {
	if mapped { // its segment knows that it is damaged
		if s, err := c.open(ctx, f, id); err == nil {
			s.Release()
		}
		return
	}
	f.opening.Lock()
	defer f.opening.Unlock()
	if f.inPlace || c.use(f) != nil { // there is no other copy, or a query was first
		return
	}
	c.mu.Lock()
	kept := len(f.ids) > 0
	c.mu.Unlock()
	s, err := c.fetch(ctx, f, id, kept)
	if err != nil {
		c.opts.Log.ErrorContext(ctx, "failed to replace a damaged segment file; the next query "+
			"retries", "segment", id, "object", f.key, "error", err)
		return
	}
	c.mended(f)
	c.keep(f, s).Release()
}
