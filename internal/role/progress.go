package role

import (
	"context"
	"net/http"
	"net/url"
	"sync"

	"github.com/hengedb/henge/internal/api/workbench"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/exec/progress"
)

// progressPeers asks other processes how far queries have come; nil: there are none.
func (s *services) progressPeers() workbench.Peers {
	if s.n.peers.alone {
		return nil
	}
	return progressPeers{s.n}
}

type progressPeers struct{ n *Node }

// Part implements workbench.Peers.
func (p progressPeers) Part(ctx context.Context, at, id string) (done progress.Done) {
	if err := cluster.Call(ctx, p.n.peers.client, http.MethodGet, at+workbench.PartPath+url.PathEscape(id), nil, &done); err != nil {
		return progress.Done{} // an older release does not tell
	}
	return done
}

// Followed implements workbench.Peers.
func (p progressPeers) Followed(ctx context.Context, id string) (workbench.Followed, bool) {
	var mu sync.Mutex
	var found []workbench.Followed
	var asked sync.WaitGroup
	for _, m := range p.n.peers.members.Members(cluster.Broker) {
		if m.Holder == p.n.peers.membership.Holder {
			continue
		}
		asked.Go(func() {
			var f workbench.Followed
			if err := cluster.Call(ctx, p.n.peers.client, http.MethodGet, m.URL()+workbench.FollowPath+url.PathEscape(id), nil, &f); err != nil {
				return // it does not run there
			}
			mu.Lock()
			defer mu.Unlock()
			found = append(found, f)
		})
	}
	asked.Wait()
	return workbench.Best(found)
}
