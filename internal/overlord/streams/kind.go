package streams

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/supervisor"
)

// Kind implements the supervisors that read streams of one type.
type Kind struct {
	Stream  string
	Manager *Manager
}

// specification is a specification as package supervisor knows it.
type specification struct{ *spec.Stream }

// DataSources implements supervisor.Spec.
func (s specification) DataSources() []string { return []string{s.Schema.DataSource} }

// Source implements supervisor.Spec.
func (s specification) Source() string { return s.IO.Source() }

// Suspended implements supervisor.Spec.
func (s specification) Suspended() bool { return s.Stream.Suspended }

// Suspend implements supervisor.Spec.
func (s specification) Suspend(on bool) supervisor.Spec { return specification{s.Stream.Suspend(on)} }

// Parse implements supervisor.Kind.
func (k Kind) Parse(text json.RawMessage) (supervisor.Spec, error) {
	s, err := spec.ParseStream(k.Stream, text)
	if err != nil {
		return nil, err
	}
	return specification{s}, nil
}

// Check implements supervisor.Kind.
func (k Kind) Check(_ context.Context, s supervisor.Spec) error {
	if k.Manager.o.Check == nil {
		return nil
	}
	return k.Manager.o.Check(s.(specification).Stream)
}

// Update implements supervisor.Updater. The stream can't change, and a scaled number of task groups
// is kept.
func (k Kind) Update(before, next supervisor.Spec) (supervisor.Spec, error) {
	b, n := before.(specification), next.(specification)
	kept := b.IO.Stream.Pattern == n.IO.Stream.Pattern && b.IO.Stream.Name == n.IO.Stream.Name
	if !kept {
		return nil, fault.InvalidInput("Update of the input source stream from [%s] to [%s] is not supported for a running supervisor."+
			"\nTo perform the update safely, follow these steps:\n(1) Suspend this supervisor, reset its offsets and then terminate it. "+
			"\n(2) Create a new supervisor with the new input source stream.\nNote that doing the reset can cause data duplication or loss if "+
			"any topic used in the old supervisor is included in the new one too.", b.IO.Source(), n.IO.Source())
	}
	if s := n.IO.Scaler; s != nil && s.Enabled && s.Start == nil && b.IO.Scaler != nil && b.IO.Scaler.Enabled {
		tasks := max(s.Min, min(s.Max, b.IO.Tasks))
		return specification{n.WithTasks(tasks)}, nil
	}
	return next, nil
}

// State implements supervisor.Kind.
func (k Kind) State(_ context.Context, s supervisor.Spec) (supervisor.State, error) {
	d := pendingState
	if keeper := k.Manager.find(s.ID()); keeper != nil {
		d = keeper.state()
	}
	return supervisor.State{State: d.basic(), Detailed: string(d), Healthy: d.healthy()}, nil
}

// Changed implements supervisor.Kind.
func (k Kind) Changed(s supervisor.Spec, ended bool) {
	k.Manager.changed(s.(specification).Stream, ended)
}

// Report implements supervisor.Reporter.
func (k Kind) Report(_ context.Context, s supervisor.Spec) (any, error) {
	if keeper := k.Manager.find(s.ID()); keeper != nil {
		return keeper.report(), nil
	}
	return pendingReport(s.(specification).Stream), nil
}

// Stats implements supervisor.Statist.
func (k Kind) Stats(ctx context.Context, s supervisor.Spec) (any, error) {
	if keeper := k.Manager.find(s.ID()); keeper != nil {
		return keeper.stats(ctx), nil
	}
	return struct{}{}, nil
}

// ParseErrors implements supervisor.Statist.
func (k Kind) ParseErrors(ctx context.Context, s supervisor.Spec) (any, error) {
	if keeper := k.Manager.find(s.ID()); keeper != nil {
		return keeper.parseErrors(ctx), nil
	}
	return []struct{}{}, nil
}

