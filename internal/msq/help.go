package msq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/fault"
)

// PartJob is what a Follower must know of a job.
type PartJob struct {
	ID string
	// Run is the number of the task's run. Kept are where earlier runs have left outputs that this one
	// can use, if their processes still have them.
	Run     int64    `json:",omitempty"`
	Kept    []string `json:",omitempty"`
	Options *Options
	// Zone and Now are those of expressions.
	Zone string
	Now  int64
	// Rows describes the job's RowSource; nil: it has none.
	Rows json.RawMessage `json:",omitempty"`
	// Helpers is how many other processes are asked at most; 0: as many as the job has workers, but
	// one.
	Helpers int `json:"-"`
}

// Help is the other processes that do parts of a job. Its methods are called from several
// goroutines.
type Help interface {
	// Here names this process for the others, Helpers returns those that are not lost.
	Here() string
	Helpers() []Helper
	// Read is a ReadFrame.
	Read(ctx context.Context, at, id string, number int, buf []byte) ([]byte, error)
	// Has reports whether the outputs of a place can be read: its process is one of the helpers.
	Has(at string) bool
	// Close ends the help. The others remove what they have of the job, or with keep leave it for the
	// next run of the task.
	Close(keep bool)
}

// Helper is another process that does parts of a job.
type Helper interface {
	// Name is host:port for reports.
	Name() string
	// Do does a part; progress is called now and then until it returns. When the process is lost, or
	// does not do the part for a reason of its own, lost is true.
	Do(ctx context.Context, p *Part, progress func(*PartProgress)) (r *PartResult, lost bool, err error)
}

// progressEvery is how often another process tells what its part has counted.
const progressEvery = 500 * time.Millisecond

var (
	// ErrPartLost marks failures of jobs that lost, with another process, what a stage had written.
	// The job can be done anew: the next run takes up what is left.
	ErrPartLost = errors.New("part lost")
	// errHelperLost marks the loss of another process with what it was doing: what that reads is still
	// there.
	errHelperLost = errors.New("helper lost")
)

// The codes of faults that are ErrPartLost and errHelperLost.
const (
	partLost     = "WorkerRpcFailed"
	workerFailed = "WorkerFailed"
)

// LostFrame is the fault of reading what a lost process had.
func LostFrame(at string, err error) error {
	f := newFault(partLost, fault.CategoryServiceUnavailable, fmt.Sprintf("RPC to worker[%s] failed: %v", at, err), Field{"workerTaskId", at},
		Field{"errorMsg", err.Error()})
	f.cause = errors.Join(ErrPartLost, err)
	return f
}

// unseen is the fault of a process that does not have an input, which another one has listed: it
// may be of a disk that only that one has.
func unseen(input string) error {
	return newFault(workerFailed, fault.CategoryServiceUnavailable, fmt.Sprintf("Worker failed: input [%s] is not there, or is another one", input),
		Field{"errorMsg", fmt.Sprintf("Input [%s] is not there, or is another one", input)})
}

func helperLost(order *workOrder, name string, err error) error {
	f := newFault(workerFailed, fault.CategoryServiceUnavailable, fmt.Sprintf("Worker[%s] failed: %v (at %s)", order.id, err, name),
		Field{"workerTaskId", order.id}, Field{"errorMsg", err.Error()})
	f.cause = errors.Join(errHelperLost, err)
	return f
}

// findHelp asks other processes for help if the job has several workers that could be elsewhere.
func (c *Controller) findHelp(ctx context.Context) {
	if c.deps.Join == nil || c.workers < 2 || c.deps.Expr == nil || c.job.Rows != nil && c.rowsText == nil {
		return
	}
	job := PartJob{ID: c.job.ID, Run: c.deps.Run, Options: c.opts, Now: c.deps.Expr.Now, Rows: c.rowsText, Helpers: c.deps.Helpers}
	for _, p := range c.records.all() {
		if p.Output != nil && p.Output.At != "" && !slices.Contains(job.Kept, p.Output.At) {
			job.Kept = append(job.Kept, p.Output.At)
		}
	}
	if c.deps.Expr.Zone != nil {
		job.Zone = c.deps.Expr.Zone.String()
	}
	c.help = c.deps.Join(ctx, job, c.lent.frame)
}

// do does the work of an order, here or in another process.
func (c *Controller) do(ctx context.Context, order *workOrder, count *counters) error {
	if c.help == nil || !c.mayLeave(order.stage) {
		return c.runWorker(ctx, order, count)
	}
	if h := c.helper(order); h != nil {
		return c.doFar(ctx, order, h, count)
	}
	return c.runWorker(ctx, order, count)
}

// helper returns who does the work of an order; nil: this process. Another attempt goes to another
// one, the last to this one: it has what the job needs, or nobody has.
func (c *Controller) helper(order *workOrder) Helper {
	helpers, attempt := c.help.Helpers(), c.attempt(order.worker)
	at := (order.worker + attempt) % (1 + len(helpers))
	if at == 0 || attempt == maxWorkerRelaunches {
		return nil
	}
	return helpers[at-1]
}

// places is how many processes do the work of a stage.
func (c *Controller) places(s *stage) int {
	if c.help == nil || s.node != nil && !c.mayLeave(s) {
		return 1
	}
	return 1 + len(c.help.Helpers())
}

// attempt counts the failed attempts of a worker.
func (c *Controller) attempt(worker int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if worker < len(c.mu.failed) {
		return len(c.mu.failed[worker])
	}
	return 0
}

// ask has another process do a part of an order, and counts what it does as it goes on. built is
// told of each segment.
func ask(ctx context.Context, order *workOrder, h Helper, p *Part, count *counters, built func(*partSegment)) (*PartResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, lost, err := h.Do(ctx, p, func(p *PartProgress) {
		if p.Segment != nil {
			built(p.Segment)
			return
		}
		count.set(p.Counters)
		if err := order.counted(p.Rows); err != nil {
			cancel(err)
		}
	})
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case lost:
		return nil, helperLost(order, h.Name(), err)
	case err != nil:
		return nil, err
	}
	count.set(r.Counters)
	return r, order.counted(r.Rows)
}

// counted takes over what a RowWorker elsewhere has counted.
func (o *workOrder) counted(state json.RawMessage) error {
	if o.rows == nil || len(state) == 0 {
		return nil
	}
	return o.rows.Set(state)
}

// doFar has another process do the work of an order.
func (c *Controller) doFar(ctx context.Context, order *workOrder, h Helper, count *counters) error {
	p, err := c.part(order)
	if err != nil {
		return err
	}
	r, err := ask(ctx, order, h, p, count, func(*partSegment) {})
	if err != nil {
		return err
	}
	if err := c.warnings.join(order, r.Warnings, c.opts.MaxParseExceptions); err != nil {
		return err
	}
	o, err := r.Output.open(context.WithoutCancel(ctx), c.help.Read, c.deps.Store) // readers look at their own context before each frame
	if err != nil {
		return err
	}
	c.dropsWhenRead(ctx, o)
	if order.write != nil {
		if err := order.write.learn(r.Learnt); err != nil {
			return err
		}
	}
	order.stage.setOutput(order.worker, o)
	return nil
}
