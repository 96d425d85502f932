package ingest

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/ingest/unpack"
)

// Split is a part of an entity that is read independently.
type Split struct {
	Entity Entity
	// File is the index of the entity within its source, from 0.
	File int
	// Offset and End delimit the bytes whose records belong to the split. End is -1 for the rest of
	// the entity.
	Offset, End int64
	// exact says that records begin at the bounds; else the first boundaries at or after them are
	// looked for.
	exact bool
}

// First reports whether the split is the first split of its entity. The number of first splits is
// the number of files.
func (s Split) First() bool { return s.Offset == 0 }

// Splits lists the splits to read. Uncompressed files larger than about twice size bytes are split
// if their format allows it. With size 0, no file is split.
func (t *Table) Splits(ctx context.Context, opts *Options, size int64) ([]Split, error) {
	entities, err := t.Source.List(ctx, opts.Access)
	if err != nil {
		return nil, err
	}
	var out []Split
	for i, e := range entities {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		whole := Split{Entity: e, File: i, End: -1}
		if _, records := e.(recordEntity); records || size <= 0 || !e.Seekable() || e.Size() < 2*size {
			out = append(out, whole)
			continue
		}
		parts := min((e.Size()+size-1)/size, maxSplits)
		bounds, exact, err := t.bounds(ctx, &input{split: whole, opts: opts}, (e.Size()+parts-1)/parts)
		if err != nil {
			return nil, err
		}
		from := int64(0)
		for _, to := range append(bounds, -1) {
			out = append(out, Split{Entity: e, File: i, Offset: from, End: to, exact: exact})
			from = to
		}
	}
	return out, nil
}

// bounds returns where to cut a file, about every step bytes; exact says that records begin there.
// None: it can't be cut.
func (t *Table) bounds(ctx context.Context, in *input, step int64) (bounds []int64, exact bool, err error) {
	e := in.split.Entity
	even := func() (bounds []int64) {
		for at := step; at < e.Size(); at += step {
			bounds = append(bounds, at)
		}
		return bounds
	}
	columns, inColumns := t.Format.(columnFormat)
	inColumns = inColumns && !columns.flattening().needed()
	f, inText := t.Format.(textFormat)
	if !inColumns && !inText {
		return nil, false, nil
	}
	head, err := readHead(ctx, e, 64<<10)
	if err != nil {
		return nil, false, err
	}
	if unpack.Of(head) != nil { // every part would have to unpack the whole
		return nil, false, nil
	}
	if inColumns {
		ok, err := columns.cuts(ctx, in)
		if !ok || err != nil {
			return nil, false, err
		}
		return even(), false, nil
	}
	if refuseUTF16(head, "") != nil {
		return nil, false, nil
	}
	switch cut := f.begin(trimBOM(head)).(type) {
	case jsonCutter:
		if _, end := cut.first(head); end < 0 {
			return nil, false, nil
		}
		return even(), false, nil
	case lineCutter:
		return even(), false, nil
	case csvCutter:
		if !near(e) {
			return nil, false, nil // reading a distant file twice costs more than it saves
		}
		bounds, err := lookForBounds(ctx, in, cut, int64(len(head)-len(trimBOM(head))), step)
		return bounds, true, err
	}
	return nil, false, nil
}

// near reports whether reading an entity twice costs little.
func near(e Entity) bool {
	switch e := e.(type) {
	case localEntity:
		return true
	case *uploadEntity:
		return e.of.Near
	}
	return false
}

// lookForBounds reads a file for boundaries of records, from its first record at from on. Where a
// newline is within quotes or not depends on all that is before it, but looking for both is many
// times quicker than reading the values.
func lookForBounds(ctx context.Context, in *input, cut cutter, from, step int64) (bounds []int64, err error) {
	src, err := in.split.Entity.Open(ctx, from)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	c := &chunker{r: src, cut: cut, size: int(min(step, defaultChunkBytes)), max: in.opts.maxRecordBytes(), end: -1, offset: from, free: make(chan []byte, 1)}
	for next := step; ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part, err := c.next()
		switch {
		case errors.Is(err, io.EOF):
			return bounds, nil
		case err != nil:
			return nil, err
		case part.broken: // what is wrong shows when it is read from the start
			return nil, nil
		}
		c.recycle(part)
		if c.offset >= next && c.offset < in.split.Entity.Size() {
			bounds = append(bounds, c.offset)
			next = c.offset + step
		}
	}
}
