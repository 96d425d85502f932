package overlord

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/hengedb/henge/internal/deepstore"
)

// Files keeps what tasks leave behind in deep storage: reports and logs under tasks/ID/, pages of results under results/ID/. While a
// task runs its log is a file of the worker.
type Files struct {
	store deepstore.Store
	// dir holds the logs of running tasks.
	dir string
	// live returns the report of a running task, or nil.
	live func(id string, alias bool) []byte
}

// NewFiles returns the files of tasks. dir exists.
func NewFiles(store deepstore.Store, dir string) *Files { return &Files{store: store, dir: dir} }

func taskKey(id, name string) string   { return "tasks/" + url.PathEscape(id) + "/" + name }
func resultKey(id, name string) string { return "results/" + url.PathEscape(id) + "/" + name }

// read opens an object as a stream; nil if it is not there.
func (f *Files) read(ctx context.Context, key string) (io.ReadCloser, error) {
	o, err := f.store.Open(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &objectReader{io.NewSectionReader(o, 0, o.Size()), o}, nil
}

type objectReader struct {
	*io.SectionReader
	o deepstore.Object
}

// Close closes the object.
func (r *objectReader) Close() error { return r.o.Close() }

// Report returns the report of a running or an ended task.
func (f *Files) Report(ctx context.Context, id string, alias bool) (io.ReadCloser, error) {
	if f.live != nil {
		if report := f.live(id, alias); report != nil {
			return io.NopCloser(bytes.NewReader(report)), nil
		}
	}
	return f.read(ctx, taskKey(id, "report.json"))
}

// Log returns the log of a task from offset; a negative one counts from the end.
func (f *Files) Log(ctx context.Context, id string, offset int64) (io.ReadCloser, error) {
	if running, err := os.Open(f.logPath(id)); err == nil {
		info, err := running.Stat()
		if err != nil {
			return nil, errors.Join(err, running.Close())
		}
		if _, err := running.Seek(from(offset, info.Size()), io.SeekStart); err != nil {
			return nil, errors.Join(err, running.Close())
		}
		return running, nil
	}
	log, err := f.read(ctx, taskKey(id, "log"))
	if log == nil || err != nil {
		return nil, err
	}
	r := log.(*objectReader)
	if _, err := r.Seek(from(offset, r.Size()), io.SeekStart); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func from(offset, size int64) int64 {
	if offset < 0 {
		return max(0, size+offset)
	}
	return min(offset, size)
}

func (f *Files) logPath(id string) string { return filepath.Join(f.dir, url.PathEscape(id)+".log") }

// putReport keeps the report of an ended task. A report that is there already stays: the task had ended before.
func (f *Files) putReport(ctx context.Context, id string, report []byte) error {
	return f.put(ctx, taskKey(id, "report.json"), bytes.NewReader(report))
}

func (f *Files) put(ctx context.Context, key string, r io.Reader) error {
	if err := f.store.Put(ctx, key, r); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keeping [%s]: %w", key, err)
	}
	return nil
}

// keepLog moves the log of an ended task to deep storage.
func (f *Files) keepLog(ctx context.Context, id string) error {
	path := f.logPath(id)
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the log of task [%s]: %w", id, err)
	}
	err = f.put(ctx, taskKey(id, "log"), file)
	return errors.Join(err, file.Close(), os.Remove(path))
}

// Create begins a page of results. The page is there when it is closed.
func (f *Files) Create(ctx context.Context, statement, name string) (io.WriteCloser, error) {
	file, err := os.CreateTemp(f.dir, "page-*")
	if err != nil {
		return nil, fmt.Errorf("writing a page of statement [%s]: %w", statement, err)
	}
	return &page{File: file, ctx: ctx, files: f, key: resultKey(statement, name)}, nil
}

// page is a page of results on its way to deep storage.
type page struct {
	*os.File
	ctx   context.Context //nolint:containedctx // io.Closer has no room for the context of the write it ends
	files *Files
	key   string
}

// Close puts the page into deep storage.
func (p *page) Close() error {
	_, err := p.Seek(0, io.SeekStart)
	if err == nil {
		err = p.files.replace(p.ctx, p.key, p.File)
	}
	return errors.Join(err, p.File.Close(), os.Remove(p.Name()))
}

// replace puts an object in the place of one that an attempt before a restart may have left.
func (f *Files) replace(ctx context.Context, key string, r io.Reader) error {
	if err := f.store.Delete(ctx, key); err != nil {
		return err
	}
	return f.store.Put(ctx, key, r)
}

// Open returns a page of results.
func (f *Files) Open(ctx context.Context, statement, name string) (io.ReadCloser, error) {
	r, err := f.read(ctx, resultKey(statement, name))
	if r == nil && err == nil {
		return nil, fmt.Errorf("page [%s] of statement [%s]: %w", name, statement, fs.ErrNotExist)
	}
	return r, err
}

// Delete removes the results of a statement.
func (f *Files) Delete(ctx context.Context, statement string) error {
	const most = 1000
	prefix := resultKey(statement, "")
	for {
		infos, err := f.store.List(ctx, prefix, "", most)
		if err != nil {
			return err
		}
		keys := make([]string, len(infos))
		for i := range infos {
			keys[i] = infos[i].Key
		}
		if err := f.store.Delete(ctx, keys...); err != nil {
			return err
		}
		if len(infos) < most {
			return nil
		}
	}
}
