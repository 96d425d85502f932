package msq

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// Controller runs one job: it divides the plan into stages, sends work orders to workers, and
// publishes their segments. Report may be called at any time and from any goroutine; Run once.
//
// It decides the order of the stages. The ledger, the peers and the publisher own the rest of the
// state of the job; each guards its own state.
type Controller struct {
	*core
	ledger    *ledger
	peers     *peers
	publisher *publisher

	dir    string
	memory *budget.Budget
	disk   *budget.Budget
	spill  *budget.SpillDir
	stages []*stage
	eager  bool         // segments are built while rows are read
	orders []*workOrder // of the stage whose rows are written

	mu struct {
		sync.Mutex
		status  Status
		end     time.Time
		failure *Fault
		stages  []*stage
		results *Results
	}
}

// newController returns the controller of a job with its owners.
func newController(k *core) *Controller {
	p := &peers{core: k}
	return &Controller{core: k, peers: p, ledger: &ledger{core: k, peers: p}, publisher: &publisher{core: k}}
}

// New validates a job before it runs. It returns errors of the request.
func New(job Job, deps Deps) (*Controller, error) {
	if job.Options == nil {
		o, err := ParseOptions(job.Context)
		if err != nil {
			return nil, err
		}
		job.Options = o
	}
	if err := job.check(); err != nil {
		return nil, err
	}
	if deps.Clock == nil {
		deps.Clock = clock.System()
	}
	c := newController(&core{job: job, deps: deps, opts: job.Options, workers: job.Options.MaxNumTasks - 1})
	if w := job.write(); w != nil {
		if err := c.checkLockType(w); err != nil {
			return nil, err
		}
	}
	if x := job.export(); x != nil {
		if err := c.checkExport(x); err != nil {
			return nil, err
		}
	}
	if job.Rows != nil {
		text, err := job.Rows.Describe()
		if err != nil {
			return nil, err
		}
		c.rowsText = text
	}
	c.threads = deps.Threads
	if c.threads <= 0 {
		c.threads = budget.Cores()
	}
	if c.opts.MaxThreads > 0 {
		c.threads = min(c.threads, c.opts.MaxThreads)
	}
	c.sortBytes = deps.SortBytes
	if c.sortBytes <= 0 {
		c.sortBytes = sortBufferBytes
	}
	c.mu.status = Running
	return c, nil
}

// checkLockType refuses lock types that do not fit the statement.
func (c *Controller) checkLockType(w *plan.Write) error {
	kind, want := "INSERT", []tasklock.Type{tasklock.Shared, tasklock.Append}
	if w.Replace {
		kind, want = "REPLACE", []tasklock.Type{tasklock.Exclusive, tasklock.Replace}
	}
	if t := c.opts.LockType; t != "" && !slices.Contains(want, t) {
		return fault.InvalidInput("TaskLock must be of type [%s] or [%s] for a %s query. Found invalid type [%s] set in the query context parameter "+
			"[taskLockType]", want[0], want[1], kind, t)
	}
	return nil
}

// Run runs a job; see Controller.
func Run(ctx context.Context, job Job, deps Deps) (*Outcome, error) {
	c, err := New(job, deps)
	if err != nil {
		return nil, err
	}
	return c.Run(ctx)
}

// Run runs the job to its end, and removes everything except the published segments. The error is a
// *Fault.
func (c *Controller) Run(ctx context.Context) (*Outcome, error) {
	if c.opts.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.opts.Timeout, ErrTimeout)
		defer cancel()
	}
	if !c.opts.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.opts.Deadline.Sub(c.now()), ErrTimeout)
		defer cancel()
	}
	c.ledger.start()
	var out *Outcome
	err := exec.Protect(func() (err error) {
		out, err = c.run(ctx)
		return err
	})
	last := context.WithoutCancel(ctx)
	err = errors.Join(err, c.clean(last, ctx, out, err))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.end = c.now()
	if err == nil {
		c.mu.status = Success
		return out, nil
	}
	c.mu.status, c.mu.failure = Failed, c.withServer(toFault(ctx, err))
	for _, s := range c.mu.stages {
		s.fail(c.mu.end)
	}
	return nil, c.mu.failure
}

