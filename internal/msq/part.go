package msq

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/plan/wire"
	"github.com/hengedb/henge/internal/vector"
)

// Part is a work order for another process: the work of one worker in one stage, with all required
// data.
type Part struct {
	ID                             string // of the worker
	Stage, Worker, Workers, Thread int
	// Plan is the fragment as package wire writes it; Leaves are the inputs of its leaves, in the
	// order of plan.Walk.
	Plan    []byte
	Places  []fault.Span `json:",omitempty"` // plan.SubqueryPositions of it
	Leaves  []int
	Inputs  []partInput
	Shuffle partShuffle
	// Write: the rows are written to segments later. Boosts: the rows only get a number.
	Write  *partWrite `json:",omitempty"`
	Boosts bool       `json:",omitempty"`
	// Generate is a part that builds segments; it does not have a plan.
	Generate *partGenerate `json:",omitempty"`
}

type partInput struct {
	Kind      inputKind
	Broadcast bool        `json:",omitempty"`
	Splits    []partSplit `json:",omitempty"`
	Segments  []partSlice `json:",omitempty"`
	// Partitions and Outputs are of another stage's rows.
	Partitions int          `json:",omitempty"`
	Outputs    []partOutput `json:",omitempty"`
}

// partSplit names a split of external data. Name and Size tell whether it is still the same file.
type partSplit struct {
	File        int
	Name        string
	Size        int64
	Offset, End int64
}

type partShuffle struct {
	Kind       shuffleKind
	Keys       []int
	Partitions int
	Columns    []int
	Orders     []vector.Order
	Bucketed   bool
	Hashed     bool `json:",omitempty"`
	Boundary   int
	Target     int64
}

type partWrite struct {
	PartitionBy chrono.Granularity
	Existing    []Existing `json:",omitempty"`
	Hidden      int
	Hash        *partHash `json:",omitempty"`
	Auto        *partAuto `json:",omitempty"`
}

// partOutput is what a worker wrote, wherever that is.
type partOutput struct {
	// At is the process that has it, ID its name there; Key is its place in deep storage instead.
	At     string `json:",omitempty"`
	ID     string `json:",omitempty"`
	Key    string `json:",omitempty"`
	Rows   int64
	Runs   int
	Frames []partFrame
}

// partFrame is a frameRef.
type partFrame struct {
	Number, Length, Rows, Partition, Run int
	Offset                               int64
	First, Boundary                      []byte    `json:",omitempty"`
	Bucket                               int64     `json:",omitempty"`
	Start                                []*string `json:",omitempty"`
}

// PartResult is the result of a part.
type PartResult struct {
	Output   partOutput
	Observed *observed `json:"Learnt,omitempty"`
	Counters countersState
	Warnings partWarnings
	// Rows is what the part's RowWorker has counted.
	Rows json.RawMessage `json:",omitempty"`
	// Segments are the segments that were built, Shuffle the amount that was read from each output.
	Segments []partSegment  `json:",omitempty"`
	Shuffle  []channelState `json:",omitempty"`
}

// partWarnings are those of one worker.
type partWarnings struct {
	Total int64
	Kept  []*sentFault
}

// sentFault is a Fault on its way between processes.
type sentFault struct {
	Code, Message string
	Fields        []Field
	Stage         int
	Worker, Trace string
	Category      fault.Category
	Persona       fault.Persona
}

// EncodeFault encodes the failure of a part.
func EncodeFault(ctx context.Context, err error) (json.RawMessage, error) {
	return json.Marshal(sendFault(toFault(ctx, err)))
}

// DecodeFault decodes the failure of a part.
func DecodeFault(text json.RawMessage) error {
	var s sentFault
	if err := json.Unmarshal(text, &s); err != nil {
		return fault.Unavailable("What another worker says of its failure can't be read").WithCause(err)
	}
	f := s.fault()
	switch f.Code {
	case partLost:
		f.cause = ErrPartLost
	case workerFailed:
		f.cause = errPeerLost
	}
	return f
}

func sendFault(f *Fault) *sentFault {
	return &sentFault{f.Code, f.Message, f.Fields, f.Stage, f.Worker, f.Trace, f.category, f.persona}
}

func (s *sentFault) fault() *Fault {
	return &Fault{Code: s.Code, Message: s.Message, Fields: s.Fields, Stage: s.Stage, Worker: s.Worker, Trace: s.Trace, category: s.Category, persona: s.Persona}
}

// mayLeave reports whether the work of a stage can be done in another process: external data,
// segments and what other stages have written can be had from there.
func (ps *peers) mayLeave(s *stage) bool {
	return !s.single && s.node != nil && !slices.ContainsFunc(s.inputs, func(in *input) bool {
		return in.kind != externalInput && (in.kind != tableInput || ps.deps.Segments == nil) && (in.kind != stageInput || in.from.shuffle.kind == sortedShuffle || in.from.shuffle.kind == rangeShuffle)
	})
}

