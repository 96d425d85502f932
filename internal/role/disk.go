package role

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype/move"
)

// A disk that is full keeps nobody from reading. The data directory has a reserve, which is given
// back when the metastore finds no room, so that kill tasks can make some; until it can be taken
// again other tasks are refused.

// reserveName is the file of the reserve in the data directory.
const reserveName = "reserve"

// holdAgain is how often the reserve is tried to be taken again.
const holdAgain = 5 * time.Second

// maxSegmentBytes returns how many bytes of segments this process may hold. Where nobody has said,
// it is not more than their disk has: the Coordinator must not count on room that is not there.
func (n *Node) maxSegmentBytes() int64 {
	const key = "service.server.maxSize"
	most := n.settings.Bytes(key, 0)
	if n.settings.IsSet(key) {
		return most
	}
	dir := cmp.Or(n.settings.Text("service.segmentCache.directory"), n.dir.path)
	if whole := diskSize(dir); whole > 0 && len(n.settings.Locations()) == 0 {
		most = min(most, whole)
	}
	return most
}

// openReserve takes the reserve, or gives it back if the disk has too little room to start on.
func (n *Node) openReserve(ctx context.Context) {
	n.reserve = durable.OpenReserve(filepath.Join(n.dir.path, reserveName))
	if n.reserve.Scarce() {
		n.makeRoom(ctx)
	}
}

// makeRoom gives the reserve back, and reports whether there was one.
func (n *Node) makeRoom(ctx context.Context) bool {
	if !n.reserve.Release() {
		return false
	}
	n.o.Log.WarnContext(ctx, "disk of the data directory is full; only queries and kill tasks run until there is room",
		"directory", n.dir.path)
	return true
}

// keepReserve takes the reserve again when there is room for it, until ctx is done.
func (n *Node) keepReserve(ctx context.Context) error {
	for n.o.Clock.Sleep(ctx, holdAgain) == nil {
		if !n.reserve.Held() && n.reserve.Hold() {
			n.o.Log.InfoContext(ctx, "disk of the data directory has room again", "directory", n.dir.path)
		}
	}
	return nil
}

// admitTask refuses what would write to a disk that is full.
func (n *Node) admitTask(t *task.Task) error {
	if t.Type == task.KillType || t.Type == task.NoopType || n.reserve.Held() || !n.reserve.Scarce() {
		return nil
	}
	return fault.Capacity("Task [%s] can't run: the disk of data directory [%s] is full. Make room, or drop segments that are not needed and "+
		"delete them by a kill task.", t.ID, n.dir.path)
}

// checkFresh refuses to make a new metastore where there are files of segments: it was lost, and a
// new one would know nothing of them.
func checkFresh(ctx context.Context, deep deepstore.Store, prefixes []string, path string) error {
	for _, prefix := range prefixes {
		found, err := deep.List(ctx, prefix, "", 1)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case len(found) > 0:
			return fault.InvalidInput("The metadata store [%s] is missing or empty, but deep storage has files of segments, such as [%s]. "+
				"Restore a backup with [henge restore], or put the file back. To begin with an empty metadata store, which knows nothing of "+
				"these segments, start with [--new-metastore] or service.metadata.storage.startNew=true.", path, found[0].Key)
		}
	}
	return nil
}

// segmentPrefixes are what the keys of segments' files begin with.
func segmentPrefixes(set *config.Settings) []string {
	prefixes := []string{move.Home}
	if archive := strings.Trim(set.Text("service.storage.archiveBaseKey"), "/"); archive != "" {
		prefixes = append(prefixes, archive+"/"+move.Home)
	}
	return prefixes
}

// onFresh has a SQLite database only be made where nothing was lost.
func (n *Node) onFresh(ctx context.Context, o *metastore.Options) {
	if o.Path == "" || n.settings.Bool("service.metadata.storage.startNew") {
		return
	}
	o.Fresh = func(path string) error {
		deep, err := openDeepStorage(n.settings, n.dir)
		if err != nil {
			return err
		}
		return errors.Join(checkFresh(ctx, deep, segmentPrefixes(n.settings), path), deep.Close())
	}
}

// diskFull is 1 while the reserve is not held, for metrics.
func (n *Node) diskFull() float64 {
	if n.reserve.Held() {
		return 0
	}
	return 1
}
