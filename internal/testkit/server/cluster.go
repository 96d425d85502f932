package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/live"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/role"
	"github.com/hengedb/henge/internal/testkit/postgres"
)

// Cluster is several processes inside a test: nodes with some roles each, on one metastore and one
// deep storage, that know each other by their announcements and talk over HTTP.
type Cluster struct {
	// Client asks the first Router.
	Client
	// Nodes are the processes in the order in which they were started; those that were stopped or
	// killed are there too.
	Nodes []*Process

	t        testing.TB
	store    *metastore.Store
	security auth.Builders
	dir      string
	settings []string
	network  *network
	links    string // the URL of the store to which each process has a link
	opened   []*postgres.Link
	clock    clock.Clock
	skew     time.Duration
	lag      *Lag // of the process that is being started; nil: it has none
}

// Process is one process of a Cluster.
type Process struct {
	Roles []string
	// Addresses are the URLs of its roles.
	Addresses map[string]string

	number int
	dir    string // of its data
	node   *role.Node
	link   *postgres.Link // to the metastore, if it has one of its own
	slow   atomic.Int64   // by how much deep storage is, in nanoseconds
}

// Runs reports whether the process was neither stopped nor killed.
func (p *Process) Runs() bool { return p.node != nil }

// Fetched returns the files of segments that the process has copied from deep storage.
func (p *Process) Fetched() (files []string, err error) {
	return files, filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".segment" {
			files = append(files, path)
		}
		return err
	})
}

// ClusterOptions say what a Cluster is made of.
type ClusterOptions struct {
	// Processes are the roles of each process. The first that is a Router is asked.
	Processes [][]string
	// Settings are further properties of all processes as key=value.
	Settings []string
	// HTTP sends the requests of the test; nil: a client for plain HTTP.
	HTTP *http.Client
	// Metastore is where the metadata is; the zero value: an SQLite of the cluster's own.
	Metastore metastore.Options
	// Links gives each process connections of its own to the metastore, a PostgreSQL, that can be cut;
	// and deep storage that is on no process's machine.
	Links bool
	// Clock is that of all processes; nil: the system's.
	Clock clock.Clock
	// People, if not nil, are the users; then there is security.
	People People
	// Skew makes the clocks of the processes wrong: by as much too late and too early, by turns.
	Skew time.Duration
}

// Small is a cluster in which every role is a process of its own, and there are three Historicals.
var Small = [][]string{
	{"coordinator"}, {"overlord"}, {"historical"}, {"historical"}, {"historical"}, {"worker"}, {"broker"}, {"router"},
}

