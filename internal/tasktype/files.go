package tasktype

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
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/secret"
)

// Files keeps what tasks leave behind in deep storage, under tasks/ID/: reports and logs. While a
// task runs its log is a file of the worker. The rows of queries are kept by package msq.
type Files struct {
	o       FilesOptions
	live    []Live
	letters []Letters
	far     Far // nil: all tasks run in this process
}

// FilesOptions say where files are.
type FilesOptions struct {
	Store deepstore.Store
	// Dir holds the logs of running tasks. It exists.
	Dir string
	// Alone says that what is interrupted in this process goes on in it after a restart.
	Alone bool
	// Current returns a fault when the run of a task that ctx belongs to is not its newest: what it
	// leaves is not kept.
	Current func(ctx context.Context) error
}

// Far reads what tasks that run in other processes have left behind so far. A nil reader means that
// there is nothing.
type Far interface {
	Report(ctx context.Context, id string, alias bool) (io.ReadCloser, error)
	Log(ctx context.Context, id string, offset int64) (io.ReadCloser, error)
	DeadLetters(ctx context.Context, id string) (io.ReadCloser, error)
}

// Letters returns the records that a running task could not read; nil: it knows of none.
type Letters func(id string) (io.ReadCloser, error)

// AddDeadLetters adds a source of records that running tasks could not read. All are added before
// the first is asked.
func (f *Files) AddDeadLetters(letters Letters) { f.letters = append(f.letters, letters) }

// Live returns the report of a running task as JSON in the shapes of a product name; nil: it knows
// of no such.
type Live func(id string, alias bool) []byte

// AddLive adds a source of reports of running tasks. All are added before the first is asked.
func (f *Files) AddLive(live Live) { f.live = append(f.live, live) }

// NewFiles returns the files of tasks.
func NewFiles(o FilesOptions) *Files { return &Files{o: o} }

// SetFar says how tasks in other processes are asked. It is set before the first question.
func (f *Files) SetFar(far Far) { f.far = far }

func taskKey(id, name string) string { return "tasks/" + url.PathEscape(id) + "/" + name }

// read opens an object as a stream; nil if it is not there.
func (f *Files) read(ctx context.Context, key string) (io.ReadCloser, error) {
	o, err := f.o.Store.Open(ctx, key)
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
	if report := f.LiveReport(id, alias); report != nil {
		return io.NopCloser(bytes.NewReader(report)), nil
	}
	if f.far != nil {
		if report, err := f.far.Report(ctx, id, alias); report != nil || err != nil {
			return report, err
		}
	}
	return f.read(ctx, taskKey(id, "report.json"))
}

// LiveReport returns the report of a task that runs in this process, or nil.
func (f *Files) LiveReport(id string, alias bool) []byte {
	for _, live := range f.live {
		if report := live(id, alias); report != nil {
			return report
		}
	}
	return nil
}

// Log returns the log of a task from offset; a negative one counts from the end.
func (f *Files) Log(ctx context.Context, id string, offset int64) (io.ReadCloser, error) {
	if running, err := f.LiveLog(id, offset); running != nil || err != nil {
		return running, err
	}
	if f.far != nil {
		if running, err := f.far.Log(ctx, id, offset); running != nil || err != nil {
			return running, err
		}
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

// LiveLog returns the log of a task that runs in this process, or nil.
func (f *Files) LiveLog(id string, offset int64) (io.ReadCloser, error) {
	running, err := os.Open(f.logPath(id))
	if err != nil {
		return nil, nil // it does not run here
	}
	info, err := running.Stat()
	if err != nil {
		return nil, errors.Join(err, running.Close())
	}
	if _, err := running.Seek(from(offset, info.Size()), io.SeekStart); err != nil {
		return nil, errors.Join(err, running.Close())
	}
	return running, nil
}

func from(offset, size int64) int64 {
	if offset < 0 {
		return max(0, size+offset)
	}
	return min(offset, size)
}

func (f *Files) logPath(id string) string { return filepath.Join(f.o.Dir, url.PathEscape(id)+".log") }

// DeadLetters returns the records that a running or an ended task could not read, one a line.
func (f *Files) DeadLetters(ctx context.Context, id string) (io.ReadCloser, error) {
	if running, err := f.LiveDeadLetters(id); running != nil || err != nil {
		return running, err
	}
	if f.far != nil {
		if running, err := f.far.DeadLetters(ctx, id); running != nil || err != nil {
			return running, err
		}
	}
	return f.read(ctx, taskKey(id, deadLetters))
}

// LiveDeadLetters returns those of a task that runs in this process, or nil.
func (f *Files) LiveDeadLetters(id string) (io.ReadCloser, error) {
	for _, letters := range f.letters {
		if running, err := letters(id); running != nil || err != nil {
			return running, err
		}
	}
	return nil, nil
}

// deadLetters is the name of the file of records that a task could not read.
const deadLetters = "dead-letters.jsonl"

// PutDeadLetters keeps the records that an ended task could not read.
func (f *Files) PutDeadLetters(ctx context.Context, id string, letters io.Reader) error {
	if err := f.o.Current(ctx); err != nil {
		return err
	}
	return f.put(ctx, taskKey(id, deadLetters), letters)
}

// PutReport keeps the report of an ended task. A report that is there already stays: the task had
// ended before.
func (f *Files) PutReport(ctx context.Context, id string, report io.Reader) error {
	if err := f.o.Current(ctx); err != nil {
		return err
	}
	return f.put(ctx, taskKey(id, "report.json"), secret.HeldBy(ctx).Reader(report))
}

// Drop deletes what an ended task has left behind, the rows of its query, too.
func (f *Files) Drop(ctx context.Context, id string) error {
	return errors.Join(f.o.Store.Delete(ctx, taskKey(id, "report.json"), taskKey(id, "log"), taskKey(id, deadLetters)),
		msq.DeleteResults(ctx, f.o.Store, id))
}

func (f *Files) put(ctx context.Context, key string, r io.Reader) error {
	if err := f.o.Store.Put(ctx, key, r); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keeping [%s]: %w", key, err)
	}
	return nil
}

// keepLog moves the log of an ended task to deep storage; that of a run that was followed by
// another is of no use.
func (f *Files) keepLog(ctx context.Context, id string) error {
	path := f.logPath(id)
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the log of task [%s]: %w", id, err)
	}
	if err = f.o.Current(ctx); err == nil {
		err = f.put(ctx, taskKey(id, "log"), file)
	}
	return errors.Join(err, file.Close(), os.Remove(path))
}
