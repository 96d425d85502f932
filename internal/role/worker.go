package role

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hengedb/henge/internal/api/workers"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/worker"
)

// openWorkers lets this process run tasks if it is a worker, and if it leads the Overlords, have
// the workers run them.
func (s *services) openWorkers(ctx context.Context, kinds map[string]task.Kind, o *task.Options) {
	if s.n.has(cluster.Indexer) {
		s.worker = worker.New(worker.Options{Records: s.records, Kinds: kinds, Location: o.Location, Clock: s.n.o.Clock, Log: s.n.o.Log})
		s.n.roles.Go(func() error { return s.worker.Run(ctx) })
	}
	pool := worker.NewPool(worker.PoolOptions{View: s.n.peers.members, Client: s.n.peers.client, Clock: s.n.o.Clock, Log: s.n.o.Log})
	s.leads[cluster.Overlord] = append(s.leads[cluster.Overlord], pool.Run)
	o.Workers = pool
	o.Strategy = func(ctx context.Context) (*task.Strategy, error) {
		text, _, err := s.n.store.Setting(ctx, "worker.config")
		if err != nil {
			return nil, err
		}
		return task.ParseStrategy(text)
	}
	s.files.SetRemote(&worker.RemoteFiles{Find: func(id string) (task.Location, bool) { return s.queue.RunsAt(id) }, Client: s.n.peers.client})
}

// openParts lets this process do parts of the tasks of other workers, and returns what finds those
// that do parts of its own; nil: it is no worker.
func (s *services) openParts(here task.Location, env *tasktype.Env) tasktype.Join {
	if s.n.peers.alone || !s.n.has(cluster.Indexer) {
		return nil
	}
	s.parts = workers.NewParts(workers.PartsOptions{
		Follow: env.Follow, Read: worker.ReadFrames(s.n.peers.client),
		Open: func() bool { return s.n.ready.Load() && s.worker.Enabled() }, Clock: s.n.o.Clock,
	})
	own := cluster.Member{
		Holder: s.n.peers.membership.Holder, Host: here.Host, Port: here.Port, TLSPort: here.TLSPort,
		Version: s.n.o.Version, Protocol: s.n.o.Protocol,
	}
	return worker.NewPeers(worker.PeersOptions{
		View: s.n.peers.members, Own: own, Parts: s.parts, Client: s.n.peers.client, Clock: s.n.o.Clock, Log: s.n.o.Log,
	}).Join
}

// emptyDir removes what is in a directory.
func emptyDir(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading directory [%s]: %w", dir, err)
	}
	var errs []error
	for _, entry := range list {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}
	return errors.Join(errs...)
}

// capacity is how many tasks run at once.
func (n *Node) capacity() int {
	if n := n.settings.Int("service.worker.capacity"); n > 0 {
		return int(n)
	}
	return max(2, budget.Cores()-1)
}
