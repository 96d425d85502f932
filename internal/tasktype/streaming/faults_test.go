package streaming

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/task"
)

// errProcess is the end of a process that runs tasks.
var errProcess = errors.New("the process ends")

// replica is a task of a group that is run again when its process is lost.
type replica struct {
	task *task.Task
	stop func()
	done chan error
}

// chaos is a supervisor of one group at a time, whose tasks and processes fail at random.
type chaos struct {
	w     *world
	rnd   *rand.Rand
	group *group
	mu    sync.Mutex
	live  map[string]*replica
	steps map[string]int
}

// run runs a task, again each time that its process ends.
func (c *chaos) run(ctx context.Context, t *task.Task) *replica {
	r := &replica{task: t, done: make(chan error, 1)}
	process, end := context.WithCancelCause(ctx)
	r.stop = func() { c.mu.Lock(); defer c.mu.Unlock(); end(errProcess) }
	go func() {
		for {
			err := c.w.kind.Run(process, t)
			if process.Err() != nil && errors.Is(context.Cause(process), errProcess) || errors.Is(err, metastore.ErrDeposed) {
				next, cancel := context.WithCancelCause(c.w.assign(t.ID))
				c.mu.Lock()
				process, end = next, cancel
				c.mu.Unlock()
				continue
			}
			c.w.finish(t, err)
			r.done <- err
			return
		}
	}()
	return r
}

// fails is what fault points do: a step fails, or ends a process.
func (c *chaos) fails(step string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.HasPrefix(step, "publish-") || c.rnd.IntN(8) != 0 {
		return nil
	}
	c.steps[step]++
	if c.rnd.IntN(2) == 0 && (step == stepAsked || step == stepAnswered || step == stepPushed) {
		return fault.Unavailable("The metadata store is away at [%s]", step)
	}
	return fmt.Errorf("it fails at [%s]", step)
}

// crash ends the process of some task.
func (c *chaos) crash() {
	c.mu.Lock()
	var some []func()
	for _, r := range c.live {
		some = append(some, r.stop)
	}
	c.mu.Unlock()
	if len(some) > 0 {
		some[c.rnd.IntN(len(some))]()
	}
}

func (c *chaos) int(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rnd.IntN(n)
}

// TestEachRecordCountsOnceWhateverFails has tasks and processes end at every step of reading and
// publishing, and the metadata store fail within transactions.
func TestEachRecordCountsOnceWhateverFails(t *testing.T) {
	seeds := 100
	if testing.Short() {
		seeds = 10
	}
	var mu sync.Mutex
	seen := map[string]int{}
	t.Cleanup(func() {
		for _, step := range PublishSteps() {
			if seeds >= 100 && seen[step] == 0 {
				t.Errorf("nothing failed at [%s]", step)
			}
		}
	})
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1+seed%3)
			w.tuning["maxRowsInMemory"] = 50
			c := &chaos{w: w, rnd: rand.New(rand.NewPCG(uint64(seed), 1)), live: map[string]*replica{}, steps: map[string]int{}}
			w.failAt(c.fails)
			c.play(600, 1+seed%2)
			w.failAt(nil)
			w.once("published", w.publishedIDs(), 600)
			mu.Lock()
			defer mu.Unlock()
			for step, n := range c.steps {
				seen[step] += n
			}
		})
	}
}

// play produces records and has them published by groups of replicas.
func (c *chaos) play(records, replicas int) {
	t := c.w.t
	produced := 0
	for rounds := 0; ; rounds++ {
		if rounds > 400 {
			t.Fatal("it does not come to an end")
		}
		stored, _, err := c.w.store.Offsets(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		have, _ := stream.ParseStored(stored.Payload)
		partitions, _ := c.w.topic.Partitions(t.Context())
		latest, _ := c.w.topic.Latest(t.Context(), partitions)
		if produced == records && covers(have.Positions, latest, c.w.topic.Compare) {
			return
		}
		c.group = c.w.newGroup()
		running := map[string]*replica{}
		for range replicas {
			tk, ctx := c.w.task(c.group)
			running[tk.ID] = c.run(ctx, tk)
		}
		c.mu.Lock()
		c.live = running
		c.mu.Unlock()
		for turns := c.int(5); ; turns-- {
			n := min(records, produced+c.int(120))
			c.w.topic.produce(produced, n, hours(2))
			produced = n
			if c.int(4) == 0 {
				c.crash()
			}
			ids := []string{}
			for id := range running {
				ids = append(ids, id)
			}
			if c.int(2) == 0 {
				c.w.caughtUpSome(ids)
			}
			if _, err := c.w.rollOver(c.group, turns <= 0, ids...); err != nil {
				if turns <= 0 {
					break // the group is lost
				}
				continue
			}
			if turns <= 0 {
				break
			}
		}
		// What did not get its ends is killed, as by a supervisor.
		for _, r := range running {
			if x := c.w.running.find(r.task.ID); x != nil {
				if _, closed := x.latestIfAny(); !closed {
					_ = x.Stop(t.Context(), false)
				}
			}
		}
		for id, r := range running {
			for ended := false; !ended; {
				select {
				case <-r.done:
					ended = true
				case <-c.w.soon():
					if x := c.w.running.find(id); x != nil {
						if _, closed := x.latestIfAny(); !closed {
							_ = x.Stop(t.Context(), false)
						}
					}
				}
			}
		}
	}
}
