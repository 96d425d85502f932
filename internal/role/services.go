package role

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/lookups"
	"github.com/hengedb/henge/internal/api/nativequery"
	"github.com/hengedb/henge/internal/api/sampler"
	"github.com/hengedb/henge/internal/api/sql"
	"github.com/hengedb/henge/internal/api/statements"
	"github.com/hengedb/henge/internal/api/supervisors"
	"github.com/hengedb/henge/internal/api/tasks"
	"github.com/hengedb/henge/internal/api/workers"
	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/assign"
	"github.com/hengedb/henge/internal/duty/clean"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/duty/kill"
	"github.com/hengedb/henge/internal/duty/why"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/export"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/historical"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/lookup"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/overlord"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/router"
	"github.com/hengedb/henge/internal/segment/cache"
	"github.com/hengedb/henge/internal/supervisor"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/tasktype/batch"
	"github.com/hengedb/henge/internal/tasktype/imports"
	killtask "github.com/hengedb/henge/internal/tasktype/kill"
	"github.com/hengedb/henge/internal/tasktype/move"
	"github.com/hengedb/henge/internal/tasktype/sqltask"
	"github.com/hengedb/henge/internal/worker"
)

// services are the parts of the roles that endpoints talk to.
type services struct {
	n          *Node
	deep       deepstore.Store
	cache      *exec.RowCache // of results, and of single segments
	cached     *cache.Cache
	uploads    *deepstore.Local // of which uploads are swept; nil: deep storage is no directory
	historical *historical.Historical
	broker     *broker.Broker
	query      *sql.API
	native     *nativequery.API
	queue      *task.Queue
	records    *overlord.Store // of the queue
	worker     *worker.Worker  // nil: this process is none that other processes know
	parts      *workers.Parts
	files      *tasktype.Files
	tasks      *tasks.API
	sampler    *sampler.API
	statements *statements.API

	coordinator *coordinator.API
	compaction  *compact.Scheduler
	supervisors *supervisor.Set
	autoKill    *kill.Auto // nil if it is off
	cleaner     *clean.Cleaner
	why         *why.Explainer
	duties      []*duty.Runs // complete when all roles are open
	lookups     *lookup.Set
	rules       *duty.Rules
	assigner    *assign.Duty
	choice      *router.Choice // of Brokers; nil: this process is no Router

	// leads are what the leaders of the roles run.
	leads map[string][]func(context.Context) error
}

// openServices makes the roles' parts and starts what runs in them.
func (n *Node) openServices(ctx context.Context) (*services, error) {
	admission, err := n.admission()
	if err != nil {
		return nil, err
	}
	n.running, n.gate = query.NewRunning(n.o.Clock, admission), query.NewGate(admission.Limits, "historical", n.meter)
	s := &services{n: n, leads: map[string][]func(context.Context) error{}}
	access := s.access()
	access.S3 = s3Options(n.settings)
	s.lookups = lookup.NewSet(lookup.Options{Access: access, Memory: n.memory, Clock: n.o.Clock, Log: n.o.Log})
	n.roles.Go(func() error { return s.lookups.Run(ctx) })
	if err := s.openStorage(ctx); err != nil {
		return nil, err
	}
	n.roles.Go(func() error { return s.cached.RunScrub(ctx) })
	n.roles.Go(func() error { return s.sweep(ctx) })
	s.rules = duty.NewRules(n.store)
	if err := s.openInventory(ctx); err != nil {
		return nil, err
	}
	if err := s.openBroker(); err != nil {
		return nil, err
	}
	if err := s.openOverlord(ctx); err != nil {
		return nil, err
	}
	if err := s.openCoordinator(ctx); err != nil {
		return nil, err
	}
	if err := s.openRouter(ctx); err != nil {
		return nil, err
	}
	n.followSettings(ctx, s.compaction.Nudge)
	if err := s.openMonitor(ctx); err != nil {
		return nil, err
	}
	s.leads[cluster.Overlord] = append(s.leads[cluster.Overlord], s.runQueue)
	for _, role := range []string{cluster.Coordinator, cluster.Overlord} {
		n.lead(ctx, role, s.leads[role])
	}
	return s, nil
}

