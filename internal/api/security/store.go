package security

import (
	"context"
	"encoding/json"

	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/metastore"
)

// store keeps the documents among the settings of the metastore.
type store struct{ *metastore.Store }

// NewStore returns the store of users and roles. Writes are fenced by the leadership of their
// context.
func NewStore(m *metastore.Store) basic.Store { return store{m} }

// Read implements basic.Store.
func (s store) Read(ctx context.Context, names ...string) ([]json.RawMessage, error) {
	return s.Settings(ctx, names...)
}

// Swap implements basic.Store.
func (s store) Swap(ctx context.Context, documents []basic.Document, change *basic.Change) (bool, error) {
	swaps := make([]metastore.SettingSwap, 0, len(documents))
	for _, d := range documents {
		swaps = append(swaps, metastore.SettingSwap(d))
	}
	var entry *metastore.AuditEntry
	if change != nil {
		entry = &metastore.AuditEntry{
			Type: change.Kind, Key: change.Key, Payload: change.Text, Author: change.By.Name, Identity: change.By.Identity,
			Comment: change.By.Comment, IP: change.By.Address, Request: change.By.Request,
		}
	}
	return s.SwapSettings(ctx, metastore.Fence{}, swaps, entry)
}
