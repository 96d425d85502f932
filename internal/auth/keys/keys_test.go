package keys

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/testkit/documents"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// settings are those of a test.
type settings map[string]string

func (v settings) Text(key string) string { return v[key] }
func (v settings) Bool(key string) bool   { return v[key] == "true" }
func (v settings) Int(string) int64       { return 0 }
func (v settings) IsSet(key string) bool  { _, ok := v[key]; return ok }
func (v settings) List(key string) []string {
	if v[key] == "" {
		return nil
	}
	return strings.Split(v[key], ",")
}

var someone = &basic.Author{Identity: "ann"}

// world is a store with keys and the authenticator of one process.
type world struct {
	*Keeper
	t     *testing.T
	store *documents.Store
	clock *fakeclock.Clock
	ring  *Ring
	in    *Authenticator
}

func newWorld(t *testing.T, proxies string) *world {
	t.Helper()
	w := &world{t: t, store: documents.New()}
	w.clock = fakeclock.New(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	w.ring = NewRing(w.clock)
	w.Keeper = NewKeeper(w.store, w.clock, w.ring)
	var err error
	w.in, err = New(auth.Part{Name: "k", Prefix: "k.", Settings: settings{"k.authorizerName": "az", "k.trustedProxies": proxies}}, w.ring)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) load() {
	w.t.Helper()
	text, err := w.Read(w.t.Context())
	if err == nil {
		err = w.ring.load(text)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(r Request) (*Key, string) {
	w.t.Helper()
	key, text, err := w.Create(w.t.Context(), someone, r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.load()
	return key, text
}

// as is who a request is: a name, "" for nobody, or the error.
func (w *world) as(header, peer string, forwarded ...string) string {
	h := http.Header{}
	if header != "" {
		h.Set("Authorization", header)
	}
	for _, f := range forwarded {
		h.Add("X-Forwarded-For", f)
	}
	id, err := w.in.Authenticate(w.t.Context(), &auth.Request{Header: h, Peer: peer})
	switch {
	case err != nil:
		return "! " + err.Error()
	case id == nil:
		return ""
	}
	return id.Name + " " + strings.Join(id.Roles, ",") + " " + id.Authorizer + " " + id.By
}

func basicHeader(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

const invalid = "! The API key is not valid."

func TestKeysLetIn(t *testing.T) {
	w := newWorld(t, "")
	if got := w.as("Bearer "+whole(newID(), strings.Repeat("a", 52)), "192.0.2.1:5"); !strings.Contains(got, "not loaded yet") {
		t.Errorf("before keys are loaded: %s", got)
	}
	key, text := w.create(Request{Roles: []string{"reader", "writer"}})
	expires := w.clock.Now().Add(time.Hour)
	shortKey, short := w.create(Request{Roles: []string{"r"}, Expires: &expires})
	nearKey, near := w.create(Request{Roles: []string{"r"}, Networks: []string{"192.0.2.0/24", "2001:db8::7"}})
	want, wantShort := key.name()+" reader,writer az k", shortKey.name()+" r az k"
	wantNear := nearKey.name() + " r az k"
	flipped := []byte(text)
	flipped[len(flipped)-1] = 'a' + (flipped[len(flipped)-1]-'a'+1)%26
	for _, test := range []struct{ name, header, peer, want string }{
		{"bearer", "Bearer " + text, "203.0.113.9:1", want}, {"scheme in small letters", "bearer  " + text, "203.0.113.9:1", want},
		{"password", basicHeader("anybody", text), "203.0.113.9:1", want},
		{"password of nobody", basicHeader("", text), "203.0.113.9:1", want},
		{"no credentials", "", "203.0.113.9:1", ""}, {"another's password", basicHeader("bob", "hg_secret"), "203.0.113.9:1", ""},
		{"another's token", "Bearer eyJhbGciOiJub25lIn0.e30.", "203.0.113.9:1", ""}, {"no token", "Bearer", "203.0.113.9:1", ""},
		{"malformed", "Basic ***", "203.0.113.9:1", ""}, {"wrong secret", "Bearer " + string(flipped), "203.0.113.9:1", invalid},
		{"wrong secret as password", basicHeader("x", string(flipped)), "203.0.113.9:1", invalid},
		{"unknown id", "Bearer " + whole("0000000000000000", text[20:]), "203.0.113.9:1", invalid},
		{"secret of another", "Bearer " + whole(shortKey.ID, text[20:]), "203.0.113.9:1", invalid},
		{"until it expires", "Bearer " + short, "203.0.113.9:1", wantShort},
		{"in the network", "Bearer " + near, "192.0.2.200:1", wantNear},
		{"mapped address", "Bearer " + near, "[::ffff:192.0.2.1]:1", wantNear},
		{"single address", "Bearer " + near, "[2001:db8::7]:1", wantNear}, {"outside", "Bearer " + near, "192.0.3.1:1", invalid},
		{"no address", "Bearer " + near, "localhost:1", invalid}, {"no peer", "Bearer " + near, "", invalid},
	} {
		if got := w.as(test.header, test.peer); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	w.clock.Advance(time.Hour)
	if got := w.as("Bearer "+short, "203.0.113.9:1"); got != invalid {
		t.Errorf("after it has expired: %s", got)
	}
	if w.in.Challenge() != "Bearer" {
		t.Error(w.in.Challenge())
	}
	if stored := string(w.store.Kept(document)); strings.Contains(stored, text[20:]) {
		t.Error("the secret is stored")
	}
}

func TestOnlyTrustedProxiesSayWhereARequestIsFrom(t *testing.T) {
	w := newWorld(t, "10.0.0.0/8,127.0.0.1")
	key, text := w.create(Request{Roles: []string{"r"}, Networks: []string{"192.0.2.0/24"}})
	want := key.name() + " r az k"
	for _, test := range []struct {
		peer, want string
		forwarded  []string
	}{
		{"10.1.1.1:9", want, []string{"192.0.2.1"}}, {"203.0.113.9:9", invalid, []string{"192.0.2.1"}},
		{"10.1.1.1:9", invalid, []string{"192.0.2.1, 203.0.113.9"}},                      // the client has forged the first
		{"10.1.1.1:9", want, []string{"198.51.100.1, 192.0.2.1, 10.2.2.2", "127.0.0.1"}}, // several proxies
		{"10.1.1.1:9", invalid, nil}, {"10.1.1.1:9", invalid, []string{"unknown"}}, {"10.1.1.1:9", invalid, []string{"192.0.2.1, "}},
		{"10.1.1.1:9", want, []string{"192.0.2.1:4711"}}, {"192.0.2.5:1", want, []string{"203.0.113.9"}},
	} {
		if got := w.as("Bearer "+text, test.peer, test.forwarded...); got != test.want {
			t.Errorf("%s for %v: got %q, want %q", test.peer, test.forwarded, got, test.want)
		}
	}
}

func TestRotateAndRevoke(t *testing.T) {
	w := newWorld(t, "")
	key, first := w.create(Request{Roles: []string{"r"}, Description: "loader"})
	want := key.name() + " r az k"
	rotate := func(overlap time.Duration) string {
		t.Helper()
		rotated, text, err := w.Rotate(t.Context(), someone, key.ID, overlap)
		if err != nil || rotated.Description != "loader" || rotated.Rotated == nil {
			t.Fatal(rotated, err)
		}
		w.load()
		return text
	}
	check := func(when string, good []string, bad ...string) {
		t.Helper()
		for _, text := range good {
			if got := w.as("Bearer "+text, "192.0.2.1:1"); got != want {
				t.Errorf("%s: got %q, want %q", when, got, want)
			}
		}
		for _, text := range bad {
			if got := w.as("Bearer "+text, "192.0.2.1:1"); got != invalid {
				t.Errorf("%s: got %q, want a refusal", when, got)
			}
		}
	}
	second := rotate(time.Hour)
	check("while both are good", []string{first, second})
	w.clock.Advance(time.Hour)
	check("after that", []string{second}, first)
	third := rotate(time.Hour)
	fourth := rotate(time.Hour)
	check("after two at once", []string{third, fourth}, first, second)
	fifth := rotate(0)
	check("without overlap", []string{fifth}, third, fourth)
	if err := w.Revoke(t.Context(), someone, key.ID); err != nil {
		t.Fatal(err)
	}
	w.load()
	check("revoked", nil, fifth)
	for name, err := range map[string]error{
		"revoke": w.Revoke(t.Context(), someone, key.ID),
		"rotate": func() error { _, _, err := w.Rotate(t.Context(), someone, key.ID, 0); return err }(),
	} {
		if f := fault.Find(err); f == nil || f.Category != fault.CategoryNotFound {
			t.Errorf("%s of a key that is gone: %v", name, err)
		}
	}
	for _, overlap := range []time.Duration{-1, maxOverlap + 1} {
		if _, _, err := w.Rotate(t.Context(), someone, key.ID, overlap); fault.Find(err) == nil {
			t.Errorf("overlap %v: %v", overlap, err)
		}
	}
	var texts []string
	for _, c := range w.store.Changes() {
		texts = append(texts, c.Text)
	}
	if len(texts) != 6 || texts[0] != "Create API key ["+key.ID+"]" || texts[5] != "Revoke API key ["+key.ID+"]" {
		t.Errorf("audit: %q", texts)
	}
}

func TestWrongKeysAreRefused(t *testing.T) {
	w := newWorld(t, "")
	past := w.clock.Now()
	for want, r := range map[string]Request{
		"at least one role":      {},
		"at most [100] roles":    {Roles: slices.Repeat([]string{"r"}, 101)},
		"Role [ ]":               {Roles: []string{" "}},
		"at most [100] networks": {Roles: []string{"r"}, Networks: slices.Repeat([]string{"10.0.0.0/8"}, 101)},
		"Network [10/8]":         {Roles: []string{"r"}, Networks: []string{"10/8"}},
		"Network [example.com]":  {Roles: []string{"r"}, Networks: []string{"example.com"}},
		"Network [fe80::1%eth0]": {Roles: []string{"r"}, Networks: []string{"fe80::1%eth0"}},
		"is over":                {Roles: []string{"r"}, Expires: &past},
		"description":            {Roles: []string{"r"}, Description: "a\nb"},
		"[1000] characters":      {Roles: []string{"r"}, Description: strings.Repeat("ä", 1001)},
	} {
		if _, _, err := w.Create(t.Context(), someone, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if len(w.store.Kept(document))+len(w.store.Kept(usesDocument)) != 0 {
		t.Error("something was stored")
	}
	for _, proxies := range []string{"x", "10.0.0.0/99"} {
		_, err := New(auth.Part{Prefix: "k.", Settings: settings{"k.authorizerName": "az", "k.trustedProxies": proxies}}, w.ring)
		if err == nil || !strings.Contains(err.Error(), "[k.trustedProxies]") {
			t.Errorf("proxies %s: %v", proxies, err)
		}
	}
	if _, err := New(auth.Part{Prefix: "k.", Settings: settings{}}, w.ring); err == nil || !strings.Contains(err.Error(), "authorizerName") {
		t.Errorf("no authorizer: %v", err)
	}
	for _, text := range []string{`[]`, `{"a":null}`, `{"a":{"id":"b"}}`, `{"a":{"id":"a","hash":"00"}}`,
		`{"a":{"id":"a","networks":["x"]}}`} {
		if err := w.ring.load([]byte(text)); err == nil {
			t.Errorf("%s was loaded", text)
		}
	}
}

func TestChangesOfTwoProcessesMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := documents.New()
		ring := NewRing(clock.System())
		one, two := NewKeeper(store, clock.System(), ring), NewKeeper(store, clock.System(), ring)
		overtaken := 0
		store.Before = func() {
			if overtaken++; overtaken > 3 {
				return
			}
			hook := store.Before
			store.Before = nil
			if _, _, err := two.Create(t.Context(), someone, Request{Roles: []string{"r"}}); err != nil {
				t.Error(err)
			}
			store.Before = hook
		}
		if _, _, err := one.Create(t.Context(), someone, Request{Roles: []string{"r"}}); err != nil {
			t.Fatal(err)
		}
		if all, err := one.List(t.Context()); err != nil || len(all) != 4 {
			t.Errorf("%d keys, %v", len(all), err)
		}
		store.Before = func() { store.Put(document, append(store.Kept(document), ' ')) }
		if err := one.Revoke(t.Context(), someone, "x"); fault.Find(err) == nil || fault.Find(err).Category != fault.CategoryNotFound {
			t.Error(err)
		}
		_, _, err := one.Create(t.Context(), someone, Request{Roles: []string{"r"}})
		if err == nil || !strings.Contains(err.Error(), "again and again") {
			t.Errorf("overtaken again and again: %v", err)
		}
	})
}

func TestUsesAreWrittenOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		w.Keeper = NewKeeper(w.store, clock.System(), w.ring)
		w.ring.clock = clock.System()
		key, text := w.create(Request{Roles: []string{"r"}})
		idle, _ := w.create(Request{Roles: []string{"r"}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx, slog.New(slog.DiscardHandler)) }()
		used := func() (out *time.Time) {
			t.Helper()
			all, err := w.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range all {
				if l.ID == key.ID {
					out = l.LastUsed
				} else if l.LastUsed != nil {
					t.Errorf("key %s was never used", idle.ID)
				}
			}
			return out
		}
		if used() != nil {
			t.Error("used before it was")
		}
		swaps := w.store.Written()
		for range 100 {
			w.as("Bearer "+text, "192.0.2.1:1")
			time.Sleep(time.Second)
		}
		if last := used(); last == nil || time.Since(*last) > 2*time.Second {
			t.Errorf("last used %v", last)
		}
		if n := w.store.Written() - swaps; n != 1 {
			t.Errorf("%d writes in 100 seconds", n)
		}
		w.store.Fail(errors.New("down"))
		time.Sleep(time.Minute)
		w.store.Fail(nil)
		at := time.Now()
		w.as("Bearer "+text, "192.0.2.1:1")
		cancel() // what is noted is written at the end
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if last := used(); !last.Equal(at.UTC().Truncate(time.Second)) || len(w.ring.uses.mu.at) != 0 {
			t.Errorf("last used %v, at %v", last, at)
		}
		if err := w.Revoke(t.Context(), someone, key.ID); err != nil {
			t.Fatal(err)
		}
		w.as("Bearer "+text, "192.0.2.1:1")
		w.load()
		w.writeUses(t.Context(), slog.New(slog.DiscardHandler))
		if got := string(w.store.Kept(usesDocument)); got != "{}" {
			t.Errorf("uses of a key that is gone: %s", got)
		}
	})
}