// resumable reports whether another run of the task does what this one has not done: the process
// ends, or has been taken for lost, or has lost something.
func (c *Controller) resumable(ctx, run context.Context, failed error) bool {
	if failed == nil || c.deps.Current == nil {
		return false
	}
	return errors.Is(context.Cause(run), ErrShutdown) || errors.Is(failed, ErrPartLost) || c.deps.Current(ctx) != nil
}

// clean removes everything on the local disk and gives locks and memory back. In deep storage and
// with other processes it leaves what the next run of the task can use, if there is one; what has a
// record is not removed by a run that failed, see records.go.
func (c *Controller) clean(ctx, run context.Context, out *Outcome, failed error) error {
	var errs []error
	resumable := c.resumable(ctx, run, failed)
	end := func(o *output) {
		if o != nil && resumable && o.key != "" && o.recorded {
			o.leave()
		} else if o != nil {
			_ = o.close() // its folder goes next
		}
	}
	for _, s := range c.stages {
		for _, o := range s.outputs() {
			end(o)
		}
	}
	for _, p := range c.ledger.records.all() {
		end(p.out)
	}
	if store := c.deps.Store; store != nil {
		if failed != nil {
			c.publisher.discard(ctx, c.ledger.files())
		} else if keys := c.publisher.unused(c.ledger.files(), out.Segments, false); len(keys) > 0 {
			errs = append(errs, store.Delete(ctx, keys...))
		}
		if c.opts.DurableShuffle && c.deps.Durable && !resumable {
			errs = append(errs, deleteBelow(ctx, store, c.shufflePrefix(), nil))
		}
		if c.ledger.kept.Load() && (failed == nil || c.deps.Current == nil) {
			errs = append(errs, deleteBelow(ctx, store, c.ledger.recordsPrefix(), nil))
		}
	}
	c.peers.close(resumable)
	errs = append(errs, c.dropFolder())
	if c.deps.Metastore != nil && c.job.write() != nil && !resumable { // the next run has the locks, as after a crash
		errs = append(errs, c.deps.Metastore.Release(ctx, c.job.ID))
	}
	return errors.Join(errs...)
}

// dropFolder removes what prepareFolder made.
func (c *Controller) dropFolder() error {
	var err error
	if c.dir != "" {
		err = errors.Join(c.spill.Close(), os.RemoveAll(c.dir))
	}
	if c.memory != nil {
		c.memory.Close()
		c.disk.Close()
	}
	return err
}

func (c *Controller) run(ctx context.Context) (*Outcome, error) {
	if c.workers > maxWorkers {
		return nil, tooManyWorkers(c.workers)
	}
	if err := c.prepareFolder(); err != nil {
		return nil, err
	}
	if err := c.ledger.readRecords(ctx); err != nil {
		return nil, err
	}
	if err := c.ledger.prepareDurable(ctx); err != nil {
		return nil, err
	}
	c.peers.openSession(ctx, c.ledger.places())
	if w := c.job.write(); w != nil {
		return c.ingest(ctx, w)
	}
	if x := c.job.export(); x != nil {
		return c.export(ctx, x)
	}
	return c.query(ctx)
}

func (c *Controller) prepareFolder() error {
	c.memory = c.deps.Memory.Child(c.job.ID, budget.Unlimited)
	c.disk = c.deps.Disk.Child(c.job.ID, budget.Unlimited)
	if err := os.MkdirAll(c.deps.TempDir, 0o700); err != nil {
		return diskFault(err)
	}
	dir, err := os.MkdirTemp(c.deps.TempDir, "msq-*")
	if err != nil {
		return diskFault(err)
	}
	c.dir = dir
	c.spill, err = budget.OpenSpillDir(dir, c.disk)
	return err
}

