package exec

import (
	"context"
	"sync"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/exec/spill"
	"github.com/hengedb/henge/internal/vector"
)

// groupFiles are the groups that the workers of an aggregation have spilled: keys and intermediate
// values, spread over files by a hash of the key, so that each file can be merged by itself. Many
// goroutines may write.
//
// Where all tables have the same words for keys the words are written, and nobody looks at text
// again. From the time on that one of their global dictionaries is retired keys are written as they
// are, also those that were written as words before: nobody counts the memory of a retired global
// dictionary but the tables that have it, which give it up when they have spilled.
type groupFiles struct {
	env   *Env
	level int

	mu     sync.RWMutex      // held to write, and for oneself alone to make files
	words  *spill.Partitions // keys as words; nil: none were written
	values *spill.Partitions // keys as they are; nil: none were written
	like   *keys.Table       // an empty table of the words
}

func newGroupFiles(env *Env, level int) *groupFiles { return &groupFiles{env: env, level: level} }

// used reports whether anything was spilled.
func (f *groupFiles) used() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.words != nil || f.values != nil
}

// of returns the files for the groups of t, and whether their keys are written as words; nil: they
// have to be made. The lock is held.
func (f *groupFiles) of(t *keys.Table) (files *spill.Partitions, words bool) {
	switch {
	case f.values != nil:
		return f.values, false
	case t.SharesWords() && !t.Retired():
		return f.words, true
	}
	return nil, false
}

// lock takes one of the locks of f, which is free again soon unless somebody spells groups out.
func (f *groupFiles) lock(ctx context.Context, try func() bool, lock, unlock func()) error {
	if try() {
		return nil
	}
	err := scheduler.Wait(ctx, func() error { lock(); return nil })
	if err != nil {
		unlock()
	}
	return err
}

// make makes the files for the groups of t. The lock is held for it alone.
func (f *groupFiles) make(ctx context.Context, t *keys.Table) error {
	files, words := f.of(t)
	switch {
	case files != nil: // somebody was quicker
		return nil
	case words:
		f.words, f.like = spill.NewPartitions(f.env.resources(), f.level), t.Sibling()
		return nil
	case f.words != nil:
		return f.spellOut(ctx)
	}
	f.values = spill.NewPartitions(f.env.resources(), f.level)
	return nil
}

