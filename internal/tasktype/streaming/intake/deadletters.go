package intake

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/stream"
)

// Letter is a record that became no row, or not wholly one, as a line of JSON. Key and Value are
// text where they are some, else their base64 is in KeyBytes and ValueBytes.
type Letter struct {
	// Time is when the record was found to be bad.
	Time string `json:"time"`
	// Type is Unparseable or ProcessedWithError. A record of the latter is a row already.
	Type      string `json:"type"`
	Reason    string `json:"reason"`
	Topic     string `json:"topic,omitempty"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	// Position is that of streams whose positions are no offsets.
	Position   string         `json:"position,omitempty"`
	Timestamp  int64          `json:"timestamp"`
	Key        *string        `json:"key,omitempty"`
	KeyBytes   []byte         `json:"keyBase64,omitempty"`
	Headers    []LetterHeader `json:"headers,omitempty"`
	Value      *string        `json:"value,omitempty"`
	ValueBytes []byte         `json:"valueBase64,omitempty"`
	// Cut is how many bytes the value had if only the first of them are here; 0: all are.
	Cut int `json:"cutFrom,omitempty"`
}

// LetterHeader is a header of a record.
type LetterHeader struct {
	Name  string `json:"name"`
	Value []byte `json:"valueBase64"`
}

// Record returns the record as it was in the stream, as far as it is here.
func (l *Letter) Record() stream.Record {
	r := stream.Record{Topic: l.Topic, Number: l.Partition, Offset: l.Offset, Position: stream.Position(l.Position), Time: l.Timestamp,
		Key: l.KeyBytes, Value: l.ValueBytes}
	if l.Key != nil {
		r.Key = []byte(*l.Key)
	}
	if l.Value != nil {
		r.Value = []byte(*l.Value)
	}
	for _, h := range l.Headers {
		r.Headers = append(r.Headers, stream.Header{Name: h.Name, Value: h.Value})
	}
	return r
}

// LetterOptions say where letters are kept, and how many.
type LetterOptions struct {
	// Dir is a folder of the letters alone. It is made with the first one.
	Dir string
	// MaxBytes bounds the files together, the oldest go first; 0: 64 MiB. MaxFileBytes is when the
	// next file is begun; 0: an eighth of MaxBytes.
	MaxBytes, MaxFileBytes int64
	// MaxValueBytes cuts values; 0: 1 MiB.
	MaxValueBytes int
}

const (
	defaultLetterBytes = 64 << 20
	defaultLetterValue = 1 << 20
	letterSuffix       = ".ndjson"
)

// DeadLetters keeps bad records of a task in files of lines of JSON, so that they can be looked at,
// and loaded when it is known what to do about them. It is safe for use by many goroutines.
//
// What can't be written is lost, and counted: a task does not end because of it.
type DeadLetters struct {
	o  LetterOptions
	mu struct {
		sync.Mutex
		files []letterFile // the oldest first; the last one is written to if file is not nil
		file  *os.File
		out   *bufio.Writer
		total int64
		last  letterKey
		any   bool // there was a last one
		lost  int64
		err   error // why the last one was lost
	}
}

type letterFile struct {
	number int
	bytes  int64
}

// letterKey tells records apart: one that is several bad rows is one letter.
type letterKey struct {
	topic    string
	number   int32
	position stream.Position
	offset   int64
}

// OpenLetters returns the letters of a folder, which may have some from before.
func OpenLetters(o LetterOptions) (*DeadLetters, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultLetterBytes
	}
	if o.MaxFileBytes <= 0 {
		o.MaxFileBytes = max(1, o.MaxBytes/8)
	}
	if o.MaxValueBytes <= 0 {
		o.MaxValueBytes = defaultLetterValue
	}
	d := &DeadLetters{o: o}
	entries, err := os.ReadDir(o.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		var number int
		name, ours := strings.CutSuffix(e.Name(), letterSuffix)
		if _, err := fmt.Sscanf(name, "%d", &number); err != nil || !ours {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		d.mu.files = append(d.mu.files, letterFile{number, info.Size()})
		d.mu.total += info.Size()
	}
	slices.SortFunc(d.mu.files, func(a, b letterFile) int { return a.number - b.number })
	return d, nil
}

// Add keeps the record of a bad row that was found at a time, in milliseconds.
func (d *DeadLetters) Add(b *BadRow, at int64) {
	line, err := json.Marshal(d.letter(b, at))
	d.mu.Lock()
	defer d.mu.Unlock()
	key := letterKey{b.Record.Topic, b.Record.Number, b.Record.Position, b.Record.Offset}
	if d.mu.any && key == d.mu.last {
		return
	}
	d.mu.last, d.mu.any = key, true
	if err == nil {
		err = d.writeLocked(append(line, '\n'))
	}
	if err != nil {
		d.mu.lost++
		d.mu.err = err
	}
}

// letter describes a bad row.
func (d *DeadLetters) letter(b *BadRow, at int64) *Letter {
	r := b.Record
	l := &Letter{Time: chrono.FormatMillis(at, chrono.UTC), Type: b.Type, Reason: strings.Join(b.Details, "; "), Topic: r.Topic,
		Partition: r.Number, Offset: r.Offset, Position: string(r.Position), Timestamp: r.Time}
	if b.Reason != "" {
		l.Reason += ": " + b.Reason
	}
	if l.Key, l.KeyBytes = textOrBytes(r.Key); r.Key == nil {
		l.Key = nil
	}
	value := r.Value
	if len(value) > d.o.MaxValueBytes {
		value, l.Cut = value[:d.o.MaxValueBytes], len(value)
	}
	if l.Value, l.ValueBytes = textOrBytes(value); value == nil {
		l.Value = nil
	}
	for _, h := range r.Headers {
		l.Headers = append(l.Headers, LetterHeader{h.Name, h.Value})
	}
	return l
}

// textOrBytes returns b as text if it is some.
func textOrBytes(b []byte) (*string, []byte) {
	if !utf8.Valid(b) {
		return nil, b
	}
	text := string(b)
	return &text, nil
}

func (d *DeadLetters) path(number int) string {
	return filepath.Join(d.o.Dir, fmt.Sprintf("%08d%s", number, letterSuffix))
}

// writeLocked appends a line, in a new file if the last one is full, and drops the oldest files.
func (d *DeadLetters) writeLocked(line []byte) error {
	m := &d.mu
	if m.file != nil && m.files[len(m.files)-1].bytes+int64(len(line)) > d.o.MaxFileBytes {
		if err := d.closeLocked(); err != nil {
			return err
		}
	}
	if m.file == nil {
		if err := os.MkdirAll(d.o.Dir, 0o700); err != nil {
			return err
		}
		number := 1
		if n := len(m.files); n > 0 {
			number = m.files[n-1].number + 1
		}
		file, err := os.OpenFile(d.path(number), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		m.file, m.out = file, bufio.NewWriter(file)
		m.files = append(m.files, letterFile{number: number})
	}
	if _, err := m.out.Write(line); err != nil {
		return errors.Join(err, d.closeLocked()) // the next letter may find room in a new file
	}
	m.files[len(m.files)-1].bytes += int64(len(line))
	m.total += int64(len(line))
	for m.total > d.o.MaxBytes && len(m.files) > 1 {
		if err := os.Remove(d.path(m.files[0].number)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		m.total -= m.files[0].bytes
		m.files = m.files[1:]
	}
	return nil
}

func (d *DeadLetters) closeLocked() error {
	if d.mu.file == nil {
		return nil
	}
	err := errors.Join(d.mu.out.Flush(), d.mu.file.Close())
	d.mu.file, d.mu.out = nil, nil
	return err
}

// Close ends writing. What is added later begins a new file.
func (d *DeadLetters) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closeLocked()
}

// Lost returns how many letters could not be written, and why the last one could not.
func (d *DeadLetters) Lost() (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.lost, d.mu.err
}

// Bytes is the size of all letters.
func (d *DeadLetters) Bytes() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.total
}

// Open returns all letters that were added before, the oldest first, as lines of JSON: what a
// client downloads, and what a load reads.
func (d *DeadLetters) Open() (io.ReadCloser, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mu.out != nil {
		if err := d.mu.out.Flush(); err != nil {
			return nil, err
		}
	}
	all := &letterReader{}
	for _, f := range d.mu.files {
		file, err := os.Open(d.path(f.number))
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all.files = append(all.files, file)
		info, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		size, last := info.Size(), []byte{0}
		if _, err := file.ReadAt(last, max(size-1, 0)); err != nil && !errors.Is(err, io.EOF) {
			return nil, errors.Join(err, all.Close())
		}
		all.parts = append(all.parts, io.LimitReader(file, size))
		if size > 0 && last[0] != '\n' { // the process ended, or the disk was full, within a line
			all.parts = append(all.parts, strings.NewReader("\n"))
		}
	}
	all.Reader = io.MultiReader(all.parts...)
	return all, nil
}

// letterReader reads files one after the other.
type letterReader struct {
	io.Reader
	files []*os.File
	parts []io.Reader
}

// Close implements io.Closer.
func (r *letterReader) Close() error {
	var err error
	for _, f := range r.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// ReadLetters calls f with each letter of what Open returns. A line that was not written to its end
// is left out.
func ReadLetters(r io.Reader, f func(*Letter) error) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		var l Letter
		if json.Unmarshal(line, &l) == nil {
			if err := f(&l); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
