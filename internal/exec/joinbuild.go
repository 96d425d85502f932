package exec

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// joinBuild is the right input of a join, read to its end: a table when it fits in memory;
// otherwise files, spread by the hash of the keys, or one file, without keys and when rows with the
// same key don't fit.
type joinBuild struct {
	env     *Env
	node    *plan.Join
	right   interface{ Close() } // keeps what the rows' text lies in
	types   []vector.Type
	level   int
	account budget.Account // of the table
	readers []joinReader
	facts   joinFacts
	count   int64        // rows; while they are read there may be more in
	read    atomic.Int64 // rows that were read,
	values  atomic.Int64 // the bytes of their values where these are limited, and
	size    atomic.Int64 // what those in memory take

	table *joinTable
	marks rowMarks // rows of the table with a partner, for joins that ask; or

	spilled  atomic.Bool // what is read goes to files
	spilling sync.Mutex  // held to write to them
	parts    *partitions
	file     *budget.SpillFile
	w        *vector.FrameWriter
}

// joinReader is what one worker has read of the right input.
type joinReader struct {
	rows    *joinRows
	runs    []joinRun
	account budget.Account
	size    int64 // reserved
}

// joinRun is where the rows of a morsel begin in those of a reader.
type joinRun struct {
	morsel, row int
}

