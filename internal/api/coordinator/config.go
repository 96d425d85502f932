package coordinator

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/metastore"
)

// settingWorker is the name of the worker settings in the store, which is also their key and kind
// in the audit history.
const settingWorker = "worker.config"

func (a *API) configRoutes(mux routes) {
	const config, worker = coordinatorBase + "/config", overlordBase + "/worker"
	dynamicRoutes(a, mux, config, duty.SettingName, duty.DefaultSettings, true)
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

// valid reports whether the settings are of a kind that is known. Strategies in a scripting
// language are not.
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

// setWorkers replaces the settings as a whole; what can't be read is answered with 400 and nothing
// else.
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
