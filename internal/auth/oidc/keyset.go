package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// algorithms are those of signatures that are taken. All need a private key: with a symmetric one
// the public key of the provider would do.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// keySet holds the keys of the provider. It takes the place of the one of go-oidc, which asks the
// provider once for each token with an unknown key, and keeps keys that the provider has withdrawn.
type keySet struct {
	url    string
	client *http.Client
	clock  clock.Clock
	// wake has the keys fetched.
	wake chan struct{}

	mu struct {
		sync.Mutex
		keys []jose.JSONWebKey
		err  error // of the last fetch
		// next is closed when a fetch has ended that begins from now on.
		next chan struct{}
	}
}

func newKeySet(url string, client *http.Client, c clock.Clock) *keySet {
	k := &keySet{url: url, client: client, clock: c, wake: make(chan struct{}, 1)}
	k.mu.next = make(chan struct{})
	k.mu.err = errors.New("not fetched yet")
	return k
}

// errSignature says that no key of the provider has made a signature.
var errSignature = errors.New("the signature is by no key of the provider")

// VerifySignature returns the payload of a token with a valid signature.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, err
	}
	if len(signed.Signatures) != 1 {
		return nil, errSignature
	}
	if payload, known := k.verify(signed); payload != nil {
		return payload, nil
	} else if known {
		return nil, errSignature
	}
	if err := k.await(ctx); err != nil {
		return nil, err
	}
	if payload, _ := k.verify(signed); payload != nil {
		return payload, nil
	}
	return nil, errSignature
}

// verify tries the keys that are known; known says that the one that the token names is among them.
func (k *keySet) verify(signed *jose.JSONWebSignature) (payload []byte, known bool) {
	header := signed.Signatures[0].Header
	k.mu.Lock()
	keys := k.mu.keys
	k.mu.Unlock()
	for i := range keys {
		key := &keys[i]
		if header.KeyID != "" && key.KeyID != header.KeyID || key.Use != "" && key.Use != "sig" ||
			key.Algorithm != "" && key.Algorithm != header.Algorithm || !key.IsPublic() {
			continue
		}
		known = known || header.KeyID != ""
		if payload, err := signed.Verify(key); err == nil {
			return payload, true
		}
	}
	return nil, known
}

// await waits for a fetch of the keys that begins from now on.
func (k *keySet) await(ctx context.Context) error {
	k.mu.Lock()
	next := k.mu.next
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default: // it is awake
	}
	ctx, cancel := context.WithTimeout(ctx, keysPause+fetchTime+time.Second)
	defer cancel()
	select {
	case <-next:
	case <-ctx.Done():
		return away(ctx.Err())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.err != nil {
		return away(k.mu.err)
	}
	return nil
}

// away is the fault of a provider that can't be reached.
func away(cause error) error {
	return fault.Unavailable("The provider of OpenID Connect can't be reached at the moment").WithCause(cause)
}

// run fetches the keys again when somebody asks for it, and when they are old, until ctx is done.
func (k *keySet) run(ctx context.Context) {
	for k.clock.Sleep(ctx, keysPause) == nil {
		timer := k.clock.NewTimer(keysAge)
		select {
		case <-k.wake:
		case <-timer.C():
		case <-ctx.Done():
		}
		timer.Stop()
		k.fetch(ctx)
	}
}

func (k *keySet) fetch(ctx context.Context) {
	k.mu.Lock()
	done := k.mu.next
	k.mu.next = make(chan struct{})
	k.mu.Unlock()
	keys, err := k.get(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.err = err; err == nil {
		k.mu.keys = keys
	}
	close(done)
}

func (k *keySet) get(ctx context.Context) ([]jose.JSONWebKey, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := k.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the keys of the provider: status %d", resp.StatusCode)
	}
	// A key of a kind that nobody knows must not hide the others.
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("the keys of the provider: %w", err)
	}
	var out []jose.JSONWebKey
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) == nil && key.Valid() {
			out = append(out, key)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the provider has no keys")
	}
	return out, nil
}
