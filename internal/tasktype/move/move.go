// Package move implements the tasks that move the files of unused segments within deep storage:
// move to a location that the user chooses; archive to the location in the settings, for data that
// is seldom read; and restore from there.
//
// The central type is Move, the kind of these tasks for the task queue. The segments remain unused:
// to query them again, a user marks them used. A file is copied to a new key, then the metastore is
// updated, then the old file is deleted. A crash in between leaves a file without a row, which this
// task or the next kill task deletes. Files that a used segment shares are not moved.
package move

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
)

// The types of the tasks.
const (
	Type        = "move"
	ArchiveType = "archive"
	RestoreType = "restore"
)

// pageSize is how many segments are looked at between two looks at the lock.
const pageSize = 100

// Home is the first component of the keys of segments that were not moved.
const Home = "segments/"

// Store is the part of the metastore that the tasks use.
type Store interface {
	TryLock(ctx context.Context, r metastore.LockRequest) (lock tasklock.Lock, granted bool, err error)
	ReleaseLocks(ctx context.Context, fence metastore.Fence, taskID string, interval *chrono.Interval) error
	UnusedSegments(ctx context.Context, dataSource string, filter metastore.UnusedFilter) ([]metastore.SegmentRow, error)
	MoveFile(ctx context.Context, fence metastore.Fence, f metastore.File, to json.RawMessage) (left string, moved bool, err error)
	ForgetFiles(ctx context.Context, fence metastore.Fence, ids []string) error
}

// Move runs tasks of one of the types.
type Move struct {
	kind    string
	store   Store
	deep    deepstore.Store
	archive string
	log     *slog.Logger
}

// New returns the task kind of a type. archive is the prefix of the keys of archived files.
func New(kind string, store Store, deep deepstore.Store, archive string, log *slog.Logger) *Move {
	return &Move{kind: kind, store: store, deep: deep, archive: strings.Trim(archive, "/"), log: log}
}

// payload is a task as it was submitted.
type payload struct {
	Interval *chrono.Interval `json:"interval"`
	Versions []string         `json:"versions"`
	Target   *target          `json:"target"`
	// OldTarget is the former name of Target.
	OldTarget *target `json:"targetLoadSpec"`
}

// target is where a move goes to.
type target struct {
	Bucket  string `json:"bucket"`
	BaseKey string `json:"baseKey"`
}

func (k *Move) parse(t *task.Task) (*payload, error) {
	p := &payload{}
	if err := json.Unmarshal(t.Payload, p); err != nil {
		if f := fault.Find(err); f != nil {
			return nil, f
		}
		return nil, fault.InvalidInput("Task [%s] of type [%s] is not readable: %v", t.ID, k.kind, err).WithCause(err)
	}
	if p.Interval == nil {
		return nil, fault.InvalidInput("Task [%s] of type [%s] has no interval", t.ID, k.kind)
	}
	if p.Target == nil {
		p.Target = p.OldTarget
	}
	switch {
	case k.kind != Type && k.archive == "":
		return nil, fault.InvalidInput("Tasks of type [%s] need a place for archived segments: [service.storage.archiveBaseKey] is empty", k.kind)
	case k.kind != Type:
		p.Target = &target{}
		if k.kind == ArchiveType {
			p.Target.BaseKey = k.archive
		}
	case p.Target == nil:
		return nil, fault.InvalidInput("Task [%s] of type [%s] has no [target]", t.ID, k.kind)
	}
	p.Target.BaseKey = strings.Trim(p.Target.BaseKey, "/")
	if p.Target.BaseKey != "" {
		if err := deepstore.CheckKey(p.Target.BaseKey); err != nil {
			return nil, err
		}
	}
	return p, k.checkBucket(p.Target.Bucket)
}

// checkBucket refuses another bucket than that of deep storage: segments could not be read from it.
func (k *Move) checkBucket(name string) error {
	if name == "" {
		return nil
	}
	var own target
	if err := json.Unmarshal(k.deep.LoadSpec("segments"), &own); err != nil || own.Bucket != name {
		return fault.Unsupported("Bucket [%s] in [target] is not that of deep storage [%s]; segments are moved within deep storage", name, own.Bucket)
	}
	return nil
}

// Complete implements task.Completer. It requires a datasource and an interval.
func (k *Move) Complete(fields map[string]json.RawMessage) error {
	if raw, ok := fields["dataSource"]; !ok || string(raw) == "null" {
		return fault.InvalidInput("Task of type [%s] has no [dataSource]", k.kind)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return fault.Malformed("Task of type [%s] is not readable: %v", k.kind, err)
	}
	p, err := k.parse(&task.Task{Payload: text})
	if err != nil {
		return err
	}
	fields["interval"], err = json.Marshal(p.Interval)
	return err
}

