package basic

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// Store stores documents by name. It is safe for concurrent use.
type Store interface {
	// Read returns documents as of one instant; nil for a document that was never written.
	Read(ctx context.Context, names ...string) ([]json.RawMessage, error)
	// Swap replaces documents, all or none, if they are unchanged since they were read, and otherwise
	// returns false. It writes change to the audit history in the same transaction; nil: no entry.
	Swap(ctx context.Context, documents []Document, change *Change) (bool, error)
}

// Document is a stored value, as it was read and as it will be written.
type Document struct {
	Name     string
	Old, New json.RawMessage
}

// Change is the audit entry of a write.
type Change struct {
	// Kind is "basic.authenticator" or "basic.authorizer", Key the name of the changed authenticator
	// or authorizer.
	Kind, Key string
	// Text describes the change, without secrets.
	Text string
	By   *Author
}

// Author is the author of a change.
type Author struct {
	Identity, Name, Comment, Address string
	// Request describes the HTTP request in JSON.
	Request json.RawMessage
}

// keeper changes documents, one change at a time in this process.
type keeper struct {
	store Store
	clock clock.Clock
	kind  string
	name  string
	keys  []string

	writing sync.Mutex
}

// edit is a change of documents.
type edit struct {
	by *Author // nil: no audit entry is written
	// text is for the audit history, what for who loses against others again and again: "create
	// user[bob]".
	text, what string
	// decode reads what is stored, and change works on that and returns what is to be stored.
	decode func([]json.RawMessage) error
	change func() ([]any, error)
}

// update makes an edit. It tries again when another process was faster.
func (k *keeper) update(ctx context.Context, e edit) error {
	for range swapTries {
		if swapped, err := k.try(ctx, e); swapped || err != nil {
			return err
		}
		if err := k.clock.Sleep(ctx, rand.N(swapPause)); err != nil {
			return err
		}
	}
	return fault.Runtime("Could not %s due to concurrent update contention.", e.what)
}

func (k *keeper) try(ctx context.Context, e edit) (swapped bool, err error) {
	k.writing.Lock()
	defer k.writing.Unlock()
	stored, err := k.store.Read(ctx, k.keys...)
	if err != nil {
		return false, err
	}
	if err := e.decode(stored); err != nil {
		return false, err
	}
	values, err := e.change()
	if err != nil {
		return false, err
	}
	documents := make([]Document, 0, len(values))
	for i, v := range values {
		text, err := jsontext.Marshal(v)
		if err != nil {
			return false, err
		}
		documents = append(documents, Document{Name: k.keys[i], Old: stored[i], New: text})
	}
	var entry *Change
	if e.by != nil {
		entry = &Change{Kind: k.kind, Key: k.name, Text: e.text, By: e.by}
	}
	return k.store.Swap(ctx, documents, entry)
}

// decodeMap reads a stored map; nothing stored is an empty one.
func decodeMap[T any](text json.RawMessage, name string) (map[string]T, error) {
	out := map[string]T{}
	if len(text) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fault.Runtime("The stored value of [%s] can't be read", name).WithCause(err)
	}
	if out == nil { // JSON null
		out = map[string]T{}
	}
	return out, nil
}

// jitter returns a random part of a delay.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d)
}
