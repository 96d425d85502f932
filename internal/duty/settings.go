package duty

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
)

// Settings are those of the Coordinator that duties obey; they change while it runs.
type Settings struct {
	// Pause holds every duty.
	Pause bool `json:"pauseCoordination"`
	// Wait is how long after the start overshadowed segments stay in use, in milliseconds: a Coordinator that has just begun may not yet
	// know of all that happened before.
	Wait int64 `json:"millisToWaitBeforeDeleting"`
	// KillDataSources are those whose unused segments are deleted; none is all.
	KillDataSources []string `json:"killDataSourceWhitelist"`
	// KillSlotRatio and MaxKillSlots bound the tasks that do so.
	KillSlotRatio float64 `json:"killTaskSlotRatio"`
	MaxKillSlots  int     `json:"maxKillTaskSlots"`
	// KeepPending are the datasources whose promised segments stay.
	KeepPending []string `json:"killPendingSegmentsSkipList"`
}

// SettingStore keeps settings.
type SettingStore interface {
	Setting(ctx context.Context, name string) (json.RawMessage, bool, error)
}

// ReadSettings reads them as they are now.
func ReadSettings(ctx context.Context, store SettingStore) (Settings, error) {
	set := Settings{Wait: 900_000, KillSlotRatio: 0.1, MaxKillSlots: math.MaxInt32}
	text, found, err := store.Setting(ctx, "coordinator.config")
	if err != nil || !found {
		return set, err
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return set, fmt.Errorf("reading the Coordinator's settings: %w", err)
	}
	return set, nil
}
