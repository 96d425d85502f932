package msq

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/fault"
)

// A worker whose work failed for a reason that may pass - a store that can't be reached, an error
// that nobody has a name for - does it again when the statement asks for fault tolerance; a worker
// in another process that is lost is replaced in any case. It then has a new id, as a task that was
// started anew has, and what the failed attempt counted is taken back: counters always tell of the
// rows that went on.

// attempts does a worker's work until it is done, or has failed for good. undo takes back what a
// failed attempt did.
func (led *ledger) attempts(ctx context.Context, order *workOrder, work func(ctx context.Context) error, undo func()) error {
	for {
		id := led.workerID(order.worker)
		err := locateAt(ctx, order.stage.number, id, work(ctx))
		if err == nil || ctx.Err() != nil || !led.opts.FaultTolerance && !errors.Is(err, errPeerLost) {
			return err
		}
		f := toFault(ctx, err)
		if !mayPass(f) {
			return err
		}
		attempt, err := led.relaunch(order.worker, id, f)
		if err != nil {
			return err
		}
		undo()
		led.warnings.forget(warner{order.stage.number, id})
		if err := led.deps.Clock.Sleep(ctx, relaunchDelay<<min(attempt, 4)); err != nil {
			return err
		}
	}
}

// mayPass reports whether work that failed so may succeed when it is done again.
func mayPass(f *Fault) bool {
	if f.Code != "UnknownError" && f.Code != "DruidException" && f.Code != "WorkerFailed" && f.Code != "WorkerRpcFailed" {
		return false // the data, the statement or the limits of the job
	}
	return slices.Contains([]fault.Category{fault.CategoryServiceUnavailable, fault.CategoryTimeout, fault.CategoryRuntimeFailure, fault.CategoryUncategorized},
		f.category)
}

// relaunch counts one more attempt of a worker; the error says that it had enough of them.
func (led *ledger) relaunch(worker int, id string, reason *Fault) (attempt int, err error) {
	led.mu.Lock()
	defer led.mu.Unlock()
	if id != led.workerIDLocked(worker) {
		return len(led.mu.failed[worker]), nil // something else that the attempt did at the same time has ended it already
	}
	total := 0
	for _, list := range led.mu.failed {
		total += len(list)
	}
	for len(led.mu.failed) <= worker {
		led.mu.failed = append(led.mu.failed, nil)
	}
	failed := &led.mu.failed[worker]
	switch {
	case len(*failed) >= maxWorkerRelaunches:
		return 0, tooManyWorkerAttempts(maxWorkerRelaunches, id, worker, reason.Error()).because(reason)
	case total >= maxJobRelaunches:
		return 0, tooManyJobAttempts(maxJobRelaunches, total+1, id, reason.Error()).because(reason)
	}
	*failed = append(*failed, WorkerReport{ID: id, State: Failed, Duration: led.now().Sub(led.mu.start)})
	return len(*failed), nil
}

// workerID is the id that the task of a worker has by now: its last part counts the attempts that
// failed.
func (led *ledger) workerID(n int) string {
	led.mu.Lock()
	defer led.mu.Unlock()
	return led.workerIDLocked(n)
}

func (led *ledger) workerIDLocked(n int) string {
	attempt := 0
	if n < len(led.mu.failed) {
		attempt = len(led.mu.failed[n])
	}
	return led.job.ID + "-worker" + strconv.Itoa(n) + "_" + strconv.Itoa(attempt)
}

// relaunchDelay is how long a worker waits before its second attempt; it doubles from one to the
// next.
const relaunchDelay = 250 * time.Millisecond

// tally remembers what an attempt adds to counters, so that it can be taken back.
type tally struct {
	mu struct {
		sync.Mutex
		flows map[flowKey]flow
	}
}

type flowKey struct {
	count     *counters
	channel   string
	partition int
}

type flow struct{ rows, bytes, frames int64 }

// flow adds to a channel's partition of a counter.
func (t *tally) flow(count *counters, channel string, partition int, rows, bytes, frames int64) {
	count.flow(channel, partition, rows, bytes, frames)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.flows == nil {
		t.mu.flows = map[flowKey]flow{}
	}
	key := flowKey{count, channel, partition}
	f := t.mu.flows[key]
	t.mu.flows[key] = flow{f.rows + rows, f.bytes + bytes, f.frames + frames}
}

// undo takes everything back.
func (t *tally) undo() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, f := range t.mu.flows {
		key.count.flow(key.channel, key.partition, -f.rows, -f.bytes, -f.frames)
	}
	t.mu.flows = nil
}

// reset takes back everything that was counted.
func (c *counters) reset() {
	fresh := newCounters()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.channels, c.mu.warnings, c.mu.cpu = fresh.mu.channels, fresh.mu.warnings, fresh.mu.cpu
	c.mu.sort, c.mu.generate = nil, nil
	c.mu.local, c.mu.durable = fresh.mu.local, fresh.mu.durable
}
