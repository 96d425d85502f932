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

// Files keeps what tasks leave behind in deep storage, under tasks/ID/: reports and logs. While a task runs its log is a file of the
// worker. The rows of queries are kept by package msq.
type Files struct {
	store deepstore.Store
	// dir holds the logs of running tasks.
	dir  string
	live []Live
}

// Live returns the report of a running task as JSON in the shapes of a product name; nil: it knows of no such.
type Live func(id string, alias bool) []byte

// AddLive adds a source of reports of running tasks. All are added before the first is asked.
func (f *Files) AddLive(live Live) { f.live = append(f.live, live) }

// NewFiles returns the files of tasks. dir exists.
func NewFiles(store deepstore.Store, dir string) *Files { return &Files{store: store, dir: dir} }

func taskKey(id, name string) string { return "tasks/" + url.PathEscape(id) + "/" + name }

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
	for _, live := range f.live {
		if report := live(id, alias); report != nil {
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
func (f *Files) putReport(ctx context.Context, id string, report io.Reader) error {
	return f.put(ctx, taskKey(id, "report.json"), report)
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