// path returns a configured directory, or its default in the data directory.
func (s *services) path(key, name string) (string, error) {
	return storagePath(s.n.settings, s.n.dir, key, name)
}

func (s *services) openStorage(ctx context.Context) error {
	var err error
	if s.deep, err = openDeepStorage(s.n.settings, s.n.dir); err != nil {
		return err
	}
	s.n.onClose(s.deep.Close)
	if err := s.ownUploads(ctx); err != nil {
		return err
	}
	if s.n.o.Deep != nil {
		s.deep = s.n.o.Deep(s.deep)
	}
	set := s.n.settings
	most := set.Bytes("service.server.maxSize", 0)
	var places []cache.Place
	for _, l := range set.Locations() {
		dir, err := filepath.Abs(l.Path)
		if err != nil {
			return err
		}
		places = append(places, cache.Place{Dir: dir, MaxBytes: cmp.Or(l.MaxBytes, most), FreePercent: l.FreePercent})
	}
	if len(places) == 0 {
		dir, err := s.path("service.segmentCache.directory", "cache")
		if err != nil {
			return err
		}
		places = []cache.Place{{Dir: dir, MaxBytes: most}}
	}
	const selector = "service.segmentCache.locationSelector.strategy"
	strategy := cache.Strategy(set.Text(selector))
	if !slices.Contains(cache.Strategies, strategy) {
		return fault.InvalidInput("Value [%s] of setting [%s] is not one of %v", strategy, selector, cache.Strategies)
	}
	c, err := cache.Open(cache.Options{
		Places: places, Strategy: strategy, Store: s.deep, Clock: s.n.o.Clock, Log: s.n.o.Log,
		Scrub: cache.ScrubOptions{Period: set.Duration("service.segmentCache.scrubPeriod"), Rate: set.Bytes("service.segmentCache.scrubBytesPerSecond", 0)},
	})
	if err != nil {
		return err
	}
	s.n.onClose(c.Close)
	s.cached = c
	s.historical = historical.New(c, historical.Threads{
		Loading: int(set.Int("service.segmentCache.numLoadingThreads")), Turbo: int(set.Int("service.segmentCache.numBootstrapThreads")),
	}, s.n.o.Clock, s.n.o.Log)
	return nil
}

func (s *services) openBroker() error {
	set := s.n.settings
	zone, err := chrono.LoadZone(set.Text("service.sql.planner.sqlTimeZone"))
	if err != nil {
		return err
	}
	defaults := map[string]any{}
	for k, v := range set.WithPrefix("service.query.default.context.") {
		defaults[k] = v
	}
	threads := int(set.Int("service.processing.numThreads"))
	if threads <= 0 {
		threads = budget.Cores()
	}
	externals := &broker.Externals{Access: s.access(), Memory: s.n.memory, TempDir: s.n.spill.Path(), Disk: s.n.disk, Decoders: threads}
	if kind := set.Text("service.cache.type"); kind != "caffeine" && kind != "local" {
		return fault.Unsupported("service.cache.type [%s] is not supported; use caffeine: the cache is in the memory of the process", kind)
	}
	size := set.Bytes("service.cache.sizeInBytes", s.n.memory.Limit())
	if size == 0 {
		size = min(1<<30, s.n.memory.Limit()/10)
	}
	s.cache = exec.NewRowCache(exec.RowCacheOptions{
		MaxBytes: size, Expire: time.Duration(set.Int("service.cache.expireAfter")) * time.Millisecond, Memory: s.n.memory, Clock: s.n.o.Clock,
	})
	options := broker.Options{
		Files: historical.Named{Historical: s.historical},
		Cache: broker.CacheOptions{
			Use: set.Bool("service.broker.cache.useResultLevelCache"), Populate: set.Bool("service.broker.cache.populateResultLevelCache"),
			Rows: s.cache, MaxEntry: set.Bytes("service.broker.cache.resultLevelCacheLimit", s.n.memory.Limit()),
			Not: set.List("service.broker.cache.unCacheable"),
		},
		Segments: s.segmentCache("historical"),
		Threads:  threads, Memory: s.n.memory, MemoryWait: set.Duration("service.query.maxMemoryWait"), Spill: s.n.spill, Defaults: defaults,
		Zone: zone, RequireTime: set.Bool("service.sql.planner.requireTimeCondition"), Lookups: s.lookups, Meter: s.n.meter, Clock: s.n.o.Clock, Log: s.n.o.Log,
	}
	if s.n.peers.alone { // who asks and who reads are one
		options.Segments.Use = options.Segments.Use || set.Bool("service.broker.cache.useCache")
		options.Segments.Populate = options.Segments.Populate || set.Bool("service.broker.cache.populateCache")
	} else {
		options.Far = s.segmentCache("broker")
		balance, err := s.balance()
		if err != nil {
			return err
		}
		options.Servers, options.Clones, options.Watched = asked{s.n.peers.inventory}, s.n.cloneServers, s.watchedDataSources()
		options.Dispatcher = dispatch.New(dispatch.Options{Client: s.n.peers.client, Pulse: s.n.peers.pulse, Meter: s.n.meter, Protocol: s.n.o.Protocol,
			FanIn: fanIn(set), Balance: balance, Clock: s.n.o.Clock, Log: s.n.o.Log})
	}
	s.broker = broker.New(s.n.published, s.historical, s.systemTables(), externals, options)
	s.query = sql.New(s.broker, s.n.running, sql.Options{
		MaxRequestBytes: set.Bytes("service.server.http.maxRequestBytes", 0),
		DefaultTimeout:  set.Int("service.server.http.defaultQueryTimeout"), MaxTimeout: set.Int("service.server.http.maxQueryTimeout"),
		Clock: s.n.o.Clock, Metrics: s.n.metrics, Known: s.knownQueries,
	}, s.n.o.Log)
	s.native = nativequery.New(s.broker, s.n.running, nativequery.Options{
		MaxRequestBytes: set.Bytes("service.server.http.maxRequestBytes", 0),
		DefaultTimeout:  set.Int("service.server.http.defaultQueryTimeout"), MaxTimeout: set.Int("service.server.http.maxQueryTimeout"),
		History: set.Duration("service.query.segmentMetadata.defaultHistory").Milliseconds(),
	})
	return nil
}

