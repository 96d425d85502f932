package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
)

// RestoreOptions says what a backup is restored into.
type RestoreOptions struct {
	Metastore metastore.Options
	Deep      deepstore.Store
	// Replace lets a metastore that holds something be replaced.
	Replace  bool
	Progress Progress
}

// Restored tells what Restore did.
type Restored struct {
	Content
	// Absent counts segment files that the metastore names and deep storage does not have; AbsentKey
	// is one of them.
	Absent    int64
	AbsentKey string
}

// Restore checks the backup at path from end to end, puts its segment files into deep storage where
// they are not yet, and then its rows into the metastore, which is held to its invariants.
func Restore(ctx context.Context, path string, o RestoreOptions) (*Restored, error) {
	content, err := Check(ctx, path, o.Progress)
	if err != nil {
		return nil, err
	}
	if err := metastore.CheckRestore(ctx, o.Metastore, content.Manifest.Source, o.Replace); err != nil {
		return nil, err
	}
	file, _, err := open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if content.Summary.Files > 0 {
		if err := restoreFiles(ctx, file, content.Summary.Files, o); err != nil {
			return nil, err
		}
	}
	frames, err := newFrameReader(file, nil)
	if err != nil {
		return nil, err
	}
	defer frames.close()
	out := &Restored{Content: *content}
	t := &tables{frames: frames, source: content.Manifest.Source}
	t.place = func(spec string) (string, error) {
		spec, err := placed(o.Deep, spec)
		if err != nil {
			return "", err
		}
		return spec, out.look(ctx, o.Deep, spec)
	}
	o.Progress.tell("rows of the metadata store", 0, 0)
	if err := metastore.Restore(ctx, o.Metastore, t, o.Replace); err != nil {
		return nil, err
	}
	store, err := metastore.Open(ctx, o.Metastore)
	if err != nil {
		return nil, err
	}
	err = store.Check(ctx)
	if e := store.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, fmt.Errorf("looking through the restored metadata store: %w", err)
	}
	return out, nil
}

// look counts a file that is not there. Files of other stores are not looked for.
func (r *Restored) look(ctx context.Context, store deepstore.Store, spec string) error {
	key, err := store.Key([]byte(spec))
	if err != nil {
		return nil //nolint:nilerr // it is not of this store
	}
	switch _, err := store.Stat(ctx, key); {
	case errors.Is(err, fs.ErrNotExist):
		r.Absent++
		r.AbsentKey = key
		return nil
	default:
		return err
	}
}

// restoreFiles puts the segment files into deep storage. Those that are there already with the same
// length are left: objects never change.
func restoreFiles(ctx context.Context, file io.ReadSeeker, total int64, o RestoreOptions) error {
	frames, err := newFrameReader(file, nil)
	if err != nil {
		return err
	}
	defer frames.close()
	done := int64(0)
	for {
		k, payload, err := frames.frame()
		if err != nil {
			return err
		}
		if k == kindEnd {
			return nil
		}
		if k != kindFile {
			continue
		}
		var head fileHead
		if err := parse(payload, &head); err != nil {
			return err
		}
		content := &fileReader{ctx: ctx, frames: frames, left: head.Size}
		if err := putFile(ctx, o.Deep, head, content); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, content); err != nil { // of a file that is there already
			return err
		}
		done++
		o.Progress.tell("segment files", done, total)
	}
}

func putFile(ctx context.Context, store deepstore.Store, head fileHead, content io.Reader) error {
	info, err := store.Stat(ctx, head.Key)
	switch {
	case err == nil && info.Size == head.Size:
		return nil
	case err == nil:
		return fault.Conflict("Deep storage has a file [%s] of [%d] bytes; the backup has another one, of [%d]", head.Key, info.Size, head.Size)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return store.Put(ctx, head.Key, content)
}

// fileReader reads the bytes of a file from the frames that follow its head.
type fileReader struct {
	ctx    context.Context
	frames *frameReader
	left   int64
	part   []byte
}

// Read gives the next bytes.
func (r *fileReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if len(r.part) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		k, payload, err := r.frames.frame()
		if err != nil {
			return 0, err
		}
		if k != kindBytes || int64(len(payload)) > r.left || len(payload) == 0 {
			return 0, damaged("the bytes of a file are not where they belong")
		}
		r.part = payload
		r.left -= int64(len(payload))
	}
	n := copy(b, r.part)
	r.part = r.part[n:]
	return n, nil
}
