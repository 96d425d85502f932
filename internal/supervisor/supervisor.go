package supervisor

import (
	"context"
	"encoding/json"
)

// Spec is what a supervisor is asked to do. It is immutable.
type Spec interface {
	ID() string
	// DataSources are what it writes to.
	DataSources() []string
	// Source names what it reads from.
	Source() string
	Suspended() bool
	// Suspend returns the specification with the flag; one that can't be suspended is returned as it
	// is.
	Suspend(on bool) Spec
	// MarshalJSON writes it in full, with its type.
	json.Marshaler
}

// State is how a supervisor goes.
type State struct {
	// State is one of a few words that all kinds share, Detailed one of its own.
	State, Detailed string
	Healthy         bool
}

// Kind knows one type of supervisor. Its methods are called from several goroutines.
type Kind interface {
	// Parse reads a specification; its fault is for the author.
	Parse(text json.RawMessage) (Spec, error)
	// Check tests a new specification against the cluster as it is now.
	Check(ctx context.Context, spec Spec) error
	State(ctx context.Context, spec Spec) (State, error)
	// Changed is called after a specification was written, or its supervisor was ended.
	Changed(spec Spec, ended bool)
}

// Reporter is a Kind whose supervisors have more to tell than their state.
type Reporter interface {
	// Report returns what is shown as the payload of a status.
	Report(ctx context.Context, spec Spec) (any, error)
}

// Resetter is a Kind that says itself what it means to begin anew. Of others nothing is kept, and
// so nothing is reset.
type Resetter interface {
	Reset(ctx context.Context, spec Spec) error
}

// Updater is a Kind that has a say in how a specification follows another.
type Updater interface {
	// Update returns the specification that comes after before, or a fault for the author of next.
	Update(before, next Spec) (Spec, error)
}

// Statist is a Kind whose supervisors have tasks that count what they read.
type Statist interface {
	// Stats returns the counters of the tasks by group, ParseErrors the last rows that were none.
	Stats(ctx context.Context, spec Spec) (any, error)
	ParseErrors(ctx context.Context, spec Spec) (any, error)
}

// Positioner is a Kind whose supervisors read a stream, and know where in it they are.
type Positioner interface {
	// Positions returns how far the stream goes and was read, and what a reset would make of that.
	Positions(ctx context.Context, spec Spec) (any, error)
}

// OffsetResetter is a Kind whose supervisors go on elsewhere in their stream.
type OffsetResetter interface {
	// ResetOffsets takes the body of the request.
	ResetOffsets(ctx context.Context, spec Spec, body json.RawMessage) error
}

// HandOffer is a Kind whose supervisors publish when they are asked to.
type HandOffer interface {
	HandOff(ctx context.Context, spec Spec, groups []int) error
}

// Backfiller is a Kind whose supervisors can leave out what they have not read yet.
type Backfiller interface {
	// Backfill goes on at the end of the stream and returns the specification of a supervisor that
	// reads, once, what was left out; tasks is how many groups that has, 0: as many.
	Backfill(ctx context.Context, spec Spec, tasks int) (Spec, error)
}
