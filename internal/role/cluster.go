package role

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/keystore"
	"github.com/hengedb/henge/internal/router"
)

// peers is what a process knows of the others.
type peers struct {
	// alone says that there are no others, and never will be: the metastore is this process's own.
	alone      bool
	members    *cluster.View
	membership *cluster.Membership // nil: alone
	// caughtUp is the term of the membership of which the published timeline has all that was
	// published before it.
	caughtUp  atomic.Int64
	inventory *cluster.Inventory
	leaders   map[string]*cluster.Leadership
	client    *http.Client // of requests of the process itself, as its internal identity
	passing   *http.Client // of requests that are passed on, with the credentials that they came with
	pulse     *dispatch.Pulse
}

// has reports whether the process has one of some roles.
func (n *Node) has(roles ...string) bool {
	return slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(n.o.Roles, r) })
}

// checkRoles refuses roles that can't work with the settings.
func (n *Node) checkRoles() error {
	n.peers.alone = n.o.Store == nil && n.settings.Text("service.metadata.storage.type") == "sqlite"
	if n.peers.alone && len(n.o.Roles) < len(cluster.Roles) {
		return fault.InvalidInput("Metadata store [sqlite] is for one process with all roles; a process with the roles [%s] needs [postgresql] "+
			"(service.metadata.storage.type), which all processes share", strings.Join(n.o.Roles, ", "))
	}
	return nil
}

const (
	// idleConnections is how many connections to one other process are kept: each part of a query that
	// runs there takes one.
	idleConnections = 64
	dialTimeout     = 5 * time.Second
	// handshakeTimeout bounds the TLS handshake with another process.
	handshakeTimeout = 10 * time.Second
)

// dialer makes connections.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// newClient returns what asks other processes, which have timeout to take a connection. Bodies are
// not compressed: they are frames, and near. Each connection takes the certificates of its time.
func newClient(dial dialer, secure *keystore.Client, timeout time.Duration) *http.Client {
	if dial == nil {
		dial = (&net.Dialer{Timeout: timeout}).DialContext
	}
	return &http.Client{Transport: traced{&http.Transport{
		DisableCompression: true, MaxIdleConnsPerHost: idleConnections, IdleConnTimeout: 30 * time.Second, DialContext: dial,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
			defer cancel()
			return secure.Handshake(ctx, conn, address)
		},
	}}}
}

// identity returns what names the process over restarts: a word in its data directory.
func (n *Node) identity() (string, error) {
	return n.dir.marker("process", rand.Text)
}

// own describes the process in each of its roles that has a port.
func (n *Node) own(capacity int) []cluster.Member {
	set := n.settings
	labels := set.Text("service.labels")
	if labels == "{}" {
		labels = ""
	}
	service := ""
	if len(n.o.Roles) == 1 {
		service = router.Service(set.Text("service.service"), n.settings.Aliases())
	}
	var out []cluster.Member
	for _, role := range n.ownRoles() {
		at := n.member(role)
		m := cluster.Member{
			Role: role, Host: at.Host, Port: at.Port, TLSPort: at.TLSPort, Started: clock.Millis(n.o.Clock),
			Version: n.o.Version, Protocol: n.o.Protocol,
			Revision: n.o.Revision, Bound: set.Bool("service.bindOnHost"),
			Service: service, Labels: labels, Processors: budget.Cores(), Memory: n.memory.Limit(),
		}
		switch role {
		case cluster.Historical:
			m.Tier, m.MaxBytes = set.Text("service.server.tier"), n.maxSegmentBytes()
			m.Priority, m.LookupTier = int(set.Int("service.server.priority")), set.Text("service.lookup.lookupTier")
		case cluster.Indexer:
			m.Capacity, m.Category, m.LookupTier = capacity, set.Text("service.worker.category"), set.Text("service.lookup.lookupTier")
		case cluster.Broker:
			m.LookupTier = set.Text("service.lookup.lookupTier")
		}
		out = append(out, m)
	}
	return out
}

