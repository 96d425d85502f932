package duty

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
)

// SettingName is the name of the Coordinator's dynamic configuration in the store, which is also
// its key and kind in the audit history.
const SettingName = "coordinator.config"

// Settings is the Coordinator's dynamic configuration: settings that can change while it runs. The
// API reads and writes it, duties apply it. SettingDocs describes each member.
type Settings struct {
	MillisToWaitBeforeDeleting     int64             `json:"millisToWaitBeforeDeleting"`
	MergeBytesLimit                int64             `json:"mergeBytesLimit"`
	MergeSegmentsLimit             int               `json:"mergeSegmentsLimit"`
	MaxSegmentsToMove              int               `json:"maxSegmentsToMove"`
	ReplicantLifetime              int               `json:"replicantLifetime"`
	ReplicationThrottleLimit       int               `json:"replicationThrottleLimit"`
	BalancerComputeThreads         int               `json:"balancerComputeThreads"`
	KillDataSourceWhitelist        NameSet           `json:"killDataSourceWhitelist"`
	KillTaskSlotRatio              float64           `json:"killTaskSlotRatio"`
	MaxKillTaskSlots               int               `json:"maxKillTaskSlots"`
	KillPendingSegmentsSkipList    NameSet           `json:"killPendingSegmentsSkipList"`
	MaxSegmentsInNodeLoadingQueue  int               `json:"maxSegmentsInNodeLoadingQueue"`
	DecommissioningNodes           NameSet           `json:"decommissioningNodes"`
	DecommissioningMaxPercent      int               `json:"decommissioningMaxPercentOfMaxSegmentsToMove"`
	PauseCoordination              bool              `json:"pauseCoordination"`
	ReplicateAfterLoadTimeout      bool              `json:"replicateAfterLoadTimeout"`
	MaxNonPrimaryReplicantsToLoad  int               `json:"maxNonPrimaryReplicantsToLoad"`
	UseRoundRobinSegmentAssignment bool              `json:"useRoundRobinSegmentAssignment"`
	SmartSegmentLoading            bool              `json:"smartSegmentLoading"`
	DebugDimensions                map[string]string `json:"debugDimensions"`
	TurboLoadingNodes              NameSet           `json:"turboLoadingNodes"`
	CloneServers                   map[string]string `json:"cloneServers"`
}

// DefaultSettings returns the default configuration.
func DefaultSettings() Settings {
	return Settings{
		MillisToWaitBeforeDeleting: 900_000, MergeBytesLimit: 524_288_000, MergeSegmentsLimit: 100, MaxSegmentsToMove: 100, ReplicantLifetime: 15,
		ReplicationThrottleLimit: 500, BalancerComputeThreads: max(1, budget.Cores()/2), KillDataSourceWhitelist: NameSet{},
		KillTaskSlotRatio: 0.1, MaxKillTaskSlots: math.MaxInt32, KillPendingSegmentsSkipList: NameSet{}, MaxSegmentsInNodeLoadingQueue: 500,
		DecommissioningNodes: NameSet{}, DecommissioningMaxPercent: 70, MaxNonPrimaryReplicantsToLoad: math.MaxInt32,
		UseRoundRobinSegmentAssignment: true, SmartSegmentLoading: true, TurboLoadingNodes: NameSet{}, CloneServers: map[string]string{},
	}
}

// Validate rejects values that are out of range, and replaces null by an empty list or object.
func (s *Settings) Validate() error {
	switch {
	case s.KillTaskSlotRatio < 0 || s.KillTaskSlotRatio > 1:
		return fault.InvalidInput("killTaskSlotRatio [%v] is invalid. It must be >= 0 and <= 1.", s.KillTaskSlotRatio)
	case s.MaxKillTaskSlots < 0:
		return fault.InvalidInput("maxKillTaskSlots [%d] is invalid. It must be >= 0.", s.MaxKillTaskSlots)
	case s.DecommissioningMaxPercent < 0 || s.DecommissioningMaxPercent > 100:
		return fault.InvalidInput("'decommissioningMaxPercentOfMaxSegmentsToMove' should be in range [0, 100]")
	case s.MaxNonPrimaryReplicantsToLoad < 0:
		return fault.InvalidInput("maxNonPrimaryReplicantsToLoad must be >= 0.")
	}
	s.BalancerComputeThreads = max(1, s.BalancerComputeThreads)
	for _, set := range []*NameSet{&s.KillDataSourceWhitelist, &s.KillPendingSegmentsSkipList, &s.DecommissioningNodes, &s.TurboLoadingNodes} {
		if *set == nil {
			*set = NameSet{}
		}
	}
	if s.CloneServers == nil {
		s.CloneServers = map[string]string{}
	}
	return nil
}

// smartLifetime is the lifetime of replicants with smartSegmentLoading: then queues are long.
const smartLifetime = 60

// Lifetime returns the number of periods that a segment may wait for loading by a server before a
// warning is logged.
func (s *Settings) Lifetime() int {
	if s.SmartSegmentLoading {
		return smartLifetime
	}
	return s.ReplicantLifetime
}

// SettingStore stores settings.
type SettingStore interface {
	Setting(ctx context.Context, name string) (json.RawMessage, bool, error)
}

// ReadSettings returns the stored dynamic configuration, with defaults for missing members.
func ReadSettings(ctx context.Context, store SettingStore) (Settings, error) {
	set := DefaultSettings()
	text, found, err := store.Setting(ctx, SettingName)
	if err != nil || !found {
		return set, err
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return set, fault.Defensive("The Coordinator's dynamic configuration can't be read").WithCause(err)
	}
	return set, nil
}

// NameSet is a list of names. In JSON it is an array or a comma-separated string.
type NameSet []string

// UnmarshalJSON parses both forms and removes duplicates. Null leaves the set unchanged.
func (s *NameSet) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	var joined string
	var names []string
	if json.Unmarshal(text, &joined) == nil {
		names = strings.Split(joined, ",")
		for i := range names {
			names[i] = strings.TrimSpace(names[i])
		}
	} else if err := json.Unmarshal(text, &names); err != nil {
		return err
	}
	*s = NameSet{}
	for _, name := range names {
		if name != "" && !slices.Contains(*s, name) {
			*s = append(*s, name)
		}
	}
	return nil
}
