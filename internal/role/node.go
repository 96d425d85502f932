package role

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/status"
	"github.com/hengedb/henge/internal/audit"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/keystore"
	"github.com/hengedb/henge/internal/live"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/secret/seal"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
)

// Options are the start options of a process.
type Options struct {
	Settings *config.Settings
	// Roles are the roles of the process (cluster.Roles); empty: all.
	Roles   []string
	Version string
	// Revision is the revision of the sources; empty: unknown.
	Revision string
	// Store, if not nil, is a metastore that the processes of a test share; its owner closes it.
	Store *metastore.Store
	Clock clock.Clock
	Log   *slog.Logger
	// Protocol simulates another release in tests; 0: cluster.Protocol.
	Protocol int
	// Dial, if not nil, replaces the network to other processes, and Deep wraps deep storage: tests
	// interrupt and delay them.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Deep func(deepstore.Store) deepstore.Store
	// Follow, if not nil, replaces Store.Follow: tests let a process fall behind.
	Follow func(ctx context.Context, store *metastore.Store, p *timeline.Published) error
	// Security adds types of authenticators, authorizers and escalators for tests.
	Security auth.Builders
	// FaultPoint, if not nil, is called at each step of publishing; tests crash the process there.
	FaultPoint func(step string) error
}

// Address is the address of a role.
type Address struct {
	Role     string
	HostPort string
	// Secure is true for HTTPS.
	Secure bool
}

// URL returns the base URL.
func (a Address) URL() string {
	if a.Secure {
		return "https://" + a.HostPort
	}
	return "http://" + a.HostPort
}

// Node is a running process.
type Node struct {
	o         Options
	settings  *config.Settings
	dir       *directory
	store     *metastore.Store
	published *timeline.Published
	memory    *budget.Budget
	disk      *budget.Budget
	spill     *budget.SpillDir
	reserve   *durable.Reserve
	left      *leftovers
	listeners []*listener
	exporter  *listener  // a port for metrics alone; nil: there is none
	pgwire    []wirePort // for clients of PostgreSQL
	peers     peers
	security  *auth.Security // nil: none is configured
	tls       transport
	users     *userbase
	tokens    *tokens
	sealer    *seal.Sealer // by a key that the cluster shares; nil: nobody needs one
	audit     *audit.Log   // nil: none is kept
	auditor   *auditWriter
	stopAudit func() // writes what is left of it; nil likewise
	running   *query.Running
	gate      *query.Gate // of the parts of other processes' queries
	metrics   *prometheus.Registry
	meter     *obs.Meter
	tracer    *obs.Tracer // nil: no spans are recorded
	blocklist atomic.Pointer[[]query.BlockRule]
	clones    atomic.Pointer[map[string]string]
	blocked   []netip.Prefix      // no input comes from there
	outside   *x509.CertPool      // the authorities of servers outside the cluster; nil: those of the machine
	routes    map[string][]string // the patterns that each role answers
	// behind are the patterns of routes that others of a role pass some requests on to; nested those
	// of the role whose routes are being made.
	behind map[string][]string
	nested []string
	took   time.Duration
	ready  atomic.Bool

	cancel context.CancelFunc
	roles  *errgroup.Group // what runs until the node stops
	serves *errgroup.Group // the listeners
	closed []func() error  // in order of opening; closed backwards
	live   *live.Set       // nil: the process runs no tasks
}

// Start opens the data directory, starts the roles and returns when they are ready. The caller
// waits with Wait or ends the node with Stop.
func Start(ctx context.Context, o Options) (*Node, error) {
	if o.Protocol == 0 {
		o.Protocol = cluster.Protocol
	}
	if len(o.Roles) == 0 {
		o.Roles = cluster.Roles
	}
	n := &Node{
		o: o, settings: o.Settings, published: timeline.NewPublished(), metrics: obs.NewRegistry(),
		routes: map[string][]string{}, behind: map[string][]string{},
	}
	n.meter = obs.NewMeter(o.Clock, o.Settings.Text("service.emitter") != "noop" && o.Settings.Text("service.emitter") != "prometheus")
	began := o.Clock.Now()
	if err := n.start(ctx); err != nil {
		n.abandon()
		return nil, err
	}
	n.took = o.Clock.Now().Sub(began)
	n.ready.Store(true)
	return n, nil
}

