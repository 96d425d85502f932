package node

import (
	"context"
	"net"
	"strconv"

	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/duty"
)

// defaultReplicas is the number of copies in the default rules of a single process: more could never be satisfied.
const defaultReplicas = 1

// openCoordinator makes the management endpoints of the Coordinator and Overlord, and the Broker's about datasources, and starts the
// Coordinator's duties.
func (s *services) openCoordinator(ctx context.Context) error {
	set := s.n.settings
	tier, priority, maxSize := set.Text("service.server.tier"), int(set.Int("service.server.priority")), set.Bytes("service.server.maxSize", 0)
	url := func(role string) string {
		host, port := s.n.roleAddress(role)
		return "http://" + net.JoinHostPort(host, strconv.Itoa(port))
	}
	address := func(role string) string {
		host, port := s.n.roleAddress(role)
		return net.JoinHostPort(host, strconv.Itoa(port))
	}
	var nodes []coordinator.Node
	started := clock.Millis(s.n.o.Clock)
	for _, l := range s.n.listeners {
		node := coordinator.Node{Role: l.role, Host: s.n.host(), Port: l.port(), Started: started}
		switch l.role {
		case "historical":
			node.Data = &coordinator.DataService{Type: "dataNodeService", Tier: tier, MaxSize: maxSize, Server: "historical", Priority: priority}
		case "indexer":
			node.Worker = &coordinator.WorkerService{
				Type: "workerNodeService", IP: node.Host, Capacity: s.capacity(), Version: "0", Category: "_default_worker_category",
			}
		}
		nodes = append(nodes, node)
	}
	inventory := coordinator.Local{
		Historical: coordinator.Server{Host: address("historical"), Tier: tier, Priority: priority, MaxSize: maxSize},
		Holder:     s.historical, Worker: address("indexer"),
	}
	var err error
	s.coordinator, err = coordinator.New(ctx, s.n.store, s.n.published, inventory, s.queue, coordinator.Options{
		Coordinator: url("coordinator"), Overlord: url("overlord"), Nodes: nodes, DefaultReplicas: defaultReplicas,
		History:         set.Duration("service.query.segmentMetadata.defaultHistory").Milliseconds(),
		MaxRequestBytes: set.Bytes("service.server.http.maxRequestBytes", 0), Clock: s.n.o.Clock,
	})
	if err != nil {
		return err
	}
	retention := duty.NewRetention(s.n.store, s.n.published, duty.Options{
		Period: set.Duration("service.coordinator.period"), Clock: s.n.o.Clock, Log: s.n.o.Log,
	})
	s.n.roles.Go(func() error { return retention.Run(ctx) })
	return nil
}