// segmentCache is what a role keeps of single segments.
func (s *services) segmentCache(role string) exec.SegmentCache {
	set, of := s.n.settings, "service."+role+".cache."
	return exec.SegmentCache{
		Use: set.Bool(of + "useCache"), Populate: set.Bool(of + "populateCache"),
		Rows: s.cache, MaxEntry: set.Bytes(of+"maxEntrySize", s.n.memory.Limit()), Not: set.List(of + "unCacheable"),
	}
}

// fanIn is how many parts of a query are merged in one place.
func fanIn(set *config.Settings) int {
	if n := int(set.Int("service.broker.mergeFanIn")); n > 0 {
		return n
	}
	return -1
}

func (s *services) openOverlord(ctx context.Context) error {
	set := s.n.settings
	logs, err := s.n.dir.sub("tasks/logs")
	if err != nil {
		return err
	}
	if !s.n.peers.alone { // what a process that was lost has left: its tasks are elsewhere
		if err := emptyDir(logs); err != nil {
			return err
		}
	}
	work, err := s.workFolder(ctx)
	if err != nil {
		return err
	}
	host, port := s.n.roleAddress("indexer")
	here := task.Location{Host: host, Port: port}
	files := tasktype.NewFiles(tasktype.FilesOptions{Store: s.deep, Dir: logs, Alone: s.n.peers.alone, Current: s.n.store.CheckFence})
	s.files = files
	threads := int(set.Int("service.processing.numThreads"))
	env := &tasktype.Env{
		Broker: s.broker, Metastore: s.n.store, Published: s.n.published, Deep: s.deep, Files: files, Loads: s.awaitLoad,
		Access: s.access(), Exports: s.exports(), Durable: set.Bool("service.msq.intermediate.storage.enable"),
		Open: historical.Named{Historical: s.historical}.Acquire, FaultPoint: s.n.o.FaultPoint,
		TempDir: work, Memory: s.n.memory, Disk: s.n.disk, Threads: threads, Host: here.Address(),
		Meter: s.n.meter, Clock: s.n.o.Clock, Log: s.n.o.Log,
	}
	env.Rows = func(ctx context.Context, text json.RawMessage, of *exec.Env) (msq.RowSource, error) {
		return batch.Rows(ctx, env, text, of)
	}
	env.Join = s.openParts(here, env)
	controller, chats := sqltask.NewController(env), batch.NewChats()
	loads := batch.Options{Env: env, Chats: chats}
	parallel, simple := batch.NewIndex(loads)
	kinds := map[string]task.Kind{
		sqltask.ControllerType: controller, task.KillType: killtask.New(s.n.store, s.deep, files, s.n.meter, s.n.o.Log), task.NoopType: task.Noop{Clock: s.n.o.Clock},
		batch.CompactType: batch.NewCompact(loads), batch.ParallelType: parallel, batch.SimpleType: simple,
	}
	for _, name := range []string{move.Type, move.ArchiveType, move.RestoreType} {
		kinds[name] = move.New(name, s.n.store, s.deep, set.Text("service.storage.archiveBaseKey"), s.n.o.Log)
	}
	kinds[imports.Type] = imports.New(imports.Options{
		Env: env, S3: s3Options(set), Visible: s.awaitVisible,
		Google: imports.ObjectStore{Properties: properties(set, map[string]string{"accessKeyId": "service.google.accessKey", "secretAccessKey": "service.google.secretKey"})},
		Azure: imports.ObjectStore{Account: set.Text("service.azure.account"), Properties: properties(set, map[string]string{
			"key": "service.azure.key", "sharedAccessStorageToken": "service.azure.sharedAccessStorageToken"})},
	})
	for name, kind := range kinds {
		kinds[name] = tasktype.Logged(kind, files, s.n.o.Log)
	}
	s.records = overlord.NewStore(s.n.store, s.n.metrics, s.n.meter)
	options := task.Options{
		Admit:    s.n.admitTask,
		Capacity: s.n.capacity(), MaxActive: int(set.Int("service.indexer.queue.maxSize")), Location: here, Meter: s.n.meter, Clock: s.n.o.Clock, Log: s.n.o.Log,
	}
	endpoints := tasks.Options{
		Chat:  chats.Ask,
		Locks: s.n.store, Audit: s.auditTask, Worker: here.Address(), Recent: set.Duration("service.indexer.storage.recentlyFinishedThreshold").Milliseconds(),
		MaxRequestBytes: set.Bytes("service.server.http.maxRequestBytes", 0), Clock: s.n.o.Clock,
	}
	if !s.n.peers.alone {
		s.openWorkers(ctx, kinds, &options)
		if s.worker != nil {
			endpoints.Local = s.worker
		}
	}
	s.queue = task.NewQueue(s.records, kinds, options)
	limit := set.Bytes("service.server.http.maxRequestBytes", 0)
	s.sampler = sampler.New(func(ctx context.Context, n plan.Node, id string) (query.Rows, error) {
		return s.broker.Session().Run(ctx, n, id)
	},
		sampler.Options{Access: s.access(), TempDir: work, Disk: s.n.disk, MaxRequestBytes: limit})
	s.tasks = tasks.New(s.queue, files, endpoints)
	s.statements = statements.New(sqltask.NewService(s.queue, controller, s.broker, files, s.deep), statements.Options{
		Type: sqltask.ControllerType, MaxRequestBytes: limit, Durable: set.Bool("service.msq.intermediate.storage.enable"),
	})
	return nil
}

