package backup

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
)

// Content is what Check found.
type Content struct {
	Manifest Manifest
	Settings string
	Summary  Summary
}

// Check reads a backup from end to end and returns what it holds. A file that is not whole, has a
// wrong bit or is of a newer release is an error that errors.Is knows as ErrDamaged or ErrNewer.
func Check(ctx context.Context, path string, progress Progress) (*Content, error) {
	file, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	frames, err := newFrameReader(file, sha256.New())
	if err != nil {
		return nil, err
	}
	defer frames.close()
	c := &checker{rows: map[string]int64{}}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		progress.tell("bytes checked", frames.offset, size)
		k, payload, err := frames.frame()
		if err != nil {
			return nil, err
		}
		if err := c.frame(k, payload); err != nil {
			return nil, err
		}
		if k == kindEnd {
			break
		}
	}
	if frames.offset != size {
		return nil, damaged("bytes follow its end at byte [%d]", frames.offset)
	}
	progress.tell("bytes checked", size, size)
	return &c.Content, c.counts()
}

func open(path string) (*os.File, int64, error) {
	file, err := os.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, 0, fault.NotFound("There is no backup [%s]", path).WithCause(err)
		}
		return nil, 0, fault.InvalidInput("Backup [%s] can't be read", path).WithCause(err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close() // the first error is the one to tell
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// checker holds frames to the order they are written in.
type checker struct {
	Content
	began bool
	rows  map[string]int64
	table *metastore.Table
	file  *fileHead
	left  int64 // bytes of the file that are still to come
}

func (c *checker) frame(k kind, payload []byte) error {
	if c.left > 0 && k != kindBytes {
		return damaged("file [%s] is [%d] bytes too short", c.file.ID, c.left)
	}
	if !c.began && k != kindManifest {
		return damaged("it does not begin with its manifest")
	}
	switch k {
	case kindManifest:
		c.began = true
		return parse(payload, &c.Manifest)
	case kindSettings:
		c.Settings = string(payload)
	case kindTable:
		c.table = &metastore.Table{}
		if err := parse(payload, c.table); err != nil {
			return err
		}
		if len(c.table.Columns) == 0 {
			return damaged("a table has no columns")
		}
		c.rows[c.table.Name] = 0
	case kindRows:
		if c.table == nil {
			return damaged("it has rows before a table")
		}
		row := make([]any, len(c.table.Columns))
		for rest := payload; len(rest) > 0; c.rows[c.table.Name]++ {
			var err error
			if rest, err = takeRow(rest, row); err != nil {
				return err
			}
		}
	case kindFile:
		c.file = &fileHead{}
		if err := parse(payload, c.file); err != nil {
			return err
		}
		c.left = c.file.Size
		c.Summary.Files++
		c.Summary.FileBytes += c.file.Size
	case kindBytes:
		if c.left -= int64(len(payload)); c.file == nil || c.left < 0 {
			return damaged("it has bytes beyond the end of a file")
		}
	case kindEnd:
		return c.end(payload)
	default:
		return damaged("it has a frame of an unknown kind [%d]", k)
	}
	return nil
}

func (c *checker) end(payload []byte) error {
	var declared Summary
	if err := parse(payload, &declared); err != nil {
		return err
	}
	if declared.Files != c.Summary.Files || declared.FileBytes != c.Summary.FileBytes {
		return damaged("it contains [%d] files, but declares [%d]", c.Summary.Files, declared.Files)
	}
	c.Summary = declared
	return nil
}

// counts compares what was read with what the end says.
func (c *checker) counts() error {
	for name, n := range c.Summary.Rows {
		if c.rows[name] != n {
			return damaged("table [%s] has [%d] rows of [%d]", name, c.rows[name], n)
		}
	}
	if len(c.rows) != len(c.Summary.Rows) {
		return damaged("it contains [%d] tables, but declares [%d]", len(c.rows), len(c.Summary.Rows))
	}
	return nil
}

func parse(payload []byte, into any) error {
	if err := json.Unmarshal(payload, into); err != nil {
		return damaged("a frame of it can't be read")
	}
	return nil
}

// tables gives the rows of a checked backup as metastore.Restore reads them.
type tables struct {
	frames *frameReader
	source metastore.Source
	place  func(loadSpec string) (string, error)

	table metastore.Table
	next  *metastore.Table // read while looking for more rows
	rest  []byte
	row   []any
	ended bool
}

// Source says where the rows are from.
func (t *tables) Source() metastore.Source { return t.source }

// Table goes to the next table.
func (t *tables) Table() (metastore.Table, error) {
	for t.next == nil && !t.ended {
		if err := t.advance(); err != nil {
			return metastore.Table{}, err
		}
	}
	if t.next == nil {
		return metastore.Table{}, io.EOF
	}
	t.table, t.next, t.rest = *t.next, nil, nil
	t.row = make([]any, len(t.table.Columns))
	return t.table, nil
}

// Row reads the next row of the table.
func (t *tables) Row() ([]any, error) {
	for len(t.rest) == 0 {
		if t.next != nil || t.ended {
			return nil, io.EOF
		}
		if err := t.advance(); err != nil {
			return nil, err
		}
	}
	var err error
	if t.rest, err = takeRow(t.rest, t.row); err != nil {
		return nil, err
	}
	if t.table.Name == filesTable {
		for i, name := range t.table.Columns {
			if spec, ok := t.row[i].(string); ok && name == loadSpecColumn {
				if t.row[i], err = t.place(spec); err != nil {
					return nil, err
				}
			}
		}
	}
	return t.row, nil
}

// advance reads a frame. Files come after all tables.
func (t *tables) advance() error {
	k, payload, err := t.frames.frame()
	if err != nil {
		return err
	}
	switch k {
	case kindTable:
		t.next = &metastore.Table{}
		return parse(payload, t.next)
	case kindRows:
		t.rest = payload
	case kindFile, kindEnd:
		t.ended = true
	}
	return nil
}
