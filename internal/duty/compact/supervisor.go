package compact

import (
	"encoding/json"

	"github.com/hengedb/henge/internal/fault"
)

// SupervisorType is the type of supervisors that hold the settings of a datasource.
const SupervisorType = "autocompact"

// Spec is such a supervisor.
type Spec struct {
	Config    Config
	Suspended bool
}

// ParseSpec reads the specification of a supervisor; false: it is of another type.
func ParseSpec(text json.RawMessage) (Spec, bool, error) {
	var w struct {
		Type      string          `json:"type"`
		Config    json.RawMessage `json:"spec"`
		Suspended bool            `json:"suspended"`
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return Spec{}, false, fault.InvalidInput("The supervisor specification is not readable: %v", err).WithCause(err)
	}
	if w.Type != SupervisorType {
		return Spec{}, false, nil
	}
	if isNull(w.Config) {
		return Spec{}, true, fault.InvalidInput("A supervisor of type [%s] needs a [spec]", SupervisorType)
	}
	s := Spec{Config: DefaultConfig(), Suspended: w.Suspended}
	if err := json.Unmarshal(w.Config, &s.Config); err != nil {
		if f := fault.Find(err); f != nil {
			return s, true, f
		}
		return s, true, fault.InvalidInput("The spec of a supervisor of type [%s] is not readable: %v", SupervisorType, err).WithCause(err)
	}
	return s, true, s.Config.Validate()
}

// SupervisorID is the id of the supervisor of a datasource.
func SupervisorID(dataSource string) string { return SupervisorType + "__" + dataSource }

// MarshalJSON writes the specification in full.
func (s Spec) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type      string `json:"type"`
		ID        string `json:"id"`
		Config    Config `json:"spec"`
		Suspended bool   `json:"suspended"`
	}{SupervisorType, SupervisorID(s.Config.DataSource), s.Config, s.Suspended})
}
