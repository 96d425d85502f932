package msq

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/plan/wire"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// What the workers of a job have done is not done again as long as it can be read: neither when
// another process is lost (Controller.again), nor by the next run of a task whose controller is
// lost. For the latter the controller leaves a record in deep storage of each part of a stage, and
// of each segment, that is not in its own process alone: what was done, of what, and where it lies.
//
//	stages/JOB/PART/STAGE-WORKER-RANDOM.json
//
// What holds:
//
//  1. A record is taken up only for the same work: the same fragment, shares of the same inputs,
//     and where it matters outputs of the same attempts of the stages before (identity). So the
//     result is that of an undisturbed run.
//
//  2. Records are never changed, and belong to the task, not to a run of it: a run that others
//     believe lost may write them and still delete intermediate data. What can't be read when it is
//     wanted is done again.
//
//  3. The files of segments that have a record are deleted by nobody who could be such a run: only
//     when the task has its end (Clear).

// identity says what a piece of work was done of. All are digests.
type identity struct {
	// Plan is of the fragment and the settings, Shares of what all workers of the stage read, Inputs
	// of the outputs of other stages; "": any would do.
	Plan, Shares, Inputs string
	// Workers is how many the stage has.
	Workers int
}

// partRecord is a piece of work that is done: that of a worker in a stage, or a segment.
type partRecord struct {
	Format        int
	Part          string // of the task's jobs
	Stage, Worker int
	Name          string // of the worker
	Of            identity
	// ID tells outputs apart that were made of the same.
	ID       string
	Output   *partOutput   `json:",omitempty"`
	Observed *observed     `json:"Learnt,omitempty"`
	Counters countersState `json:",omitzero"`
	Warnings partWarnings  `json:",omitzero"`
	// Rows is what the RowWorker has counted.
	Rows    json.RawMessage `json:",omitempty"`
	Segment *partSegment    `json:",omitempty"`
}

// recordFormat is that of records: others are not taken up.
const recordFormat = 2

// finishedPart is a record with what this process has of it.
type finishedPart struct {
	partRecord
	out    *output // nil: not opened
	stored bool    // in deep storage
}

type partKey struct{ stage, worker int }

// ledger owns what is known of the work that is done: the records of finished parts, and how often
// each worker has tried.
type ledger struct {
	*core
	peers   *peers
	records records
	kept    atomic.Bool // there are records in deep storage

	mu struct {
		sync.Mutex
		start  time.Time
		begun  int              // workers that have begun
		failed [][]WorkerReport // attempts, by worker
	}
}

// start notes that the job begins.
func (led *ledger) start() {
	led.mu.Lock()
	defer led.mu.Unlock()
	led.mu.start = led.now()
}

// started returns when the job began; zero: it has not.
func (led *ledger) started() time.Time {
	led.mu.Lock()
	defer led.mu.Unlock()
	return led.mu.start
}

// begun notes that so many workers have begun.
func (led *ledger) begun(workers int) {
	led.mu.Lock()
	defer led.mu.Unlock()
	led.mu.begun = max(led.mu.begun, workers)
}

// reports returns what is reported of the workers, of each its failed attempts and the one that it
// is at, which is as given; and how many have begun.
func (led *ledger) reports(current WorkerReport) (workers [][]WorkerReport, begun int) {
	led.mu.Lock()
	defer led.mu.Unlock()
	for n := range led.mu.begun {
		var attempts []WorkerReport
		if n < len(led.mu.failed) {
			attempts = slices.Clone(led.mu.failed[n])
		}
		current.ID = led.workerIDLocked(n)
		workers = append(workers, append(attempts, current))
	}
	return workers, led.mu.begun
}

// files returns the files of segments that have a record.
func (led *ledger) files() map[string]bool {
	out := map[string]bool{}
	for _, p := range led.records.all() {
		if p.Segment != nil && p.stored {
			if key, err := led.deps.Store.Key(p.Segment.LoadSpec); err == nil {
				out[key] = true
			}
		}
	}
	return out
}

