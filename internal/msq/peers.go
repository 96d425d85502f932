package msq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
)

// PartJob describes a job for a Follower.
type PartJob struct {
	ID string
	// Run is the number of the task's run. Kept are the locations of outputs of earlier runs that this
	// run can reuse if their processes still have them.
	Run     int64    `json:",omitempty"`
	Kept    []string `json:",omitempty"`
	Options *Options
	// Zone and Now are those of expressions.
	Zone string
	Now  int64
	// Rows describes the RowSource of the job; nil: it has none.
	Rows json.RawMessage `json:",omitempty"`
	// MaxPeers is the maximum number of other processes; 0: one less than the number of workers of the
	// job.
	MaxPeers int `json:"-"`
}

// Session represents the other processes that run parts of a job. It is safe for concurrent use.
type Session interface {
	// Self is the name of this process for the others; Peers returns the processes that are not lost.
	Self() string
	Peers() []Peer
	// Read is a ReadFrame.
	Read(ctx context.Context, at, id string, number int, buf []byte) ([]byte, error)
	// Has reports whether the outputs of a process can be read, because it is one of the peers.
	Has(at string) bool
	// Close ends the session. The other processes remove their outputs of the job or, with keep, leave
	// them for the next run of the task.
	Close(keep bool)
}

// Peer is another process that runs parts of a job.
type Peer interface {
	// Name is host:port for reports.
	Name() string
	// Do runs a part, and periodically calls progress until it returns. lost is true if the process is
	// lost, or cannot run the part for a reason of its own.
	Do(ctx context.Context, p *Part, progress func(*PartProgress)) (r *PartResult, lost bool, err error)
}

// progressEvery is how often another process tells what its part has counted.
const progressEvery = 500 * time.Millisecond

var (
	// ErrPartLost marks the failure of a job that has lost outputs of a stage with another process.
	// The job can be repeated: the next run reuses the remaining outputs.
	ErrPartLost = errors.New("part lost")
	// errPeerLost marks the loss of another process with what it was doing: what that reads is still
	// there.
	errPeerLost = errors.New("helper lost")
)

// The codes of faults that are ErrPartLost and errPeerLost.
const (
	partLost     = "WorkerRpcFailed"
	workerFailed = "WorkerFailed"
)

// LostFrame is the fault of reading an output of a lost process.
func LostFrame(at string, err error) error {
	f := newFault(partLost, fault.CategoryServiceUnavailable, fault.Sprintf("RPC to worker[%s] failed: %v", at, err),
		Field{"workerTaskId", at},
		Field{"errorMsg", fault.Words(err)})
	f.cause = errors.Join(ErrPartLost, err)
	return f
}

// unseen is the fault of a process that does not have an input, which another one has listed: it
// may be of a disk that only that one has.
func unseen(input string) error {
	return newFault(workerFailed, fault.CategoryServiceUnavailable, fmt.Sprintf("Worker failed: input [%s] is not there, or is another one", input),
		Field{"errorMsg", fmt.Sprintf("Input [%s] is not there, or is another one", input)})
}

func peerLost(order *workOrder, name string, err error) error {
	f := newFault(workerFailed, fault.CategoryServiceUnavailable, fault.Sprintf("Worker[%s] failed: %v (at %s)", order.id, err, name),
		Field{"workerTaskId", order.id}, Field{"errorMsg", fault.Words(err)})
	f.cause = errors.Join(errPeerLost, err)
	return f
}

// peers owns what a job has of other processes: those that do parts of it, and the outputs that are
// served to them.
type peers struct {
	*core
	session Session // nil: all is done in this process; set before stages run
	served  servedOutputs
}

// has reports whether the outputs of a place can be read.
func (ps *peers) has(at string) bool { return ps.session != nil && at != "" && ps.session.Has(at) }

// read returns what reads frames of other processes; nil: there are none.
func (ps *peers) read() ReadFrame {
	if ps.session == nil {
		return nil
	}
	return ps.session.Read
}

// close ends the session.
func (ps *peers) close(keep bool) {
	if ps.session != nil {
		ps.session.Close(keep)
		ps.served.close()
	}
}

// openSession begins a session with other processes if the job has several workers that could be
// elsewhere.
func (ps *peers) openSession(ctx context.Context, kept []string) {
	if ps.deps.Join == nil || ps.workers < 2 || ps.deps.Expr == nil || ps.job.Rows != nil && ps.rowsText == nil {
		return
	}
	job := PartJob{ID: ps.job.ID, Run: ps.deps.Run, Options: ps.opts, Now: ps.deps.Expr.Now, Rows: ps.rowsText, MaxPeers: ps.deps.MaxPeers, Kept: kept}
	if ps.deps.Expr.Zone != nil {
		job.Zone = ps.deps.Expr.Zone.String()
	}
	ps.session = ps.deps.Join(ctx, job, ps.served.frame)
}

// do does the work of an order, here or in another process.
func (c *Controller) do(ctx context.Context, order *workOrder, count *counters) error {
	if c.peers.session == nil || !c.peers.mayLeave(order.stage) {
		return c.runWorker(ctx, order, count)
	}
	if h := c.peers.peerFor(order, c.ledger.attempt(order.worker)); h != nil {
		return c.peers.doRemote(ctx, order, h, count)
	}
	return c.runWorker(ctx, order, count)
}

// peerFor returns who does the work of an order; nil: this process. Another attempt goes to another
// one, the last to this one: it has what the job needs, or nobody has.
func (ps *peers) peerFor(order *workOrder, attempt int) Peer {
	list := ps.session.Peers()
	at := (order.worker + attempt) % (1 + len(list))
	if at == 0 || attempt == maxWorkerRelaunches {
		return nil
	}
	return list[at-1]
}

// processes is how many processes do the work of a stage.
func (ps *peers) processes(s *stage) int {
	if ps.session == nil || s.node != nil && !ps.mayLeave(s) {
		return 1
	}
	return 1 + len(ps.session.Peers())
}

// attempt counts the failed attempts of a worker.
func (led *ledger) attempt(worker int) int {
	led.mu.Lock()
	defer led.mu.Unlock()
	if worker < len(led.mu.failed) {
		return len(led.mu.failed[worker])
	}
	return 0
}

// ask has another process do a part of an order, and counts what it does as it goes on. built is
// told of each segment.
func ask(ctx context.Context, order *workOrder, h Peer, p *Part, count *counters, built func(*partSegment)) (*PartResult, error) {
	obs.SpanOf(ctx).Text("server.address", h.Name())
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
		return nil, peerLost(order, h.Name(), err)
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

// doRemote has another process do the work of an order.
func (ps *peers) doRemote(ctx context.Context, order *workOrder, h Peer, count *counters) error {
	p, err := ps.part(order)
	if err != nil {
		return err
	}
	r, err := ask(ctx, order, h, p, count, func(*partSegment) {})
	if err != nil {
		return err
	}
	if err := ps.warnings.join(order, r.Warnings, ps.opts.MaxParseExceptions); err != nil {
		return err
	}
	o, err := r.Output.open(context.WithoutCancel(ctx), ps.session.Read, ps.deps.Store) // readers look at their own context before each frame
	if err != nil {
		return err
	}
	ps.dropsWhenRead(ctx, o)
	if order.write != nil {
		if err := order.write.adopt(r.Observed); err != nil {
			return err
		}
	}
	order.stage.setOutput(order.worker, o)
	return nil
}