// logStart tells the log what the process has to work with.
func (n *Node) logStart(ctx context.Context) {
	n.o.Log.InfoContext(ctx, "starting", "version", strings.TrimSpace(n.o.Version+" "+n.o.Revision), "roles", n.o.Roles,
		"dataDirectory", n.settings.Text("service.data.dir"), "memoryLimit", n.settings.Bytes("service.memory.limit", machineMemory()),
		"threads", n.threads(), "settingsFiles", append([]string{}, n.settings.Files()...), "process", os.Getpid())
	if idle := n.settings.Idle(); len(idle) > 0 {
		n.o.Log.InfoContext(ctx, "settings without effect are set", "settings", idle)
	}
}

func (n *Node) start(ctx context.Context) error {
	n.logStart(ctx)
	if n.settings.Bool("service.coordinator.asOverlord.enabled") && n.has(cluster.Coordinator) && !n.has(cluster.Overlord) {
		n.o.Roles = append(slices.Clone(n.o.Roles), cluster.Overlord)
	}
	if err := n.checkRoles(); err != nil {
		return err
	}
	var err error
	if n.dir, err = openDirectory(n.settings.Text("service.data.dir")); err != nil {
		return err
	}
	n.onClose(func() error { n.dir.close(); return nil })
	for _, name := range n.dir.mended {
		n.o.Log.WarnContext(ctx, "file of the data directory was empty, probably after a power failure; it was rewritten", "file", name,
			"directory", n.dir.path)
	}
	if open := n.dir.readable(); len(open) > 0 {
		n.o.Log.WarnContext(ctx, "files of the data directory are readable by other users: run chmod -R go-rwx",
			"directory", n.dir.path, "files", open)
	}
	n.left = newLeftovers(n.metrics)
	n.openReserve(ctx)
	if err := n.openTLS(); err != nil {
		return err
	}
	if n.outside, err = outsideRoots(n.settings); err != nil {
		return err
	}
	const blockedNetworks = "service.ingestion.http.blockedNetworks"
	if n.blocked, err = networks(blockedNetworks, n.settings.List(blockedNetworks)); err != nil {
		return err
	}
	if err := n.checkStores(); err != nil {
		return err
	}
	if err := n.listen(); err != nil {
		return err
	}
	if err := n.openMemory(); err != nil {
		return err
	}
	if err := n.openStore(ctx); err != nil {
		return err
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n.cancel = cancel
	n.roles, background = errgroup.WithContext(background)
	reserve := background // which is another one below
	n.roles.Go(func() error { return n.keepReserve(reserve) })
	if err := n.openTracing(background); err != nil {
		return err
	}
	background = obs.WithTracer(background, n.tracer)
	n.removed(ctx, leftSpill, n.spill.Swept(), nil)
	n.serves = &errgroup.Group{}
	if err := n.openSecurity(); err != nil {
		return err
	}
	if err := n.openPeers(); err != nil {
		return err
	}
	if err := n.openSealer(ctx); err != nil {
		return err
	}
	if err := n.users.open(ctx, background); err != nil {
		return err
	}
	if err := n.tokens.open(ctx, background); err != nil {
		return err
	}
	services, err := n.openServices(ctx, background)
	if err != nil {
		return err
	}
	if err := services.loadLookups(ctx); err != nil {
		return err
	}
	n.registerGauges(services)
	n.metrics.MustRegister(&surroundings{n, services})
	handlers, err := n.handlers(services)
	if err != nil {
		return err
	}
	for _, l := range n.listeners {
		l.prepare(handlers[l.role], n.o.Clock, n.o.Log)
		n.serves.Go(l.serve)
	}
	if n.exporter != nil {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", obs.MetricsHandler(n.metrics))
		n.process().Probes(mux.HandleFunc)
		n.exporter.prepare(n.overTLS(mux), n.o.Clock, n.o.Log)
		n.serves.Go(n.exporter.serve)
	}
	n.followTLS(background)
	n.users.settle(ctx)
	return n.join(ctx, background, services)
}

// handlers returns what answers the requests of each role.
func (n *Node) handlers(services *services) (map[string]http.Handler, error) {
	requests := newHTTPMetrics(n.metrics)
	aliases, limits := n.settings.Aliases(), requestLimits(n.settings, n.memory)
	handlers := map[string]http.Handler{}
	const forwardedNetworks = "service.server.http.forwardedNetworks"
	proxies, err := networks(forwardedNetworks, n.settings.List(forwardedNetworks))
	if err != nil {
		return nil, err
	}
	form, err := n.errorForm()
	if err != nil {
		return nil, err
	}
	if _, err := n.aliasRelease(); err != nil {
		return nil, err
	}
	for _, role := range n.ownRoles() {
		errors := &edge.Errors{
			Host: n.member(role).Address(), Modern: form == "modern", ModernAlias: form == "", Log: n.o.Log,
		}
		mux := edge.NewMux(errors)
		mux.Limits, mux.Gate, mux.Tracer = limits, n.gateOf(errors), n.tracer
		n.process().Routes(mux)
		n.nested = nil
		services.routes(role, mux)
		n.routes[role], n.behind[role] = mux.Patterns(), n.nested
		h := mux.Handler(aliases, n.o.Clock, requests.seen(role, n.o.Log))
		if n.settings.Bool("service.server.http.enableRequestLimit") {
			h = limited(h, requestThreads(n.settings), errors)
		}
		h = n.ofClient(h)
		if n.settings.Bool("service.server.http.enableForwardedRequestCustomizer") {
			h = forwarded(h, proxies)
		}
		guard, err := n.guard(errors)
		if err != nil {
			return nil, err
		}
		h = guard.Wrap(h)
		handlers[role] = n.overTLS(h)
	}
	return handlers, nil
}

func (n *Node) onClose(f func() error) { n.closed = append(n.closed, f) }

// bind is the address that ports are bound to; "" is all.
func (n *Node) bind() string {
	host := n.settings.Text("service.host")
	switch {
	case host == "":
		return loopback
	case n.settings.Bool("service.bindOnHost"):
		return host
	}
	return ""
}

// listen opens all ports first, so that one in use is found before anything runs.
func (n *Node) listen() error {
	bind := n.bind()
	if port := n.settings.Int("service.emitter.prometheus.port"); port >= 0 {
		var err error
		if n.exporter, err = listen("exporter", bind, "service.emitter.prometheus.port", port); err != nil {
			return err
		}
		if !n.settings.Bool("service.enablePlaintextPort") {
			n.exporter.secure = n.tls.server
		}
	}
	for _, role := range n.o.Roles {
		if n.settings.Bool("service.enablePlaintextPort") {
			if err := n.listenAs(role, bind, "plaintextPort", nil); err != nil {
				return err
			}
		}
		if n.tls.server != nil {
			if err := n.listenAs(role, bind, "tlsPort", n.tls.server); err != nil {
				return err
			}
		}
	}
	return nil
}

// listenAs opens one port of a role, if the settings want it; name is the end of those that say
// which it is.
func (n *Node) listenAs(role, bind, name string, secure *keystore.Server) error {
	setting := "service." + role + "." + name
	if only := "service." + name; len(n.o.Roles) == 1 && n.settings.IsSet(only) {
		setting = only
	}
	port := n.settings.Int(setting)
	if port < 0 {
		return nil
	}
	l, err := listen(role, bind, setting, port)
	if err != nil {
		return err
	}
	l.secure = secure
	l.server.MaxHeaderBytes = int(n.settings.Bytes("service.server.http.maxRequestHeaderSize", 0)) + toldHeaders
	l.server.IdleTimeout = n.settings.Duration("service.server.http.maxIdleTime")
	n.listeners = append(n.listeners, l)
	return nil
}

// toldHeaders is by how much a header may exceed its limit and still be read, so that the refusal
// names the setting. net/http refuses larger headers itself, without that name.
const toldHeaders = 64 << 10

// heapFloor is the heap below which the garbage collector is not started. It is reached under load
// only.
const heapFloor = 128 << 20

func (n *Node) openMemory() error {
	limit := n.settings.Bytes("service.memory.limit", machineMemory())
	n.memory = budget.Root(limit)
	budget.ApplyGoLimit(limit)
	segment.KeepDictionaries(n.memory)
	floor := budget.NewHeapFloor(min(heapFloor, limit/8))
	n.onClose(func() error { floor.Stop(); return nil })
	path := n.settings.Text("service.processing.tmpDir")
	if path == "" {
		var err error
		if path, err = n.dir.sub("spill"); err != nil {
			return err
		}
	}
	n.disk = budget.DiskRoot(n.settings.Bytes("service.processing.maxSpillBytes", 0))
	var err error
	n.spill, err = budget.OpenSpillDir(path, n.disk)
	if err != nil {
		return fault.Runtime("Folder [%s] (service.processing.tmpDir) can't be used for rows that are spilled", path).WithCause(err)
	}
	n.onClose(n.spill.Close)
	return nil
}

func (n *Node) openStore(ctx context.Context) error {
	if n.store = n.o.Store; n.store != nil {
		return nil
	}
	o, err := metastoreOptions(n.settings, n.dir.path)
	if err != nil {
		return err
	}
	o.Audited = func(e metastore.AuditEntry) {
		if o.NoAudit {
			n.o.Log.InfoContext(ctx, "audit", "type", e.Type, "key", e.Key, "author", e.Author, "identity", e.Identity, "comment", e.Comment, "ip", e.IP,
				"payload", e.Payload)
		}
		n.meter.Count(obs.Occurrence{
			Service: "coordinator", Metric: "config/audit", Dims: []string{"key", e.Key, "type", e.Type},
			More: []string{"author", e.Author, "comment", e.Comment, "remote_address", e.IP},
		}, 1)
	}
	o.Clock, o.Release, o.FaultPoint = n.o.Clock, n.o.Version, n.o.FaultPoint
	o.MakeRoom = func() bool { return n.makeRoom(context.WithoutCancel(ctx)) }
	n.onFresh(ctx, &o)
	if n.store, err = metastore.Open(ctx, o); err != nil {
		return err
	}
	n.onClose(n.store.Close)
	return nil
}

// followAgain is how long after the metastore could not be read it is tried again. Until then
// queries are answered from the last state.
const followAgain = time.Second

// follow keeps the published timeline at the newest state, and returns when it holds the present
// one.
func (n *Node) follow(ctx, background context.Context) error {
	number, err := n.store.Number(ctx)
	if err != nil {
		return err
	}
	follow := n.o.Follow
	if follow == nil {
		follow = func(ctx context.Context, store *metastore.Store, p *timeline.Published) error {
			return store.Follow(ctx, p)
		}
	}
	n.roles.Go(func() error {
		for {
			err := follow(background, n.store, n.published)
			if background.Err() != nil {
				return nil
			}
			n.o.Log.WarnContext(background, "failed to follow the published timeline; retrying", "after", followAgain, "error", err)
			_ = n.o.Clock.Sleep(background, followAgain) // the loop looks why
		}
	})
	_, err = n.published.Wait(ctx, number)
	return err
}

func (n *Node) process() *status.Process {
	shown := ""
	if len(n.settings.Aliases()) > 0 {
		shown = n.settings.Text(aliasVersion)
	}
	return &status.Process{
		Version: n.o.Version, Shown: shown, Settings: n.settings, MemoryLimit: n.memory.Limit(), Unready: n.unready,
		Metrics: obs.MetricsHandler(n.metrics),
	}
}

// host is the name other processes reach this one by.
func (n *Node) host() string {
	if h := n.settings.Text("service.host"); h != "" {
		return h
	}
	return "localhost"
}

func (n *Node) hostPort(l *listener) string {
	return net.JoinHostPort(n.host(), strconv.Itoa(l.port()))
}

// ownRoles returns the roles that have a port of their own.
func (n *Node) ownRoles() []string {
	var out []string
	for _, l := range n.listeners {
		if !slices.Contains(out, l.role) {
			out = append(out, l.role)
		}
	}
	return out
}

// member returns where a role is reached; where the first one is, if it has no port of its own.
func (n *Node) member(role string) *cluster.Member {
	if own := n.ownRoles(); len(own) > 0 && !slices.Contains(own, role) {
		role = own[0]
	}
	at := &cluster.Member{Role: role, Host: n.host()}
	for _, l := range n.listeners {
		switch {
		case l.role != role:
		case l.secure != nil:
			at.TLSPort = l.port()
		default:
			at.Port = l.port()
		}
	}
	return at
}

// ports are all that is listened on: those of the roles, and the exporter's.
func (n *Node) ports() []*listener {
	if n.exporter == nil {
		return n.listeners
	}
	return append(slices.Clip(n.listeners), n.exporter)
}

// Addresses returns the addresses of the roles.
func (n *Node) Addresses() []Address {
	out := make([]Address, 0, len(n.listeners)+1)
	for _, l := range n.ports() {
		out = append(out, Address{l.role, n.hostPort(l), l.secure != nil})
	}
	for _, l := range n.pgwire {
		port := l.Addr().(*net.TCPAddr).Port
		out = append(out, Address{pgwireRole, net.JoinHostPort(n.host(), strconv.Itoa(port)), l.secure})
	}
	return out
}

// Routes returns the patterns of the routes of a role.
func (n *Node) Routes(role string) []string { return n.routes[role] }

// RoutesBehind returns the patterns to which routes of a role forward requests.
func (n *Node) RoutesBehind(role string) []string { return n.behind[role] }

// StartTook returns the duration of the start.
func (n *Node) StartTook() time.Duration { return n.took.Round(100 * time.Microsecond) }

// Wait returns when ctx is done and the node has stopped, or when a part of it has failed.
func (n *Node) Wait(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- n.roles.Wait() }()
	select {
	case <-ctx.Done():
		return n.Stop(context.WithoutCancel(ctx))
	case err := <-failed:
		return errors.Join(err, n.Stop(context.WithoutCancel(ctx)))
	}
}