// openPeers learns of the other processes. Announcing this one comes last, when it can be asked.
func (n *Node) openPeers() error {
	holder, err := n.identity()
	if err != nil {
		return err
	}
	own := n.own(n.capacity())
	n.peers.client = newClient(n.o.Dial, n.tls.client, dialTimeout)
	if n.security != nil {
		n.peers.client.Transport = auth.Escalated{RoundTripper: n.peers.client.Transport, By: n.security.Escalator()}
	}
	passing := time.Duration(n.settings.Int("service.router.http.clientConnectTimeout")) * time.Millisecond
	n.peers.passing = newClient(n.o.Dial, n.tls.client, passing)
	n.peers.pulse = dispatch.NewPulse(n.peers.client, n.o.Clock)
	n.onClose(func() error {
		n.peers.pulse.Close()
		n.peers.client.CloseIdleConnections()
		n.peers.passing.CloseIdleConnections()
		return nil
	})
	n.peers.members = cluster.NewView()
	if n.peers.alone {
		n.peers.members = cluster.NewView(own...)
	} else {
		n.peers.membership = &cluster.Membership{
			Store: n.store, Holder: holder, Own: own, TTL: n.settings.Duration("service.discovery.leaseDuration"), View: n.peers.members,
			Clock: n.o.Clock, Log: n.o.Log,
		}
	}
	n.peers.leaders = map[string]*cluster.Leadership{}
	for _, role := range []string{cluster.Coordinator, cluster.Overlord} {
		o := cluster.LeaderOptions{
			Name: role, Holder: holder, TTL: n.settings.Duration("service.leader.leaseDuration"), Clock: n.o.Clock, Log: n.o.Log,
		}
		if n.has(role) {
			o.Address = n.member(role).URL()
		}
		var leases cluster.Leases
		if !n.peers.alone {
			leases = n.store
		}
		n.peers.leaders[role] = cluster.NewLeadership(leases, o)
	}
	return nil
}

// join learns which other processes there are, follows them until background is done, and announces
// this one when it can answer what others ask it.
func (n *Node) join(ctx, background context.Context, s *services) error {
	if n.peers.membership == nil {
		return nil
	}
	if err := n.peers.membership.Meet(ctx); err != nil {
		return err
	}
	n.roles.Go(func() error { return n.peers.membership.Run(background) })
	if err := s.settle(ctx); err != nil {
		return err
	}
	return n.peers.membership.Join(ctx)
}

// leave withdraws the announcement, so that nobody asks this process for anything new while it ends
// what is under way.
func (n *Node) leave(ctx context.Context) {
	if n.peers.membership == nil {
		return
	}
	if err := n.peers.membership.Leave(ctx); err != nil {
		n.o.Log.WarnContext(ctx, "failed to withdraw the announcement of this process; it will expire", "error", err)
	}
	_ = n.o.Clock.Sleep(ctx, n.settings.Duration("service.server.http.unannouncePropagationDelay")) // stopping at once is no worse
}

// lead runs the parts of a role that only its leader runs, whenever that is this process, until ctx
// is done.
func (n *Node) lead(ctx context.Context, role string, parts []func(ctx context.Context) error) {
	l := n.peers.leaders[role]
	n.roles.Go(func() error {
		return l.Run(ctx, func(ctx context.Context) error {
			group, ctx := errgroup.WithContext(ctx)
			for _, part := range parts {
				group.Go(func() error { return part(ctx) })
			}
			return group.Wait()
		})
	})
}

// unready says why the process does not answer everything; nothing: it does.
func (n *Node) unready() (reasons []string) {
	if !n.ready.Load() {
		reasons = append(reasons, "the process is starting or stopping")
	}
	if n.peers.membership != nil && !n.peers.membership.Discovered() {
		reasons = append(reasons, "the process does not see its own announcement in the metadata store")
	}
	return reasons
}
