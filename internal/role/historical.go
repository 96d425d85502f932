package role

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"github.com/hengedb/henge/internal/api/data"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/fragments"
	"github.com/hengedb/henge/internal/api/nativequery"
	"github.com/hengedb/henge/internal/api/workbench"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/historical"
	"github.com/hengedb/henge/internal/segment/cache"
)

// openStorage opens deep storage.
func (s *services) openStorage(ctx context.Context) (err error) {
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
	s.n.roles.Go(func() error { return s.sweepUploads(ctx) })
	return nil
}

// openSegments opens the cache of segment files, whether this process is told to load some or reads
// them for its tasks.
func (s *services) openSegments(ctx context.Context) error {
	set := s.n.settings
	most := s.n.maxSegmentBytes()
	var locations []cache.Location
	for _, l := range set.Locations() {
		dir, err := filepath.Abs(l.Path)
		if err != nil {
			return err
		}
		locations = append(locations, cache.Location{Dir: dir, MaxBytes: cmp.Or(l.MaxBytes, most), FreePercent: l.FreePercent})
	}
	if len(locations) == 0 {
		dir, err := s.path("service.segmentCache.directory", "cache")
		if err != nil {
			return err
		}
		locations = []cache.Location{{Dir: dir, MaxBytes: most}}
	}
	const selector = "service.segmentCache.locationSelector.strategy"
	strategy := cache.Strategy(set.Text(selector))
	if !slices.Contains(cache.Strategies, strategy) {
		return fault.InvalidInput("Value [%s] of setting [%s] is not one of %v", strategy, selector, cache.Strategies)
	}
	c, err := cache.Open(cache.Options{
		Locations: locations, Strategy: strategy, Store: s.deep, Clock: s.n.o.Clock, Log: s.n.o.Log,
		Scrub: cache.ScrubOptions{
			Period: set.Duration("service.segmentCache.scrubPeriod"), Rate: set.Bytes("service.segmentCache.scrubBytesPerSecond", 0),
		},
	})
	if err != nil {
		return err
	}
	s.n.onClose(c.Close)
	s.cached = c
	s.historical = historical.New(c, historical.Threads{
		Loading: int(set.Int("service.segmentCache.numLoadingThreads")), Turbo: int(set.Int("service.segmentCache.numBootstrapThreads")),
	}, s.n.o.Clock, s.n.o.Log)
	s.n.roles.Go(func() error { return s.cached.RunScrub(ctx) })
	s.n.roles.Go(func() error {
		removed, err := s.cached.Sweep(ctx)
		s.n.removed(ctx, leftCache, removed, err)
		return nil
	})
	return nil
}

// dataRoutes adds what a Historical answers to other processes.
func (s *services) dataRoutes(mux *edge.Mux) {
	data.New(s.historical, s.n.published, s.n.o.Clock).Routes(mux)
	nativequery.AnalysesRoutes(mux, historical.Named{Historical: s.historical})
	workbench.PartRoutes(mux, s.broker.PartsDone)
	workbench.FactsRoutes(mux, historical.Named{Historical: s.historical})
	segments := historical.Named{Historical: s.historical}
	fragments.New(s.broker, segments, nil, s.n.gate, s.n.meter, s.n.o.Clock, s.n.o.Log, s.n.o.Protocol).Routes(mux)
}
