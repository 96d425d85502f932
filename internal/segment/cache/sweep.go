package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Sweep removes the copies that no segment is loaded from: what a crash has left. It looks at every
// file, and is for a duty in the background. It returns how many bytes that was.
func (c *Cache) Sweep(ctx context.Context) (removed int64, err error) {
	var found []string
	for _, p := range c.opts.Locations {
		paths, err := filepath.Glob(filepath.Join(p.Dir, "??", "*.segment"))
		if err != nil {
			return removed, fmt.Errorf("segment cache [%s]: %w", p.Dir, err)
		}
		found = append(found, paths...)
	}
	known := c.copies()
	for _, path := range found {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		if known[path] {
			continue
		}
		n, err := c.sweep(path)
		if removed += n; err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// copies returns the paths of all copies.
func (c *Cache) copies() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[string]bool, len(c.mu.byKey))
	for _, f := range c.mu.byKey {
		if f.at != nil {
			out[f.path()] = true
		}
	}
	return out
}

// sweep removes a copy unless it has become that of a segment meanwhile.
func (c *Cache) sweep(path string) (removed int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.mu.byKey {
		if f.at != nil && path == f.path() {
			return 0, nil
		}
	}
	info, err := os.Stat(path)
	if err == nil {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, writeFault(path, err)
	}
	return info.Size(), nil
}
