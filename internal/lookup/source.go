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

// follower is a source whose table changes in parts.
//
// follow is called as read is. It returns when there is something new since a mark, or nothing
// for as long as it waits. Before the first key it calls into with whether the table begins anew:
// always where last is empty. What is nil is gone. The new mark counts even if no key is new.
type follower interface {
	follow(
		ctx context.Context, access *ingest.Access, last string, into func(anew bool) (set func(key string, value *string) error),
	) (mark string, err error)
}
