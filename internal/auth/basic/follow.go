package basic

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/durable"
)

// Part is a serialized map that processes replicate.
type Part struct {
	// Name is the name of the authenticator or authorizer.
	Name string
	// Path is where the leading Coordinator serves the map. Listen is where other processes accept it.
	Path, Listen string
	// Snapshot is the name of the file that stores the map for the next start.
	Snapshot string
	// Load loads the map.
	Load func(text []byte) error

	// taking is held while the map is fetched or taken, so that an answer that was on its way while a
	// newer map was pushed does not replace it.
	taking sync.Mutex
	mu     struct {
		sync.Mutex
		text []byte
		tag  string
	}
}

// Base is the path of the endpoints of users and roles.
const Base = "/service-ext/basic-security"

// Parts returns the maps of an authenticator.
func (a *Authenticator) Parts() []*Part {
	const base = Base + "/authentication"
	return []*Part{{
		Name: a.name, Path: base + "/db/" + a.name + "/cachedSerializedUserMap", Listen: base + "/listen/" + a.name,
		Snapshot: a.name + ".authenticator.cache", Load: a.Load,
	}}
}

// Parts returns the maps of an authorizer: first its users, then its group mappings.
func (a *Authorizer) Parts() []*Part {
	const base = Base + "/authorization"
	return []*Part{{
		Name: a.name, Path: base + "/db/" + a.name + "/cachedSerializedUserMap", Listen: base + "/listen/users/" + a.name,
		Snapshot: a.name + ".authorizer.cache", Load: a.LoadUsers,
	}, {
		Name: a.name, Path: base + "/db/" + a.name + "/cachedSerializedGroupMappingMap", Listen: base + "/listen/groupMappings/" + a.name,
		Snapshot: a.name + ".authorizer.groupMapping.cache", Load: a.LoadGroups,
	}}
}

// Text returns the loaded map with its tag; nil: none is loaded.
func (p *Part) Text() (text []byte, tag string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.text, p.mu.tag
}

