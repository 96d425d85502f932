package compact

import (
	"context"
	"encoding/json"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/supervisor"
)

// SupervisorType is the type of supervisors that contain the settings of a datasource.
const SupervisorType = "autocompact"

// Spec is the specification of such a supervisor.
type Spec struct {
	Config Config

	suspended bool
}

// ParseSpec parses the specification of a supervisor. It returns false if the supervisor has
// another type.
func ParseSpec(text json.RawMessage) (Spec, bool, error) {
	var w struct {
		Type      string          `json:"type"`
		Config    json.RawMessage `json:"spec"`
		Suspended bool            `json:"suspended"`
	}
	if err := jsontext.Read(text, &w); err != nil {
		return Spec{}, false, fault.InvalidInput("The supervisor specification is not readable: %v", err).WithCause(err)
	}
	if w.Type != SupervisorType {
		return Spec{}, false, nil
	}
	if isNull(w.Config) {
		return Spec{}, true, fault.InvalidInput("A supervisor of type [%s] needs a [spec]", SupervisorType)
	}
	s := Spec{Config: DefaultConfig(), suspended: w.Suspended}
	if err := jsontext.Read(w.Config, &s.Config); err != nil {
		if f := fault.Find(err); f != nil {
			return s, true, f
		}
		return s, true, fault.InvalidInput("The spec of a supervisor of type [%s] is not readable: %v", SupervisorType, err).WithCause(err)
	}
	return s, true, s.Config.Validate()
}

// SupervisorID returns the id of the supervisor of a datasource.
func SupervisorID(dataSource string) string { return SupervisorType + "__" + dataSource }

// MarshalJSON returns the specification with all members.
func (s Spec) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type      string `json:"type"`
		ID        string `json:"id"`
		Config    Config `json:"spec"`
		Suspended bool   `json:"suspended"`
	}{SupervisorType, SupervisorID(s.Config.DataSource), s.Config, s.suspended})
}

// ID implements supervisor.Spec.
func (s Spec) ID() string { return SupervisorID(s.Config.DataSource) }

// DataSources implements supervisor.Spec.
func (s Spec) DataSources() []string { return []string{s.Config.DataSource} }

// Source implements supervisor.Spec.
func (s Spec) Source() string { return "" }

// Suspended implements supervisor.Spec.
func (s Spec) Suspended() bool { return s.suspended }

// Suspend implements supervisor.Spec.
func (s Spec) Suspend(on bool) supervisor.Spec {
	s.suspended = on
	return s
}

// Kind implements the supervisors of type autocompact. The Scheduler does the actual work.
type Kind struct{ *Scheduler }

// Parse implements supervisor.Kind.
func (Kind) Parse(text json.RawMessage) (supervisor.Spec, error) {
	spec, _, err := ParseSpec(text)
	return spec, err
}

// Check implements supervisor.Kind.
func (k Kind) Check(ctx context.Context, spec supervisor.Spec) error {
	cluster, err := k.cluster(ctx)
	if err != nil {
		return err
	}
	config := spec.(Spec).Config
	if err := config.ValidateEngine(&cluster); err != nil {
		return fault.InvalidInput("Compaction supervisor spec is invalid. Reason[%s].", fault.Find(err).Message)
	}
	return nil
}

// State implements supervisor.Kind.
func (k Kind) State(ctx context.Context, spec supervisor.Spec) (supervisor.State, error) {
	cluster, err := k.cluster(ctx)
	if err != nil {
		return supervisor.State{}, err
	}
	config, state, healthy := spec.(Spec).Config, "RUNNING", true
	switch {
	case config.ValidateEngine(&cluster) != nil:
		state, healthy = "INVALID_SPEC", false
	case spec.Suspended():
		state = "SUSPENDED"
	case !cluster.UseSupervisors:
		state = "SCHEDULER_STOPPED"
	}
	return supervisor.State{State: state, Detailed: state, Healthy: healthy}, nil
}

// Changed implements supervisor.Kind.
func (k Kind) Changed(spec supervisor.Spec, ended bool) {
	if ended {
		k.Removed(spec.(Spec).Config.DataSource)
	}
	k.Nudge()
}

// Report implements supervisor.Reporter. It returns the snapshot of the datasource.
func (k Kind) Report(ctx context.Context, spec supervisor.Spec) (any, error) {
	dataSource := spec.(Spec).Config.DataSource
	list, err := k.Snapshots(ctx, dataSource)
	if err != nil || len(list) > 0 {
		return append(list, Snapshot{})[0], err
	}
	return Snapshot{DataSource: dataSource, ScheduleStatus: NotEnabled}, nil
}

// Reset implements supervisor.Resetter.
func (Kind) Reset(_ context.Context, spec supervisor.Spec) error {
	return fault.InvalidInput("Supervisor [%s] of type [%s] has nothing to reset", spec.ID(), SupervisorType)
}