// query runs a SELECT.
func (c *Controller) query(ctx context.Context) (*Outcome, error) {
	outer := slices.Clone(c.job.columns())
	cut := &cutter{opts: c.opts, workers: c.workers}
	node, _ := multiValue(c.job.Plan, allOf(len(outer)))
	root, err := cut.fragment(node)
	if err != nil {
		return nil, err
	}
	if len(c.job.Plan.Columns()) > maxColumns {
		return nil, tooManyColumns(len(c.job.Plan.Columns()))
	}
	last := root.sortedStage()
	if last == nil {
		cut.seal(root, resultShuffle(root), false)
		last = cut.stages[len(cut.stages)-1]
	}
	c.setStages(cut.stages)
	if c.job.Rows != nil {
		return &Outcome{}, c.again(ctx, func() error { return c.runStages(ctx, nil) })
	}
	if err := c.define(nil, nil); err != nil {
		return nil, err
	}
	var results *Results
	err = c.again(ctx, func() (err error) {
		if err := c.runStages(ctx, nil); err != nil {
			return err
		}
		last.enter(phasePost, c.now())
		results, err = c.collect(ctx, last, slices.Clone(outer))
		return err
	})
	if err != nil {
		return nil, err
	}
	c.finished(last)
	c.mu.Lock()
	c.mu.results = results
	c.mu.Unlock()
	return &Outcome{Rows: results.Rows(), Results: results}, nil
}

// sortedStage returns the stage whose sorted rows are those of f, all that f does being to read
// them; nil: there is none.
func (f *fragment) sortedStage() *stage {
	if len(f.inputs) != 1 || f.node != f.inputs[0].leaf {
		return nil
	}
	if from := f.inputs[0].from; from != nil && from.shuffle.kind == sortedShuffle && !from.shuffle.aggregate {
		return from
	}
	return nil
}

// resultShuffle brings the rows of a query to one place: those of a scan in the order in which they
// came.
func resultShuffle(root *fragment) shuffle {
	if root.processor != "scan" {
		return shuffle{kind: mixShuffle, partitions: 1}
	}
	return shuffle{kind: sortedShuffle, partitions: 1, names: []keyName{{column: boostKey}}}
}

// ingest runs an INSERT or REPLACE.
func (c *Controller) ingest(ctx context.Context, w *plan.Write) (*Outcome, error) {
	if c.deps.Metastore == nil || c.deps.Store == nil {
		return nil, fault.Defensive("A job that writes has no metastore or deep storage")
	}
	if w = c.job.rename(w); c.job.Rows == nil {
		w = multiValueInputs(w)
	}
	c.job.Plan, c.job.Columns = w, nil
	c.chunks = chunkerOf(w, c.job.Target)
	l, err := layoutOf(w, c.opts, c.job.Target)
	if err != nil {
		return nil, err
	}
	shards, kind, details := shardColumns(w)
	cut := &cutter{opts: c.opts, workers: c.workers}
	root, err := cut.fragment(w.Input)
	if err != nil {
		return nil, err
	}
	s := c.writeShuffle(w, len(shards))
	if n := len(s.order.columns); n > c.opts.MaxClusteredBy {
		return nil, tooManyClusteredBy(n, c.opts.MaxClusteredBy, fmt.Sprintf("%s_%d", c.job.ID, len(cut.stages)))
	}
	rows := cut.seal(root, s, false)
	c.rows = rows.from
	for _, s := range cut.stages {
		if s.shuffle.aggregate {
			s.shuffle.target = int64(c.opts.RowsPerSegment) // groups are divided by it when they are written
		}
	}
	rows.from.columns = append([]plan.Column{longColumn(bucketColumn), longColumn(boostColumn)}, w.Input.Columns()...)
	if s.order.hashed {
		rows.from.columns = append(rows.from.columns, longColumn(hashColumn))
	}
	generator := &stage{number: len(cut.stages), processor: "segmentGenerator", inputs: []*input{rows}}
	c.setStages(append(cut.stages, generator))
	if c.job.Target == nil { // others are reported on without their stages
		if err := c.define(w, l); err != nil {
			return nil, err
		}
	}
	c.eager = c.mayBuildEagerly(w, &s)
	if out, err := c.publisher.earlier(ctx, w); out != nil || err != nil {
		return out, err
	}
	if err := c.publisher.lock(ctx, w); err != nil {
		return nil, err
	}
	var segments []*timeline.Segment
	total := int64(0)
	err = c.again(ctx, func() (err error) {
		segments, total, err = c.build(ctx, w, generator, shards, kind, details)
		return err
	})
	if err != nil {
		return nil, err
	}
	rows.from.enter(phaseResults, c.now())
	rows.from.enter(phaseFinished, c.now())
	all, err := c.publisher.publish(ctx, w, segments)
	if err != nil {
		return nil, err
	}
	generator.enter(phaseFinished, c.now())
	return &Outcome{Rows: total, Segments: all}, nil
}

