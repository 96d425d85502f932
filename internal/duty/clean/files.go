package clean

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"github.com/hengedb/henge/internal/metastore"
)

// Files of segments are written before they are published. A task that is killed in between, or
// loses its locks, may leave files that no row of the metastore names. They are told by looking:
// what lies where segments do, is named as their files are, is older than anything that a running
// task can have written, and belongs to no segment, used or not, goes. Whoever is stopped in the
// middle goes on in the next round.

const (
	// listAtOnce is how many objects are asked for at a time.
	listAtOnce = 1000
	// deleteAtOnce is how many are deleted by one request.
	deleteAtOnce = 100
)

// segmentFile is what the keys of segments' files are behind their prefix: datasource, interval,
// version and partition, which were folders once and which moved files don't have, and what makes
// the key unique.
var segmentFile = regexp.MustCompile(`^[^/]+/[^/]+/([^/]+/[0-9]+/|[^/]+_[0-9]+_)?[0-9a-f]{16}(-[0-9a-f]{32})?\.segment$`)

// orphans deletes the files of segments that were last written before an instant and belong to
// none, and returns how many went.
func (c *Cleaner) orphans(ctx context.Context, before int64) (deleted int64, err error) {
	for _, prefix := range c.o.Prefixes {
		n, err := c.orphansBelow(ctx, prefix, before)
		deleted += n
		if err != nil {
			return deleted, err
		}
	}
	return deleted, nil
}

func (c *Cleaner) orphansBelow(ctx context.Context, prefix string, before int64) (deleted int64, err error) {
	var (
		dataSource string
		named      map[string]bool // keys of the files of its segments
		orphans    []string
	)
	drop := func() error {
		err := c.o.Deep.Delete(ctx, orphans...)
		if err == nil {
			deleted += int64(len(orphans))
			orphans = orphans[:0]
		}
		return err
	}
	for after := ""; ; {
		list, err := c.o.Deep.List(ctx, prefix, after, c.listed)
		if err != nil {
			return deleted, err
		}
		for _, o := range list {
			after = o.Key
			rest := strings.TrimPrefix(o.Key, prefix)
			if o.Modified >= before || !segmentFile.MatchString(rest) {
				continue
			}
			// Keys come in their order, so that each datasource is read once.
			if name, _, _ := strings.Cut(rest, "/"); name != dataSource || named == nil {
				if named, err = c.filesOf(ctx, name); err != nil {
					return deleted, err
				}
				dataSource = name
			}
			if named[o.Key] {
				continue
			}
			if orphans = append(orphans, o.Key); len(orphans) == c.deleted {
				if err := drop(); err != nil {
					return deleted, err
				}
			}
		}
		if len(list) < c.listed {
			return deleted, drop()
		}
	}
}

// filesOf returns the keys of the files of a datasource's segments.
func (c *Cleaner) filesOf(ctx context.Context, dataSource string) (map[string]bool, error) {
	keys := map[string]bool{}
	err := c.store.DataSourceFiles(ctx, dataSource, func(f metastore.File) error {
		if key, err := c.o.Deep.Key(f.LoadSpec); err == nil { // others lie elsewhere
			keys[key] = true
		}
		return nil
	})
	return keys, err
}

// fileBatch is how many files are deleted between two looks at what is left.
const fileBatch = 100

// FileStore lists the files that no segment references.
type FileStore interface {
	UnreferencedFiles(ctx context.Context, limit int) ([]metastore.File, error)
	ForgetFiles(ctx context.Context, fence metastore.Fence, ids []string) error
}

// Bytes is the part of deep storage that deleting uses.
type Bytes interface {
	// Key returns the key of a load spec. It rejects load specs of other stores.
	Key(loadSpec json.RawMessage) (string, error)
	// Delete deletes objects. It ignores objects that do not exist.
	Delete(ctx context.Context, keys ...string) error
}

// DeleteFiles deletes the files that no segment references any more, whatever task dereferenced
// them, and returns their number. It may run concurrently.
func DeleteFiles(ctx context.Context, store FileStore, deep Bytes, log *slog.Logger) (deleted int64, err error) {
	for ctx.Err() == nil {
		files, err := store.UnreferencedFiles(ctx, fileBatch)
		if err != nil || len(files) == 0 {
			return deleted, err
		}
		keys, ids := make([]string, 0, len(files)), make([]string, len(files))
		for i, f := range files {
			ids[i] = f.ID
			key, err := deep.Key(f.LoadSpec)
			if err != nil { // bytes elsewhere are not ours to delete
				log.WarnContext(ctx, "file of a deleted segment is not in a storage of this cluster, and is kept", "file", f.ID, "error", err)
				continue
			}
			keys = append(keys, key)
		}
		if err := deep.Delete(ctx, keys...); err != nil {
			return deleted, fmt.Errorf("deleting files from deep storage: %w", err)
		}
		if err := store.ForgetFiles(ctx, metastore.Fence{}, ids); err != nil {
			return deleted, fmt.Errorf("forgetting deleted files: %w", err)
		}
		deleted += int64(len(files))
	}
	return deleted, nil
}
