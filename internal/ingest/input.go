package ingest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/hengedb/henge/internal/fault"
)

// recordEntity is an Entity that is no bytes but records already: rows of a database, of a datasource. Formats don't matter to it.
type recordEntity interface {
	Entity
	openRecords(ctx context.Context) (objectReader, error)
}

// randomEntity is an Entity that can be read at any place.
type randomEntity interface {
	Entity
	openRandom(ctx context.Context) (randomFile, error)
}

// randomFile is bytes to be read at any place, by several goroutines.
type randomFile interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// input is a split about to be read.
type input struct {
	split Split
	opts  *Options
	// read are the bytes that came from stream and random, unpacked.
	read atomic.Int64
}

func (in *input) name() string { return in.split.Entity.Name() }

// stream returns the unpacked bytes of the entity from its start.
func (in *input) stream(ctx context.Context) (io.ReadCloser, error) {
	raw, err := in.split.Entity.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	src, err := decompress(raw, in.name())
	if err != nil {
		return nil, err
	}
	return &countedStream{src, in}, nil
}

// countedStream counts what is read of a stream.
type countedStream struct {
	io.ReadCloser
	in *input
}

func (c *countedStream) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.in.read.Add(int64(n))
	return n, err
}

// countedFile counts what is read of a file.
type countedFile struct {
	randomFile
	in *input
}

func (c *countedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.randomFile.ReadAt(p, off)
	c.in.read.Add(int64(n))
	return n, err
}

// random returns the unpacked bytes of the entity, to be read at any place: the entity itself if it can be, else a copy in a temporary file,
// which goes away when it is closed.
func (in *input) random(ctx context.Context) (randomFile, error) {
	if e, ok := in.split.Entity.(randomEntity); ok {
		f, err := e.openRandom(ctx)
		if err != nil {
			return nil, err
		}
		head := make([]byte, magicBytes)
		n, err := f.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, errors.Join(err, f.Close())
		}
		if compressionOf(head[:n]) == nil {
			return &countedFile{f, in}, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	src, err := in.stream(ctx)
	if err != nil {
		return nil, err
	}
	f, err := in.spool(src)
	return f, errors.Join(err, src.Close())
}

// spool copies src into memory while it is small, else into a temporary file.
func (in *input) spool(src io.Reader) (randomFile, error) {
	var small bytes.Buffer
	n, err := io.CopyN(&small, src, spoolMemory)
	if errors.Is(err, io.EOF) {
		return bytesFile{bytes.NewReader(small.Bytes())}, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(in.opts.TempDir, "henge-input-*")
	if err != nil {
		return nil, fault.Runtime("Input [%s] needs a temporary file, which could not be made", in.name()).WithCause(err)
	}
	t := &tempFile{File: f}
	size, err := io.Copy(f, io.MultiReader(&small, io.LimitReader(src, in.opts.maxSpoolBytes()-n+1)))
	switch {
	case err != nil && fault.Find(err) == nil:
		err = fault.Runtime("Input [%s] could not be copied to a temporary file", in.name()).WithCause(err)
	case err == nil && size > in.opts.maxSpoolBytes():
		err = fault.InvalidInput("Input [%s] is larger than [%d] bytes unpacked, the most that is copied to a temporary file", in.name(),
			in.opts.maxSpoolBytes())
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	t.size = size
	return t, nil
}

// bytesFile is a randomFile in memory.
type bytesFile struct{ *bytes.Reader }

func (bytesFile) Close() error { return nil }

// tempFile is a randomFile that is removed when it is closed.
type tempFile struct {
	*os.File
	size int64
}

func (t *tempFile) Size() int64 { return t.size }

func (t *tempFile) Close() error { return errors.Join(t.File.Close(), os.Remove(t.Name())) }
