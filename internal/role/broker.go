package role

import (
	"context"
	"time"

	"github.com/hengedb/henge/internal/api/access"
	"github.com/hengedb/henge/internal/api/avatica"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/nativequery"
	"github.com/hengedb/henge/internal/api/sql"
	"github.com/hengedb/henge/internal/api/workbench"
	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/historical"
)

func (s *services) openBroker(ctx context.Context) error {
	set := s.n.settings
	zone, err := chrono.LoadZone(set.Text("service.sql.planner.sqlTimeZone"))
	if err != nil {
		return err
	}
	defaults := map[string]any{}
	for k, v := range set.WithPrefix("service.query.default.context.") {
		defaults[k] = v
	}
	threads := s.n.threads()
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
		Files: historical.Named{Historical: s.historical}, Uploads: leadingUploads{s},
		Cache: broker.CacheOptions{
			Use: set.Bool("service.broker.cache.useResultLevelCache"), Populate: set.Bool("service.broker.cache.populateResultLevelCache"),
			Rows: s.cache, MaxEntry: set.Bytes("service.broker.cache.resultLevelCacheLimit", s.n.memory.Limit()),
			Not: set.List("service.broker.cache.unCacheable"),
		},
		Segments: s.segmentCache("historical"),
		Threads:  threads, Memory: s.n.memory, MemoryWait: set.Duration("service.query.maxMemoryWait"), Spill: s.n.spill, Defaults: defaults,
		Zone: zone, RequireTime: set.Bool("service.sql.planner.requireTimeCondition"), Lookups: s.lookups, Meter: s.n.meter,
		Clock: s.n.o.Clock, Log: s.n.o.Log,
	}
	if s.n.peers.alone { // who asks and who reads are one
		options.Segments.Use = options.Segments.Use || set.Bool("service.broker.cache.useCache")
		options.Segments.Populate = options.Segments.Populate || set.Bool("service.broker.cache.populateCache")
	} else {
		options.Remote = s.segmentCache("broker")
		balance, err := s.balance()
		if err != nil {
			return err
		}
		options.Servers, options.Clones, options.VisibleDataSources = asked{s.n.peers.inventory}, s.n.cloneServers, s.watchedDataSources()
		options.Dispatcher = dispatch.New(dispatch.Options{
			Client: s.n.peers.client, Pulse: s.n.peers.pulse, Meter: s.n.meter, Protocol: s.n.o.Protocol,
			FanIn: fanIn(set), Balance: balance, Clock: s.n.o.Clock, Log: s.n.o.Log})
	}
	if !s.n.peers.alone && s.n.has(cluster.Broker) {
		options.Fresh = s.fresh
	}
	s.withLive(&options)
	s.broker = broker.New(s.n.published, s.historical, s.systemTables(), externals, options)
	s.query = sql.New(s.broker, s.n.running, sql.Options{
		MaxRequestBytes: set.Bytes("service.server.http.maxRequestBytes", 0),
		DefaultTimeout:  set.Int("service.server.http.defaultQueryTimeout"), MaxTimeout: set.Int("service.server.http.maxQueryTimeout"),
		Clock: s.n.o.Clock, Metrics: s.n.metrics, Known: s.knownQueries,
	}, s.n.o.Log)
	s.preview = &access.Preview{
		Engine: s.broker, Running: s.n.running, DefaultTimeout: set.Int("service.server.http.defaultQueryTimeout"),
		MaxTimeout: set.Int("service.server.http.maxQueryTimeout"),
	}
	s.workbench = workbench.New(s.broker, s.n.running, workbench.Options{
		Store: s.n.store, Peers: s.progressPeers(),
		MaxRequestBytes: set.Bytes("service.server.http.maxRequestBytes", 0),
		DefaultTimeout:  set.Int("service.server.http.defaultQueryTimeout"), MaxTimeout: set.Int("service.server.http.maxQueryTimeout"),
		Clock: s.n.o.Clock, Log: s.n.o.Log,
	})
	s.jdbc = avatica.New(s.broker, s.n.running, avatica.Options{
		MaxConnections: int(set.Int("service.sql.avatica.maxConnections")),
		MaxStatements:  int(set.Int("service.sql.avatica.maxStatementsPerConnection")),
		MinRows:        int(set.Int("service.sql.avatica.minRowsPerFrame")), MaxRows: int(set.Int("service.sql.avatica.maxRowsPerFrame")),
		IdleTimeout:     set.Duration("service.sql.avatica.connectionIdleTimeout"),
		FetchTimeout:    time.Duration(set.Int("service.sql.avatica.fetchTimeoutMs")) * time.Millisecond,
		MaxRequestBytes: set.Bytes("service.server.http.maxRequestBytes", 0),
		DefaultTimeout:  set.Int("service.server.http.defaultQueryTimeout"), MaxTimeout: set.Int("service.server.http.maxQueryTimeout"),
		Audit: s.n.audit, Security: s.n.security, Address: func() string { return s.n.member(cluster.Broker).Address() }, Clock: s.n.o.Clock,
	}, s.n.o.Log)
	if s.n.has(cluster.Broker) {
		s.n.roles.Go(func() error { return s.jdbc.Run(ctx) })
	}
	if err := s.openPGWire(ctx); err != nil {
		return err
	}
	if err := s.openFlight(ctx); err != nil {
		return err
	}
	queries := nativequery.Options{
		MaxRequestBytes: set.Bytes("service.server.http.maxRequestBytes", 0),
		DefaultTimeout:  set.Int("service.server.http.defaultQueryTimeout"), MaxTimeout: set.Int("service.server.http.maxQueryTimeout"),
		History: set.Duration("service.query.segmentMetadata.defaultHistory").Milliseconds(),
	}
	s.native = nativequery.New(s.broker, s.n.running, queries)
	s.nativeHeld = nativequery.New(broker.Own{Broker: s.broker, Held: s.historical.Loaded}, s.n.running, queries)
	s.nativeLive = nativequery.New(broker.Own{Broker: s.broker, Live: true}, s.n.running, queries)
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

// sqlRoutes adds the endpoints of SQL, unless it is turned off: then they are not there.
func (s *services) sqlRoutes(mux *edge.Mux) {
	if s.n.settings.Bool("service.sql.enable") {
		s.queryRoutes(mux)
		s.statements.Routes(mux)
	}
}

// queryRoutes adds the endpoints of SQL that a Broker answers.
func (s *services) queryRoutes(mux *edge.Mux) {
	s.query.Routes(mux)
	s.preview.Routes(mux)
	s.workbench.Routes(mux)
	if s.n.settings.Bool("service.sql.avatica.enable") {
		s.jdbc.Routes(mux)
	}
	s.flightRoutes(mux)
}

// brokerRoutes are those of a Broker.
func (s *services) brokerRoutes(mux *edge.Mux) {
	s.sentRoutes(mux)
	s.lookupRoutes(mux)
	s.native.Routes(mux)
	s.coordinator.BrokerRoutes(mux)
	s.query.KnownRoute(mux)
	s.workbench.BrokerRoutes(mux)
	if s.n.settings.Bool("service.sql.enable") {
		s.queryRoutes(mux)
	}
}
