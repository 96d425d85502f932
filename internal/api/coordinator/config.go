package coordinator

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
)

// The names of settings in the store, which are also their key and kind in the audit history.
const (
	SettingCoordinator = "coordinator.config"
	settingWorker      = "worker.config"
)

func (a *API) configRoutes(mux routes) {
	const config, worker = coordinatorBase + "/config", overlordBase + "/worker"
	dynamicRoutes(a, mux, config, SettingCoordinator, defaultDynamic, true)
	mux.On("GET "+worker, func(w http.ResponseWriter, r *http.Request) error {
		c := defaultWorkers()
		if err := a.setting(r, settingWorker, &c); err != nil {
			return err
		}
		return write(w, c)
	})
	mux.On("POST "+worker, a.setWorkers)
	mux.On("GET "+worker+"/history", func(w http.ResponseWriter, r *http.Request) error {
		return a.history(w, r, settingWorker, settingWorker)
	})
	// There is no autoscaler, and so no events of one.
	mux.On("GET "+overlordBase+"/scaling", func(w http.ResponseWriter, _ *http.Request) error { return empty(w, http.StatusOK) })
}

// setting reads a stored setting over the defaults in v.
func (a *API) setting(r *http.Request, name string, v any) error {
	text, found, err := a.store.Setting(r.Context(), name)
	if err != nil || !found {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("reading setting [%s]: %w", name, err)
	}
	return nil
}

// nameSet is a list of names, read from an array or from text with commas.
type nameSet []string

// UnmarshalJSON reads both forms, each name once. Null leaves the set as it is.
func (s *nameSet) UnmarshalJSON(text []byte) error {
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
	*s = nameSet{}
	for _, name := range names {
		if name != "" && !slices.Contains(*s, name) {
			*s = append(*s, name)
		}
	}
	return nil
}

// dynamic is the Coordinator's settings that change while it runs. Those the reference no longer knows are kept for clients that set them.
type dynamic struct {
	MillisToWaitBeforeDeleting     int64             `json:"millisToWaitBeforeDeleting"`
	MergeBytesLimit                int64             `json:"mergeBytesLimit"`
	MergeSegmentsLimit             int               `json:"mergeSegmentsLimit"`
	MaxSegmentsToMove              int               `json:"maxSegmentsToMove"`
	ReplicantLifetime              int               `json:"replicantLifetime"`
	ReplicationThrottleLimit       int               `json:"replicationThrottleLimit"`
	BalancerComputeThreads         int               `json:"balancerComputeThreads"`
	KillDataSourceWhitelist        nameSet           `json:"killDataSourceWhitelist"`
	KillTaskSlotRatio              float64           `json:"killTaskSlotRatio"`
	MaxKillTaskSlots               int               `json:"maxKillTaskSlots"`
	KillPendingSegmentsSkipList    nameSet           `json:"killPendingSegmentsSkipList"`
	MaxSegmentsInNodeLoadingQueue  int               `json:"maxSegmentsInNodeLoadingQueue"`
	DecommissioningNodes           nameSet           `json:"decommissioningNodes"`
	DecommissioningMaxPercent      int               `json:"decommissioningMaxPercentOfMaxSegmentsToMove"`
	PauseCoordination              bool              `json:"pauseCoordination"`
	ReplicateAfterLoadTimeout      bool              `json:"replicateAfterLoadTimeout"`
	MaxNonPrimaryReplicantsToLoad  int               `json:"maxNonPrimaryReplicantsToLoad"`
	UseRoundRobinSegmentAssignment bool              `json:"useRoundRobinSegmentAssignment"`
	SmartSegmentLoading            bool              `json:"smartSegmentLoading"`
	DebugDimensions                map[string]string `json:"debugDimensions"`
	TurboLoadingNodes              nameSet           `json:"turboLoadingNodes"`
	CloneServers                   map[string]string `json:"cloneServers"`
}