// places returns where earlier runs have left outputs.
func (led *ledger) places() []string {
	var out []string
	for _, p := range led.records.all() {
		if p.Output != nil && p.Output.At != "" && !slices.Contains(out, p.Output.At) {
			out = append(out, p.Output.At)
		}
	}
	return out
}

// records are those of a job.
type records struct {
	mu struct {
		sync.Mutex
		of map[partKey][]*finishedPart
	}
}

func (r *records) add(p *finishedPart) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.of == nil {
		r.mu.of = map[partKey][]*finishedPart{}
	}
	key := partKey{p.Stage, p.Worker}
	r.mu.of[key] = append(r.mu.of[key], p)
}

// find returns the records of a worker's work, the newest first.
func (r *records) find(stage, worker int) []*finishedPart {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(r.mu.of[partKey{stage, worker}])
	slices.Reverse(out)
	return out
}

func (r *records) all() []*finishedPart {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*finishedPart
	for _, list := range r.mu.of {
		out = append(out, list...)
	}
	return out
}

// recordsPrefix is where the records of a task lie in deep storage, those of one of its jobs below
// it.
func recordsPrefix(task string) string { return "stages/" + plainName(task) + "/" }

func (led *ledger) recordsPrefix() string {
	return recordsPrefix(led.job.ID) + plainName("part-"+led.job.Part) + "/"
}

// resumable reports whether the job can be taken up by another run of its task.
func (led *ledger) resumable() bool {
	return led.deps.Store != nil && (led.job.Rows == nil || led.rowsText != nil) && (led.opts.DurableShuffle || led.deps.Join != nil)
}

// readRecords takes over what earlier runs of the task have left.
func (led *ledger) readRecords(ctx context.Context) error {
	if !led.resumable() || !led.opts.DurableShuffle && led.deps.Run <= 1 {
		return nil
	}
	found, err := readRecords(ctx, led.deps.Store, led.recordsPrefix())
	for i := range found {
		led.kept.Store(true)
		led.records.add(&finishedPart{partRecord: found[i], stored: true})
	}
	return err
}

// readRecords reads the records below a prefix, the oldest first. Those of other formats, and such
// as go meanwhile, are left out.
func readRecords(ctx context.Context, store deepstore.Store, prefix string) ([]partRecord, error) {
	var list []deepstore.Info
	for after := ""; ; {
		some, err := store.List(ctx, prefix, after, listAtOnce)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
		if len(some) < listAtOnce {
			break
		}
		after = some[len(some)-1].Key
	}
	slices.SortStableFunc(list, func(a, b deepstore.Info) int { return int(a.Modified - b.Modified) })
	read, numbers := make([]*partRecord, len(list)), make([]int, len(list))
	for i := range list {
		numbers[i] = i
	}
	err := several(ctx, opening, numbers, func(ctx context.Context, i int) error {
		text, err := readObject(ctx, store, list[i].Key)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		var r partRecord
		if json.Unmarshal(text, &r) == nil && r.Format == recordFormat {
			read[i] = &r
		}
		return nil
	})
	var out []partRecord
	for _, r := range read {
		if r != nil {
			out = append(out, *r)
		}
	}
	return out, err
}

// listAtOnce is how many keys of deep storage are asked for at a time.
const listAtOnce = 1000

func readObject(ctx context.Context, store deepstore.Store, key string) ([]byte, error) {
	o, err := store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer o.Close() // it was only read
	return io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
}

// record keeps that a piece of work is done: in this process, and if others can use what it has
// come to, in deep storage. A record that can't be written only costs the next run the work.
func (led *ledger) record(ctx context.Context, p *finishedPart, outlives bool) {
	p.Format, p.Part = recordFormat, led.job.Part
	if outlives {
		text, err := json.Marshal(&p.partRecord)
		if err == nil {
			led.kept.Store(true)
			key := fmt.Sprintf("%s%d-%d-%s.json", led.recordsPrefix(), p.Stage, p.Worker, rand.Text())
			p.stored = led.deps.Store.Put(ctx, key, bytes.NewReader(text)) == nil
		}
	}
	led.records.add(p)
}

