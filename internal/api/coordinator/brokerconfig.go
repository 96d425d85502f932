package coordinator

import (
	"github.com/hengedb/henge/internal/query"
)

// SettingBroker is the name of the Brokers' dynamic configuration in the store, which is also its
// key and kind in the audit history.
const SettingBroker = "broker.config"

// brokerConfig is what all Brokers obey.
type brokerConfig struct {
	Blocklist []query.BlockRule `json:"queryBlocklist"`
	// Context and Timeouts are kept for clients that set them.
	Context  map[string]any `json:"queryContext"`
	Timeouts map[string]any `json:"perSegmentTimeoutConfig"`
}

func (c *brokerConfig) Validate() error {
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
	dynamicRoutes(a, mux, coordinatorBase+"/broker/config", SettingBroker, func() brokerConfig { return brokerConfig{} }, false)
}
