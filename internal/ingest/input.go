package ingest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/unpack"
)

// recordEntity is an Entity that is no bytes but records already: rows of a database, of a
// datasource. Formats don't matter to it.
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

// notice tells who reads of something in the input that is no error.
func (in *input) notice(what string) {
	if in.opts.OnNotice != nil {
		in.opts.OnNotice(&Notice{Path: in.name(), Text: what})
	}
}

// stream returns the unpacked bytes of the entity from its start.
func (in *input) stream(ctx context.Context) (io.ReadCloser, error) {
	raw, err := in.split.Entity.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	src, err := unpack.Open(raw, in.name(), in.opts.Access.expansion(), in.notice)
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

// random returns the unpacked bytes of the entity, to be read at any place: the entity itself if it
// can be, else a copy in memory or in a temporary file, which goes away when it is closed.
func (in *input) random(ctx context.Context) (randomFile, error) {
	if e, ok := in.split.Entity.(randomEntity); ok {
		f, err := e.openRandom(ctx)
		if err != nil {
			return nil, err
		}
		head := make([]byte, unpack.MagicBytes)
		n, err := f.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, errors.Join(err, f.Close())
		}
		if unpack.Of(head[:n]) == nil {
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
	t, err := newTempFile(in.opts)
	if err != nil {
		return nil, in.copyFault(err)
	}
	if _, err = io.Copy(t, io.MultiReader(&small, io.LimitReader(src, in.opts.maxSpoolBytes()-n+1))); err == nil && t.size > in.opts.maxSpoolBytes() {
		err = fault.InvalidInput("Input [%s] is larger than [%d] bytes decompressed, the limit of temporary files", in.name(),
			in.opts.maxSpoolBytes())
	}
	if err != nil {
		return nil, errors.Join(in.copyFault(err), t.Close())
	}
	return t, nil
}

// copyFault says in words of the user why an input could not be copied to a temporary file, unless
// somebody has said more.
func (in *input) copyFault(err error) error {
	switch {
	case fault.Find(err) != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return fault.ResourceLimit("Input [%s] must be copied to a temporary file to be read, and the disk is full", in.name()).WithCause(err)
	}
	return fault.Runtime("Input [%s] must be copied to a temporary file to be read, which failed: [%v]", in.name(), err).WithCause(err)
}

// bytesFile is a randomFile in memory.
type bytesFile struct{ *bytes.Reader }

func (bytesFile) Close() error { return nil }

// tempFile is a randomFile that has no name: its bytes go when it is closed, or when the process
// ends, however that comes.
type tempFile struct {
	file *os.File
	size int64
	disk budget.Account
}

func newTempFile(opts *Options) (*tempFile, error) {
	f, err := os.CreateTemp(opts.TempDir, "henge-input-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &tempFile{file: f, disk: budget.NewAccount(opts.Disk)}, nil
}

// Write appends p.
func (t *tempFile) Write(p []byte) (int, error) {
	if err := t.disk.Set(t.size + int64(len(p))); err != nil {
		return 0, err
	}
	n, err := t.file.Write(p)
	t.size += int64(n)
	return n, err
}

// ReadAt implements io.ReaderAt.
func (t *tempFile) ReadAt(p []byte, off int64) (int, error) { return t.file.ReadAt(p, off) }

// Size returns the number of bytes written.
func (t *tempFile) Size() int64 { return t.size }

// Close deletes the file and releases its bytes.
func (t *tempFile) Close() error {
	t.disk.Close()
	return t.file.Close()
}
