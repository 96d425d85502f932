package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/segment"
)

// partials is the directory of files that are there in part. Nobody knows them after a restart: it
// is emptied at the start.
const partials = "partial"

// wholeBelow is the size up to which a file is fetched whole: asking for it in parts takes longer.
const wholeBelow = 256 << 10

// partial is a file of which queries have asked for some columns: it has its full size, with holes
// for what nobody has asked for, which take no room. It implements segment.Source.
type partial struct {
	c      *Cache
	f      *file
	id     string // of a segment in it, for messages
	path   string
	object deepstore.Object // open as long as the Cache: queries may read from it when the file is forgotten
	size   int64

	turn chan struct{} // has one entry while somebody fills: others wait no longer than they want
	mu   sync.Mutex
	have spans // under mu
}

// fetchPart opens the file of an object whose columns come as they are asked for. The object stays
// open.
func (c *Cache) fetchPart(ctx context.Context, f *file, id string, o deepstore.Object) (*segment.Segment, error) {
	p, err := c.newPartial(f, id, o)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	f.partial = p
	c.mu.Unlock()
	s, err := c.reopen(ctx, f, p)
	if errors.Is(err, segment.ErrCorrupt) { // on its way, perhaps
		p.Spoiled(0, p.size)
		s, err = c.reopen(ctx, f, p)
	}
	if err != nil {
		return nil, fmt.Errorf("segment [%s] as fetched from deep storage object [%s]: %w", id, f.key, err)
	}
	return s, nil
}

// newPartial makes a file of holes for an object.
func (c *Cache) newPartial(f *file, id string, o deepstore.Object) (*partial, error) {
	at, err := c.settle(f, id, o.Size())
	if err != nil {
		return nil, err
	}
	out, err := os.CreateTemp(filepath.Join(at.Dir, partials), "*.segment")
	if err != nil {
		return nil, writeFault(filepath.Join(at.Dir, partials), err)
	}
	err = out.Truncate(o.Size())
	err = errors.Join(err, out.Close())
	if err != nil {
		os.Remove(out.Name()) // the next start finds what stays
		return nil, writeFault(out.Name(), err)
	}
	return &partial{c: c, f: f, id: id, path: out.Name(), object: o, size: o.Size(), turn: make(chan struct{}, 1)}, nil
}

// Fill implements segment.Source.
func (p *partial) Fill(ctx context.Context, off, n int64) error {
	missing := p.missing(off, n)
	if len(missing) == 0 {
		return nil
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if missing = p.missing(off, n); len(missing) == 0 {
		return nil
	}
	out, err := os.OpenFile(p.path, os.O_WRONLY, 0)
	if err != nil {
		return writeFault(p.path, err)
	}
	for _, m := range missing {
		if err = p.fill(ctx, out, m); err != nil {
			break
		}
	}
	if closeErr := out.Close(); err == nil && closeErr != nil {
		err = writeFault(p.path, closeErr)
	}
	return err
}

// missing returns what lacks of n bytes.
func (p *partial) missing(off, n int64) []span {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.have.missing(off, off+n)
}

// fill copies bytes that lack.
func (p *partial) fill(ctx context.Context, out *os.File, m span) error {
	p.mu.Lock()
	held := p.have.bytes()
	p.mu.Unlock()
	if err := p.c.reserve(p.f, p.id, held+m.end-m.start); err != nil {
		return err
	}
	from := p.object
	if w, ok := from.(deepstore.Within); ok {
		from = w.Within(ctx)
	}
	buf := make([]byte, min(copyBytes, m.end-m.start))
	for at := m.start; at < m.end; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		n, err := from.ReadAt(buf[:min(int64(len(buf)), m.end-at)], at)
		if n > 0 {
			if _, err := out.WriteAt(buf[:n], at); err != nil {
				return writeFault(p.path, err)
			}
			p.mu.Lock()
			p.have.add(span{at, at + int64(n)})
			p.mu.Unlock()
			at += int64(n)
		}
		if err != nil && !(errors.Is(err, io.EOF) && at == m.end) {
			return fmt.Errorf("fetching a part of segment [%s] from deep storage: %w", p.id, err)
		}
	}
	return nil
}

// Has implements segment.Has.
func (p *partial) Has(off, n int64) bool { return len(p.missing(off, n)) == 0 }

// Read implements segment.Source: the file has made room for others while a query still reads it.
func (p *partial) Read(b []byte, off int64) error {
	if n, err := p.object.ReadAt(b, off); n < len(b) {
		return fmt.Errorf("fetching a part of segment [%s] from deep storage: %w", p.id, err)
	}
	return nil
}

// Spoiled implements segment.Source.
func (p *partial) Spoiled(off, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.have.remove(span{off, off + n})
}

// close gives the room of the file back. Queries that have it mapped keep what is there, and read
// the rest elsewhere (Read).
func (p *partial) close() { os.Remove(p.path) } // the next start finds what stays

// complete makes a whole file of one that is there in part, and verifies it. Its reference is f's.
func (c *Cache) complete(ctx context.Context, f *file, id string) error {
	f.opening.Lock()
	defer f.opening.Unlock()
	c.mu.Lock()
	p := f.partial
	c.mu.Unlock()
	if p == nil {
		return nil
	}
	if err := p.Fill(ctx, 0, p.size); err != nil {
		return err
	}
	s, err := openWhole(p.path, f.key)
	if err == nil {
		if err = install(p.path, f.path()); err != nil {
			s.Release()
		}
	}
	if err != nil {
		if errors.Is(err, segment.ErrCorrupt) {
			p.Spoiled(0, p.size)
		}
		return fmt.Errorf("segment [%s] as fetched from deep storage object [%s]: %w", id, f.key, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f.partial = nil
	if c.mu.byKey[f.key] != f { // made room for another meanwhile
		os.Remove(f.path())
		s.Release()
		return nil
	}
	c.mapLocked(f, s)
	return nil
}
