// Package server runs a whole node inside a test and talks to it over HTTP as any client would.
//
// The central types are Server, a node with its own data directory and free ports that stops with
// the test, and Client, which knows only addresses, so tests of the real binary use it as well.
// Shared finds the data beside the repository; the loaders of that data are here, the queries over
// it in the tests.
package server

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/role"
)

// Options are how a Server is started. The zero value is a new directory, free ports and no log.
type Options struct {
	// Dir is the data directory; empty: one of the test's.
	Dir string
	// Settings are further properties as key=value.
	Settings []string
	// Clock is what the node takes the time from; nil: the system's.
	Clock clock.Clock
	// Deep, if not nil, makes of deep storage what the node uses.
	Deep func(deepstore.Store) deepstore.Store
	// People, if not nil, are the users; then there is security.
	People People
	// FaultPoint, if not nil, is called at each step of a publish.
	FaultPoint func(step string) error
	// HTTP sends the requests; nil: a client for plain HTTP.
	HTTP *http.Client
	// Log is what the node writes; nil: nothing.
	Log *slog.Logger
}

// Server is a running node.
type Server struct {
	Client
	// Dir is its data directory.
	Dir  string
	node *role.Node
}

// roles are those that listen; each gets a free port.
var roles = []string{"router", "coordinator", "broker", "historical", "overlord", "indexer"}

// FreePorts are the settings that give every role a free port.
func FreePorts() []string {
	var out []string
	for _, r := range roles {
		out = append(out, "service."+r+".plaintextPort=0", "service."+r+".tlsPort=0")
	}
	return out
}

// Start starts a node, which is stopped when the test ends if not before.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatalf("starting the server: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stopping the server: %v", err)
		}
	})
	return s
}

// Open starts a node on o.Dir. The caller stops it.
func Open(ctx context.Context, o Options) (*Server, error) {
	flags := append(FreePorts(), "service.data.dir="+o.Dir)
	var security auth.Builders
	if o.People != nil {
		flags, security = append(flags, o.People.Settings()...), o.People.Builders()
	}
	settings, err := config.Load(config.Sources{Flags: append(flags, o.Settings...)})
	if err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	n, err := role.Start(ctx, role.Options{
		Settings: settings, Version: "test", Clock: o.Clock, Log: o.Log, FaultPoint: o.FaultPoint, Deep: o.Deep,
		Security: security,
	})
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: o.Dir, node: n, Client: Client{Addresses: map[string]string{}, HTTP: o.HTTP}}
	for _, a := range n.Addresses() {
		if _, known := s.Addresses[a.Role]; !known {
			s.Addresses[a.Role] = a.URL()
		}
	}
	return s, nil
}

// Routes returns the patterns of the paths that a role answers.
func (s *Server) Routes(role string) []string { return s.node.Routes(role) }

// RoutesBehind returns the patterns of paths that a role answers some of.
func (s *Server) RoutesBehind(role string) []string { return s.node.RoutesBehind(role) }

// Stop ends the node; a second call does nothing.
func (s *Server) Stop() error {
	if s.node == nil {
		return nil
	}
	n := s.node
	s.node = nil
	s.Client.CloseIdle()
	return n.Stop(context.Background())
}
