package msq

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// partGenerate is the segments that another process builds: partitions of sorted rows, and how they
// become columns.
type partGenerate struct {
	Order       partShuffle
	Outputs     []partOutput
	Columns     []partColumn
	From        []int
	Sort        []string
	Multi       []bool
	Handling    []MultiValue
	Rollup      bool
	Granularity string
	Compaction  json.RawMessage `json:",omitempty"`
	// Auto are types of columns by time chunk.
	Auto  map[int64]map[int]string `json:",omitempty"`
	Plans []partPlan
}

type partColumn struct {
	Name, Type     string
	Multi, NoIndex bool
	Metric         string
}

// partPlan is a segmentPlan.
type partPlan struct {
	Number int
	Lo, Hi []byte // null: open
	Bucket int64
	Rows   int64
	ID     timeline.SegmentID
	Shard  json.RawMessage
}

// partSegment is what a segment has come to.
type partSegment struct {
	Number     int
	Columns    []timeline.Column
	LoadSpec   json.RawMessage
	Size, Rows int64
	Times      [2]int64 // from, to
}

// generateAt builds the segments of a worker, here or in another process.
func (c *Controller) generateAt(ctx context.Context, order *workOrder, count *counters, g *generation) error {
	if c.peers.session == nil {
		return c.traced(ctx, order, func(ctx context.Context) error { return c.generate(ctx, order, count, g) })
	}
	return c.ledger.attempts(ctx, order, func(ctx context.Context) error {
		return c.traced(ctx, order, func(ctx context.Context) error {
			if h := c.peers.peerFor(order, c.ledger.attempt(order.worker)); h != nil {
				return c.generateRemote(ctx, order, h, count, g)
			}
			return c.generate(ctx, order, count, g)
		})
	}, func() {
		c.publisher.givenUp(g.plans, g.numbers)
		count.reset()
		order.id = c.ledger.workerID(order.worker)
	})
}

// generateRemote has another process build the segments of a worker.
func (c *Controller) generateRemote(ctx context.Context, order *workOrder, h Peer, count *counters, g *generation) error {
	from := order.stage.inputs[0].from
	p := &Part{ID: order.id, Stage: order.stage.number, Worker: order.worker, Workers: order.workers, Thread: order.threads, Generate: g.send(&from.shuffle)}
	numbers := slices.DeleteFunc(slices.Clone(g.numbers), g.built)
	for _, n := range numbers {
		plan := &g.plans[n]
		shard, err := timeline.MarshalShardSpec(plan.shard)
		if err != nil {
			return fmt.Errorf("encoding the shard spec of segment [%s]: %w", plan.id, err)
		}
		p.Generate.Plans = append(p.Generate.Plans, partPlan{n, plan.partition.lo, plan.partition.hi, plan.partition.bucket, plan.partition.rows, plan.id, shard})
	}
	maps.DeleteFunc(p.Generate.Auto, func(bucket int64, _ map[int]string) bool {
		return !slices.ContainsFunc(p.Generate.Plans, func(p partPlan) bool { return p.Bucket == bucket })
	})
	outputs := from.outputs()
	for _, o := range outputs {
		mine := g.frames(o)
		p.Generate.Outputs = append(p.Generate.Outputs, c.peers.sendOutput(o, func(f *frameRef) bool { return mine[f] }))
	}
	unfit := false
	built := func(s *partSegment) {
		switch {
		case !slices.Contains(numbers, s.Number):
			unfit = true
		case !g.built(s.Number):
			g.done(s.Number, c.publisher.segmentOf(g, s))
		}
	}
	r, err := ask(ctx, order, h, p, count, built)
	if err != nil {
		return err
	}
	for i, ch := range r.Shuffle {
		if i < len(outputs) {
			for n := range min(len(ch.Rows), len(ch.Bytes), len(ch.Frames)) {
				from.counterOf(outputs[i]).flow("shuffle", n, ch.Rows[n], ch.Bytes[n], ch.Frames[n])
			}
		}
	}
	for i := range r.Segments {
		built(&r.Segments[i])
	}
	if unfit || slices.ContainsFunc(numbers, func(n int) bool { return !g.built(n) }) {
		return peerLost(order, h.Name(), errUnfitPart)
	}
	return nil
}

// segmentOf describes a segment that another process has built, or another run.
func (pub *publisher) segmentOf(g *generation, s *partSegment) *timeline.Segment {
	if key, err := pub.deps.Store.Key(s.LoadSpec); err == nil {
		pub.pushing(key)
	}
	plan := &g.plans[s.Number]
	seg := &timeline.Segment{
		ID: plan.id, Shard: plan.shard, Schema: timeline.NewSchema(s.Columns), Size: s.Size, Rows: s.Rows,
		Times: chrono.Interval{Start: s.Times[0], End: s.Times[1]}, BinaryVersion: timeline.BinaryVersion,
	}
	seg.Locate(s.LoadSpec)
	if g.layout.compaction != nil {
		seg.Details = &timeline.Details{LastCompactionState: g.layout.compaction}
	}
	return seg
}

// sendSegment describes a segment that was built.
func sendSegment(number int, s *timeline.Segment) partSegment {
	return partSegment{number, s.Schema.Columns, s.LoadSpec(), s.Size, s.Rows, [2]int64{s.Times.Start, s.Times.End}}
}