// StartCluster starts a cluster, which is stopped when the test ends.
func StartCluster(t testing.TB, o ClusterOptions) *Cluster {
	t.Helper()
	dir := t.TempDir()
	if o.Metastore.Path == "" && o.Metastore.URL == "" {
		o.Metastore.Path = filepath.Join(dir, "metastore.db")
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	o.Metastore.Clock = o.Clock
	store, err := metastore.Open(t.Context(), o.Metastore)
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{network: newNetwork(), t: t, store: store, dir: dir, settings: o.Settings, clock: o.Clock, skew: o.Skew, Client: Client{Addresses: map[string]string{}, HTTP: o.HTTP}}
	if o.People != nil {
		c.settings, c.security = append(slices.Clone(c.settings), o.People.Settings()...), o.People.Builders()
	}
	if o.Links {
		c.links = o.Metastore.URL
	}
	t.Cleanup(func() {
		c.Heal()
		c.CloseIdle()
		var errs []error
		for _, p := range slices.Backward(c.Nodes) {
			errs = append(errs, c.Stop(p))
		}
		for _, l := range c.opened {
			l.Close()
		}
		if err := errors.Join(append(errs, store.Close())...); err != nil {
			t.Errorf("stopping the cluster: %v", err)
		}
	})
	roles := 0
	for _, p := range o.Processes {
		c.Start(p...)
		roles += len(p)
	}
	for _, p := range c.Nodes {
		c.Until("all processes see each other", func() bool { return p.node.Members() == roles })
	}
	return c
}

// Start adds a process.
func (c *Cluster) Start(roles ...string) *Process {
	c.t.Helper()
	return c.StartWith(nil, roles...)
}

// StartWith adds a process with properties of its own, as key=value.
func (c *Cluster) StartWith(settings []string, roles ...string) *Process {
	c.t.Helper()
	return c.startSpeaking(0, settings, roles)
}

// StartSpeaking adds a process that speaks an older protocol as its newest.
func (c *Cluster) StartSpeaking(protocol int, roles ...string) *Process {
	c.t.Helper()
	return c.startSpeaking(protocol, nil, roles)
}

func (c *Cluster) startSpeaking(protocol int, settings, roles []string) *Process {
	c.t.Helper()
	p, err := c.open(protocol, roles, settings)
	if err != nil {
		c.t.Fatalf("starting a process with the roles %v: %v", roles, err)
	}
	return p
}

// Refused tries to start a process with properties of its own, and returns why it does not start.
func (c *Cluster) Refused(settings []string, roles ...string) error {
	_, err := c.open(0, roles, settings)
	return err
}

// StartInPlace adds a process with the roles of one that was killed, on its ports, as if its
// machine had been set up anew.
func (c *Cluster) StartInPlace(killed *Process) (*Process, error) {
	var ports []string
	for role, url := range killed.Addresses {
		ports = append(ports, "service."+role+".plaintextPort="+url[strings.LastIndexByte(url, ':')+1:])
	}
	return c.open(0, killed.Roles, ports)
}

// StartAgain adds a process with the roles and the data directory of one that was killed or
// stopped.
func (c *Cluster) StartAgain(ended *Process) *Process {
	c.t.Helper()
	p, err := c.openAt(ended.dir, 0, ended.Roles, nil)
	if err != nil {
		c.t.Fatalf("starting a process again: %v", err)
	}
	return p
}

// StartTwin adds a process whose data directory has the name of another one that runs, as if its
// machine were a copy of that one's.
func (c *Cluster) StartTwin(of *Process) *Process {
	c.t.Helper()
	name, err := os.ReadFile(filepath.Join(of.dir, "process"))
	if err != nil {
		c.t.Fatal(err)
	}
	dir := c.dirOf(len(c.Nodes))
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "process"), name, 0o644)); err != nil {
		c.t.Fatal(err)
	}
	return c.Start(of.Roles...)
}

func (c *Cluster) dirOf(number int) string {
	return filepath.Join(c.dir, fmt.Sprintf("node%d", number))
}

// open starts a process; protocol 0 is this release's.
func (c *Cluster) open(protocol int, roles, more []string) (*Process, error) {
	return c.openAt(c.dirOf(len(c.Nodes)), protocol, roles, more)
}

