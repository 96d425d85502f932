package msq

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
)

// With durableShuffleStorage a stage's output moves to deep storage when it is written, and is read
// from there: the local disk holds no more than what one stage is writing.

// shufflePrefix is where the intermediate data of a task lies in deep storage, that of one of its
// jobs below it.
func shufflePrefix(task string) string { return "shuffle/" + plainName(task) + "/" }

func (k *core) shufflePrefix() string {
	if k.job.Part == "" {
		return shufflePrefix(k.job.ID)
	}
	return shufflePrefix(k.job.ID) + plainName("part-"+k.job.Part) + "/"
}

// prepareDurable refuses durable intermediate data where the server has none, and removes what a
// run left that was cut off, but for what has a record.
func (led *ledger) prepareDurable(ctx context.Context) error {
	switch {
	case !led.opts.DurableShuffle:
		return nil
	case !led.deps.Durable || led.deps.Store == nil:
		return durableStorageConfiguration("service.msq.intermediate.storage.enable is false")
	}
	keep := map[string]bool{}
	for _, p := range led.records.all() {
		if p.Output != nil {
			keep[p.Output.Key] = true
		}
	}
	return deleteBelow(ctx, led.deps.Store, led.shufflePrefix(), keep)
}

// keepDurably moves an output to deep storage.
func (c *Controller) keepDurably(ctx context.Context, order *workOrder, o *output, count *counters) error {
	file, err := os.Open(o.path)
	if err != nil {
		return diskFault(err)
	}
	defer file.Close() // it is only read
	info, err := file.Stat()
	if err != nil {
		return diskFault(err)
	}
	// A run that others believe lost may be at the same: the name is its own.
	key := fmt.Sprintf("%sstage%d/%s-%s.frames", c.shufflePrefix(), order.stage.number, order.id, rand.Text())
	if err := c.deps.Store.Put(ctx, key, file); err != nil {
		return fmt.Errorf("keeping the output of [%s]: %w", order.id, err)
	}
	last := context.WithoutCancel(ctx) // readers come after this stage; they look at their own context before each frame
	object, err := c.deps.Store.Open(last, key)
	if err != nil {
		return fmt.Errorf("keeping the output of [%s]: %w", order.id, err)
	}
	count.kept(info.Size())
	err = o.drop()
	o.key = key
	o.data, o.drop = object, func() error { return errors.Join(object.Close(), c.deps.Store.Delete(last, key)) }
	return err
}
