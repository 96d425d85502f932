package streaming

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/tasktype/streaming/intake"
)

const (
	// defaultSaved is how many bad records a task keeps to be shown where nobody says how many.
	defaultSaved = 100
	// maxLetters bounds the bytes of dead letters of a task; what is beyond is counted only.
	maxLetters = 256 << 20
)

// letters are the records of a task that were no rows, or not wholly: the last ones to be shown,
// and a file of all for who mends them. It is safe for use by many goroutines.
type letters struct {
	dir   string
	most  int
	clock clock.Clock
	log   *slog.Logger // nil: bad records are not logged

	mu struct {
		sync.Mutex
		last  []chat.ParseError // oldest first
		file  *os.File          // nil: there are none, or the file could not be written
		out   *bufio.Writer
		count int64
		bytes int64
		lost  error
	}
}

// letter is a line of the file.
type letter struct {
	At       int64    `json:"timeOfExceptionMillis"`
	Type     string   `json:"errorType"`
	Details  []string `json:"details"`
	Reason   string   `json:"reason,omitempty"`
	Topic    string   `json:"topic,omitempty"`
	Number   *int32   `json:"partition,omitempty"`
	Position string   `json:"position,omitempty"`
	Key      []byte   `json:"key,omitempty"`
	Value    []byte   `json:"value,omitempty"`
	Input    string   `json:"input"`
}

func newLetters(dir string, saved int, c clock.Clock, log *slog.Logger) *letters {
	l := &letters{dir: dir, most: saved, clock: c, log: log}
	if l.most <= 0 {
		l.most = defaultSaved
	}
	return l
}

// add takes a bad record. That it can't be written to the file is told at the end: the task goes
// on.
func (l *letters) add(b *intake.BadRow) error {
	shown := chat.ParseError{At: clock.Millis(l.clock), Input: b.Input, Type: b.Type, Details: slices.Clone(b.Details)}
	if l.log != nil {
		l.log.Warn("a record could not be parsed", "type", b.Type, "details", b.Details)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.count++
	l.mu.last = append(l.mu.last, shown)
	if len(l.mu.last) > l.most {
		l.mu.last = slices.Delete(l.mu.last, 0, len(l.mu.last)-l.most)
	}
	if l.mu.lost == nil && l.mu.bytes < maxLetters {
		l.mu.lost = l.writeLocked(&shown, b)
	}
	return nil
}

func (l *letters) writeLocked(shown *chat.ParseError, b *intake.BadRow) error {
	if l.mu.file == nil {
		f, err := os.CreateTemp(l.dir, "dead-letters-")
		if err != nil {
			return fmt.Errorf("creating the file of dead letters: %w", err)
		}
		l.mu.file, l.mu.out = f, bufio.NewWriter(f)
	}
	line := letter{At: shown.At, Type: b.Type, Details: b.Details, Reason: b.Reason, Input: b.Input}
	if r := b.Record; r != nil {
		line.Topic, line.Position, line.Key, line.Value = r.Topic, string(r.Position), r.Key, r.Value
		if r.Topic != "" {
			line.Number = &r.Number
		}
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	l.mu.bytes += int64(len(text)) + 1
	if _, err := l.mu.out.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("writing dead letters: %w", err)
	}
	return nil
}

// saved returns the last bad records, the newest first.
func (l *letters) saved() []chat.ParseError {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := slices.Clone(l.mu.last)
	slices.Reverse(out)
	if out == nil {
		out = []chat.ParseError{}
	}
	return out
}

// path returns the file as it is now; "": there is none.
func (l *letters) path() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.file == nil || l.mu.out.Flush() != nil {
		return ""
	}
	return l.mu.file.Name()
}

// keep moves the file to what the task leaves behind; nil: there is none.
func (l *letters) keep(ctx context.Context, files *tasktype.Files, id string) (*lettersShown, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.file == nil {
		return nil, l.mu.lost
	}
	err := l.mu.out.Flush()
	if err == nil {
		_, err = l.mu.file.Seek(0, 0)
	}
	if err == nil {
		err = files.PutDeadLetters(ctx, id, l.mu.file)
	}
	name := l.mu.file.Name()
	err = errors.Join(err, l.mu.file.Close(), os.Remove(name))
	l.mu.file = nil
	if err != nil {
		return nil, fmt.Errorf("keeping the dead letters of task [%s]: %w", id, err)
	}
	return &lettersShown{l.mu.count, "/service/indexer/v1/task/" + id + "/deadLetters"}, nil
}

// discard removes the file.
func (l *letters) discard() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.file == nil {
		return nil
	}
	name := l.mu.file.Name()
	err := l.mu.file.Close()
	l.mu.file = nil
	if removed := os.Remove(name); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}
