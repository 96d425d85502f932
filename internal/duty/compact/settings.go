package compact

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/hengedb/henge/internal/fault"
)

// SettingName is the name of the setting in the store, and its key and kind in the audit history.
const SettingName = "coordinator.compaction.config"

// Settings contains the stored settings: the settings of the cluster and of each datasource, in the
// order in which they were first set.
type Settings struct {
	Configs []Config `json:"compactionConfigs"`
	Cluster
}

// The engines that run compaction tasks.
const (
	EngineNative = "native"
	EngineMSQ    = "msq"
)

// Cluster contains the settings that apply to all datasources.
type Cluster struct {
	SlotRatio         float64 `json:"compactionTaskSlotRatio"`
	MaxSlots          int     `json:"maxCompactionTaskSlots"`
	UseAutoScaleSlots bool    `json:"useAutoScaleSlots"`
	Policy            Policy  `json:"compactionPolicy"`
	// UseSupervisors reads the settings of datasources from supervisors of type autocompact instead of
	// Settings.Configs.
	UseSupervisors bool   `json:"useSupervisors"`
	Engine         string `json:"engine"`
}

// Default returns the default settings of a cluster.
func Default() Settings {
	return Settings{Configs: []Config{}, Cluster: Cluster{
		SlotRatio: 0.1, MaxSlots: math.MaxInt32, Policy: Policy{Type: newestSegmentFirst}, Engine: EngineNative,
	}}
}

// ParseStored parses the stored setting; nil means the defaults.
func ParseStored(text json.RawMessage) (Settings, error) {
	s := Default()
	if text == nil {
		return s, nil
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("reading setting [%s]: %w", SettingName, err)
	}
	return s, nil
}

// Find returns the index of the settings of a datasource, or -1 if it has none.
func (s *Settings) Find(dataSource string) int {
	return slices.IndexFunc(s.Configs, func(c Config) bool { return c.DataSource == dataSource })
}

// Validate returns a fault if the settings are invalid.
func (c *Cluster) Validate() error {
	switch {
	case c.SlotRatio < 0 || math.IsNaN(c.SlotRatio):
		return fault.InvalidInput("compactionTaskSlotRatio [%v] must not be negative", c.SlotRatio)
	case c.MaxSlots < 0:
		return fault.InvalidInput("maxCompactionTaskSlots [%d] must not be negative", c.MaxSlots)
	case c.Engine != EngineNative && c.Engine != EngineMSQ:
		return fault.InvalidInput("Compaction engine [%s] is unknown; use native or msq", c.Engine)
	case c.Engine == EngineMSQ && !c.UseSupervisors:
		return fault.InvalidInput("MSQ Compaction engine can be used only with compaction supervisors.")
	}
	return c.Policy.validate()
}

// slots is how many task slots compaction may take of a capacity. 0 is compaction turned off.
func (c *Cluster) slots(capacity int) int {
	if c.MaxSlots == 0 {
		return 0
	}
	return max(1, int(min(math.Floor(float64(capacity)*c.SlotRatio), float64(c.MaxSlots))))
}
