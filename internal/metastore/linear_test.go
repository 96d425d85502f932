package metastore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// A history of leaders is what several processes did to one lease and one setting, with the moments
// at which each step began and ended. It is checked by porcupine: is there an order of the steps,
// each at one moment between its beginning and its end, in which a single process could have taken
// them?

// leaderStep is what a process asked for.
type leaderStep struct {
	kind         string // "acquire", "write", "read"
	epoch, value int64  // of a write
}

// leaderResult is what it was told.
type leaderResult struct {
	ok      bool
	epoch   int64 // of a lease that was acquired
	value   int64 // that was read
	unknown bool  // it was cut off, and may have happened
}

// leaderState is what there is: the newest epoch and the value of the setting.
type leaderState struct{ epoch, value int64 }

// leaders says which states a step may lead to.
var leaders = porcupine.NondeterministicModel{
	Init: func() []any { return []any{leaderState{}} },
	Step: func(state, input, output any) []any {
		s, in, out := state.(leaderState), input.(leaderStep), output.(leaderResult)
		taken := leaderState{s.epoch + 1, s.value}
		switch in.kind {
		case "acquire":
			switch {
			case out.unknown:
				return []any{s, taken}
			case out.ok && out.epoch == taken.epoch:
				return []any{taken}
			case !out.ok: // somebody else holds it
				return []any{s}
			}
		case "write":
			written := leaderState{s.epoch, in.value}
			switch leads := in.epoch == s.epoch && s.epoch > 0; {
			case out.unknown && leads:
				return []any{s, written}
			case out.unknown:
				return []any{s}
			case out.ok && leads:
				return []any{written}
			case !out.ok && !leads:
				return []any{s}
			}
		case "read":
			if out.unknown || out.value == s.value {
				return []any{s}
			}
		}
		return nil
	},
	Equal:             func(a, b any) bool { return a == b },
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// TestLeadersWriteOneAfterTheOther has processes take a lease from each other and write as leaders,
// while some of their requests are cut off in the midst: a leader that was followed by another
// writes nothing any more, and what was written is read.
func TestLeadersWriteOneAfterTheOther(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		const processes, steps = 4, 60
		stores := make([]*Store, processes)
		for i := range stores {
			stores[i] = f.Store
			if f.options.URL != "" { // each process has connections of its own
				store, err := Open(t.Context(), f.options)
				f.ok(err)
				t.Cleanup(func() {
					if err := store.Close(); err != nil {
						t.Error(err)
					}
				})
				stores[i] = store
			}
		}
		for seed := range uint64(5) {
			name := fmt.Sprint("leader", seed)
			history := leaderHistory(t, stores, name, seed, steps)
			switch result, _ := porcupine.CheckOperationsVerbose(leaders.ToModel(), history, time.Minute); result {
			case porcupine.Illegal:
				t.Errorf("seed %d: two led at once, or something was lost:\n%s", seed, describeHistory(history))
			case porcupine.Unknown:
				t.Errorf("seed %d: the history could not be checked in a minute", seed)
			}
		}
	})
}

// leaderHistory lets each process take some steps and returns all of them.
func leaderHistory(t *testing.T, stores []*Store, name string, seed uint64, steps int) []porcupine.Operation {
	var clock atomic.Int64
	var mu sync.Mutex
	var history []porcupine.Operation
	var work sync.WaitGroup
	for process, store := range stores {
		work.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(process)))
			epoch := int64(0)
			for n := range steps {
				in := leaderStep{kind: []string{"acquire", "write", "write", "read"}[rnd.IntN(4)], epoch: epoch, value: int64(process*steps + n + 1)}
				ctx, cancel := context.WithCancel(t.Context())
				if rnd.IntN(8) == 0 {
					go cancel() // before, in the midst, or too late
				}
				op := porcupine.Operation{ClientId: process, Input: in, Call: clock.Add(1)}
				out, err := leaderTakes(ctx, store, name, process, in)
				op.Output, op.Return = out, clock.Add(1)
				cancel()
				if err != nil {
					t.Errorf("%+v: %v", in, err)
					return
				}
				if in.kind == "acquire" && out.ok {
					epoch = out.epoch
				}
				if out.unknown {
					op.Return = 1 << 40 // it may happen at any time from now on
				}
				mu.Lock()
				history = append(history, op)
				mu.Unlock()
			}
		})
	}
	work.Wait()
	return history
}

// leaderTakes takes one step.
func leaderTakes(ctx context.Context, s *Store, name string, process int, in leaderStep) (leaderResult, error) {
	var out leaderResult
	var err error
	switch in.kind {
	case "acquire": // two have one name: the lease is always theirs
		var lease Lease
		lease, out.ok, err = s.AcquireLease(ctx, name, fmt.Sprint("host", process%2), "", time.Hour)
		out.epoch = lease.Epoch
	case "write":
		_, err = s.SetSetting(ctx, Fence{Lease: name, Epoch: in.epoch}, name, json.RawMessage(fmt.Sprint(in.value)), nil)
		out.ok = err == nil
		if errors.Is(err, ErrDeposed) {
			err = nil
		}
	case "read":
		var text json.RawMessage
		var found bool
		if text, found, err = s.Setting(ctx, name); found && err == nil {
			err = json.Unmarshal(text, &out.value)
		}
	}
	if err != nil && ctx.Err() != nil {
		return leaderResult{unknown: true}, nil
	}
	return out, err
}

func describeHistory(history []porcupine.Operation) string {
	text := ""
	for _, op := range history {
		text += fmt.Sprintf("%d [%d, %d] %s\n", op.ClientId, op.Call, op.Return, leaders.DescribeOperation(op.Input, op.Output))
	}
	return text
}