// build runs the stages of an INSERT or REPLACE, and returns the segments and how many rows are in
// them.
func (c *Controller) build(ctx context.Context, w *plan.Write, generator *stage, shards []string, kind, details string) ([]*timeline.Segment, int64, error) {
	rows := c.rows
	if err := c.runStages(ctx, generator); err != nil {
		return nil, 0, err
	}
	parts := c.divide(w, rows)
	total := int64(0)
	for _, o := range rows.outputs() {
		total += o.rows
	}
	rows.setPartitions(max(len(parts), 1))
	if len(parts) > c.opts.MaxPartitions {
		return nil, 0, tooManyPartitions(c.opts)
	}
	if err := c.checkBuckets(parts); err != nil {
		return nil, 0, err
	}
	if total == 0 && c.opts.FailOnEmptyInsert {
		return nil, 0, insertEmpty(w.DataSource)
	}
	rows.merged(int64(len(parts)), 0)
	rows.enter(phasePost, c.now())
	several, notes := make([]bool, len(w.Input.Columns())), make([]*autoValues, len(c.orders))
	for n, o := range c.orders {
		notes[n] = o.write.auto
		for i, yes := range o.write.several {
			several[i] = several[i] || yes
		}
	}
	l, err := layoutOf(w, c.opts, c.job.Target)
	if err != nil {
		return nil, 0, err
	}
	l.settle(several)
	l.auto = autoTypes(notes)
	switch t := c.job.Target; {
	case t != nil:
		c.publisher.compaction = t.CompactionState
	case w.Replace && c.opts.StoreCompaction:
		if c.publisher.compaction, err = c.publisher.compactionState(w, l, shards); err != nil {
			return nil, 0, err
		}
	}
	if c.job.Target.touched() {
		if err := c.publisher.lockTouched(ctx, w, parts); err != nil {
			return nil, 0, err
		}
	}
	plans, err := c.publisher.identify(ctx, w, parts, shards)
	if err != nil {
		return nil, 0, err
	}
	c.publisher.setReport(&SegmentReport{ShardSpec: kind, Details: details})
	segments, err := c.runGenerator(ctx, generator, plans, l)
	if err != nil {
		return nil, 0, err
	}
	return segments, total, nil
}

// divide cuts the sorted rows of a job into partitions.
func (c *Controller) divide(w *plan.Write, rows *stage) []partition {
	order, target := &rows.shuffle.order, int64(c.opts.RowsPerSegment)
	if !order.hashed {
		return divide(rows.outputs(), !c.chunks.constant(), target)
	}
	hashers := make([]*hasher, len(c.orders))
	for i, o := range c.orders {
		hashers[i] = o.write.hash
	}
	return divideHashed(order, hashers, target)
}

// checkBuckets bounds the time chunks of all workers together; each worker has bounded its own.
func (c *Controller) checkBuckets(parts []partition) error {
	n := 0
	for i := range parts {
		if i == 0 || parts[i].bucket != parts[i-1].bucket {
			n++
		}
	}
	if n > c.opts.maxBuckets() {
		return tooManyBuckets()
	}
	return nil
}