// send describes how rows become segments.
func (g *generation) send(s *shuffle) *partGenerate {
	l := g.layout
	p := &partGenerate{
		Order: partShuffle{Columns: s.order.columns, Orders: s.order.orders, Bucketed: s.order.bucketed, Boundary: s.order.boundary},
		From:  l.from, Sort: l.sort, Multi: l.multi, Handling: l.handling, Rollup: l.rollup, Granularity: l.granularity, Compaction: l.compaction,
	}
	for _, c := range l.columns {
		p.Columns = append(p.Columns, partColumn{c.Name, c.Type.String(), c.Multi, c.NoIndex, c.Metric})
	}
	for bucket, types := range l.auto {
		names := map[int]string{}
		for at, t := range types {
			names[at] = t.String()
		}
		if p.Auto == nil {
			p.Auto = map[int64]map[int]string{}
		}
		p.Auto[bucket] = names
	}
	return p
}

// frames returns the frames of an output that may have rows of the partitions.
func (g *generation) frames(o *output) map[*frameRef]bool {
	out := map[*frameRef]bool{}
	for from := 0; from < len(o.frames); {
		to := from
		for to < len(o.frames) && o.frames[to].run == o.frames[from].run {
			to++
		}
		for _, n := range g.numbers {
			frames := inRange(o.frames[from:to], g.plans[n].partition.lo, g.plans[n].partition.hi)
			for i := range frames {
				out[&frames[i]] = true
			}
		}
		from = to
	}
	return out
}

// generation returns the segments that a part is to build.
func (p *partGenerate) generation() (*generation, error) {
	g := &generation{layout: &layout{
		from: p.From, sort: p.Sort, multi: p.Multi, handling: p.Handling, rollup: p.Rollup, granularity: p.Granularity, compaction: p.Compaction,
	}}
	if n := len(p.Columns); n == 0 || len(p.From) != n || len(p.Multi) != n || len(p.Handling) != n || len(p.Order.Columns) == 0 ||
		len(p.Order.Orders) != len(p.Order.Columns) {
		return nil, errUnfitPart
	}
	for _, c := range p.Columns {
		kind, err := vector.ParseType(c.Type)
		if err != nil {
			return nil, errUnfitPart
		}
		g.layout.columns = append(g.layout.columns, segment.ColumnSpec{Name: c.Name, Type: kind, Multi: c.Multi, Metric: c.Metric, NoIndex: c.NoIndex})
	}
	for bucket, names := range p.Auto {
		types := map[int]vector.Type{}
		for at, name := range names {
			kind, err := vector.ParseType(name)
			if err != nil {
				return nil, errUnfitPart
			}
			types[at] = kind
		}
		if g.layout.auto == nil {
			g.layout.auto = map[int64]map[int]vector.Type{}
		}
		g.layout.auto[bucket] = types
	}
	for i := range p.Plans {
		plan := &p.Plans[i]
		if plan.Number < 0 || plan.Number > maxSentPartitions || slices.Contains(g.numbers, plan.Number) {
			return nil, errUnfitPart
		}
		shard, err := timeline.ParseShardSpec(plan.Shard)
		if err != nil {
			return nil, err
		}
		g.numbers = append(g.numbers, plan.Number)
		for len(g.plans) <= plan.Number {
			g.plans = append(g.plans, segmentPlan{})
		}
		g.plans[plan.Number] = segmentPlan{partition{lo: plan.Lo, hi: plan.Hi, bucket: plan.Bucket, rows: plan.Rows}, plan.ID, shard}
	}
	return g, nil
}

// generate builds the segments of a part, and tells of each: those that are there when it fails are
// the asker's.
func (f *Follower) generate(ctx context.Context, p *Part, count *counters, progress func(*PartProgress)) (*PartResult, error) {
	g, err := p.Generate.generation()
	if err != nil {
		return nil, err
	}
	order := &workOrder{
		worker: p.Worker, workers: p.Workers, id: p.ID, threads: max(1, p.Thread), stage: &stage{number: p.Stage, inputs: []*input{{kind: stageInput, from: &stage{
			shuffle: shuffle{kind: rangeShuffle, order: sortOrder{
				columns: p.Generate.Order.Columns, orders: p.Generate.Order.Orders, bucketed: p.Generate.Order.Bucketed, boundary: p.Generate.Order.Boundary,
			}},
		}}}},
	}
	order.dir = f.c.stageDir(order.stage) + "-" + strconv.Itoa(p.Worker) + "-" + strconv.FormatInt(f.served.next(), 10)
	from := order.stage.inputs[0].from
	taken := from.begin(len(p.Generate.Outputs), f.c.now())
	defer closeInputs(order.stage)
	for n := range p.Generate.Outputs {
		o, err := p.Generate.Outputs[n].open(ctx, f.read, f.c.deps.Store)
		if err != nil {
			return nil, err
		}
		from.setOutput(n, o)
	}
	r := &PartResult{}
	var mu sync.Mutex
	g.done = func(number int, s *timeline.Segment) {
		mu.Lock()
		defer mu.Unlock()
		s1 := sendSegment(number, s)
		r.Segments = append(r.Segments, s1)
		progress(&PartProgress{Segment: &s1})
	}
	g.built = func(int) bool { return false }
	if err := exec.Protect(func() error { return f.c.generate(ctx, order, count, g) }); err != nil {
		return nil, err
	}
	r.Counters = count.state()
	for _, n := range taken {
		r.Shuffle = append(r.Shuffle, n.state().Channels["shuffle"])
	}
	return r, nil
}
