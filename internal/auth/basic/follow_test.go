package basic

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hengedb/henge/internal/clock"
)

// leader gives maps as a leading Coordinator does.
type leader struct {
	mu      sync.Mutex
	text    string
	err     error
	fetched int
	changed chan struct{}
}

func (l *leader) set(text string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text, l.err = text, err
	if l.changed != nil {
		close(l.changed)
		l.changed = make(chan struct{})
	}
}

func (l *leader) fetch(_ context.Context, _ *Part, tag string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fetched++
	if l.err != nil || tag == Tag([]byte(l.text)) {
		return nil, l.err
	}
	return []byte(l.text), nil
}

// tries counts the fetches so far.
func (l *leader) tries() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fetched
}

func (l *leader) told() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// follow runs a follower of one authenticator in a bubble.
func follow(t *testing.T, l *leader, directory string, test func(f *Follower, a *Authenticator)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if l.changed != nil {
			l.changed = make(chan struct{})
		}
		a := NewAuthenticator("meta", Options{Iterations: 1000, Clock: clock.System()})
		o := FollowerOptions{
			Parts: a.Parts(), Fetch: l.fetch, Directory: directory, Period: time.Minute, Delay: 6 * time.Second, Retries: 2, Clock: clock.System(),
			Log: slog.New(slog.DiscardHandler),
		}
		if l.changed != nil {
			o.Changed = l.told
		}
		f := NewFollower(o)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := f.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		test(f, a)
		cancel()
		running.Wait()
	})
}

func has(a *Authenticator, user string) bool {
	users := a.users.Load()
	if users == nil {
		return false
	}
	_, found := (*users)[user]
	return found
}

func done(f *Follower) bool {
	select {
	case <-f.Loaded():
		return true
	default:
		return false
	}
}

func TestPolling(t *testing.T) {
	l := &leader{text: `{"bob":{"name":"bob"}}`}
	follow(t, l, "", func(f *Follower, a *Authenticator) {
		synctest.Wait()
		if !done(f) || !has(a, "bob") {
			t.Error("nothing is loaded at the start")
		}
		l.set(`{"ann":{"name":"ann"}}`, nil)
		time.Sleep(59 * time.Second)
		if has(a, "ann") {
			t.Error("a poll came too early")
		}
		time.Sleep(8 * time.Second)
		if !has(a, "ann") || has(a, "bob") {
			t.Error("a poll did not load the new users")
		}
		l.set("", errors.New("down"))
		before := l.tries()
		time.Sleep(70 * time.Second)
		if !has(a, "ann") || l.tries()-before != 3 {
			t.Errorf("[%d] tries in a round", l.tries()-before)
		}
		l.set(`{"eve":{"name":"eve"}}`, nil)
		time.Sleep(70 * time.Second)
		if !has(a, "eve") {
			t.Error("polling ended")
		}
		l.set(`null`, nil) // which no Coordinator sends
		time.Sleep(70 * time.Second)
		if !has(a, "eve") {
			t.Error("a map that can't be read replaced a good one")
		}
	})
}

func TestTheStartTriesEachSecond(t *testing.T) {
	l := &leader{err: errors.New("down")}
	follow(t, l, "", func(f *Follower, a *Authenticator) {
		time.Sleep(10500 * time.Millisecond)
		if done(f) || a.Loaded() || l.tries() < 10 || l.tries() > 14 {
			t.Errorf("loaded %v after %d tries", a.Loaded(), l.tries())
		}
		l.set(`{}`, nil)
		time.Sleep(time.Second)
		if !done(f) || !a.Loaded() {
			t.Error("not loaded a second after the Coordinator has come")
		}
	})
}

func TestSnapshots(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	path := filepath.Join(dir, "meta.authenticator.cache")
	l := &leader{text: `{"bob":{"name":"bob"}}`}
	follow(t, l, dir, func(*Follower, *Authenticator) { synctest.Wait() })
	check := func(what, want string) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		folder, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != want || info.Mode().Perm() != 0o600 || folder.Mode().Perm() != 0o700 {
			t.Errorf("%s: %s, %s, %s", what, text, info.Mode(), folder.Mode())
		}
	}
	check("after a poll", l.text)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	follow(t, &leader{err: errors.New("down")}, dir, func(f *Follower, a *Authenticator) {
		time.Sleep(time.Second)
		if !done(f) || !has(a, "bob") {
			t.Error("the snapshot is not loaded")
		}
		check("after a start", `{"bob":{"name":"bob"}}`)
		if err := f.Take(t.Context(), f.o.Parts[0], []byte(`{"ann":{"name":"ann"}}`)); err != nil || !has(a, "ann") {
			t.Error("what was pushed is not loaded", err)
		}
		check("after a push", `{"ann":{"name":"ann"}}`)
		if err := f.Take(t.Context(), f.o.Parts[0], []byte(`[]`)); err == nil || !has(a, "ann") {
			t.Error("what is not a map is taken")
		}
	})
	l = &leader{text: `{"eve":{"name":"eve"}}`}
	follow(t, l, dir, func(_ *Follower, a *Authenticator) {
		synctest.Wait()
		if !has(a, "eve") {
			t.Error("a snapshot was preferred to the Coordinator")
		}
	})
	if err := os.WriteFile(path, []byte("cut o"), 0o600); err != nil {
		t.Fatal(err)
	}
	follow(t, &leader{err: errors.New("down")}, dir, func(f *Follower, a *Authenticator) {
		time.Sleep(time.Second)
		if done(f) || a.Loaded() {
			t.Error("a damaged snapshot is loaded")
		}
	})
}

func TestChangesAreSeenAtOnce(t *testing.T) {
	l := &leader{text: `{}`, changed: make(chan struct{})}
	follow(t, l, "", func(_ *Follower, a *Authenticator) {
		synctest.Wait()
		for _, user := range []string{"bob", "ann"} {
			l.set(`{"`+user+`":{"name":"`+user+`"}}`, nil)
			synctest.Wait()
			if !has(a, user) {
				t.Errorf("[%s] is not seen", user)
			}
		}
	})
}