// threads returns how many goroutines compute for queries at once.
func (n *Node) threads() int {
	if threads := int(n.settings.Int("service.processing.numThreads")); threads > 0 {
		return threads
	}
	return budget.Cores()
}

// Stop stops the node: no new connections, a grace period for running requests, then roles and
// stores.
func (n *Node) Stop(ctx context.Context) (err error) {
	n.ready.Store(false)
	began, patience := n.o.Clock.Now(), n.settings.Duration("service.server.http.gracefulShutdownTimeout")
	n.o.Log.InfoContext(ctx, "stopping", "queries", n.running.Count(), "waitsAtMost", patience.String())
	defer func() {
		took := n.o.Clock.Now().Sub(began).Round(time.Millisecond).String()
		if err != nil {
			n.o.Log.ErrorContext(ctx, "stopped with an error", "took", took, "error", err)
			return
		}
		n.o.Log.InfoContext(ctx, "stopped", "took", took)
	}()
	n.leave(ctx)
	graceful, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(graceful, n.running.Interrupt)()
	var stops errgroup.Group
	for _, l := range n.ports() {
		stops.Go(func() error { l.stop(ctx, graceful); return nil })
	}
	err = errors.Join(stops.Wait(), n.serves.Wait())
	if n.stopAudit != nil {
		n.stopAudit()
	}
	n.cancel()
	return errors.Join(err, n.roles.Wait(), n.close())
}

