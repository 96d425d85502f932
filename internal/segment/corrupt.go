package segment

import (
	"errors"
	"fmt"

	"github.com/hengedb/henge/internal/fault"
)

// ErrCorrupt marks every error that means that the bytes of the file differ from those that its
// writer wrote. The remedy is always to fetch the file from deep storage again. A CorruptError in
// the same chain names the location.
var ErrCorrupt = errors.New("segment file is corrupt")

// ErrNewer marks the rejection of a file that only a newer release can read.
var ErrNewer = errors.New("segment file is of a newer release")

// CorruptError describes the damage of a file and its location. It matches ErrCorrupt.
type CorruptError struct {
	File   string // path, or what OpenAt was told
	Column string // empty: the header, footer or tail
	Offset int64  // the byte of the file at or after which the fault lies; -1: not known
	Reason string
}

func (e *CorruptError) Error() string { return e.Reason }

// Is reports whether target is ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// fault returns the error for e. Its message holds no contents of the file.
func (e *CorruptError) fault() error {
	where := ""
	if e.Column != "" {
		where += fmt.Sprintf(", column [%s]", e.Column)
	}
	if e.Offset >= 0 {
		where += fmt.Sprintf(", offset [%d]", e.Offset)
	}
	return fault.Runtime("Segment file [%s] is corrupt%s: %s", e.File, where, e.Reason).WithCause(e)
}

func newerFault(file, reason string, args ...any) error {
	return fault.Unsupported("Segment file [%s] can't be read by this release: %s", file, fmt.Sprintf(reason, args...)).WithCause(ErrNewer)
}
