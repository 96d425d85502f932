package msq

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/plan/wire"
	"github.com/hengedb/henge/internal/vector"
)

// Follower runs parts of a job that another process controls, and stores their outputs until it is
// closed.
type Follower struct {
	c      *Controller
	read   ReadFrame
	served servedOutputs
}

// ReadFrame returns a frame of an output of another process, in buf if that is large enough.
// ErrPartLost means that the output is lost.
type ReadFrame func(ctx context.Context, at, id string, number int, buf []byte) ([]byte, error)

// Follow returns a Follower of a job. deps need only contain the dependencies of reading and of
// intermediate data. rows is the RowSource for PartJob.Rows, or nil.
func Follow(id string, options *Options, rows RowSource, deps Deps, read ReadFrame) (*Follower, error) {
	if deps.Clock == nil {
		deps.Clock = clock.System()
	}
	c := newController(&core{job: Job{ID: id, Plan: &plan.Inline{Rows: &vector.Batch{}}, Options: options, Rows: rows}, deps: deps, opts: options,
		sortBytes: deps.SortBytes})
	if c.sortBytes <= 0 {
		c.sortBytes = sortBufferBytes
	}
	if err := c.prepareFolder(); err != nil {
		return nil, err
	}
	return &Follower{c: c, read: read}, nil
}