// buildJoin reads right, a pipeline or else an operator, and takes it over: the rows' text may lie
// in what right keeps open.
func buildJoin(ctx context.Context, n *plan.Join, p *Pipeline, right Operator, level int, env *Env) (*joinBuild, error) {
	b := &joinBuild{env: env, node: n, types: types(n.Right.Columns()), level: level, account: budget.NewAccount(env.Budget)}
	var err error
	if p != nil {
		b.right = p
		err = b.readMorsels(ctx, p)
	} else {
		b.right = right
		b.begin(1)
		err = Drain(ctx, right, func(in *vector.Batch) error { return b.add(0, in) })
	}
	if err == nil {
		err = b.finish(ctx)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// readMorsels reads a pipeline with all its workers.
func (b *joinBuild) readMorsels(ctx context.Context, p *Pipeline) error {
	if err := p.prepare(ctx); err != nil {
		return err
	}
	b.begin(p.Workers())
	return p.runMorsels(ctx, len(b.readers), func(worker, number int) {
		r := &b.readers[worker]
		r.runs = append(r.runs, joinRun{number, r.rows.n})
	}, func(_ context.Context, worker int, in *vector.Batch) error { return b.add(worker, in) })
}

func (b *joinBuild) begin(readers int) {
	b.readers = make([]joinReader, readers)
	for i := range b.readers {
		b.readers[i].rows, b.readers[i].account = newJoinRows(b.types), budget.NewAccount(b.env.Budget)
	}
}

func (b *joinBuild) inMemory() bool { return b.parts == nil && b.file == nil }

// admit counts the rows of a batch and refuses what is beyond the limits of the context.
func (b *joinBuild) admit(in *vector.Batch) error {
	beyond := func(most int64, unit, parameter string) error {
		return fault.ResourceLimit("Cannot issue the query, subqueries generated results beyond maximum[%d] %s. Raise [%s] in "+
			"the query context or leave it out: without it what does not fit in memory spills", most, unit, parameter)
	}
	rows := b.read.Add(int64(in.Rows()))
	if most := b.env.MaxSubqueryRows; most > 0 && rows > most {
		return beyond(most, "rows", "maxSubqueryRows")
	}
	if most := b.env.MaxSubqueryBytes; most > 0 && b.values.Add(in.Bytes()) > most {
		return beyond(most, "bytes", "maxSubqueryBytes")
	}
	return nil
}

// add takes the rows of a batch that count, of one reader.
func (b *joinBuild) add(reader int, in *vector.Batch) error {
	if err := b.admit(in); err != nil {
		return err
	}
	r := &b.readers[reader]
	if b.spilled.Load() {
		return b.spill(r, in.Compact())
	}
	r.rows.append(in)
	size := r.rows.bytes + int64(r.rows.n)*joinRowBytes(len(b.node.Keys))
	all := b.size.Add(size - r.size)
	r.size = size
	if b.env.Spill == nil {
		return r.account.Set(size)
	}
	// The table stays while others work: it takes no more than two thirds of what there is.
	if r.account.TrySet(size) && b.env.Budget.Free() >= all/2 {
		return nil
	}
	return b.spill(r, nil)
}

// spill moves the rows of a reader to files, and behind them more, which may be nil.
func (b *joinBuild) spill(r *joinReader, more *vector.Batch) error {
	b.spilling.Lock()
	defer b.spilling.Unlock()
	if b.inMemory() {
		if len(b.node.Keys) > 0 && b.level < maxSpillLevel {
			b.parts = newPartitions(b.env, b.level)
		} else {
			f, err := b.env.Spill.Create()
			if err != nil {
				return err
			}
			b.file, b.w = f, vector.NewFrameWriter(f)
		}
		b.spilled.Store(true)
	}
	if r.rows.n > 0 {
		if err := b.write(r.rows.build()); err != nil {
			return err
		}
	}
	b.size.Add(-r.size)
	r.size = 0
	if err := r.account.Set(0); err != nil || more == nil {
		return err
	}
	return b.write(more)
}

func (b *joinBuild) write(in *vector.Batch) error {
	if b.file != nil {
		for lo := 0; lo < in.N; lo += b.env.BatchRows {
			if err := b.w.Write(in.Slice(lo, min(lo+b.env.BatchRows, in.N))); err != nil {
				return err
			}
		}
		return nil
	}
	keys := make([]*vector.Vector, len(b.node.Keys))
	for i, k := range b.node.Keys {
		keys[i] = vector.OneZero(in.Cols[k.Right])
	}
	b.facts.nullKey = b.facts.nullKey || nullKeys(keys, b.node.Keys, in.N) != nil
	return b.parts.writeKeys(keys, in.Cols, in.N)
}

func (b *joinBuild) finish(ctx context.Context) error {
	b.count = b.read.Load()
	b.facts.any = b.count > 0
	if b.spilled.Load() {
		for i := range b.readers {
			if err := b.spill(&b.readers[i], nil); err != nil {
				return err
			}
		}
		if b.parts != nil {
			return b.parts.flush()
		}
		return b.file.Flush()
	}
	size := int64(0)
	for i := range b.readers {
		size += b.readers[i].rows.bytes
	}
	rows, err := joinedRows(ctx, b.readers, b.env)
	if err != nil {
		return err
	}
	if b.table, err = newJoinTable(ctx, rows, b.node, b.env); err != nil {
		return err
	}
	for i := range b.readers {
		b.readers[i].account.Close()
	}
	b.facts.nullKey = b.table.nullKey
	return b.account.Set(size + b.table.bytes())
}

// keys returns the set of the keys of a right column that are not null, when the right side is in
// memory and so may be the set; else nil.
func (b *joinBuild) keys(column int) *keySet {
	v := b.table.rows.Cols[column]
	held := b.account.Held()
	if !b.account.TrySet(held + keySetBytes(v)) {
		return nil
	}
	keys := keysOf(v)
	if keys == nil || !b.account.TrySet(held+keys.bytes()) {
		_ = b.account.Set(held) // less than before, which does not fail
		return nil
	}
	return keys
}

// mark makes room for which rows of the table have a partner, and reports whether there was some.
func (b *joinBuild) mark() bool {
	if !b.account.TrySet(b.account.Held() + rowMarksBytes(b.count)) {
		return false
	}
	b.marks = newRowMarks(b.count)
	return true
}

func (b *joinBuild) close() {
	b.right.Close()
	b.account.Close()
	for i := range b.readers {
		b.readers[i].account.Close()
	}
	if b.parts != nil {
		b.parts.close()
	}
	_ = b.file.Close() // a temporary file: nothing is lost
	b.table.close()
	b.table = nil
}
