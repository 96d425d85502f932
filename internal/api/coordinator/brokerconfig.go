package coordinator

import (
	"encoding/json"
	"net/http"

	"github.com/hengedb/henge/internal/api/query"
	"github.com/hengedb/henge/internal/metastore"
)

// SettingBroker is the name of the Brokers' dynamic configuration in the store, which is also its key and kind in the audit history.
const SettingBroker = "broker.config"

// brokerConfig is what all Brokers obey (spec/cluster.md, section 14.3).
type brokerConfig struct {
	Blocklist []query.BlockRule `json:"queryBlocklist"`
	// Context and Timeouts are kept for clients that set them.
	Context  map[string]any `json:"queryContext"`
	Timeouts map[string]any `json:"perSegmentTimeoutConfig"`
}

func (c *brokerConfig) validate() error {
	for i := range c.Blocklist {
		if err := c.Blocklist[i].Validate(); err != nil {
			return err
		}
	}
	if c.Blocklist == nil {
		c.Blocklist = []query.BlockRule{}
	}
	if c.Context == nil {
		c.Context = map[string]any{}
	}
	if c.Timeouts == nil {
		c.Timeouts = map[string]any{}
	}
	return nil
}

func (a *API) brokerConfigRoutes(mux routes) {
	const path = coordinatorBase + "/broker/config"
	mux.On("GET "+path, func(w http.ResponseWriter, r *http.Request) error {
		var c brokerConfig
		if err := a.setting(r, SettingBroker, &c); err != nil {
			return err
		}
		if err := c.validate(); err != nil {
			return err
		}
		return write(w, c)
	})
	mux.On("POST "+path, a.setBrokerConfig)
	mux.On("GET "+path+"/history", func(w http.ResponseWriter, r *http.Request) error {
		return a.history(w, r, SettingBroker, SettingBroker)
	})
}

// setBrokerConfig replaces the configuration.
func (a *API) setBrokerConfig(w http.ResponseWriter, r *http.Request) error {
	text, err := a.body(w, r)
	switch {
	case err != nil:
		return err
	case isNothing(text):
		return refuse(w, http.StatusBadRequest, "The body must be an object of settings")
	}
	_, err = a.store.UpdateSetting(r.Context(), metastore.Fence{}, SettingBroker, Audit(r, SettingBroker, SettingBroker),
		func(json.RawMessage) (json.RawMessage, error) {
			var c brokerConfig
			if err := decode(text, &c); err != nil {
				return nil, err
			}
			if err := c.validate(); err != nil {
				return nil, err
			}
			return json.Marshal(c)
		})
	if err != nil {
		return refuseInput(w, err)
	}
	return empty(w, http.StatusOK)
}
