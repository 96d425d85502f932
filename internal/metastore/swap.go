package metastore

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/hengedb/henge/internal/fault"
)

// Settings returns a consistent snapshot of some settings, in the order of their names; nil means
// that a setting was never set.
func (s *Store) Settings(ctx context.Context, names ...string) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(names))
	if len(names) == 0 {
		return out, nil
	}
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	found, err := s.read().payloads(ctx, "SELECT name, payload FROM settings WHERE name IN ("+marks(len(names))+")", args...)
	for i, name := range names {
		out[i] = found[name]
	}
	return out, err
}

// SettingSwap replaces the value of a setting if it is still the value that the caller has read.
type SettingSwap struct {
	Name string
	// Old is the value that the caller has read; nil: the setting was never set.
	Old, New json.RawMessage
}

// errSwapped undoes an operation whose caller has read old values.
var errSwapped = errors.New("a setting was changed meanwhile")

// SwapSettings makes several replacements in one transaction. If the value of any setting has
// changed, it changes nothing and returns false. The audit entry, if not nil, is written in the
// same transaction; its payload must be set.
func (s *Store) SwapSettings(ctx context.Context, fence Fence, swaps []SettingSwap, entry *AuditEntry) (swapped bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		for _, swap := range swaps {
			_, err := t.setPayload(ctx, fence, settingsTable, "name", swap.Name, nil, func(stored json.RawMessage) (json.RawMessage, error) {
				if string(stored) != string(swap.Old) {
					return nil, errSwapped
				}
				return swap.New, nil
			})
			if err != nil {
				return err
			}
		}
		if entry != nil && entry.Payload == "" {
			return fault.Defensive("An audit entry of type [%s] has no payload", entry.Type)
		}
		return t.audit(ctx, entry)
	})
	if errors.Is(err, errSwapped) {
		return false, nil
	}
	return err == nil, err
}