// write writes the groups that g has in memory.
func (f *groupFiles) write(ctx context.Context, g *grouper) error {
	for {
		if err := f.lock(ctx, f.mu.TryRLock, f.mu.RLock, f.mu.RUnlock); err != nil {
			return err
		}
		files, words := f.of(g.table)
		if files != nil {
			defer f.mu.RUnlock()
			return f.writeTo(files, words, g)
		}
		f.mu.RUnlock()
		if err := f.lock(ctx, f.mu.TryLock, f.mu.Lock, f.mu.Unlock); err != nil {
			return err
		}
		err := f.make(ctx, g.table)
		f.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

func (f *groupFiles) writeTo(files *spill.Partitions, words bool, g *grouper) error {
	hashes := make([]uint64, spill.FanOut*f.env.BatchRows) // a frame for each file
	return g.each(len(hashes), func(lo, hi int, parts []*vector.Vector) error {
		var keys []*vector.Vector
		hashes := hashes[:hi-lo]
		if words {
			keys = g.table.WordColumns(lo, hi)
			g.table.HashWordRows(g.table.Words[lo*g.table.Stride:], g.table.Stride, hashes)
		} else {
			keys = g.table.Keys(lo, hi)
			vector.HashRows(keys, hashes)
		}
		b := &vector.Batch{N: hi - lo, Cols: append(keys, parts...)}
		if f.env.GroupSpill != nil {
			f.env.GroupSpill.Add(b.Bytes())
		}
		return files.Write(hashes, b.Cols, b.N)
	})
}

// finish ends writing.
func (f *groupFiles) finish(ctx context.Context) error {
	if f.words != nil && f.like.Retired() {
		if err := f.spellOut(ctx); err != nil {
			return err
		}
	}
	if f.words != nil {
		return f.words.Flush()
	}
	if f.values != nil {
		return f.values.Flush()
	}
	return nil
}

// spellOut writes groups whose keys are words anew, with keys as they are, as those that follow
// will be. The lock is held for it alone, or nobody else writes any more.
func (f *groupFiles) spellOut(ctx context.Context) error {
	if err := f.words.Flush(); err != nil {
		return err
	}
	values, k := spill.NewPartitions(f.env.resources(), f.level), f.like.WordWidth()
	f.values = values
	for p := range spill.FanOut {
		source := f.words.Open(p)
		if source == nil {
			continue
		}
		err := Drain(ctx, source, func(b *vector.Batch) error {
			keys := f.like.KeysOfWords(b.Cols[:k], b.N)
			hashes := make([]uint64, b.N)
			vector.HashRows(keys, hashes)
			return values.Write(hashes, append(keys, b.Cols[k:]...), b.N)
		})
		if err != nil {
			return err
		}
		f.words.Drop(p)
	}
	f.words, f.like = nil, nil
	return nil
}

// merge returns the groups of one file, for an aggregation as that of g. The file is gone
// afterwards.
func (f *groupFiles) merge(ctx context.Context, g *grouper, p int, memory *budget.Budget) (Operator, error) {
	env := *f.env
	env.Budget = memory
	child, err := newGrouper(g.keys, nil, g.specs, f.level+1, &env)
	if err != nil {
		return nil, err
	}
	child.unfinished = g.unfinished
	files, k := f.values, len(g.keys)
	if f.words != nil {
		files, k = f.words, f.like.WordWidth()
		child.table = f.like.Sibling()
	}
	var op Operator
	if err = f.drain(ctx, files, p, child, k); err == nil {
		op, err = child.results(ctx)
	}
	if err != nil {
		child.close()
		return nil, err
	}
	return op, nil
}

// drain merges a file into child; k columns of it are keys.
func (f *groupFiles) drain(ctx context.Context, files *spill.Partitions, p int, child *grouper, k int) error {
	source := files.Open(p)
	if source == nil {
		return nil
	}
	defer files.Drop(p)
	return Drain(ctx, source, func(b *vector.Batch) error {
		before := child.table.Len()
		var groups []uint32
		switch {
		case files == f.values:
			groups = child.table.Find(b.Cols[:k], b.N)
		case child.table.SharesWords():
			groups = child.table.FindWordColumns(b.Cols[:k], b.N)
		default: // it had to leave a global dictionary
			groups = child.table.Find(f.like.KeysOfWords(b.Cols[:k], b.N), b.N)
		}
		child.grow(before)
		if err := child.mergeStates(b.Cols[k:], groups, b.N); err != nil {
			return err
		}
		return child.fit(ctx)
	})
}

func (f *groupFiles) close() {
	if f.words != nil {
		f.words.Close()
	}
	if f.values != nil {
		f.values.Close()
	}
}

// spilledParts returns the groups of workers of which one has spilled: what they still hold follows
// into the files, and the files are the parts.
func spilledParts(ctx context.Context, workers []*grouper) (*groupParts, error) {
	first := workers[0]
	files := first.files
	err := first.env.atOnce(ctx, len(workers), func(ctx context.Context, i int) error {
		g := workers[i]
		err := g.spill(ctx)
		g.account.Close()
		g.table, g.states, g.partitioner = nil, nil, nil
		return err
	})
	if err == nil {
		err = files.finish(ctx)
	}
	if err != nil {
		return nil, err
	}
	// Each of several parts has memory that no other takes, so that one which is left without has
	// groups of its own to spill. One alone is bounded by what the query is: if others hold all memory
	// at this moment, it lives on what is spared for those who can't do without.
	takers, share := 1, budget.Unlimited
	if free := first.env.Budget.Free(); first.level == 0 {
		if takers = sharers(first.env.Threads, free); takers > 1 {
			share = free / int64(takers)
		}
	}
	return &groupParts{n: spill.FanOut, takers: takers, free: files.close, build: func(ctx context.Context, part int) (Operator, error) {
		return files.merge(ctx, first, part, first.env.Budget.Child("a part of the groups", share))
	}}, nil
}

// partsOp yields the groups of parts that nobody else takes.
type partsOp struct{ groupSource }

func (o *partsOp) Close() { o.parts.close() }
