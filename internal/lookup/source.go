package lookup

import (
	"context"

	"github.com/hengedb/henge/internal/ingest"
)

// source reads a table from outside.
//
// read is called from one goroutine at a time, again after each period. It adds all entries and
// returns true, or returns false when nothing changed since last, which is the mark that the
// reading before returned. It stops within one batch of rows of ctx being done.
type source interface {
	read(ctx context.Context, access *ingest.Access, last string, add func(key, value string) error) (changed bool, mark string, err error)
}
