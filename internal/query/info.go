package query

import (
	"encoding/json"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// wireInfo is an Info between processes: of its end there is what users are told.
type wireInfo struct {
	plainInfo
	State string `json:"state"`
	Error string `json:"error,omitempty"`
}

// plainInfo is an Info that does not write itself.
type plainInfo Info

// MarshalJSON writes the JSON that Brokers exchange.
func (i Info) MarshalJSON() ([]byte, error) {
	w := wireInfo{plainInfo: plainInfo(i), State: i.State()}
	w.SQL = secret.MaskSQL(i.SQL)
	if i.Err != nil {
		w.Error = fault.Classify(i.Err).Message
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads the JSON that Brokers exchange.
func (i *Info) UnmarshalJSON(text []byte) error {
	var w wireInfo
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*i = Info(w.plainInfo)
	i.Ended = w.State != stateRunning
	switch w.State {
	case stateCanceled:
		i.Err = fault.Canceled("%s", w.Error)
	case stateFailed:
		i.Err = fault.Runtime("%s", w.Error)
	}
	return nil
}