// properties are settings that are set, under other names.
func properties(set *config.Settings, names map[string]string) map[string]string {
	out := map[string]string{}
	for name, key := range names {
		if value := set.Text(key); value != "" {
			out[name] = value
		}
	}
	return out
}

// auditTask notes who submitted a task.
func (s *services) auditTask(r *http.Request, t *task.Task) error {
	payload, err := jsontext.Marshal(map[string]string{"id": t.ID, "groupId": t.GroupID, "type": t.Type})
	if err != nil {
		return err
	}
	entry := coordinator.Audit(r, "task", t.DataSource)
	entry.Payload = string(payload)
	return s.n.store.Audit(r.Context(), *entry)
}

// capacity is how many tasks run at once.
func (n *Node) capacity() int {
	if n := n.settings.Int("service.worker.capacity"); n > 0 {
		return int(n)
	}
	return max(2, budget.Cores()-1)
}

// access says what input sources may touch.
func (s *services) access() *ingest.Access {
	a := &ingest.Access{LocalDirs: s.n.settings.List("service.ingest.local.allowedPaths"),
		HTTPProtocols: s.n.settings.List("service.ingestion.http.allowedProtocols"), HTTPHeaders: s.n.settings.List("service.ingestion.http.allowedHeaders"),
		Getenv: os.LookupEnv, Clock: s.n.o.Clock,
		HDFS: ingest.HDFSAccess{
			Protocols: s.n.settings.List("service.ingestion.hdfs.allowedProtocols"), NameNodes: s.n.settings.List("service.ingestion.hdfs.nameNodes"),
			DefaultFS: s.n.settings.Text("service.ingestion.hdfs.defaultFS"), User: s.n.settings.Text("service.ingestion.hdfs.user"),
		},
		OpenDatasource: func(ctx context.Context, d *ingest.Datasource) (ingest.ObjectReader, error) {
			return s.broker.OpenDatasource(ctx, d)
		}}
	if !s.n.settings.Bool("service.ingest.http.allowPrivate") {
		a.CheckAddress = func(to netip.AddrPort) error {
			if ip := to.Addr().Unmap(); ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() {
				return fault.Forbidden("Address [%s] is private; service.ingest.http.allowPrivate allows input from such", to)
			}
			return nil
		}
	}
	return a
}

