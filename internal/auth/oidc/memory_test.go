package oidc

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// memory is a store of sessions in memory.
type memory struct {
	clock clock.Clock
	mu    sync.Mutex
	kept  map[string]kept
	away  bool
}

type kept struct {
	text    json.RawMessage
	updated time.Time
}

// locked runs f on what is kept, unless the store is away.
func (m *memory) locked(f func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return fault.Unavailable("The store is away")
	}
	return f()
}

func (m *memory) Get(_ context.Context, name string) (text json.RawMessage, err error) {
	err = m.locked(func() error { text = m.kept[name].text; return nil })
	return text, err
}

func (m *memory) Update(_ context.Context, name string, next func(json.RawMessage) (json.RawMessage, error)) error {
	return m.locked(func() error {
		text, err := next(m.kept[name].text)
		if err == nil {
			m.kept[name] = kept{text, m.clock.Now()}
		}
		return err
	})
}

func (m *memory) Delete(_ context.Context, name string) error {
	return m.locked(func() error { delete(m.kept, name); return nil })
}

func (m *memory) DeleteStale(_ context.Context, prefix string, before time.Time, most int) error {
	return m.locked(func() error {
		var names []string
		for name := range m.kept {
			if strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Or(m.kept[b].updated.Compare(m.kept[a].updated), strings.Compare(a, b))
		})
		for i, name := range names {
			if i >= most || m.kept[name].updated.Before(before) {
				delete(m.kept, name)
			}
		}
		return nil
	})
}
