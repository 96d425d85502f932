package cache

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
)

// Location is a directory for copies.
type Location struct {
	// Dir is where copies and a manifest of them are; it belongs to one Cache of one process.
	Dir string
	// MaxBytes bounds the files that are held here, copied or not; 0: they are not bounded.
	MaxBytes int64
	// FreePercent is how much of the file system stays free, 0 to 100: what does not leave it so goes
	// to another location.
	FreePercent float64
}

// Strategy says which of several locations a file comes to. Those without room are passed over.
type Strategy string

// The strategies, by the names that settings have for them.
const (
	LeastBytesUsed    Strategy = "leastBytesUsed"    // the one that holds the fewest bytes; the default
	MostAvailableSize Strategy = "mostAvailableSize" // the one with the most bytes left
	RoundRobin        Strategy = "roundRobin"        // one after the other
	Random            Strategy = "random"            // any
)

// Strategies are all of them.
var Strategies = []Strategy{LeastBytesUsed, MostAvailableSize, RoundRobin, Random}

// location is a Location in use. What is below opts belongs to the Cache's mutex.
type location struct {
	Location

	used int64 // bytes of its files
	ids  int   // segments loaded from them
	log  *manifest
}

// openLocation makes the directories of a location, empties those of what was under way, and calls
// each for what the manifest has. What each does not take is no longer in it.
func openLocation(o Location, each func(p *location, l line) (taken bool)) (*location, error) {
	for _, name := range []string{arriving, partials} {
		temp := filepath.Join(o.Dir, name)
		left, err := filepath.Glob(filepath.Join(temp, "*"))
		if err != nil {
			return nil, fmt.Errorf("segment cache [%s]: %w", o.Dir, err)
		}
		for _, path := range left { // the directory itself stays: on a disk that is full it could not be made again
			if err := os.RemoveAll(path); err != nil {
				return nil, writeFault(path, err)
			}
		}
		if err := durable.MkdirAll(temp, 0o700); err != nil {
			return nil, writeFault(temp, err)
		}
	}
	p := &location{Location: o}
	log, err := openManifest(filepath.Join(o.Dir, "manifest"), func(l line) bool { return each(p, l) })
	p.log = log
	return p, err
}

// left is how many bytes there is room for.
func (p *location) left() int64 {
	if p.MaxBytes == 0 {
		return math.MaxInt64
	}
	return p.MaxBytes - p.used
}

// spares reports whether the file system has its free part when so many bytes more are written.
// Where nobody knows, it has.
func (p *location) spares(size int64) bool {
	if p.FreePercent <= 0 {
		return true
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(p.Dir, &s); err != nil {
		return true
	}
	block := float64(s.Bsize)
	return float64(s.Bavail)*block-float64(size) >= p.FreePercent/100*float64(s.Blocks)*block
}

// chooseLocked returns the location for a file: the first in the order of the strategy that has
// room for it, or could make room.
func (c *Cache) chooseLocked(id string, size int64) (*location, error) {
	if len(c.mu.locations) == 1 && c.mu.locations[0].FreePercent <= 0 {
		return c.mu.locations[0], nil // it says what it lacks when the room is taken
	}
	order := slices.Clone(c.mu.locations)
	switch c.opts.Strategy {
	case RoundRobin:
		n := c.mu.turn % len(order)
		order = append(order[n:], order[:n]...)
		c.mu.turn++
	case Random:
		rand.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
	case MostAvailableSize:
		slices.SortStableFunc(order, func(a, b *location) int { return cmp.Compare(b.left(), a.left()) })
	default:
		slices.SortStableFunc(order, func(a, b *location) int { return cmp.Compare(a.used, b.used) })
	}
	order = slices.DeleteFunc(order, func(p *location) bool { return !p.spares(size) })
	cold := map[*location]int64{}
	for e := c.mu.cold.Front(); e != nil; e = e.Next() {
		f := e.Value.(*file)
		cold[f.at] += f.size
	}
	for _, evict := range []bool{false, true} {
		for _, p := range order {
			if room := p.left(); room >= size || evict && room+cold[p] >= size {
				return p, nil
			}
		}
	}
	return nil, fault.Capacity("Segment [%s] of [%d] bytes does not fit into the segment cache: %s", id, size, c.roomLocked())
}

// roomLocked says how full the locations are.
func (c *Cache) roomLocked() string {
	locations := make([]string, len(c.mu.locations))
	for i, p := range c.mu.locations {
		locations[i] = fmt.Sprintf("[%d] of [%d] bytes are used", p.used, p.MaxBytes)
		if len(locations) > 1 {
			locations[i] += fmt.Sprintf(" in [%s]", p.Dir)
		}
		if !p.spares(0) {
			locations[i] += fmt.Sprintf(", and less than [%g] percent of its disk is free", p.FreePercent)
		}
	}
	return strings.Join(locations, "; ")
}

// settle gives a file that has none its location.
func (c *Cache) settle(f *file, id string, size int64) (*location, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.at == nil {
		at, err := c.chooseLocked(id, size)
		if err != nil {
			return nil, err
		}
		f.at = at
	}
	return f.at, nil
}
