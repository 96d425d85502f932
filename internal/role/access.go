package role

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hengedb/henge/internal/api/access"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/security"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/auth/keys"
	"github.com/hengedb/henge/internal/auth/oidc"
	"github.com/hengedb/henge/internal/metastore"
)

// tokens is what this process knows of API keys and providers of tokens. It is made while the
// settings of security are read, and opened when the store is known.
type tokens struct {
	n        *Node
	ring     *keys.Ring // nil: no authenticator of type keys is configured
	keeper   *keys.Keeper
	follower *basic.Follower
	// providers are the authenticators of type oidc, in the order of the settings.
	providers []*oidc.Authenticator
}

// keyPoll is how often the keys are looked at beside the times that the store tells of a change. It
// bounds how long a revoked key stays good where the store can't tell.
const keyPoll = 10 * time.Second

// keys builds an authenticator of type keys. All of them share the keys.
func (t *tokens) keys(p auth.Part) (auth.Authenticator, error) {
	if t.ring == nil {
		t.ring = keys.NewRing(t.n.o.Clock)
		t.keeper = keys.NewKeeper(security.NewStore(t.n.store), t.n.o.Clock, t.ring)
	}
	return keys.New(p, t.ring)
}

// oidc builds an authenticator of type oidc.
func (t *tokens) oidc(p auth.Part) (auth.Authenticator, error) {
	o, err := oidc.OptionsOf(p)
	if err != nil {
		return nil, err
	}
	o.Clock, o.Log = t.n.o.Clock, t.n.o.Log
	a := oidc.New(o)
	t.providers = append(t.providers, a)
	return a, nil
}

// browsers keeps the sessions of browsers among the settings of the metastore, so that each Router
// knows those of the others.
type browsers struct{ store *metastore.Store }

// Get implements oidc.Store.
func (b browsers) Get(ctx context.Context, name string) (json.RawMessage, error) {
	kept, found, err := b.store.Setting(ctx, name)
	if err != nil || !found {
		return nil, err
	}
	return kept, nil
}

// Update implements oidc.Store.
func (b browsers) Update(ctx context.Context, name string, next func(kept json.RawMessage) (json.RawMessage, error)) error {
	_, err := b.store.UpdateSetting(ctx, metastore.Fence{}, name, nil, next)
	return err
}

// Delete implements oidc.Store.
func (b browsers) Delete(ctx context.Context, name string) error {
	_, err := b.store.DeleteSetting(ctx, metastore.Fence{}, name, nil)
	return err
}

// DeleteStale implements oidc.Store.
func (b browsers) DeleteStale(ctx context.Context, prefix string, before time.Time, most int) error {
	_, err := b.store.DeleteStaleSettings(ctx, metastore.Fence{}, prefix, before.UnixMilli(), most)
	return err
}

// providerWait is how long a start waits for the providers. Those that are away by then are found
// later.
const providerWait = 3 * time.Second

// find starts what discovers the providers and keeps their keys, and waits for them for a while.
func (t *tokens) find(ctx, background context.Context) {
	timer := t.n.o.Clock.NewTimer(providerWait)
	defer timer.Stop()
	for _, p := range t.providers {
		t.n.roles.Go(func() error { return p.Run(background) })
	}
	for _, p := range t.providers {
		select {
		case <-p.Found():
		case <-timer.C():
			return
		case <-ctx.Done():
			return
		}
	}
}

// open loads the keys, and starts what keeps them so. Each process reads the store itself.
func (t *tokens) open(ctx, background context.Context) error {
	for _, p := range t.providers {
		p.Open(browsers{t.n.store}, t.n.sealer)
	}
	t.find(ctx, background)
	if t.ring == nil {
		return nil
	}
	t.follower = basic.NewFollower(basic.FollowerOptions{
		Parts: []*basic.Part{t.ring.Part()}, Changed: t.n.store.SettingsChanged, Period: keyPoll, Clock: t.n.o.Clock, Log: t.n.o.Log,
		Fetch: func(ctx context.Context, _ *basic.Part, tag string) ([]byte, error) {
			text, err := t.keeper.Read(ctx)
			if err != nil || basic.Tag(text) == tag {
				return nil, err
			}
			return text, nil
		},
	})
	if err := t.follower.Refresh(ctx); err != nil {
		return err
	}
	t.n.roles.Go(func() error { return t.follower.Run(background) })
	t.n.roles.Go(func() error { return t.keeper.Run(background, t.n.o.Log) })
	return nil
}

// changed loads keys that an endpoint has changed, before it answers.
func (t *tokens) changed(ctx context.Context) {
	if err := t.follower.Refresh(ctx); err != nil {
		t.n.o.Log.WarnContext(ctx, "failed to read changed API keys; the next poll retries", "error", err)
	}
}

// routes adds the endpoints to a port's mux.
func (t *tokens) routes(mux *edge.Mux) {
	(&access.Keys{Keeper: t.keeper, Changed: t.changed, Clock: t.n.o.Clock}).Routes(mux)
	(&access.Login{Providers: t.providers}).Routes(mux)
}