// abandon frees what a start that failed had taken.
func (n *Node) abandon() {
	for _, l := range n.ports() {
		l.stop(context.Background(), context.Background())
	}
	if n.cancel != nil {
		n.cancel()
		_ = n.roles.Wait() // the failure that matters is the start's
	}
	_ = n.close() // likewise
}

func (n *Node) close() error {
	var errs []error
	for _, v := range slices.Backward(n.closed) {
		errs = append(errs, v())
	}
	n.closed = nil
	return errors.Join(errs...)
}

// Kill simulates the loss of the machine: connections break, nothing is withdrawn and no other
// process is notified. It frees the resources in this process. For tests only.
func (n *Node) Kill() {
	n.ready.Store(false)
	for _, l := range n.ports() {
		_ = l.server.Close() // that it breaks is what is wanted
		_ = l.net.Close()    // likewise
	}
	for _, l := range n.peers.leaders {
		l.Abandon()
	}
	n.cancel()
	_ = n.roles.Wait() // likewise
	_ = n.close()      // likewise
}

// Members returns the number of roles of all processes that the node knows, including its own.
func (n *Node) Members() int { return len(n.peers.members.Members("")) }

// ParseRoles parses the names of the roles of a process; an empty list means all roles.
func ParseRoles(names []string) ([]string, error) { return cluster.ParseRoles(names) }