// lock takes the lock on the whole interval; false while another task holds it.
func (k *Move) lock(ctx context.Context, t *task.Task, p *payload) (bool, error) {
	_, granted, err := k.store.TryLock(ctx, metastore.LockRequest{Request: tasklock.Request{
		Owner: tasklock.Owner{TaskID: t.ID, GroupID: t.GroupID, Priority: t.Priority}, DataSource: t.DataSource, Interval: *p.Interval,
		Type: tasklock.Exclusive,
	}})
	return granted, err
}

// Prepare implements task.Kind.
func (k *Move) Prepare(ctx context.Context, t *task.Task) (bool, error) {
	p, err := k.parse(t)
	if err != nil {
		return false, err
	}
	return k.lock(ctx, t, p)
}

// Release implements task.Kind.
func (k *Move) Release(ctx context.Context, t *task.Task) error {
	return k.store.ReleaseLocks(ctx, metastore.Fence{}, t.ID, nil)
}

// Run implements task.Kind.
func (k *Move) Run(ctx context.Context, t *task.Task) error {
	p, err := k.parse(t)
	if err != nil {
		return err
	}
	filter := metastore.UnusedFilter{Interval: p.Interval, Versions: p.Versions, Limit: pageSize}
	moved, stayed := 0, 0
	done := map[string]bool{} // files: several ids may share one
	for {
		// A task of higher priority may have taken the lock since.
		switch granted, err := k.lock(ctx, t, p); {
		case err != nil:
			return fmt.Errorf("keeping the lock on the interval: %w", err)
		case !granted:
			return fault.Conflict("Task [%s] of type [%s] lost its lock on interval [%s] to another task", t.ID, k.kind, p.Interval)
		}
		rows, err := k.store.UnusedSegments(ctx, t.DataSource, filter)
		if err != nil {
			return fmt.Errorf("reading unused segments: %w", err)
		}
		for _, row := range rows {
			if row.File == "" || done[row.File] {
				continue
			}
			done[row.File] = true
			there, err := k.move(ctx, metastore.File{ID: row.File, LoadSpec: row.LoadSpec(), Size: row.Size}, p.Target.BaseKey)
			if err != nil {
				return fmt.Errorf("moving segment [%s]: %w", row.ID, err)
			}
			if there {
				moved++
			} else {
				stayed++
			}
		}
		if len(rows) < pageSize {
			break
		}
		filter.AfterID = rows[len(rows)-1].ID.String()
	}
	k.log.InfoContext(ctx, "unused segments moved", "task", t.ID, "type", k.kind, "datasource", t.DataSource, "files", moved, "stayed", stayed)
	return nil
}

// destination returns the key that a file gets; false: it is in its place already. The last part is
// new each time: bytes that a failure left behind are never those of a row.
func (k *Move) destination(key, base string) (string, bool, error) {
	at := 0
	if !strings.HasPrefix(key, Home) {
		at = strings.Index(key, "/"+Home) + 1
	}
	if k.kind == RestoreType && !strings.HasPrefix(key, k.archive+"/") || strings.Trim(key[:at], "/") == base {
		return "", false, nil
	}
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", false, err
	}
	name := hex.EncodeToString(random[:]) + path.Ext(key)
	if of := segment.FingerprintIn(key); of != "" { // the bytes stay what they are
		name = segment.FileName(hex.EncodeToString(random[:]), of)
	}
	return path.Join(base, path.Dir(key[at:]), name), true, nil
}

// move moves the bytes of a file, if they have to and can be.
func (k *Move) move(ctx context.Context, f metastore.File, base string) (bool, error) {
	from, err := k.deep.Key(f.LoadSpec)
	if err != nil {
		return false, err
	}
	to, moves, err := k.destination(from, base)
	if !moves || err != nil {
		return false, err
	}
	if err := k.copy(ctx, from, to); err != nil {
		return false, err
	}
	left, moved, err := k.store.MoveFile(ctx, metastore.Fence{}, f, k.deep.LoadSpec(to))
	if err != nil { // whether it was noted is not known: a copy too many is better than none
		return false, err
	}
	unwanted := to
	if moved {
		unwanted = from
	}
	if err := k.deep.Delete(ctx, unwanted); err != nil {
		return moved, err
	}
	return moved, k.store.ForgetFiles(ctx, metastore.Fence{}, []string{left})
}

func (k *Move) copy(ctx context.Context, from, to string) (err error) {
	o, err := k.deep.Open(ctx, from)
	if err != nil {
		return err
	}
	defer func() {
		if closed := o.Close(); err == nil {
			err = closed
		}
	}()
	return k.deep.Put(ctx, to, io.NewSectionReader(o, 0, o.Size()))
}
