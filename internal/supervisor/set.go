package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/timeline"
)

// Store is what a Set needs of the metastore.
type Store interface {
	PutSupervisor(ctx context.Context, fence metastore.Fence, version metastore.SupervisorVersion, entry *metastore.AuditEntry) error
	Supervisors(ctx context.Context) ([]metastore.SupervisorVersion, error)
	SupervisorHistory(ctx context.Context, id string) ([]metastore.SupervisorVersion, error)
	AllSupervisorHistory(ctx context.Context) ([]metastore.SupervisorVersion, error)
}

// Set is the supervisors of a cluster. Its methods are safe for use by many goroutines.
type Set struct {
	store Store
	kinds map[string]Kind
	// changing is held from the reading of a version to the writing of the one that follows it.
	changing sync.Mutex
}

// New returns the supervisors of a store, of the given kinds by type.
func New(store Store, kinds map[string]Kind) *Set { return &Set{store: store, kinds: kinds} }

// Supervisor is one of a Set.
type Supervisor struct {
	Spec
	Type string
	kind Kind
}

// State returns how it goes.
func (s *Supervisor) State(ctx context.Context) (State, error) { return s.kind.State(ctx, s.Spec) }

// Report returns what it has to tell; false if its kind has no reports.
func (s *Supervisor) Report(ctx context.Context) (report any, ok bool, err error) {
	r, ok := s.kind.(Reporter)
	if !ok {
		return nil, false, nil
	}
	report, err = r.Report(ctx, s.Spec)
	return report, true, err
}

// Reset makes it begin anew.
func (s *Supervisor) Reset(ctx context.Context) error {
	if r, ok := s.kind.(Resetter); ok {
		return r.Reset(ctx, s.Spec)
	}
	return nil
}

// specClass names specifications in refusals, where scripts look for it.
const specClass = "org.apache.druid.indexing.overlord.supervisor.SupervisorSpec"

// Stats returns the counters of its tasks; none if it has no tasks that count.
func (s *Supervisor) Stats(ctx context.Context) (any, error) {
	if k, ok := s.kind.(Statist); ok {
		return k.Stats(ctx, s.Spec)
	}
	return struct{}{}, nil
}

// ParseErrors returns the last rows of its stream that were none.
func (s *Supervisor) ParseErrors(ctx context.Context) (any, error) {
	if k, ok := s.kind.(Statist); ok {
		return k.ParseErrors(ctx, s.Spec)
	}
	return []struct{}{}, nil
}

// Positions returns where it is in its stream; false if it reads none.
func (s *Supervisor) Positions(ctx context.Context) (positions any, ok bool, err error) {
	k, ok := s.kind.(Positioner)
	if !ok {
		return nil, false, nil
	}
	positions, err = k.Positions(ctx, s.Spec)
	return positions, true, err
}

// ResetOffsets makes it go on elsewhere in its stream; one without a stream begins anew.
func (s *Supervisor) ResetOffsets(ctx context.Context, body json.RawMessage) error {
	if k, ok := s.kind.(OffsetResetter); ok {
		return k.ResetOffsets(ctx, s.Spec, body)
	}
	return s.Reset(ctx)
}

// CanHandOff reports whether it publishes when it is asked to, by HandOff.
func (s *Supervisor) CanHandOff() bool {
	_, ok := s.kind.(HandOffer)
	return ok
}

// HandOff has groups of its tasks publish.
func (s *Supervisor) HandOff(ctx context.Context, groups []int) error {
	if k, ok := s.kind.(HandOffer); ok {
		return k.HandOff(ctx, s.Spec, groups)
	}
	return nil
}

// maxSpecDepth bounds the nesting of specifications.
const maxSpecDepth = 200

func (s *Set) parse(text json.RawMessage) (*Supervisor, error) {
	if err := checkDepth(text); err != nil {
		return nil, err
	}
	var w struct {
		Type *string `json:"type"`
	}
	if err := jsontext.Unmarshal(text, &w); err != nil {
		return nil, fault.InvalidInput("The supervisor specification is not readable: %v", err).WithCause(err)
	}
	if w.Type == nil {
		return nil, fault.InvalidInput("Could not resolve subtype of [simple type, class %s]: missing type id property 'type'", specClass)
	}
	kind := s.kinds[*w.Type]
	if kind == nil {
		return nil, fault.UnknownSubtype(specClass, *w.Type, slices.Sorted(maps.Keys(s.kinds)))
	}
	spec, err := kind.Parse(text)
	if err != nil {
		return nil, err
	}
	return &Supervisor{Spec: spec, Type: *w.Type, kind: kind}, nil
}

