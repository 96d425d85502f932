package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
)

// WriteOptions says what a backup is made of.
type WriteOptions struct {
	Metastore metastore.Options
	Deep      deepstore.Store
	// Settings is the text of the properties to keep.
	Settings string
	// Segments has the files of deep storage written too.
	Segments bool
	// Overwrite lets a file of the same name be replaced.
	Overwrite bool
	Release   string
	Clock     clock.Clock
	Progress  Progress
}

// rowBytes is how many bytes of rows are collected for a frame; a row that is larger has one of its
// own.
const rowBytes = 1 << 20

// Write makes a backup at path, which appears there when it is complete and on disk.
func Write(ctx context.Context, path string, o WriteOptions) (*Summary, error) {
	if _, err := os.Stat(path); err == nil && !o.Overwrite {
		return nil, fault.Conflict("File [%s] exists already", path)
	}
	partial := path + ".partial"
	file, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // it may hold password hashes
	if err != nil {
		return nil, fault.InvalidInput("File [%s] can't be written", partial).WithCause(err)
	}
	summary, err := write(ctx, file, o)
	if err != nil {
		return nil, errors.Join(err, file.Close(), os.Remove(partial))
	}
	if err := durable.Commit(file, path); err != nil {
		return nil, err
	}
	return summary, nil
}

func write(ctx context.Context, to io.Writer, o WriteOptions) (*Summary, error) {
	frames, err := newFrameWriter(to)
	if err != nil {
		return nil, err
	}
	w := &writer{o: o, frames: frames, summary: Summary{Rows: map[string]int64{}}}
	if err := metastore.Dump(ctx, o.Metastore, w); err != nil {
		return nil, err
	}
	if err := w.flush(); err != nil {
		return nil, err
	}
	if o.Segments {
		if err := w.files(ctx); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(w.summary)
	if err != nil {
		return nil, err
	}
	return &w.summary, frames.end(text)
}

// writer takes the dump of a metastore.
type writer struct {
	o       WriteOptions
	frames  *frameWriter
	table   metastore.Table
	rows    []byte
	done    int64
	store   []fileHead // the files of deep storage that rows name
	summary Summary
}

// fileHead describes a file whose bytes follow.
type fileHead struct {
	// ID is the file's in the metastore; Key where deep storage had it.
	ID   string `json:"id"`
	Key  string `json:"key"`
	Size int64  `json:"size"`
}

// Begin writes the manifest and the settings.
func (w *writer) Begin(source metastore.Source) error {
	text, err := json.Marshal(Manifest{Release: w.o.Release, Created: clock.Millis(w.o.Clock), Source: source, Segments: w.o.Segments})
	if err != nil {
		return err
	}
	if err := w.frames.frame(kindManifest, text, false); err != nil {
		return err
	}
	return w.frames.frame(kindSettings, []byte(w.o.Settings), true)
}

// Table ends the table before and begins one.
func (w *writer) Table(t metastore.Table) error {
	if err := w.flush(); err != nil {
		return err
	}
	w.table = t
	w.summary.Rows[t.Name] = 0
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return w.frames.frame(kindTable, text, false)
}

// Row adds a row to the table.
func (w *writer) Row(row []any) error {
	if w.table.Name == filesTable {
		if err := w.noteFile(row); err != nil {
			return err
		}
	}
	w.summary.Rows[w.table.Name]++
	before := len(w.rows)
	if w.rows = appendRow(w.rows, row); len(w.rows) > maxPayload {
		if len(w.rows)-before > maxPayload {
			return fault.Unsupported("A row of table [%s] has [%d] bytes; a backup takes rows of up to [%d]", w.table.Name, len(w.rows)-before, maxPayload)
		}
		last := append([]byte(nil), w.rows[before:]...)
		w.rows = w.rows[:before]
		if err := w.flush(); err != nil {
			return err
		}
		w.rows = last
	}
	w.done++
	if len(w.rows) < rowBytes {
		return nil
	}
	w.o.Progress.tell("rows of the metadata store", w.done, 0)
	return w.flush()
}

func (w *writer) flush() error {
	if len(w.rows) == 0 {
		return nil
	}
	err := w.frames.frame(kindRows, w.rows, true)
	w.rows = w.rows[:0]
	return err
}

// The table of files and the columns of it that are looked into.
const (
	filesTable     = "files"
	fileIDColumn   = "id"
	loadSpecColumn = "load_spec"
)

// noteFile makes the load spec of a row portable, and remembers where the file is.
func (w *writer) noteFile(row []any) error {
	var id, spec string
	for i, name := range w.table.Columns {
		switch text, _ := row[i].(string); name {
		case fileIDColumn:
			id = text
		case loadSpecColumn:
			spec = text
		}
	}
	kept, key := portable(w.o.Deep, spec)
	for i, name := range w.table.Columns {
		if name == loadSpecColumn {
			row[i] = kept
		}
	}
	if key != "" {
		w.store = append(w.store, fileHead{ID: id, Key: key})
	}
	return nil
}

// files writes the bytes of all files. One that is gone is noted: what is unused may be deleted at
// any time.
func (w *writer) files(ctx context.Context) error {
	buf := make([]byte, 1<<20)
	for i, head := range w.store {
		w.o.Progress.tell("segment files", int64(i), int64(len(w.store)))
		err := w.file(ctx, head, buf)
		if errors.Is(err, fs.ErrNotExist) {
			w.summary.Missing = append(w.summary.Missing, head.ID)
			continue
		}
		if err != nil {
			return fmt.Errorf("reading segment file [%s]: %w", head.Key, err)
		}
	}
	w.o.Progress.tell("segment files", int64(len(w.store)), int64(len(w.store)))
	return nil
}

func (w *writer) file(ctx context.Context, head fileHead, buf []byte) error {
	object, err := w.o.Deep.Open(ctx, head.Key)
	if err != nil {
		return err
	}
	defer object.Close() // it was only read
	head.Size = object.Size()
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if err := w.frames.frame(kindFile, text, false); err != nil {
		return err
	}
	for at := int64(0); at < head.Size; {
		part := buf[:min(int64(len(buf)), head.Size-at)]
		if n, err := object.ReadAt(part, at); n < len(part) {
			return err
		}
		// Segment files are compressed where it pays already.
		if err := w.frames.frame(kindBytes, part, false); err != nil {
			return err
		}
		at += int64(len(part))
	}
	w.summary.Files++
	w.summary.FileBytes += head.Size
	return nil
}