// digest is a digest of values as JSON.
func digest(values ...any) string {
	h := sha256.New()
	if json.NewEncoder(h).Encode(values) != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// identifyStage says what a stage's work is done of, but for what its workers read. A stage that
// can't be told from others is done anew each time.
func (led *ledger) identifyStage(s *stage) {
	s.same, s.steady = "", false
	if s.node == nil || !led.resumable() {
		return
	}
	var segments [][]partSlice
	for _, in := range s.inputs {
		switch in.kind {
		case systemInput:
			return
		case tableInput:
			list, ok := led.sliced(in.leaf.(*plan.Scan))
			if !ok {
				return
			}
			segments = append(segments, list)
		}
	}
	text, fixed, err := wire.Fingerprint(s.node)
	if err != nil {
		return
	}
	now, zone := int64(0), ""
	if led.deps.Expr != nil {
		if now = led.deps.Expr.Now; led.deps.Expr.Zone != nil {
			zone = led.deps.Expr.Zone.String()
		}
	}
	write := any(nil)
	if w := led.job.write(); w != nil && s == led.rows {
		write = []any{w.PartitionBy.String(), w.Cluster, w.Hidden}
	}
	s.same = digest(text, sendShuffle(&s.shuffle), led.opts, now, zone, write, led.job.Target, segments, led.rowsText)
	s.steady = fixed && (led.job.Rows == nil || !s.readsExternal()) && !slices.ContainsFunc(s.inputs, func(in *input) bool { return in.from != nil && !in.from.steady })
	plan.Walk(s.node, func(n plan.Node) bool {
		switch n := n.(type) {
		case *plan.Limit, *plan.Window:
			s.steady = false
		case *plan.Sort:
			s.steady = s.steady && n.Limit < 0
		case *plan.Scan:
			s.steady = s.steady && n.Limit < 0
		case *plan.Aggregate: // what depends on the order of rows, if only in its last digit, may decide where a row goes
			s.steady = s.steady && !slices.ContainsFunc(n.Aggs, func(a plan.AggCall) bool {
				return !slices.Contains(exactAggregates, a.Agg.Name) || a.Type.Runtime() != vector.Long
			})
		}
		return s.steady
	})
}

// exactAggregates give the same for the same rows in any order, where their result is a whole
// number.
var exactAggregates = []string{"COUNT", "SUM", "MIN", "MAX"}

// identity says what the work of a stage's orders is done of. Other stages that give the same rows,
// in whatever order, to the same partitions each time they run don't count: of others each run is
// another input.
func (led *ledger) identity(s *stage, orders []*workOrder) identity {
	id := identity{Plan: s.same, Workers: len(orders)}
	var shares []any
	for _, o := range orders {
		for i := range s.inputs {
			shares = append(shares, sendSplits(o.external[i].splits))
			if o.slices != nil {
				shares = append(shares, o.slices[i])
			}
		}
	}
	id.Shares = digest(shares...)
	var inputs []any
	for _, in := range s.inputs {
		if in.from != nil && !in.from.steady {
			for _, o := range in.from.outputs() {
				inputs = append(inputs, o.made)
			}
		}
	}
	if inputs != nil {
		id.Inputs = digest(inputs...)
	}
	return id
}

// keep notes that the work of an order is done.
func (led *ledger) keep(ctx context.Context, order *workOrder, id identity, count *counters) {
	o := order.stage.outputs()[order.worker]
	if id.Plan == "" {
		return
	}
	p := &finishedPart{out: o, partRecord: partRecord{
		Stage: order.stage.number, Worker: order.worker, Name: order.id, Of: id, ID: rand.Text(), Counters: count.state(), Warnings: led.warnings.from(order),
	}}
	o.made = p.ID
	if order.write != nil {
		p.Observed = order.write.observed()
	}
	if order.rows != nil {
		var err error
		if p.Rows, err = order.rows.State(true); err != nil {
			return // nobody could take it up
		}
	}
	outlives := o.at != "" || o.key != ""
	if outlives {
		p.Output = &partOutput{At: o.at, ID: o.id, Key: o.key, Rows: o.rows, Runs: o.runs, Frames: sendFrames(o, nil)}
	}
	led.record(ctx, p, outlives)
	o.recorded = p.stored
}

// take finds what an order has come to when it was done before; false: it is to be done.
func (led *ledger) take(ctx context.Context, order *workOrder, id identity, count *counters) (bool, error) {
	for _, p := range led.records.find(order.stage.number, order.worker) {
		if p.Of != id || id.Plan == "" {
			continue
		}
		if o := led.reopen(ctx, p); o != nil {
			return true, led.adopt(order, p, o, count)
		}
	}
	return false, nil
}

// reopen returns the output of a record if it can be read; nil: it can't.
func (led *ledger) reopen(ctx context.Context, p *finishedPart) *output {
	if p.out != nil {
		if p.out.gone.Load() {
			return nil
		}
		return p.out
	}
	if p.Output == nil || p.Output.Key == "" && !led.peers.has(p.Output.At) {
		return nil
	}
	o, err := p.Output.open(context.WithoutCancel(ctx), led.peers.read(), led.deps.Store) // readers look at their own context before each frame
	if err != nil {
		return nil
	}
	led.dropsWhenRead(ctx, o)
	o.made, o.recorded, p.out = p.ID, true, o
	return o
}

// dropsWhenRead lets an output in deep storage go with its last reader.
func (k *core) dropsWhenRead(ctx context.Context, o *output) {
	if o.key == "" {
		return
	}
	drop := o.drop
	o.drop = func() error { return errors.Join(drop(), k.deps.Store.Delete(context.WithoutCancel(ctx), o.key)) }
}

// adopt makes an order one that has done what a record says.
func (led *ledger) adopt(order *workOrder, p *finishedPart, o *output, count *counters) error {
	count.set(p.Counters)
	if order.write != nil {
		if err := order.write.adopt(p.Observed); err != nil {
			return err
		}
	}
	if err := order.counted(p.Rows); err != nil {
		return err
	}
	order.stage.setOutput(order.worker, o)
	led.warnings.forget(warner{order.stage.number, p.Name}) // when it is of this process
	return led.warnings.join(order, p.Warnings, led.opts.MaxParseExceptions)
}

// whole finds the records of all of a stage's work, done of the same; nil: some is missing.
func (led *ledger) whole(ctx context.Context, s *stage) []*finishedPart {
	for _, first := range led.records.find(s.number, 0) {
		if s.same == "" || first.Of.Plan != s.same || first.Of.Workers < 1 || first.Of.Workers > maxWorkers {
			continue
		}
		parts := make([]*finishedPart, first.Of.Workers)
		for n := range parts {
			for _, p := range led.records.find(s.number, n) {
				if parts[n] == nil && p.Of == first.Of && led.reopen(ctx, p) != nil {
					parts[n] = p
				}
			}
		}
		if !slices.Contains(parts, nil) {
			return parts
		}
	}
	return nil
}

// resume decides which of the stages that lead to others are to be run: those whose work is not all
// there, and that something is missing for. Of the others it makes what they were when they had
// ended.
func (c *Controller) resume(ctx context.Context, last *stage) (run []*stage, err error) {
	for _, s := range c.stages {
		c.ledger.identifyStage(s)
	}
	read, wanted, decided := map[*stage]bool{}, map[*stage]bool{}, map[*stage]bool{}
	for _, s := range c.stages {
		for _, in := range s.inputs {
			read[in.from] = read[in.from] || s != last
		}
	}
	var decide func(s *stage) error
	decide = func(s *stage) error {
		if decided[s] {
			return nil
		}
		decided[s] = true
		parts := c.ledger.whole(ctx, s)
		if parts != nil {
			return c.takeStage(s, parts)
		}
		wanted[s] = true
		for _, in := range s.inputs {
			if in.from != nil {
				if err := decide(in.from); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, s := range c.stages {
		if s != last && !read[s] {
			if err := decide(s); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range c.stages {
		switch {
		case wanted[s]:
			run = append(run, s)
		case s != last && !decided[s]:
			if err := c.passOver(s); err != nil {
				return nil, err
			}
		}
	}
	return run, nil
}

// takeStage makes a stage one that has ended as its records say.
func (c *Controller) takeStage(s *stage, parts []*finishedPart) error {
	orders := make([]*workOrder, len(parts))
	count := c.begin(s, len(orders))
	s.enter(phaseReading, c.now())
	for n, p := range parts {
		orders[n] = &workOrder{stage: s, worker: n, workers: len(parts), external: make([]externalPart, len(s.inputs)), dir: c.stageDir(s)}
		c.begins(orders[n])
		if err := c.ledger.adopt(orders[n], p, p.out, count[n]); err != nil {
			return err
		}
	}
	if s == c.rows {
		c.orders = orders
	}
	c.settled(s)
	return nil
}

// passOver makes a stage one that has ended and is not read any more.
func (c *Controller) passOver(s *stage) error {
	var states []countersState
	for n := 0; ; n++ {
		list := c.ledger.records.find(s.number, n)
		if len(list) == 0 {
			break
		}
		states = append(states, list[0].Counters)
		if c.job.Rows != nil && list[0].Rows != nil {
			if err := c.job.Rows.Worker(n).Set(list[0].Rows); err != nil {
				return err
			}
		}
	}
	for n, count := range c.begin(s, max(1, len(states))) {
		if n < len(states) {
			count.set(states[n])
		}
	}
	s.enter(phaseReading, c.now())
	c.settled(s)
	c.finished(s)
	return nil
}

// again does work that may lose outputs of stages with other processes: what is lost is done again,
// and what needs it, but nothing else.
func (c *Controller) again(ctx context.Context, work func() error) error {
	for losses := 1; ; losses++ {
		err := work()
		if err == nil || !errors.Is(err, ErrPartLost) || ctx.Err() != nil || losses == maxLosses {
			return err
		}
		c.ledger.lose(ctx, err)
	}
}

// maxLosses is how often a job loses outputs before it leaves it to another run of its task.
const maxLosses = 5

// lose notes which outputs are gone.
func (led *ledger) lose(ctx context.Context, err error) {
	at := ""
	if f, ok := errors.AsType[*Fault](err); ok {
		for f != nil && f.Code != partLost {
			f, _ = errors.AsType[*Fault](f.cause)
		}
		if f != nil {
			i := slices.IndexFunc(f.Fields, func(f Field) bool { return f.Name == "workerTaskId" })
			at = fmt.Sprint(f.Fields[max(i, 0)].Value)
		}
	}
	for _, p := range led.records.all() {
		o := p.out
		if o == nil {
			continue
		}
		lost := o.at != "" && (o.at == at || !led.peers.has(o.at))
		if o.key != "" {
			_, err := led.deps.Store.Stat(ctx, o.key)
			lost = errors.Is(err, fs.ErrNotExist)
		}
		if lost {
			_ = o.close() // there is nothing any more
		}
	}
}

// earlierSegments finds segments of earlier attempts of the generator whose files are there.
func (led *ledger) earlierSegments(ctx context.Context, s *stage, plans []segmentPlan, same string) (map[int]*finishedPart, error) {
	found := map[int]*finishedPart{}
	var mu sync.Mutex
	var numbers []int
	if same != "" {
		for n := range plans {
			numbers = append(numbers, n)
		}
	}
	err := several(ctx, opening, numbers, func(ctx context.Context, n int) error {
		for _, p := range led.records.find(s.number, n) {
			if p.Segment == nil || p.Of.Plan != same || p.Of.Workers != len(plans) || p.Segment.Number != n {
				continue
			}
			key, err := led.deps.Store.Key(p.Segment.LoadSpec)
			if err != nil {
				continue
			}
			info, err := led.deps.Store.Stat(ctx, key)
			if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size != p.Segment.Size {
				continue
			}
			if err != nil {
				return err
			}
			mu.Lock()
			found[n] = p
			mu.Unlock()
			return nil
		}
		return nil
	})
	return found, err
}

// sameSegments is a digest of what segments are made of, rows and layout; "": it is not known.
// outlives says that the next run of the task can have the same.
func (led *ledger) sameSegments(from *stage, plans []segmentPlan, g *generation) (same string, outlives bool) {
	var values []any
	outlives = true
	for _, o := range from.outputs() {
		if o.made == "" {
			return "", false
		}
		values, outlives = append(values, o.made), outlives && o.recorded
	}
	for i := range plans {
		p := &plans[i]
		shard, err := timeline.MarshalShardSpec(p.shard)
		if err != nil {
			return "", false
		}
		values = append(values, p.id.String(), json.RawMessage(shard), p.partition.lo, p.partition.hi)
	}
	return digest(append(values, g.send(&from.shuffle))...), outlives
}

// sendSplits names splits.
func sendSplits(list []ingest.Split) []partSplit {
	var out []partSplit
	for _, s := range list {
		out = append(out, partSplit{s.File, s.Entity.Name(), s.Entity.Size(), s.Offset, s.End})
	}
	return out
}

// PutNote stores a text for later runs of a task until its end (Clear), and returns the stored
// text: the text of the first run wins.
func PutNote(ctx context.Context, store deepstore.Store, task, name string, text []byte) ([]byte, error) {
	err := store.Put(ctx, noteKey(task, name), bytes.NewReader(text))
	if errors.Is(err, fs.ErrExist) {
		return Note(ctx, store, task, name)
	}
	return text, err
}

// Note returns the text of PutNote, or nil.
func Note(ctx context.Context, store deepstore.Store, task, name string) ([]byte, error) {
	text, err := readObject(ctx, store, noteKey(task, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

func noteKey(task, name string) string {
	return recordsPrefix(task) + plainName("note-"+name) + ".json"
}

// Clear removes the remains of the runs of an ended task: records, intermediate data, and the files
// of unpublished segments. published reports whether a part of the task has published.
func Clear(ctx context.Context, store deepstore.Store, task string, published func(part string) (bool, error)) error {
	list, err := readRecords(ctx, store, recordsPrefix(task))
	if err != nil {
		return err
	}
	parts := map[string]bool{}
	for i := range list {
		r := &list[i]
		if r.Segment == nil {
			continue
		}
		is, asked := parts[r.Part]
		if !asked {
			if is, err = published(r.Part); err != nil {
				return err
			}
			parts[r.Part] = is
		}
		key, err := store.Key(r.Segment.LoadSpec)
		if is || err != nil {
			continue
		}
		if err := store.Delete(ctx, key); err != nil {
			return err
		}
	}
	return errors.Join(deleteBelow(ctx, store, recordsPrefix(task), nil), deleteBelow(ctx, store, shufflePrefix(task), nil))
}

// deleteBelow deletes the objects below a prefix but those to keep.
func deleteBelow(ctx context.Context, store deepstore.Store, prefix string, keep map[string]bool) error {
	for after := ""; ; {
		list, err := store.List(ctx, prefix, after, listAtOnce)
		if err != nil || len(list) == 0 {
			return err
		}
		var keys []string
		for _, o := range list {
			if after = o.Key; !keep[o.Key] {
				keys = append(keys, o.Key)
			}
		}
		if len(keys) > 0 {
			if err := store.Delete(ctx, keys...); err != nil {
				return err
			}
		}
	}
}
