// Package deepstore stores the files that must outlive every node: segments, task logs and reports,
// pages of results.
//
// The central type is Store. Objects are written once under a key, read by ranges, listed and
// deleted, and never changed. Local stores them in a directory. A load spec, the JSON in the
// descriptor of a segment, gives the location of an object: a Store converts keys to load specs and
// load specs to keys. Package faulty wraps a Store with failures for tests.
//
// Elsewhere on purpose: the meaning of keys and the lifetime of objects (packages timeline and
// metastore), and local copies for queries (package segment/cache).
package deepstore

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Store is a set of immutable objects by key. Any number of goroutines and processes use it
// concurrently.
//
// A key is a path of names separated by slashes, such as "wiki/2024-01-01.../index"; see CheckKey.
// Errors for missing objects match fs.ErrNotExist. Errors of a Put with an existing key match
// fs.ErrExist. Methods return soon after ctx is done.
type Store interface {
	// Put stores the bytes of r until io.EOF under a key that must not exist. When it returns nil, the
	// object is complete, durable and visible to all processes. When it fails, the object does not
	// exist or, after a communication failure, may exist completely.
	Put(ctx context.Context, key string, r io.Reader) error
	// Open opens the object for reading; the caller closes it. ctx also applies to its reads.
	Open(ctx context.Context, key string) (Object, error)
	// Stat describes the object.
	Stat(ctx context.Context, key string) (Info, error)
	// List returns up to limit objects whose keys begin with prefix and are greater than after, in
	// ascending byte order. If it returns fewer than limit, there are no more.
	List(ctx context.Context, prefix, after string, limit int) ([]Info, error)
	// Delete deletes the objects, and ignores missing ones. After an error some of the objects may be
	// deleted.
	Delete(ctx context.Context, keys ...string) error
	// Close closes the Store.
	Close() error

	// LoadSpec returns the location of the object with this key in the JSON form of segment
	// descriptors.
	LoadSpec(key string) json.RawMessage
	// Key returns the key of a load spec of this Store. It rejects load specs of other stores.
	Key(loadSpec json.RawMessage) (string, error)
}

// Object is an object opened for random access by several goroutines.
type Object interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Within is an Object whose reads belong to one context, and which can be read in another context.
type Within interface {
	// Within returns the object with reads that stop soon after ctx is done. It is closed together
	// with the original object.
	Within(ctx context.Context) Object
}

// Info describes an object.
type Info struct {
	Key  string
	Size int64
	// Modified is the time of the Put by the clock of the Store, in milliseconds since 1970.
	Modified int64
}

// OnDisk is a Store whose objects are files that this process can open, map and link.
type OnDisk interface {
	// Path returns the path of the file of the object with this key, which need not exist.
	Path(key string) (string, error)
}

// Adopter is a Store that stores files of the local disk without copying them if possible.
type Adopter interface {
	// Adopt is like Put, for a file that is not written any more. The caller may remove its own link
	// to the file when Adopt has returned.
	Adopt(ctx context.Context, key string, file *os.File) error
}

const (
	maxKeyBytes  = 2048 // what all object stores take, with room for a prefix
	maxNameBytes = 255  // what file systems take
)

// CheckKey returns an error if key is invalid: it is empty or too long, or contains an empty name,
// "." or "..", or a control character. Names that begin with ".henge-" are reserved for the Store
// itself.
func CheckKey(key string) error {
	if len(key) == 0 || len(key) > maxKeyBytes {
		return fault.InvalidInput("Deep storage key [%.80q] has [%d] bytes; a key has 1 to [%d]", key, len(key), maxKeyBytes)
	}
	for name := range strings.SplitSeq(key, "/") {
		if name == "" || name == "." || name == ".." || len(name) > maxNameBytes || strings.HasPrefix(name, reservedPrefix) ||
			filepath.Separator != '/' && strings.ContainsRune(name, filepath.Separator) {
			return fault.InvalidInput("Deep storage key [%.80q] has the name [%.80q] in it, which is not allowed", key, name)
		}
		for i := range len(name) {
			if name[i] < ' ' || name[i] == 0x7f {
				return fault.InvalidInput("Deep storage key [%.80q] has a control character in it", key)
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