// writeShuffle sorts rows by time chunk, CLUSTERED BY and boost.
func (c *Controller) writeShuffle(w *plan.Write, shards int) shuffle {
	s := shuffle{kind: rangeShuffle, target: int64(c.opts.RowsPerSegment)}
	keys := []plan.SortKey{{Column: 0, NullsFirst: true}}
	if !c.chunks.constant() {
		s.names = append(s.names, keyName{column: bucketKey})
	}
	hashed := c.job.Target != nil && c.job.Target.Hash != nil
	if hashed {
		keys = append(keys, plan.SortKey{Column: preparedColumns + len(w.Input.Columns()), NullsFirst: true})
	}
	for _, i := range w.Cluster {
		keys = append(keys, plan.SortKey{Column: i + preparedColumns, NullsFirst: true})
		s.names = append(s.names, keyName{column: i})
	}
	keys = append(keys, plan.SortKey{Column: 1, NullsFirst: true})
	s.names = append(s.names, keyName{column: boostKey})
	s.order = orderOf(keys)
	s.order.bucketed, s.order.hashed = true, hashed
	if shards > 0 {
		s.order.boundary = 1 + shards
	}
	return s
}

// runStages runs the stages up to, not including, last: the first that has all it reads comes next,
// and so many run at once as the statement says.
func (c *Controller) runStages(ctx context.Context, last *stage) error {
	waiting, err := c.resume(ctx, last)
	if err != nil {
		return err
	}
	done := map[*stage]bool{}
	for _, s := range c.stages {
		done[s] = !slices.Contains(waiting, s)
	}
	ready := func(s *stage) bool {
		return !slices.ContainsFunc(s.inputs, func(in *input) bool { return in.from != nil && !done[in.from] })
	}
	g := exec.NewGroup(ctx)
	ended := make(chan *stage, len(waiting)) // nil: it failed
	for running := 0; len(waiting) > 0 || running > 0; {
		if i := slices.IndexFunc(waiting, ready); i >= 0 && running < c.opts.ConcurrentStages {
			s := waiting[i]
			waiting = slices.Delete(waiting, i, i+1)
			running++
			g.Go(func(ctx context.Context) error {
				var result *stage
				defer func() { ended <- result }()
				if err := c.runStage(ctx, s); err != nil {
					return err
				}
				if err := c.step(fmt.Sprintf("stage-%d", s.number)); err != nil {
					return err
				}
				for _, in := range s.inputs {
					if in.from != nil {
						c.finished(in.from)
					}
				}
				result = s
				return nil
			})
			continue
		}
		s := <-ended
		if running--; s == nil {
			break
		}
		done[s] = true
	}
	return g.Wait()
}

// finished frees the output of a stage that was read to its end.
func (c *Controller) finished(s *stage) {
	if s.shuffle.kind == sortedShuffle {
		s.merged(1, 1)
	}
	s.enter(phasePost, c.now())
	s.enter(phaseResults, c.now())
	s.enter(phaseFinished, c.now())
	for _, o := range s.outputs() {
		if o != nil {
			_ = o.close() // the folder is removed anyway
		}
	}
}

// runStage gives the stage's work to its workers and waits for them.
func (c *Controller) runStage(ctx context.Context, s *stage) (err error) {
	ctx, span := beginStage(ctx, s)
	defer func() { endSpan(span, err) }()
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	orders, err := c.workOrders(ctx, s)
	if err != nil {
		return err
	}
	if s == c.rows {
		c.orders = orders
	}
	id := c.ledger.identity(s, orders)
	count := c.begin(s, len(orders))
	s.enter(phaseReading, c.now())
	g := exec.NewGroup(ctx)
	for i, order := range orders {
		g.Go(func(ctx context.Context) error {
			if taken, err := c.ledger.take(ctx, order, id, count[i]); taken || err != nil {
				return err
			}
			err := c.ledger.attempts(ctx, order, func(ctx context.Context) error {
				return c.traced(ctx, order, func(ctx context.Context) error { return c.do(ctx, order, count[i]) })
			}, func() {
				count[i].reset()
				order.taken.undo()
				c.begins(order)
			})
			if err != nil {
				order.taken.undo()
				return err
			}
			c.ledger.keep(ctx, order, id, count[i])
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		s.enter(phaseFailed, c.now())
		return err
	}
	c.settled(s)
	return c.checkBroadcast(s)
}

// settled notes how many partitions a stage has whose work is done.
func (c *Controller) settled(s *stage) {
	if s.shuffle.kind != rangeShuffle {
		s.setPartitions(s.shuffle.partitions)
	}
}

// checkBroadcast bounds what every worker of a stage would hold of another one.
func (c *Controller) checkBroadcast(s *stage) error {
	broadcast := slices.ContainsFunc(c.stages, func(t *stage) bool {
		return slices.ContainsFunc(t.inputs, func(in *input) bool { return in.from == s && in.broadcast })
	})
	if !broadcast || c.deps.BroadcastBytes <= 0 {
		return nil
	}
	size := int64(0)
	for _, o := range s.outputs() {
		for i := range o.frames {
			size += int64(o.frames[i].length)
		}
	}
	if size > c.deps.BroadcastBytes {
		return broadcastTooLarge(c.deps.BroadcastBytes)
	}
	return nil
}

// locate names the stage and worker of a failure. A cancellation has no place.
func locate(ctx context.Context, order *workOrder, err error) error {
	return locateAt(ctx, order.stage.number, order.id, err)
}

func locateAt(ctx context.Context, stage int, worker string, err error) error {
	if err == nil || ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Cause(ctx))) {
		return err
	}
	return toFault(ctx, err).at(stage, worker)
}

