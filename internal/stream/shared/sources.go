package shared

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/stream"
)

// Sources opens streams. It is safe for use by many goroutines.
type Sources struct {
	open  func(ctx context.Context, config stream.Config) (stream.Source, error)
	clock clock.Clock
	log   *slog.Logger
	limit int // of bytes of the windows of a feed

	// life is the context of the feeds, whose goroutines are counted by feeding.
	life    context.Context
	end     context.CancelFunc
	feeding sync.WaitGroup

	mu    sync.Mutex
	feeds map[string]*feed
}

// windowBytes bounds what a feed keeps of all of its partitions.
const windowBytes = 32 << 20

// New returns Sources that open streams with a function.
func New(open func(ctx context.Context, config stream.Config) (stream.Source, error), c clock.Clock, log *slog.Logger) *Sources {
	s := &Sources{open: open, clock: c, log: log, limit: windowBytes, feeds: map[string]*feed{}}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Close ends the feeds. Readers must be closed first.
func (s *Sources) Close() {
	s.end()
	s.feeding.Wait()
}

// Open returns the source that config describes.
func (s *Sources) Open(ctx context.Context, config stream.Config) (stream.Source, error) {
	own, err := s.open(ctx, config)
	if err != nil || config.Type != "kafka" {
		return own, err
	}
	key, err := json.Marshal(struct {
		Name, Pattern string
		Committed     bool
		Properties    map[string]json.RawMessage
	}{config.Name, config.Pattern, config.Committed, config.Properties})
	if err != nil {
		return own, nil //nolint:nilerr // it is read, and not shared
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.feeds[string(key)]
	if f == nil {
		f = &feed{s: s, key: string(key), config: config, compare: own.Compare}
		f.mu.wanted, f.mu.parts = map[stream.Partition]map[*reader]stream.Position{}, map[stream.Partition]*window{}
		s.feeds[f.key] = f
	}
	f.users++
	return &source{Source: own, feed: f}, nil
}

// source is a source whose readers share a feed.
type source struct {
	stream.Source
	feed  *feed
	close sync.Once
}

// Open implements stream.Source.
func (s *source) Open(ctx context.Context) (stream.Reader, error) {
	own, err := s.Source.Open(ctx)
	if err != nil {
		return nil, err
	}
	return &reader{own: own, feed: s.feed, following: map[stream.Partition]*window{}}, nil
}

// Close implements stream.Source.
func (s *source) Close() error {
	s.close.Do(func() {
		all := s.feed.s
		all.mu.Lock()
		defer all.mu.Unlock()
		if s.feed.users--; s.feed.users == 0 {
			delete(all.feeds, s.feed.key)
		}
	})
	return s.Source.Close()
}

// signal wakes who waits for news.
type signal struct {
	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
}

// next returns a context that ends with the next news.
func (s *signal) next() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil || s.ctx.Err() != nil {
		s.ctx, s.cancel = context.WithCancel(context.Background())
	}
	return s.ctx
}

// raise says that there is news.
func (s *signal) raise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
}

// pollUntil polls, and returns early when there is news.
func pollUntil(ctx, news context.Context, poll func(ctx context.Context) ([]stream.Batch, error)) ([]stream.Batch, error) {
	polling, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(news, cancel)()
	batches, err := poll(polling)
	if err != nil && polling.Err() != nil && ctx.Err() == nil {
		return nil, nil // it was woken
	}
	return batches, err
}
