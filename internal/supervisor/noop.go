package supervisor

import (
	"context"
	"encoding/json"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// The types of supervisors that do nothing: what clients write, and what answers show.
const (
	NoopType  = "NoopSupervisorSpec"
	noopShown = "noop"
)

// Noop is the kind of supervisors that do nothing. Others turn into one when they end.
type Noop struct{}

type noopSpec struct {
	id          *string
	dataSources []string
}

// tombstone is the last version of a supervisor.
func tombstone(dataSources []string) Spec { return noopSpec{dataSources: dataSources} }

func (s noopSpec) ID() string {
	if s.id == nil {
		return ""
	}
	return *s.id
}

func (s noopSpec) DataSources() []string { return s.dataSources }
func (s noopSpec) Source() string        { return noopShown }
func (s noopSpec) Suspended() bool       { return false }
func (s noopSpec) Suspend(bool) Spec     { return s }

func (s noopSpec) MarshalJSON() ([]byte, error) {
	dataSources := s.dataSources
	if dataSources == nil {
		dataSources = []string{}
	}
	return json.Marshal(struct {
		Type        string   `json:"type"`
		ID          *string  `json:"id"`
		DataSources []string `json:"dataSources"`
		Suspended   bool     `json:"suspended"`
		Source      string   `json:"source"`
	}{noopShown, s.id, dataSources, false, noopShown})
}

// Parse implements Kind.
func (Noop) Parse(text json.RawMessage) (Spec, error) {
	var w struct {
		ID          *string  `json:"id"`
		DataSources []string `json:"dataSources"`
	}
	if err := jsontext.Read(text, &w); err != nil {
		return nil, fault.InvalidInput("The supervisor specification is not readable: %v", err).WithCause(err)
	}
	if w.ID == nil || *w.ID == "" {
		if len(w.DataSources) == 0 || w.DataSources[0] == "" {
			return nil, fault.InvalidInput("A supervisor of type [%s] needs an [id] or [dataSources]", NoopType)
		}
		w.ID = &w.DataSources[0]
	}
	return noopSpec{w.ID, w.DataSources}, nil
}

// Check implements Kind.
func (Noop) Check(context.Context, Spec) error { return nil }

// State implements Kind.
func (Noop) State(context.Context, Spec) (State, error) {
	return State{State: "RUNNING", Detailed: "RUNNING", Healthy: true}, nil
}

// Changed implements Kind.
func (Noop) Changed(Spec, bool) {}
