package streaming

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/tasktype/streaming/intake"
)

// defaultSaved is how many bad records a task keeps to be shown where nobody says how many.
const defaultSaved = 100

// letters are the bad records of a run of a task: the newest to be shown, and files of all for who
// mends them. It is safe for use by many goroutines.
type letters struct {
	*intake.Errors
	dead *intake.DeadLetters
	dir  string
}

// newLetters begins a folder of its own: what an earlier run has found is found again.
func newLetters(dir string, o intake.ErrorOptions) (*letters, error) {
	path, err := os.MkdirTemp(dir, "dead-letters-")
	if err != nil {
		return nil, fmt.Errorf("making the folder of records that can't be read: %w", err)
	}
	l := &letters{dir: path}
	if l.dead, err = intake.OpenLetters(intake.LetterOptions{Dir: filepath.Join(path, "letters")}); err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	o.Letters = l.dead
	if o.Saved <= 0 {
		o.Saved = defaultSaved
	}
	l.Errors = intake.NewErrors(o)
	return l, nil
}

// open returns the records as they are now; nil: there are none.
func (l *letters) open() (io.ReadCloser, error) {
	if l.dead.Bytes() == 0 {
		return nil, nil
	}
	return l.dead.Open()
}

// keep moves the records to what the task leaves behind; nil: there are none.
func (l *letters) keep(ctx context.Context, files *tasktype.Files, id string) (*lettersShown, error) {
	in, err := l.open()
	if in == nil || err != nil {
		return nil, err
	}
	if err := errors.Join(files.PutDeadLetters(ctx, id, in), in.Close()); err != nil {
		return nil, err
	}
	return &lettersShown{l.Count(), "/service/indexer/v1/task/" + id + "/deadLetters"}, nil
}

// discard removes the files.
func (l *letters) discard() error { return errors.Join(l.dead.Close(), os.RemoveAll(l.dir)) }
