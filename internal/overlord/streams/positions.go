package streams

import (
	"context"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/supervisor"
)

// positions is where a supervisor is in its stream, and what a reset would make of that.
//
//	earliest ───── published ───── current ───── latest
//	       │           └── records that tasks have read and not published: a reset drops them
//	       └── a reset goes to one of the ends, as useEarliestOffset says
type positions struct {
	Stream   string           `json:"stream"`
	Type     string           `json:"type"`
	Earliest stream.Positions `json:"earliestOffsets"`
	Latest   stream.Positions `json:"latestOffsets"`
	// Published are the positions from which on rows are not published: the stored positions,
	// otherwise the start positions of the first tasks.
	Published stream.Positions `json:"publishedOffsets"`
	// Current are the positions up to which tasks have read.
	Current stream.Positions `json:"currentOffsets"`
	// Reset are the positions at which reading continues after a reset.
	Reset stream.Positions `json:"resetOffsets"`
	// Skipped counts the records between the published positions and the positions after a reset,
	// which are never read. Again counts the published records that are read again. Neither contains
	// partitions whose stream does not count records.
	Skipped map[stream.Partition]int64 `json:"skippedByReset"`
	Again   map[stream.Partition]int64 `json:"readAgainByReset"`
}

// Positions implements supervisor.Positioner.
func (k Kind) Positions(ctx context.Context, s supervisor.Spec) (any, error) {
	keeper, err := k.keeper(s.ID())
	if err != nil {
		return nil, err
	}
	return keeper.streamPositions(ctx)
}

func (k *keeper) streamPositions(ctx context.Context) (*positions, error) {
	k.mu.Lock()
	v := k.mu.view
	k.mu.Unlock()
	s := k.spec()
	if v.source == nil || len(v.partitions) == 0 {
		return nil, fault.Unavailable("Supervisor [%s] has not connected to its stream yet; try again", s.ID())
	}
	out := &positions{Stream: s.IO.Source(), Type: s.Type, Skipped: map[stream.Partition]int64{}, Again: map[stream.Partition]int64{}}
	stored, err := k.stored(ctx)
	if err != nil {
		return nil, err
	}
	out.Published = k.storedOf(stored, v.partitions)
	out.Current = k.reached(ctx, v, k.positions(ctx, v))
	asked, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	for _, end := range []struct {
		ask func(context.Context, []stream.Partition) (stream.Positions, error)
		to  *stream.Positions
	}{{v.source.Earliest, &out.Earliest}, {v.source.Latest, &out.Latest}} {
		if *end.to, err = end.ask(asked, v.partitions); err != nil {
			return nil, fault.Unavailable("The ends of stream [%s] are not known: %v", s.IO.Source(), err).WithCause(err)
		}
	}
	for _, g := range v.groups {
		for p, at := range g.starts {
			if _, ok := out.Published[p]; !ok {
				out.Published[p] = at
			}
		}
	}
	out.Reset = out.Latest
	if s.IO.Earliest {
		out.Reset = out.Earliest
	}
	if s.Type != spec.Kinesis { // whose numbers count nothing
		out.compare(v.source)
	}
	return out, nil
}

// compare counts what lies between what is published and where a reset goes on.
func (o *positions) compare(source stream.Source) {
	for p, to := range o.Reset {
		at, ok := o.Published[p]
		if !ok || at == stream.Unset || to == stream.Unset {
			continue
		}
		n := distance(source, at, to)
		o.Skipped[p], o.Again[p] = max(0, n), max(0, -n)
	}
}