func checkDepth(text json.RawMessage) error {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '{' || c == '['):
			if depth++; depth > maxSpecDepth {
				return fault.InvalidInput("The supervisor specification is nested more than [%d] deep", maxSpecDepth)
			}
		case !quoted && (c == '}' || c == ']'):
			depth--
		}
	}
	return nil
}

// Change says what Put did.
type Change struct {
	// Modified is whether the specification is another than before, or the first one. Restarted is
	// whether the supervisor begins anew with it.
	Modified, Restarted bool
}

// Put makes a supervisor of a specification, or gives a supervisor a new one. With keep nothing
// happens if it is the one that the supervisor has. The one that runs goes on if there is anything
// wrong with the new one.
func (s *Set) Put(ctx context.Context, text json.RawMessage, keep bool, entry func(id string) *metastore.AuditEntry) (*Supervisor, Change,
	error) {
	v, err := s.parse(text)
	if err != nil {
		return nil, Change{}, err
	}
	if secret.Check(text) != nil {
		if v, err = s.unmasked(ctx, v.ID(), text); err != nil {
			return nil, Change{}, err
		}
	}
	for _, name := range v.DataSources() {
		if refusal := timeline.DataSourceRefusal("dataSource", name); refusal != "" {
			return nil, Change{}, fault.InvalidInput("%s", refusal)
		}
	}
	if err := v.kind.Check(ctx, v.Spec); err != nil {
		return nil, Change{}, err
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	before, err := s.Find(ctx, v.ID())
	if err != nil {
		before = nil // what can't be read any more is replaced
	}
	change := Change{Modified: true, Restarted: true}
	if before != nil {
		if change.Modified, err = s.follow(v, before); err != nil {
			return nil, Change{}, err
		}
		if change.Restarted = change.Modified || !keep; !change.Restarted {
			return v, change, nil
		}
	}
	return v, change, s.write(ctx, v, entry)
}

// unmasked reads a specification that was shown, changed and sent back: the secrets that were
// masked are those of the version that is stored.
func (s *Set) unmasked(ctx context.Context, id string, text json.RawMessage) (*Supervisor, error) {
	versions, err := s.store.SupervisorHistory(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(versions) > 0 && !versions[0].Tombstone {
		if text, err = secret.Restore(text, versions[0].Payload); err != nil {
			return nil, fault.InvalidInput("The supervisor specification is not readable: %v", err).WithCause(err)
		}
	}
	if err := secret.Check(text); err != nil {
		return nil, err
	}
	return s.parse(text)
}

// follow has v come after another version, and reports whether it is different.
func (s *Set) follow(v, before *Supervisor) (modified bool, err error) {
	if shownType(v.Spec) != shownType(before.Spec) {
		return false, fault.InvalidInput("Cannot update supervisor [%s] of type [%s] to type [%s]: terminate it first, or use another [id]",
			v.ID(),
			before.Type, v.Type)
	}
	if u, ok := v.kind.(Updater); ok {
		if v.Spec, err = u.Update(before.Spec, v.Spec); err != nil {
			return false, err
		}
	}
	was, err := json.Marshal(before.Spec)
	if err != nil {
		return false, err
	}
	is, err := json.Marshal(v.Spec)
	return !bytes.Equal(was, is), err
}

// shownType is the type that a specification is shown with: several names may mean one type.
func shownType(spec Spec) string {
	var w struct {
		Type string `json:"type"`
	}
	text, err := json.Marshal(spec)
	if err != nil || json.Unmarshal(text, &w) != nil {
		return ""
	}
	return w.Type
}

// Backfill has a supervisor go on at the end of its stream, and makes another one that reads what
// lies between. Its kind must be a Backfiller.
func (s *Set) Backfill(ctx context.Context, v *Supervisor, tasks int, entry func(id string) *metastore.AuditEntry) (*Supervisor, error) {
	b, ok := v.kind.(Backfiller)
	if !ok {
		return nil, fault.InvalidInput("Supervisor [%s] of type [%s] does not support reset and backfill", v.ID(), v.Type)
	}
	spec, err := b.Backfill(ctx, v.Spec, tasks)
	if err != nil {
		return nil, err
	}
	made := &Supervisor{Spec: spec, Type: v.Type, kind: v.kind}
	return made, s.write(ctx, made, entry)
}

func (s *Set) write(ctx context.Context, v *Supervisor, entry func(id string) *metastore.AuditEntry) error {
	payload, err := json.Marshal(v.Spec)
	if err != nil {
		return fmt.Errorf("encoding supervisor [%s]: %w", v.ID(), err)
	}
	var audited *metastore.AuditEntry
	if entry != nil {
		audited = entry(v.ID())
		audited.Payload = string(payload)
	}
	if err := s.store.PutSupervisor(ctx, metastore.Fence{}, metastore.SupervisorVersion{ID: v.ID(), Payload: payload},
		audited); err != nil {
		return err
	}
	v.kind.Changed(v.Spec, false)
	return nil
}

// List returns the supervisors by id. One whose specification this release can't read is an error
// only for those who ask for it.
func (s *Set) List(ctx context.Context) ([]*Supervisor, error) {
	versions, err := s.store.Supervisors(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]*Supervisor, 0, len(versions))
	for _, version := range versions {
		if v, err := s.parse(version.Payload); err == nil {
			out = append(out, v)
		}
	}
	return out, nil
}

// Find returns a supervisor, nil if there is none.
func (s *Set) Find(ctx context.Context, id string) (*Supervisor, error) {
	versions, err := s.store.SupervisorHistory(ctx, id)
	if err != nil || len(versions) == 0 || versions[0].Tombstone {
		return nil, err
	}
	v, err := s.parse(versions[0].Payload)
	if err != nil {
		return nil, fmt.Errorf("reading supervisor [%s]: %w", id, err)
	}
	return v, nil
}

// Suspend flips the flag of a supervisor and returns it as it is then; nil if there is none. One
// that has the flag already is refused.
func (s *Set) Suspend(ctx context.Context, id string, on bool) (*Supervisor, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	v, err := s.Find(ctx, id)
	if err != nil || v == nil {
		return nil, err
	}
	if v.Suspended() == on {
		return nil, fault.InvalidInput("[%s] is already %s", id, map[bool]string{true: "suspended", false: "running"}[on])
	}
	next := *v
	next.Spec = v.Spec.Suspend(on)
	return &next, s.write(ctx, &next, nil)
}

// Terminate ends a supervisor and reports whether there was one.
func (s *Set) Terminate(ctx context.Context, id string, entry *metastore.AuditEntry) (bool, error) {
	v, err := s.Find(ctx, id)
	if err != nil || v == nil {
		return false, err
	}
	payload, err := json.Marshal(tombstone(v.DataSources()))
	if err != nil {
		return false, err
	}
	if entry != nil {
		entry.Payload = string(payload)
	}
	err = s.store.PutSupervisor(ctx, metastore.Fence{}, metastore.SupervisorVersion{ID: id, Payload: payload, Tombstone: true}, entry)
	if err != nil {
		return false, err
	}
	v.kind.Changed(v.Spec, true)
	return true, nil
}

// Version is a specification as it once was.
type Version struct {
	Spec json.RawMessage
	// Created is in milliseconds.
	Created int64
}

// History returns the versions of a supervisor, the newest first.
func (s *Set) History(ctx context.Context, id string) ([]Version, error) {
	versions, err := s.store.SupervisorHistory(ctx, id)
	return versionsOf(versions), err
}

// AllHistory returns the versions of all supervisors by id, the newest of each first.
func (s *Set) AllHistory(ctx context.Context) (map[string][]Version, error) {
	versions, err := s.store.AllSupervisorHistory(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string][]Version{}
	for i, v := range versionsOf(versions) {
		id := versions[i].ID
		out[id] = append(out[id], v)
	}
	return out, nil
}

func versionsOf(versions []metastore.SupervisorVersion) []Version {
	out := make([]Version, len(versions))
	for i, v := range versions {
		out[i] = Version{v.Payload, v.Created}
	}
	return out
}

// Read reads a specification without making a supervisor of it.
func (s *Set) Read(text json.RawMessage) (*Supervisor, error) { return s.parse(text) }

// DataSourcesOf returns the datasources that a version of a supervisor writes to; false: it can't
// be read any more.
func (s *Set) DataSourcesOf(text json.RawMessage) ([]string, bool) {
	v, err := s.parse(text)
	if err != nil {
		return nil, false
	}
	return v.DataSources(), true
}
