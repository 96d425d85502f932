package tasktype

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/secret"
)

// Files stores the reports and logs of tasks in deep storage, under tasks/ID/. The log of a running
// task is a file of its worker. Package msq stores the rows of queries.
type Files struct {
	o       FilesOptions
	live    []Live
	letters []Letters
	remote  RemoteFiles // nil: all tasks run in this process
}

// FilesOptions are the locations of files.
type FilesOptions struct {
	Store deepstore.Store
	// Dir is the directory of the logs of running tasks. It must exist.
	Dir string
	// Alone says that tasks interrupted in this process resume in this process after a restart.
	Alone bool
	// Current returns a fault if the task run that ctx belongs to is not the latest run of the task.
	// The files of such a run are not stored.
	Current func(ctx context.Context) error
}

// RemoteFiles reads the files of tasks that run in other processes. A nil reader means that the
// file does not exist.
type RemoteFiles interface {
	Report(ctx context.Context, id string, alias bool) (io.ReadCloser, error)
	Log(ctx context.Context, id string, offset int64) (io.ReadCloser, error)
	DeadLetters(ctx context.Context, id string) (io.ReadCloser, error)
}

// Letters returns the records that a running task could not parse; nil: the task is unknown.
type Letters func(id string) (io.ReadCloser, error)

// AddDeadLetters adds a source of records that running tasks could not parse. All sources must be
// added before the first read.
func (f *Files) AddDeadLetters(letters Letters) { f.letters = append(f.letters, letters) }

// Live returns the report of a running task as JSON, with the names of Druid if alias is set; nil:
// the task is unknown.
type Live func(id string, alias bool) []byte

// AddLive adds a source of reports of running tasks. All sources must be added before the first
// read.
func (f *Files) AddLive(live Live) { f.live = append(f.live, live) }

// NewFiles returns the file store of tasks.
func NewFiles(o FilesOptions) *Files { return &Files{o: o} }

// SetRemote sets the reader of files in other processes. It must be called before the first read.
func (f *Files) SetRemote(remote RemoteFiles) { f.remote = remote }

func taskKey(id, name string) string { return "tasks/" + fileName(id) + "/" + name }

const (
	// maxNameBytes is what file systems take, with room for an ending.
	maxNameBytes = 250
	hashed       = "sha256~"
)

// fileName is the id of a task as the name of a file. Ids hold names of datasources, whose letters
// take up to nine bytes each when they are escaped: those that get too long are hashed, and those
// that look as if they were.
func fileName(id string) string {
	name := url.PathEscape(id)
	if len(name) <= maxNameBytes && !strings.HasPrefix(name, hashed) {
		return name
	}
	sum := sha256.Sum256([]byte(id))
	return hashed + hex.EncodeToString(sum[:])
}

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

// Report returns the report of a running or a completed task.
func (f *Files) Report(ctx context.Context, id string, alias bool) (io.ReadCloser, error) {
	if report := f.LiveReport(id, alias); report != nil {
		return io.NopCloser(bytes.NewReader(report)), nil
	}
	if f.remote != nil {
		if report, err := f.remote.Report(ctx, id, alias); report != nil || err != nil {
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

// Log returns the log of a task from offset. A negative offset counts from the end.
func (f *Files) Log(ctx context.Context, id string, offset int64) (io.ReadCloser, error) {
	if running, err := f.LiveLog(id, offset); running != nil || err != nil {
		return running, err
	}
	if f.remote != nil {
		if running, err := f.remote.Log(ctx, id, offset); running != nil || err != nil {
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

func (f *Files) logPath(id string) string { return filepath.Join(f.o.Dir, fileName(id)+".log") }

// DeadLetters returns the records that a running or a completed task could not parse, one per line.
func (f *Files) DeadLetters(ctx context.Context, id string) (io.ReadCloser, error) {
	if running, err := f.LiveDeadLetters(id); running != nil || err != nil {
		return running, err
	}
	if f.remote != nil {
		if running, err := f.remote.DeadLetters(ctx, id); running != nil || err != nil {
			return running, err
		}
	}
	return f.read(ctx, taskKey(id, deadLetters))
}

// LiveDeadLetters returns the records that a task of this process could not parse, or nil.
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

// PutDeadLetters stores the records that a completed task could not parse.
func (f *Files) PutDeadLetters(ctx context.Context, id string, letters io.Reader) error {
	if err := f.o.Current(ctx); err != nil {
		return err
	}
	return f.put(ctx, taskKey(id, deadLetters), letters)
}

// PutReport stores the report of a completed task. It does not overwrite an existing report,
// because the task had already completed then.
func (f *Files) PutReport(ctx context.Context, id string, report io.Reader) error {
	if err := f.o.Current(ctx); err != nil {
		return err
	}
	return f.put(ctx, taskKey(id, "report.json"), secret.HeldBy(ctx).Reader(report))
}

// Drop deletes the files of a completed task, including the rows of its query.
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
