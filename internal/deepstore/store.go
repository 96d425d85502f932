// Package deepstore keeps the files that must outlive every node: segments, task logs and reports,
// pages of results.
//
// The central type is Store: objects that are put once under a key, read by ranges, listed and
// deleted, never changed. Local keeps them in a directory. Where an object lies is told to others
// as a load spec, the JSON of a segment's descriptor: a Store makes the load spec of a key and
// finds the key of a load spec. Package faulty wraps a Store with failures for tests.
//
// Elsewhere on purpose: what keys mean and who still needs an object (packages timeline and
// metastore), and copies near to queries (package segment/cache).
package deepstore

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Store is a set of immutable objects by key. It is used by any number of goroutines and processes
// at once.
//
// A key is a path of names between slashes, such as "wiki/2024-01-01.../index"; see CheckKey.
// Errors that say an object is not there match fs.ErrNotExist; those of a Put under a key that is
// taken match fs.ErrExist. Methods stop soon after ctx is done.
type Store interface {
	// Put stores what r yields until io.EOF under a key that must be free. When it returns nil the
	// object is whole, on disk, and seen by all; when it fails nothing is there, or, if the failure
	// was one of communication, all of it.
	Put(ctx context.Context, key string, r io.Reader) error
	// Open returns the object for reading; the caller closes it. Ctx governs its reads too.
	Open(ctx context.Context, key string) (Object, error)
	// Stat describes the object.
	Stat(ctx context.Context, key string) (Info, error)
	// List returns up to limit objects whose keys begin with prefix and come after after, ascending by
	// bytes. Fewer than limit: there are no more.
	List(ctx context.Context, prefix, after string, limit int) ([]Info, error)
	// Delete removes the objects; those that are not there are no error. After an error some may be
	// gone.
	Delete(ctx context.Context, keys ...string) error
	// Close ends the use of the Store.
	Close() error

	// LoadSpec returns where the object with this key lies, in the JSON of a segment's descriptor.
	LoadSpec(key string) json.RawMessage
	// Key returns the key of a load spec of this Store; others are refused.
	Key(loadSpec json.RawMessage) (string, error)
}

// Object is an object opened for reading, at any place and by several goroutines.
type Object interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Within is an Object whose reads are those of one context, and which can be read within another.
type Within interface {
	// Within returns the object with reads that stop soon after ctx is done. It is closed with the one
	// it came from.
	Within(ctx context.Context) Object
}

// Info describes an object.
type Info struct {
	Key  string
	Size int64
	// Modified is the time of the Put in milliseconds since 1970, by the Store's clock.
	Modified int64
}

// OnDisk is a Store whose objects are files that this process can open, map and link to.
type OnDisk interface {
	// Path returns the file of the object with this key, which need not exist.
	Path(key string) (string, error)
}

// Adopter is a Store that takes files of the local disk without copying them where it can.
type Adopter interface {
	// Adopt is Put of a file that nobody writes to any more. The caller may remove its own name of it
	// when Adopt has returned.
	Adopt(ctx context.Context, key string, file *os.File) error
}

const (
	maxKeyBytes  = 2048 // what all object stores take, with room for a prefix
	maxNameBytes = 255  // what file systems take
)

// CheckKey reports why key can't be one: it is empty or too long, has an empty name, "." or "..",
// or a control character. Names that begin with ".henge-" are kept for the Store itself.
func CheckKey(key string) error {
	if len(key) == 0 || len(key) > maxKeyBytes {
		return fault.InvalidInput("Deep storage key [%.80q] has [%d] bytes; a key has 1 to [%d]", key, len(key), maxKeyBytes)
	}
	for name := range strings.SplitSeq(key, "/") {
		if name == "" || name == "." || name == ".." || len(name) > maxNameBytes || strings.HasPrefix(name, reservedPrefix) {
			return fault.InvalidInput("Deep storage key [%.80q] has the name [%.80q] in it, which is not allowed", key, name)
		}
		for i := range len(name) {
			if name[i] < ' ' || name[i] == 0x7f || name[i] == '\\' {
				return fault.InvalidInput("Deep storage key [%.80q] has a control character or backslash in it", key)
			}
		}
	}
	return nil
}

const reservedPrefix = ".henge-"

func notFound(key string, cause error) error {
	if cause == nil {
		cause = fs.ErrNotExist
	}
	return fault.NotFound("Deep storage has no object [%s]", key).WithCause(cause)
}

func taken(key string) error {
	return fault.Conflict("Deep storage has an object [%s] already; objects are never overwritten", key).WithCause(fs.ErrExist)
}