func defaultDynamic() dynamic {
	return dynamic{
		MillisToWaitBeforeDeleting: 900_000, MergeBytesLimit: 524_288_000, MergeSegmentsLimit: 100, MaxSegmentsToMove: 100, ReplicantLifetime: 15,
		ReplicationThrottleLimit: 500, BalancerComputeThreads: max(1, budget.Cores()/2), KillDataSourceWhitelist: nameSet{},
		KillTaskSlotRatio: 0.1, MaxKillTaskSlots: math.MaxInt32, KillPendingSegmentsSkipList: nameSet{}, MaxSegmentsInNodeLoadingQueue: 500,
		DecommissioningNodes: nameSet{}, DecommissioningMaxPercent: 70, MaxNonPrimaryReplicantsToLoad: math.MaxInt32,
		UseRoundRobinSegmentAssignment: true, SmartSegmentLoading: true, TurboLoadingNodes: nameSet{}, CloneServers: map[string]string{},
	}
}

func (d *dynamic) validate() error {
	switch {
	case d.KillTaskSlotRatio < 0 || d.KillTaskSlotRatio > 1:
		return fault.InvalidInput("killTaskSlotRatio [%v] is invalid. It must be >= 0 and <= 1.", d.KillTaskSlotRatio)
	case d.MaxKillTaskSlots < 0:
		return fault.InvalidInput("maxKillTaskSlots [%d] is invalid. It must be >= 0.", d.MaxKillTaskSlots)
	case d.DecommissioningMaxPercent < 0 || d.DecommissioningMaxPercent > 100:
		return fault.InvalidInput("'decommissioningMaxPercentOfMaxSegmentsToMove' should be in range [0, 100]")
	case d.MaxNonPrimaryReplicantsToLoad < 0:
		return fault.InvalidInput("maxNonPrimaryReplicantsToLoad must be >= 0.")
	}
	d.BalancerComputeThreads = max(1, d.BalancerComputeThreads)
	for _, set := range []*nameSet{&d.KillDataSourceWhitelist, &d.KillPendingSegmentsSkipList, &d.DecommissioningNodes, &d.TurboLoadingNodes} {
		if *set == nil {
			*set = nameSet{}
		}
	}
	if d.CloneServers == nil {
		d.CloneServers = map[string]string{}
	}
	return nil
}

// workers is how tasks choose their worker.
type workers struct {
	Type       string          `json:"type"`
	Strategy   *strategy       `json:"selectStrategy"`
	AutoScaler json.RawMessage `json:"autoScaler"`
}

type strategy struct {
	Type         string          `json:"type"`
	Affinity     *affinity       `json:"affinityConfig"`
	CategorySpec json.RawMessage `json:"workerCategorySpec,omitempty"`
	Limits       *taskLimits     `json:"taskLimits"`
}

type affinity struct {
	Affinity map[string][]string `json:"affinity"`
	Strong   bool                `json:"strong"`
}

type taskLimits struct {
	Count map[string]int     `json:"maxSlotCountByType"`
	Ratio map[string]float64 `json:"maxSlotRatioByType"`
}

func defaultWorkers() workers {
	c := workers{Type: "default"}
	c.fill()
	return c
}

// fill puts defaults where nothing is.
func (c *workers) fill() {
	if c.Strategy == nil {
		c.Strategy = &strategy{Type: "equalDistribution"}
	}
	if c.Strategy.Limits == nil {
		c.Strategy.Limits = &taskLimits{}
	}
	if c.Strategy.Limits.Count == nil {
		c.Strategy.Limits.Count = map[string]int{}
	}
	if c.Strategy.Limits.Ratio == nil {
		c.Strategy.Limits.Ratio = map[string]float64{}
	}
}

// valid reports whether the settings are of a kind that is known. Strategies in a scripting language are not.
func (c *workers) valid() bool {
	if c.Type != "default" {
		return false
	}
	if c.Strategy == nil {
		return true
	}
	switch c.Strategy.Type {
	case "equalDistribution", "fillCapacity", "equalDistributionWithCategorySpec", "fillCapacityWithCategorySpec":
		return true
	}
	return false
}

// setWorkers replaces the settings as a whole; what can't be read is answered with 400 and nothing else.
func (a *API) setWorkers(w http.ResponseWriter, r *http.Request) error {
	text, err := a.body(w, r)
	if err != nil {
		return err
	}
	var c workers
	if isNothing(text) || json.Unmarshal(text, &c) != nil || !c.valid() {
		return empty(w, http.StatusBadRequest)
	}
	c.fill()
	stored, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, err = a.store.SetSetting(r.Context(), metastore.Fence{}, settingWorker, stored, Audit(r, settingWorker, settingWorker))
	if err != nil {
		return err
	}
	return empty(w, http.StatusOK)
}