// Do runs a part. Until it returns, it periodically calls progress with the counters, and with each
// finished segment, from other goroutines.
func (f *Follower) Do(ctx context.Context, p *Part, progress func(*PartProgress)) (*PartResult, error) {
	count := newCounters()
	var reads atomic.Pointer[RowWorker]
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer stop()
	watch.Go(func() {
		for f.c.deps.Clock.Sleep(watching, progressEvery) == nil {
			told := &PartProgress{Counters: count.state()}
			if w := reads.Load(); w != nil {
				told.Rows, _ = (*w).State(false) // the result tells all
			}
			progress(told)
		}
	})
	if p.Generate != nil {
		return f.generate(ctx, p, count, progress)
	}
	order, err := f.order(ctx, p)
	if err != nil {
		return nil, err
	}
	if order.rows != nil {
		reads.Store(&order.rows)
	}
	f.c.warnings.forget(warner{order.stage.number, order.id}) // of a run of the task before
	err = exec.Protect(func() error { return f.c.runWorker(ctx, order, count) })
	closeInputs(order.stage)
	if err != nil {
		return nil, err
	}
	o := order.stage.outputs()[order.worker]
	r := &PartResult{Output: partOutput{Rows: o.rows, Runs: o.runs, Key: o.key}, Counters: count.state(), Warnings: f.c.warnings.from(order)}
	if o.key == "" {
		r.Output.ID = f.served.add(o)
	}
	r.Output.Frames = sendFrames(o, nil)
	if order.write != nil {
		r.Observed = order.write.observed()
	}
	if order.rows != nil {
		if r.Rows, err = order.rows.State(true); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// closeInputs closes outputs that were opened to be read.
func closeInputs(s *stage) {
	for _, in := range s.inputs {
		if in.from != nil {
			for _, o := range in.from.outputs() {
				if o != nil {
					_ = o.close() // it was only read
				}
			}
		}
	}
}

// order makes the work order of a part.
func (f *Follower) order(ctx context.Context, p *Part) (*workOrder, error) {
	node, err := wire.Decode(p.Plan)
	if err != nil {
		return nil, err
	}
	plan.SetSubqueryPositions(node, p.Places)
	var leaves []plan.Node
	plan.Walk(node, func(n plan.Node) bool {
		if len(n.Inputs()) == 0 {
			leaves = append(leaves, n)
		}
		return true
	})
	if len(leaves) != len(p.Leaves) || !p.fits(len(node.Columns())) {
		return nil, errUnfitPart
	}
	s := &stage{number: p.Stage, node: node, columns: node.Columns(), inputs: make([]*input, len(p.Inputs)), durable: f.c.opts.DurableShuffle, shuffle: shuffle{
		kind: p.Shuffle.Kind, keys: p.Shuffle.Keys, partitions: p.Shuffle.Partitions, target: p.Shuffle.Target,
		order: sortOrder{columns: p.Shuffle.Columns, orders: p.Shuffle.Orders, bucketed: p.Shuffle.Bucketed, hashed: p.Shuffle.Hashed, boundary: p.Shuffle.Boundary},
	}}
	order := &workOrder{stage: s, worker: p.Worker, workers: p.Workers, id: p.ID, threads: max(1, p.Thread), external: make([]externalPart, len(p.Inputs)), slices: make([][]partSlice, len(p.Inputs)),
		dir: f.c.stageDir(s) + "-" + strconv.Itoa(p.Worker) + "-" + strconv.FormatInt(f.served.next(), 10)}
	for i, at := range p.Leaves {
		if at < 0 || at >= len(p.Inputs) || s.inputs[at] != nil {
			return nil, errUnfitPart
		}
		order.slices[at] = p.Inputs[at].Segments
		if s.inputs[at], err = f.input(ctx, &p.Inputs[at], leaves[i], &order.external[at]); err != nil {
			return nil, err
		}
	}
	if slices.Contains(s.inputs, nil) {
		return nil, errUnfitPart
	}
	s.begin(p.Workers, f.c.now())
	if f.c.job.Rows != nil && s.readsExternal() {
		order.rows = f.c.job.Rows.Worker(p.Worker)
	}
	switch {
	case p.Write != nil:
		w := &plan.Write{Input: node, PartitionBy: p.Write.PartitionBy, Hidden: p.Write.Hidden}
		s.columns = append([]plan.Column{longColumn(bucketColumn), longColumn(boostColumn)}, node.Columns()...)
		if p.Shuffle.Hashed {
			s.columns = append(s.columns, longColumn(hashColumn))
		}
		order.write = newWriteTarget(w, newChunker(w.PartitionBy, p.Write.Existing), f.c.opts.maxBuckets(), p.Write.Hash.hasher(timeColumn(w)), p.Write.Auto.values(), p.Worker, p.Workers)
	case p.Boosts:
		order.boosts = &boosts{next: int64(p.Worker), step: int64(p.Workers)}
	}
	return order, nil
}

var errUnfitPart = fault.Runtime("A part of a task that another process has sent can't be read")

func (f *Follower) input(ctx context.Context, p *partInput, leaf plan.Node, part *externalPart) (*input, error) {
	in := &input{kind: p.Kind, leaf: leaf, broadcast: p.Broadcast}
	if _, ok := leaf.(*plan.Scan); ok && p.Kind == tableInput && f.c.deps.Segments != nil {
		return in, nil
	}
	x, ok := leaf.(*plan.External)
	if !ok {
		return nil, errUnfitPart
	}
	if p.Kind == externalInput {
		var err error
		if part.table, err = f.c.job.table(x); err != nil {
			return nil, err
		}
		part.splits, err = p.splits(ctx, part.table, f.c.deps.Access)
		return in, err
	}
	if p.Partitions < 1 || p.Partitions > maxSentPartitions {
		return nil, errUnfitPart
	}
	in.from = &stage{shuffle: shuffle{kind: hashShuffle, partitions: p.Partitions}, columns: x.Out}
	in.from.begin(len(p.Outputs), f.c.now())
	for n := range p.Outputs {
		o, err := p.Outputs[n].open(ctx, f.read, f.c.deps.Store)
		if err != nil {
			return nil, err
		}
		in.from.setOutput(n, o)
	}
	return in, nil
}

// Job returns the id of the job.
func (f *Follower) Job() string { return f.c.job.ID }

// Frame returns a frame of an output of a part.
func (f *Follower) Frame(id string, number int) ([]byte, error) { return f.served.frame(id, number) }

// Close removes the outputs of the parts. No part may be running.
func (f *Follower) Close() error {
	f.served.close()
	return f.c.dropFolder()
}

// PartProgress contains the counters of a part, or a segment that it has built.
type PartProgress struct {
	Counters countersState
	// Rows is the state of the RowWorker of the part.
	Rows    json.RawMessage `json:",omitempty"`
	Segment *partSegment    `json:",omitempty"`
}

// servedOutputs are outputs of this process that others read.
type servedOutputs struct {
	mu struct {
		sync.RWMutex
		outputs map[string]*output
		number  int64
		closed  bool
	}
}

// next returns a number that no other call returns.
func (l *servedOutputs) next() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.number++
	return l.mu.number
}

// add returns the name of an output for others.
func (l *servedOutputs) add(o *output) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.id == "" {
		l.mu.number++
		o.id = strconv.FormatInt(l.mu.number, 10)
	}
	if l.mu.outputs == nil {
		l.mu.outputs = map[string]*output{}
	}
	l.mu.outputs[o.id] = o
	return o.id
}

// frame returns the bytes of a frame.
func (l *servedOutputs) frame(id string, number int) ([]byte, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	o := l.mu.outputs[id]
	if o == nil || l.mu.closed || number < 0 || number >= len(o.frames) {
		return nil, fault.NotFound("Output [%s] has no frame [%d]", id, number)
	}
	ref := &o.frames[number]
	if ref.batch != nil {
		return vector.AppendFrame(nil, ref.batch)
	}
	return o.readData(ref, nil)
}

func (l *servedOutputs) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.closed = true
	for _, o := range l.mu.outputs {
		_ = o.close() // the folder is removed next
	}
}