func (c *Controller) begin(s *stage, workers int) []*counters {
	s.durable = c.opts.DurableShuffle
	count := s.begin(workers, c.now())
	c.ledger.begun(workers)
	return count
}

// runGenerator builds the segments.
func (c *Controller) runGenerator(ctx context.Context, s *stage, plans []segmentPlan, l *layout) (_ []*timeline.Segment, err error) {
	if len(plans) == 0 {
		return nil, nil
	}
	ctx, span := beginStage(ctx, s)
	defer func() { endSpan(span, err) }()
	c.publisher.expect(len(plans))
	workers := min(c.workers, len(plans))
	count := c.begin(s, workers)
	s.setPartitions(len(plans))
	s.enter(phaseReading, c.now())
	w := c.job.write()
	l.rollup, l.compaction = w.Rollup, c.publisher.compaction
	if err := l.describe(c.job.Target); err != nil {
		return nil, err
	}
	from := s.inputs[0].from
	places := min(c.peers.processes(s), workers)
	note := func(number int, seg *timeline.Segment) {
		from.merged(int64(len(plans)), 1)
		c.publisher.note(number, seg)
	}
	all := &generation{plans: plans, layout: l, built: c.publisher.built}
	same, outlives := c.ledger.sameSegments(from, plans, all)
	earlier, err := c.ledger.earlierSegments(ctx, s, plans, same)
	if err != nil {
		return nil, err
	}
	for n, p := range earlier {
		note(n, c.publisher.segmentOf(all, p.Segment))
		rows := p.Segment.Rows
		count[n%workers].generating(func(g *generateCounter) {
			g.processed, g.persisted, g.merged, g.pushed = g.processed+rows, g.persisted+rows, g.merged+rows, g.pushed+rows
		})
	}
	done := func(number int, seg *timeline.Segment) {
		note(number, seg)
		if same != "" {
			sent := sendSegment(number, seg)
			c.ledger.record(ctx, &finishedPart{partRecord: partRecord{Stage: s.number, Worker: number, Of: identity{Plan: same, Workers: len(plans)}, Segment: &sent}}, outlives)
		}
	}
	g := exec.NewGroup(ctx)
	for n := range workers {
		order := &workOrder{stage: s, worker: n, workers: workers, id: c.ledger.workerID(n), threads: max(1, c.threads*places/workers), dir: c.stageDir(s)}
		work := &generation{plans: plans, layout: l, built: all.built, done: done}
		for p := n; p < len(plans); p += workers {
			if !all.built(p) {
				work.numbers = append(work.numbers, p)
			}
		}
		if len(work.numbers) == 0 {
			continue
		}
		g.Go(func(ctx context.Context) error { return locate(ctx, order, c.generateAt(ctx, order, count[n], work)) })
	}
	if err := g.Wait(); err != nil {
		s.enter(phaseFailed, c.now())
		return nil, err
	}
	s.enter(phaseResults, c.now())
	return c.publisher.all(), c.step("segments")
}

func (c *Controller) setStages(stages []*stage) {
	c.stages = stages
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.stages = stages
}