// part makes a work order ready to be sent.
func (ps *peers) part(order *workOrder) (*Part, error) {
	s := order.stage
	p := &Part{
		ID: order.id, Stage: s.number, Worker: order.worker, Workers: order.workers, Thread: order.threads, Boosts: order.boosts != nil,
		Shuffle: sendShuffle(&s.shuffle),
	}
	if w := ps.job.write(); order.write != nil {
		p.Write = &partWrite{PartitionBy: w.PartitionBy, Existing: order.write.chunks.existing, Hidden: w.Hidden}
		order.write.send(p.Write)
	}
	var err error
	if p.Plan, err = wire.Encode(s.node); err != nil {
		return nil, err
	}
	p.Places = plan.SubqueryPositions(s.node)
	plan.Walk(s.node, func(n plan.Node) bool {
		if len(n.Inputs()) == 0 {
			p.Leaves = append(p.Leaves, slices.IndexFunc(s.inputs, func(in *input) bool { return in.leaf == n }))
		}
		return true
	})
	if slices.Contains(p.Leaves, -1) {
		return nil, fault.Defensive("Stage [%d] has a leaf that is not one of its inputs", s.number)
	}
	for i, in := range s.inputs {
		pi := partInput{Kind: in.kind, Broadcast: in.broadcast, Splits: sendSplits(order.external[i].splits)}
		if in.kind == tableInput {
			pi.Segments = order.slices[i]
		}
		if in.kind == stageInput {
			pi.Partitions = in.from.shuffle.partitions
			for _, o := range in.from.outputs() {
				mine := func(f *frameRef) bool { return in.broadcast || f.partition%order.workers == order.worker }
				pi.Outputs = append(pi.Outputs, ps.sendOutput(o, mine))
			}
		}
		p.Inputs = append(p.Inputs, pi)
	}
	return p, nil
}

func sendShuffle(s *shuffle) partShuffle {
	return partShuffle{s.kind, s.keys, s.partitions, s.order.columns, s.order.orders, s.order.bucketed, s.order.hashed, s.order.boundary, s.target}
}

// sendOutput describes an output to another process, with the frames that it is to read.
func (ps *peers) sendOutput(o *output, wanted func(*frameRef) bool) partOutput {
	sent := partOutput{At: o.at, Key: o.key, Rows: o.rows, Runs: o.runs, Frames: sendFrames(o, wanted)}
	if o.at == "" && o.key == "" {
		sent.At, sent.ID = ps.session.Self(), ps.served.add(o) // several workers may be the first that it is sent to
	} else {
		sent.ID = o.id
	}
	return sent
}

// sendFrames describes the frames of an output that are wanted; wanted may be nil: all.
func sendFrames(o *output, wanted func(*frameRef) bool) []partFrame {
	var out []partFrame
	for i := range o.frames {
		f := &o.frames[i]
		if wanted != nil && !wanted(f) {
			continue
		}
		number := i
		if o.remote != nil {
			number = f.number
		}
		out = append(out, partFrame{
			Number: number, Length: f.length, Rows: f.rows, Partition: f.partition, Run: f.run, Offset: f.offset, First: f.first, Boundary: f.boundary,
			Bucket: f.bucket, Start: f.start,
		})
	}
	return out
}

// open makes an output of what another process has, or has put into deep storage.
func (p *partOutput) open(ctx context.Context, read ReadFrame, store deepstore.Store) (*output, error) {
	o := &output{at: p.At, id: p.ID, key: p.Key, rows: p.Rows, runs: p.Runs, drop: func() error { return nil }}
	for _, f := range p.Frames {
		o.frames = append(o.frames, frameRef{
			number: f.Number, offset: f.Offset, length: f.Length, rows: f.Rows, partition: f.Partition, run: f.Run, first: f.First, boundary: f.Boundary,
			bucket: f.Bucket, start: f.Start,
		})
	}
	if p.Key == "" {
		o.remote = func(number int, buf []byte) ([]byte, error) { return read(ctx, p.At, p.ID, number, buf) }
		return o, nil
	}
	object, err := store.Open(ctx, p.Key)
	if err != nil {
		return nil, fmt.Errorf("opening the output [%s]: %w", p.Key, err)
	}
	o.data, o.drop = object, object.Close
	return o, nil
}

// maxSentPartitions bounds what is believed of partitions.
const maxSentPartitions = 1 << 20

// fits reports whether what a part says of its output can be true of rows with so many columns.
func (p *Part) fits(columns int) bool {
	if p.Write != nil {
		if !p.Write.fits(columns, p.Shuffle.Hashed) {
			return false
		}
		if columns += preparedColumns; p.Shuffle.Hashed {
			columns++
		}
	} else if p.Boosts {
		columns++
	}
	outside := func(i int) bool { return i < 0 || i >= columns }
	s := &p.Shuffle
	switch {
	case p.Worker < 0 || p.Worker >= p.Workers || p.Workers > maxWorkers || s.Partitions < 0 || s.Partitions > maxSentPartitions,
		slices.ContainsFunc(s.Keys, outside) || slices.ContainsFunc(s.Columns, outside),
		len(s.Orders) != len(s.Columns) || s.Boundary < 0 || s.Boundary > len(s.Columns) || s.Bucketed && len(s.Columns) < 2:
		return false
	}
	switch s.Kind {
	case mixShuffle, hashShuffle:
		return s.Partitions > 0
	case sortedShuffle: // also by nothing: rows as they come
		return true
	case rangeShuffle:
		return len(s.Columns) > 0
	}
	return false
}

// splits finds the splits of a part among the files that there are.
func (p *partInput) splits(ctx context.Context, table *ingest.Table, access *ingest.Access) ([]ingest.Split, error) {
	if len(p.Splits) == 0 {
		return nil, nil
	}
	entities, err := table.Source.List(ctx, access)
	if err != nil {
		return nil, err
	}
	out := make([]ingest.Split, len(p.Splits))
	for i, s := range p.Splits {
		if s.File < 0 || s.File >= len(entities) || entities[s.File].Name() != s.Name || entities[s.File].Size() != s.Size {
			return nil, unseen(s.Name)
		}
		out[i] = ingest.Split{Entity: entities[s.File], File: s.File, Offset: s.Offset, End: s.End}
	}
	return out, nil
}