// Tag returns the tag of a map. Equal maps have equal tags.
func Tag(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// FollowerOptions are the settings of a Follower.
type FollowerOptions struct {
	Parts []*Part
	// Fetch requests a map. The returned text is nil if tag is still current.
	Fetch func(ctx context.Context, p *Part, tag string) (text []byte, err error)
	// Changed, if not nil, returns a channel that is closed when a map may have changed.
	Changed func() <-chan struct{}
	// Directory is the directory of snapshots; "": there are none.
	Directory string
	// Period is the time between two rounds, and Delay the maximum random time that is added.
	Period, Delay time.Duration
	// Retries is how often a fetch is retried in one round.
	Retries int
	Clock   clock.Clock
	Log     *slog.Logger
}

// Follower keeps maps up to date. It is safe for concurrent use.
type Follower struct {
	o FollowerOptions

	first  sync.Once
	loaded chan struct{} // closed when every map was loaded once
}

const (
	// retryPause is the time between two tries, and firstPause that while nothing is loaded yet.
	retryPause = time.Second
	firstPause = 100 * time.Millisecond
	// fetchTime bounds one fetch.
	fetchTime = 10 * time.Second
	// untilSnapshot is how many tries fail at the start before snapshots are used.
	untilSnapshot = 3
)

// NewFollower returns a follower that has not loaded any map.
func NewFollower(o FollowerOptions) *Follower { return &Follower{o: o, loaded: make(chan struct{})} }

// Loaded returns a channel that is closed when every map was loaded once.
func (f *Follower) Loaded() <-chan struct{} { return f.loaded }

// Run keeps the maps up to date until ctx is done.
func (f *Follower) Run(ctx context.Context) error {
	f.begin(ctx)
	for first := true; ctx.Err() == nil; first = false {
		var told <-chan struct{}
		if f.o.Changed != nil {
			told = f.o.Changed() // before the look, so that no change falls between them
		}
		if !first || told != nil {
			f.round(ctx)
		}
		timer := f.o.Clock.NewTimer(f.o.Period + jitter(f.o.Delay))
		select {
		case <-told:
		case <-timer.C():
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return nil
}

// begin tries until every map was fetched. Snapshots stand in when that fails at first.
func (f *Follower) begin(ctx context.Context) {
	for try := 1; ctx.Err() == nil; try++ {
		err := f.Refresh(ctx)
		if err == nil {
			return
		}
		if try == untilSnapshot {
			f.restore(ctx)
			f.o.Log.WarnContext(ctx, "failed to fetch users and roles; retrying every second", "error", err)
		}
		pause := retryPause
		if try < untilSnapshot {
			pause = firstPause
		}
		_ = f.o.Clock.Sleep(ctx, pause) // the loop looks why
	}
}

// round fetches all maps, with tries.
func (f *Follower) round(ctx context.Context) {
	for try := 0; ctx.Err() == nil; try++ {
		err := f.Refresh(ctx)
		if err == nil {
			return
		}
		if try >= f.o.Retries {
			f.o.Log.WarnContext(ctx, "failed to fetch users and roles; using the loaded ones", "error", err)
			return
		}
		_ = f.o.Clock.Sleep(ctx, retryPause) // the loop looks why
	}
}

// Refresh fetches every map once and loads the maps that have changed.
func (f *Follower) Refresh(ctx context.Context) error {
	var errs []error
	for _, p := range f.o.Parts {
		errs = append(errs, f.refresh(ctx, p))
	}
	err := errors.Join(errs...)
	if err == nil {
		f.note()
	}
	return err
}

func (f *Follower) refresh(ctx context.Context, p *Part) error {
	p.taking.Lock()
	defer p.taking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	_, tag := p.Text()
	text, err := f.o.Fetch(ctx, p, tag)
	if err != nil || text == nil {
		return err
	}
	return f.take(ctx, p, text)
}

// Take loads a map that was pushed.
func (f *Follower) Take(ctx context.Context, p *Part, text []byte) error {
	p.taking.Lock()
	defer p.taking.Unlock()
	if err := f.take(ctx, p, text); err != nil {
		return err
	}
	f.note()
	return nil
}

func (f *Follower) take(ctx context.Context, p *Part, text []byte) error {
	tag := Tag(text)
	if _, known := p.Text(); known == tag {
		return nil
	}
	if err := p.Load(text); err != nil {
		return err
	}
	p.mu.Lock()
	p.mu.text, p.mu.tag = text, tag
	p.mu.Unlock()
	if f.o.Directory == "" {
		return nil
	}
	if err := f.save(p, text); err != nil {
		f.o.Log.WarnContext(ctx, "failed to write the snapshot of users and roles", "file", p.Snapshot, "error", err)
	}
	return nil
}

// note says that all maps are loaded, if they are.
func (f *Follower) note() {
	for _, p := range f.o.Parts {
		if _, tag := p.Text(); tag == "" {
			return
		}
	}
	f.first.Do(func() { close(f.loaded) })
}

// save writes a snapshot. It holds hashes of passwords, so nobody but the process may read it.
func (f *Follower) save(p *Part, text []byte) error {
	if err := durable.MkdirAll(f.o.Directory, 0o700); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(f.o.Directory, p.Snapshot), text, 0o600)
}

// restore loads the snapshots of the maps that are not loaded.
func (f *Follower) restore(ctx context.Context) {
	if f.o.Directory == "" {
		return
	}
	for _, p := range f.o.Parts {
		err := f.restorePart(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			f.o.Log.WarnContext(ctx, "failed to read the snapshot of users and roles", "file", p.Snapshot, "error", err)
		default:
			f.o.Log.InfoContext(ctx, "using the snapshot of users and roles until the Coordinator responds", "file", p.Snapshot)
		}
	}
	f.note()
}

func (f *Follower) restorePart(p *Part) error {
	p.taking.Lock()
	defer p.taking.Unlock()
	if _, tag := p.Text(); tag != "" {
		return nil
	}
	path := filepath.Join(f.o.Directory, p.Snapshot)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o600); err != nil { // it may have been copied here
		return fmt.Errorf("closing the file to others: %w", err)
	}
	if err := p.Load(text); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.text, p.mu.tag = text, Tag(text)
	return nil
}