// exports says where INSERT INTO EXTERN may write.
func (s *services) exports() *export.Places {
	set := s.n.settings
	return &export.Places{
		BaseDir: set.Text("service.export.storage.baseDir"),
		S3Paths: set.List("service.export.storage.s3.allowedExportPaths"), GooglePaths: set.List("service.export.storage.google.allowedExportPaths"),
		S3: s3Options(set),
		Google: s3.Options{Endpoint: "https://storage.googleapis.com", AccessKey: set.Text("service.google.accessKey"),
			SecretKey: set.Text("service.google.secretKey")},
	}
}

// overlordRoutes adds the endpoints of Overlord and Coordinator.
func (s *services) overlordRoutes(mux *edge.Mux) {
	s.tasks.Routes(mux)
	s.sampler.Routes(mux)
	s.coordinator.Routes(mux)
	supervisors.New(s.supervisors, supervisors.Options{
		MaxRequestBytes: s.n.settings.Bytes("service.server.http.maxRequestBytes", 0), Audit: coordinator.Audit, Clock: s.n.o.Clock,
	}).Routes(mux)
}

// lookupRoutes adds the endpoints about the lookups of this process.
func (s *services) lookupRoutes(mux *edge.Mux) {
	lookups.New(s.lookups, s.n.settings.Bytes("service.server.http.maxRequestBytes", 0)).Routes(mux)
}

// routes adds the endpoints of a role to a port's mux.
func (s *services) routes(role string, mux *edge.Mux) {
	s.readinessRoutes(role, mux)
	if !s.n.peers.alone {
		s.clusterRoutes(role, mux)
		return
	}
	s.aloneRoutes(role, mux)
}

// aloneRoutes adds the endpoints of a role where one process has all. The Router serves those of every role.
func (s *services) aloneRoutes(role string, mux *edge.Mux) {
	switch role {
	case "router", "broker", "historical", "indexer":
		s.lookupRoutes(mux)
	}
	switch role {
	case "router":
		s.proxyRoutes(mux)
		s.sqlRoutes(mux)
		s.native.Routes(mux)
		s.coordinator.BrokerRoutes(mux)
		if s.n.settings.Bool("service.router.managementProxy.enabled") {
			s.overlordRoutes(mux)
		}
	case "broker":
		s.sqlRoutes(mux)
		s.native.Routes(mux)
		s.coordinator.BrokerRoutes(mux)
	case "historical":
		s.dataRoutes(mux)
	case "indexer":
		s.tasks.WorkerRoutes(mux)
	case "coordinator", "overlord": // merged: both serve the Overlord's paths
		s.overlordRoutes(mux)
		s.coordinator.SecurityRoutes(mux)
	}
}

// sqlRoutes adds the endpoints of SQL, unless it is turned off: then they are not there.
func (s *services) sqlRoutes(mux *edge.Mux) {
	if s.n.settings.Bool("service.sql.enable") {
		s.query.Routes(mux)
		s.statements.Routes(mux)
	}
}
