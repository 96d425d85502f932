package role

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/obs"
)

// What a process that was killed has left is removed at its next start: it has the lock of its data
// directory, so that no live run owns what is in it. In a deep storage directory that processes
// share, others may be writing: there each removes its own, and what nobody has touched for long.

const (
	// uploadAge is how long nobody must have touched an upload for it to be left by a process that is
	// gone.
	uploadAge = time.Hour
	// sweepPeriod is the time between two looks for such.
	sweepPeriod = 20 * time.Minute
)

// leftovers counts the bytes of what was left.
type leftovers struct{ removed *prometheus.CounterVec }

// The kinds of leftovers, as the metric has them.
const (
	leftWork    = "work"
	leftUploads = "uploads"
	leftCache   = "cache"
	leftSpill   = "spill"
)

func newLeftovers(r prometheus.Registerer) *leftovers {
	l := &leftovers{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "henge_leftovers_removed_bytes_total", Help: obs.Help("henge_leftovers_removed_bytes_total"),
	}, []string{"kind"})}
	for _, kind := range []string{leftWork, leftUploads, leftCache, leftSpill} {
		l.removed.WithLabelValues(kind) // shown from the start
	}
	r.MustRegister(l.removed)
	return l
}

// removed counts what was removed, and tells the log.
func (n *Node) removed(ctx context.Context, kind string, bytes int64, err error) {
	if bytes > 0 {
		n.left.removed.WithLabelValues(kind).Add(float64(bytes))
		n.o.Log.InfoContext(ctx, "removed leftovers of an earlier run", "kind", kind, "bytes", bytes)
	}
	if err != nil && ctx.Err() == nil {
		n.o.Log.ErrorContext(ctx, "failed to remove leftovers of an earlier run", "kind", kind, "error", err)
	}
}

// ownUploads has the uploads of this process be told from those of others, and removes what it left
// there before.
func (s *services) ownUploads(ctx context.Context) error {
	local, ok := s.deep.(*deepstore.Local)
	if !ok {
		return nil
	}
	s.uploads = local
	if !s.n.peers.alone {
		name, err := s.n.identity()
		if err != nil {
			return err
		}
		local.Own(name)
	}
	removed, err := local.SweepOwn(s.n.peers.alone)
	s.n.removed(ctx, leftUploads, removed, err)
	return nil
}

// sweepUploads removes in the background the uploads that no live run owns, until ctx is done.
func (s *services) sweepUploads(ctx context.Context) error {
	for s.uploads != nil {
		if s.n.o.Clock.Sleep(ctx, sweepPeriod) != nil {
			break
		}
		removed, err := s.uploads.Sweep(uploadAge)
		s.n.removed(ctx, leftUploads, removed, err)
	}
	return nil
}

// workFolder returns the folder of tasks that run, emptied.
func (s *services) workFolder(ctx context.Context) (string, error) {
	work, err := s.n.dir.sub("tasks/work")
	if err != nil {
		return "", err
	}
	removed, err := emptyFolder(work)
	s.n.removed(ctx, leftWork, removed, err)
	return work, nil
}

// emptyFolder removes what is in a folder and returns how many bytes its files had. What is not
// there any more is no error.
func emptyFolder(path string) (removed int64, err error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var errs []error
	for _, e := range entries {
		at := filepath.Join(path, e.Name())
		size := bytesBelow(at)
		if err := os.RemoveAll(at); err != nil {
			errs = append(errs, err)
			continue
		}
		removed += size
	}
	return removed, errors.Join(append(errs, err)...)
}

// bytesBelow is how many bytes the files at and below a path have. What vanishes meanwhile has
// none.
func bytesBelow(path string) (size int64) {
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil // the next one
	})
	return size
}