func (c *Cluster) openAt(dir string, protocol int, roles, more []string) (*Process, error) {
	p := &Process{Roles: roles, Addresses: map[string]string{}, number: len(c.Nodes), dir: dir}
	flags := append(FreePorts(), "service.data.dir="+p.dir,
		"service.storage.storageDirectory="+filepath.Join(c.dir, "deep"), "service.leader.leaseDuration=PT1S", "service.discovery.leaseDuration=PT2S",
		"service.server.http.unannouncePropagationDelay=PT0S", "service.coordinator.startDelay=PT0S")
	if c.links != "" {
		link, err := postgres.OpenLink(c.links)
		if err != nil {
			return nil, err
		}
		c.opened, p.link = append(c.opened, link), link
		flags = append(flags, "service.metadata.storage.type=postgresql", "service.metadata.storage.connector.connectURI="+p.link.URL)
	}
	settings, err := config.Load(config.Sources{Flags: slices.Concat(flags, c.settings, more)})
	if err != nil {
		return nil, err
	}
	names, err := role.ParseRoles(roles)
	if err != nil {
		return nil, err
	}
	wrong := c.skew
	if len(c.Nodes)%2 == 1 {
		wrong = -wrong
	}
	o := role.Options{
		Settings: settings, Roles: names, Version: "test", Protocol: protocol, Store: c.store, Clock: skew(c.clock, wrong), Log: slog.New(slog.DiscardHandler), Dial: c.network.dial(p),
		Security: c.security,
	}
	if c.lag != nil {
		o.Follow = c.lag.follow
	}
	if p.link != nil {
		o.Store, o.Deep = nil, func(s deepstore.Store) deepstore.Store { return slowStore{s, &p.slow} }
	}
	if p.node, err = role.Start(c.t.Context(), o); err != nil {
		return nil, err
	}
	for _, a := range p.node.Addresses() {
		c.network.mu.Lock()
		c.network.mu.at[a.HostPort] = p
		c.network.mu.Unlock()
		if _, known := p.Addresses[a.Role]; !known {
			p.Addresses[a.Role] = a.URL()
		}
		if _, known := c.Addresses[a.Role]; !known {
			c.Addresses[a.Role] = a.URL()
		}
	}
	c.Nodes = append(c.Nodes, p)
	return p, nil
}

// Stop ends a process as SIGTERM does; a second call does nothing.
func (c *Cluster) Stop(p *Process) error {
	if p.node == nil {
		return nil
	}
	n := p.node
	p.node = nil
	return n.Stop(context.Background())
}

// Kill ends a process as the loss of its machine does: its connections break, and it says nothing
// to anybody.
func (c *Cluster) Kill(p *Process) {
	n := p.node
	p.node = nil
	n.Kill()
}

// Mute makes the announcement of a process run out, as when it can't reach the metastore for a
// while: others take it for lost, and it goes on.
func (c *Cluster) Mute(p *Process) {
	c.t.Helper()
	members, err := c.store.Members(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	for _, m := range members {
		for _, url := range p.Addresses {
			if strings.HasSuffix(url, "://"+m.Address) {
				err = errors.Join(err, c.store.Withdraw(c.t.Context(), m.Holder))
			}
		}
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// Setting returns a setting of the metastore.
func (c *Cluster) Setting(ctx context.Context, name string) (json.RawMessage, bool, error) {
	return c.store.Setting(ctx, name)
}

// Announced reports whether a process has announced itself, by its name.
func (c *Cluster) Announced(holder string) bool {
	members, err := c.store.Members(c.t.Context())
	return err == nil && slices.ContainsFunc(members, func(m metastore.Member) bool { return m.Holder == holder })
}

// HolderOf returns the name of a process that runs among those that announce themselves.
func (c *Cluster) HolderOf(p *Process) string {
	c.t.Helper()
	name, err := os.ReadFile(filepath.Join(p.dir, "process"))
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(string(name))
}

// Until is the function of that name, for the cluster's test.
func (c *Cluster) Until(what string, ok func() bool) {
	c.t.Helper()
	Until(c.t, what, ok)
}

// Until waits until ok, and fails the test when that takes longer than any machine should need.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !ok() {
		if clock.System().Sleep(ctx, 10*time.Millisecond) != nil {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

// Members returns how many roles of processes the process knows of.
func (p *Process) Members() int { return p.node.Members() }

// Routes returns the patterns that a port of the process serves.
func (p *Process) Routes(role string) []string { return p.node.Routes(role) }

// RoutesBehind returns the patterns of paths that a port of the process serves some of.
func (p *Process) RoutesBehind(role string) []string { return p.node.RoutesBehind(role) }

// Live returns the live segments of the process; nil: it runs no tasks.
func (p *Process) Live() *live.Set { return p.node.Live() }

// Services returns the services that the process has opened.
func (p *Process) Services() []string { return p.node.Services() }

// Folders returns the names in the process's data directory.
func (p *Process) Folders() ([]string, error) {
	entries, err := os.ReadDir(p.dir)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out, err
}