// keeper returns the keeper of a supervisor that is to do something.
func (k Kind) keeper(id string) (*keeper, error) {
	if keeper := k.Manager.find(id); keeper != nil {
		return keeper, nil
	}
	return nil, fault.Unavailable("Supervisor [%s] does not run yet; try again", id)
}

// Reset implements supervisor.Resetter. It deletes the stored positions, and the supervisor starts
// again.
func (k Kind) Reset(ctx context.Context, s supervisor.Spec) error {
	keeper, err := k.keeper(s.ID())
	if err != nil {
		return err
	}
	return keeper.tell(ctx, keeper.reset)
}

// ResetOffsets implements supervisor.OffsetResetter.
func (k Kind) ResetOffsets(ctx context.Context, s supervisor.Spec, body json.RawMessage) error {
	to, err := k.readOffsets(s.(specification).Stream, body)
	if err != nil {
		return err
	}
	keeper, err := k.keeper(s.ID())
	if err != nil {
		return err
	}
	return keeper.tell(ctx, func(ctx context.Context) { keeper.resetOffsets(ctx, to) })
}

// readOffsets reads the body of a request that sets offsets.
func (k Kind) readOffsets(s *spec.Stream, body json.RawMessage) (stream.Positions, error) {
	var w struct {
		Type       string            `json:"type"`
		Partitions *stream.Sequences `json:"partitions"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		if f := fault.Find(err); f != nil {
			return nil, f
		}
		return nil, fault.InvalidInput("The offsets are not readable: [%s]", fault.JSONProblem(err))
	}
	switch p := w.Partitions; {
	case w.Type == "":
		return nil, fault.InvalidInput("missing type id property 'type'")
	case w.Type != k.Stream:
		return nil, fault.UnknownSubtype("org.apache.druid.indexing.overlord.DataSourceMetadata", w.Type, []string{k.Stream})
	case p == nil:
		return nil, fault.InvalidInput("The offsets have no [partitions]")
	case p.Kind != "" && p.Kind != stream.End:
		return nil, fault.InvalidInput("[partitions] of offsets are of type [%s], not [%s]", stream.End, p.Kind)
	case p.Stream != s.IO.Source():
		return nil, fault.InvalidInput("Stream[%s] doesn't exist in the supervisor[%s]. Supervisor is consuming stream[%s].", p.Stream, s.ID(),
			s.IO.Source())
	}
	for p := range w.Partitions.Positions {
		_, number := p.Split()
		if _, err := strconv.ParseInt(number, 10, 32); k.Stream == spec.Kafka && err != nil {
			return nil, fault.InvalidInput("For input string: \"%s\" (through reference chain: org.apache.druid.indexing.kafka."+
				"KafkaDataSourceMetadata[\"partitions\"]->org.apache.druid.indexing.seekablestream.SeekableStreamEndSequenceNumbers"+
				"[\"partitionOffsetMap\"])", p)
		}
	}
	return w.Partitions.Positions, nil
}

// HandOff implements supervisor.HandOffer. The groups roll over in the next run.
func (k Kind) HandOff(ctx context.Context, s supervisor.Spec, groups []int) error {
	keeper, err := k.keeper(s.ID())
	if err != nil {
		return err
	}
	return keeper.tell(ctx, func(ctx context.Context) {
		for _, id := range groups {
			keeper.handOff[id] = true
		}
		if !keeper.first {
			keeper.manage(ctx, false)
		}
	})
}

// reset forgets how far the supervisor has published and begins anew. What publishes goes on, and
// fails if it is late.
func (k *keeper) reset(ctx context.Context) {
	if _, err := k.o.Store.DeleteOffsets(ctx, metastore.Fence{}, k.spec().ID()); err != nil {
		k.meet(ctx, err)
		return
	}
	for id, g := range k.reading {
		k.stopAll(ctx, g, "its supervisor was reset")
		delete(k.reading, id)
	}
	clear(k.next)
	clear(k.rests)
	k.endStrangers(ctx, "its supervisor was reset")
	k.anew(ctx)
}

// resetOffsets goes on with some partitions somewhere else. Groups that don't have them are left
// alone.
func (k *keeper) resetOffsets(ctx context.Context, to stream.Positions) {
	if err := k.storeOffsets(ctx, to); err != nil {
		k.meet(ctx, err)
		return
	}
	k.endReading(ctx, to, "offsets of its partitions were set")
	for _, g := range k.pending {
		if g.overlaps(to) { // it can't publish any more
			k.stopAll(ctx, g, "offsets of its partitions were set")
		}
	}
	for p := range to {
		delete(k.next, p)
	}
	clear(k.rests)
	k.endStrangers(ctx, "offsets of its partitions were set")
	k.anew(ctx)
}

// endStrangers ends tasks of which nothing is known.
func (k *keeper) endStrangers(ctx context.Context, why string) {
	for id := range k.strange {
		k.kill(ctx, id, why)
		delete(k.strange, id)
	}
}

// anew makes what lacks at once.
func (k *keeper) anew(ctx context.Context) {
	if !k.first && k.source != nil {
		k.manage(ctx, false)
	}
}

// Backfill implements supervisor.Backfiller. The supervisor continues at the end of the stream, and
// another supervisor reads the records in between.
func (k Kind) Backfill(ctx context.Context, s supervisor.Spec, tasks int) (supervisor.Spec, error) {
	own := s.(specification).Stream
	switch concurrent, _ := spec.InContext[bool](own.Context, "useConcurrentLocks"); {
	case own.IO.Earliest:
		return nil, fault.InvalidInput("Reset with skipped offsets is not supported when useEarliestOffset is true.")
	case !concurrent:
		return nil, fault.InvalidInput("Backfill tasks require 'useConcurrentLocks' to be set to true in the supervisor context.")
	}
	keeper := k.Manager.find(s.ID())
	if keeper == nil || keeper.state() != runningState {
		return nil, fault.InvalidInput("Supervisor[%s] must be in a RUNNING state to perform a reset and backfill", s.ID())
	}
	if tasks <= 0 {
		tasks = own.IO.Tasks
	}
	var bounds *spec.Bounds
	var failure error
	if err := keeper.ask(ctx, func(ctx context.Context) { bounds, failure = keeper.skip(ctx) }); err != nil {
		return nil, err
	}
	if failure != nil {
		return nil, failure
	}
	return specification{own.WithID(s.ID()+"_backfill_"+letters(), bounds, tasks)}, nil
}

// letters are eight random ones.
func letters() string {
	text := strings.ToLower(rand.Text())
	out := []byte(text[:8])
	for i, c := range out {
		out[i] = 'a' + c%16
	}
	return string(out)
}

// skip moves the supervisor to the end of its stream and returns what it leaves out.
func (k *keeper) skip(ctx context.Context) (*spec.Bounds, error) {
	if k.source == nil || len(k.known) == 0 {
		return nil, fault.InvalidInput("Supervisor[%s] must be in a RUNNING state to perform a reset and backfill", k.spec().ID())
	}
	asked, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	latest, err := k.source.Latest(asked, k.known)
	if err != nil {
		return nil, fault.Unavailable("The end of stream [%s] is not known: %v", k.spec().IO.Source(), err).WithCause(err)
	}
	stored, err := k.stored(ctx)
	if err != nil {
		return nil, err
	}
	starts := k.storedOf(stored, k.known)
	for _, g := range k.reading { // where nothing was published yet
		for p, at := range g.starts {
			if _, ok := starts[p]; !ok {
				starts[p] = at
			}
		}
	}
	bounds := &spec.Bounds{Starts: stream.Positions{}, Ends: stream.Positions{}}
	for p, at := range starts {
		if end, ok := latest[p]; ok && k.compare(at, end) < 0 {
			bounds.Starts[p], bounds.Ends[p] = at, end
		}
	}
	k.resetOffsets(ctx, latest)
	return bounds, nil
}
