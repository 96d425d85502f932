package cache

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"

	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
)

// line is one line of the manifest, in JSON: a segment that is loaded, or dropped.
type line struct {
	ID      string `json:"id"`
	Key     string `json:"key,omitempty"`
	Size    int64  `json:"size,omitempty"`
	InPlace bool   `json:"inPlace,omitempty"`
	Dropped bool   `json:"dropped,omitempty"`
}

// manifest is the list of loaded segments on disk. It is appended to, and written anew when most of
// it is history. A last line that a crash has cut off is ignored: that segment was not reported as
// loaded.
type manifest struct {
	path  string
	file  *os.File // nil: it could not be made yet, for want of room
	lines int
	// torn says that the last line may lack its end: the file could not be written anew when it was
	// opened.
	torn bool
}

// maxLineBytes bounds a line that is read.
const maxLineBytes = 1 << 20

// openManifest reads the manifest at path and calls each for every segment that is loaded. It is
// then written anew with those that each takes, so that what is appended never follows half a line.
func openManifest(path string, each func(line) (taken bool)) (*manifest, error) {
	live, err := readManifest(path)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(live, func(_ string, l line) bool { return !each(l) })
	m := &manifest{path: path}
	if err = m.rewrite(maps.Values(live)); durable.IsFull(err) { // what is loaded can be queried all the same
		m.lines = len(live)
		return m, m.reopen()
	}
	return m, err
}

// reopen goes on with the file as it is, if there is one.
func (m *manifest) reopen() (err error) {
	m.torn = true
	if m.file, err = os.OpenFile(m.path, os.O_WRONLY|os.O_APPEND, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return writeFault(m.path, err)
	}
	return nil
}

// readManifest returns the segments that are loaded, by id. Lines that can't be read are passed
// over: their segments are loaded again when somebody asks for them.
func readManifest(path string) (map[string]line, error) {
	live := map[string]line{}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return live, nil
	}
	if err != nil {
		return nil, fmt.Errorf("segment cache manifest [%s]: %w", path, err)
	}
	defer file.Close() // it was only read
	in := bufio.NewScanner(file)
	in.Buffer(nil, maxLineBytes)
	for in.Scan() {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil || l.ID == "" || l.Size < 0 {
			continue
		}
		if l.Dropped {
			delete(live, l.ID)
		} else {
			live[l.ID] = l
		}
	}
	if err := in.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) { // zeros that a loss of power has left
		return nil, fmt.Errorf("segment cache manifest [%s]: %w", path, err)
	}
	return live, nil
}

func (m *manifest) add(l line) error { return m.append(l) }

// remove notes that id is dropped; live are the segments that stay, left of them.
func (m *manifest) remove(id string, left int, live iter.Seq[line]) error {
	if m.lines > 2*left+1000 {
		return m.rewrite(live)
	}
	return m.append(line{ID: id, Dropped: true})
}

func (m *manifest) append(l line) error {
	raw, err := json.Marshal(l)
	if err != nil {
		return fault.Defensive("Segment id [%s] does not marshal", l.ID).WithCause(err)
	}
	if m.file == nil {
		if m.file, err = os.OpenFile(m.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
			m.file = nil
			return writeFault(m.path, err)
		}
	}
	if m.torn {
		raw = append([]byte{'\n'}, raw...)
	}
	if _, err := m.file.Write(append(raw, '\n')); err != nil {
		m.torn = true
		return writeFault(m.path, err)
	}
	m.torn = false
	m.lines++
	return nil
}

// rewrite replaces the manifest by the given lines.
func (m *manifest) rewrite(lines iter.Seq[line]) error {
	temp := m.path + ".new"
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return writeFault(temp, err)
	}
	out := bufio.NewWriter(file)
	n := 0
	for l := range lines {
		raw, err := json.Marshal(l)
		if err != nil {
			file.Close() // the first error is the one to tell
			return fault.Defensive("Segment id [%s] does not marshal", l.ID).WithCause(err)
		}
		out.Write(raw) // a bufio.Writer keeps its first error for Flush
		out.WriteByte('\n')
		n++
	}
	if err = out.Flush(); err != nil {
		file.Close()    // as above
		os.Remove(temp) // likewise
		return writeFault(m.path, err)
	}
	if err := durable.Commit(file, m.path); err != nil {
		return writeFault(m.path, err)
	}
	if m.file != nil {
		m.file.Close() // replaced; what it held is in the new file
	}
	m.lines = n
	if err := m.reopen(); err != nil {
		return err
	}
	m.torn = false
	return nil
}

func (m *manifest) close() error {
	if m.file == nil {
		return nil
	}
	if err := m.file.Close(); err != nil {
		return writeFault(m.path, err)
	}
	return nil
}

// linesLocked are the loaded segments of a location but for one.
func (c *Cache) linesLocked(at *location, but string) iter.Seq[line] {
	return func(yield func(line) bool) {
		for id, f := range c.mu.byID {
			if id != but && f.at == at && !yield(line{ID: id, Key: f.key, Size: f.size, InPlace: f.inPlace}) {
				return
			}
		}
	}
}
