package join

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/exec/spill"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Options are the resources and limits of a join.
type Options struct {
	operator.Resources
	// Expr is the context of expressions.
	Expr *expr.Context
	// Threads is the number of goroutines that build a table.
	Threads int
	// AtOnce runs f concurrently with the numbers 0 to n-1, on goroutines that use the query's share
	// of the cores.
	AtOnce func(ctx context.Context, n int, f func(ctx context.Context, i int) error) error
	// MaxRows is the maximum number of rows of the right side, above which the query fails; 0: no
	// limit. MaxBytes limits the size of their values in bytes.
	MaxRows, MaxBytes int64
}

// Morsels are rows that several workers read in runs.
type Morsels interface {
	// Read reads all rows. It first calls begin with the number of workers, then takes when a worker
	// starts a morsel, with the number of the morsel in the order of the rows, and add with each
	// batch, which is valid during the call. The calls of a worker are made from its goroutine.
	Read(ctx context.Context, begin func(workers int), takes func(worker, morsel int),
		add func(ctx context.Context, worker int, b *vector.Batch) error) error
	Close()
}

// Build is the right input of a join after it was read: a table if it fits in memory; otherwise
// files partitioned by the hash of the keys, or one file if there are no keys or the rows of a
// single key do not fit.
type Build struct {
	options *Options
	node    *plan.Join
	right   interface{ Close() } // keeps what the rows' text lies in
	types   []vector.Type
	level   int
	account budget.Account // of the table
	readers []reader
	facts   buildFacts
	count   int64        // rows; while they are read there may be more in
	read    atomic.Int64 // rows that were read,
	values  atomic.Int64 // the bytes of their values where these are limited, and
	size    atomic.Int64 // what those in memory take

	table *table
	marks rowMarks // rows of the table with a partner, for joins that ask; or

	spilled  atomic.Bool // what is read goes to files
	spilling sync.Mutex  // held to write to them
	parts    *spill.Partitions
	file     *budget.SpillFile
	w        *vector.FrameWriter
}

// reader is what one worker has read of the right input.
type reader struct {
	rows    *rows
	runs    []run
	account budget.Account
	size    int64 // reserved
}

// run is where the rows of a morsel begin in those of a reader.
type run struct {
	morsel, row int
}

// NewBuild reads the right side of n, morsels or an operator, and takes ownership of it: strings of
// the rows may refer to its memory.
func NewBuild(ctx context.Context, n *plan.Join, parts Morsels, right operator.Operator, options *Options) (*Build, error) {
	return buildLevel(ctx, n, parts, right, 0, options)
}

// buildLevel is NewBuild for rows that were spread over files so many times.
func buildLevel(ctx context.Context, n *plan.Join, parts Morsels, right operator.Operator, level int, options *Options) (*Build, error) {
	b := &Build{options: options, node: n, types: operator.Types(n.Right.Columns()), level: level, account: budget.NewAccount(options.Budget)}
	var err error
	if parts != nil {
		b.right = parts
		err = parts.Read(ctx, b.begin, b.takes, func(_ context.Context, worker int, in *vector.Batch) error { return b.add(worker, in) })
	} else {
		b.right = right
		b.begin(1)
		err = operator.Drain(ctx, right, func(in *vector.Batch) error { return b.add(0, in) })
	}
	if err == nil {
		err = b.finish(ctx)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// takes notes where the rows of a morsel begin.
func (b *Build) takes(worker, morsel int) {
	r := &b.readers[worker]
	r.runs = append(r.runs, run{morsel, r.rows.n})
}

func (b *Build) begin(readers int) {
	b.readers = make([]reader, readers)
	for i := range b.readers {
		b.readers[i].rows, b.readers[i].account = newRows(b.types), budget.NewAccount(b.options.Budget)
	}
}

// InMemory reports whether there is a table.
func (b *Build) InMemory() bool { return b.parts == nil && b.file == nil }

// admit counts the rows of a batch and refuses what is beyond the limits of the context.
func (b *Build) admit(in *vector.Batch) error {
	beyond := func(most int64, unit, parameter string) error {
		return fault.ResourceLimit("Cannot issue the query, subqueries generated results beyond maximum[%d] %s. Raise [%s] in "+
			"the query context or leave it out: without it what does not fit in memory spills", most, unit, parameter)
	}
	rows := b.read.Add(int64(in.Rows()))
	if most := b.options.MaxRows; most > 0 && rows > most {
		return beyond(most, "rows", "maxSubqueryRows")
	}
	if most := b.options.MaxBytes; most > 0 && b.values.Add(in.Bytes()) > most {
		return beyond(most, "bytes", "maxSubqueryBytes")
	}
	return nil
}

// add takes the rows of a batch that count, of one reader.
func (b *Build) add(reader int, in *vector.Batch) error {
	if err := b.admit(in); err != nil {
		return err
	}
	r := &b.readers[reader]
	if b.spilled.Load() {
		return b.spill(r, in.Compact())
	}
	r.rows.append(in)
	size := r.rows.bytes + int64(r.rows.n)*rowBytes(len(b.node.Keys))
	all := b.size.Add(size - r.size)
	r.size = size
	if b.options.Spill == nil {
		return r.account.Set(size)
	}
	// The table stays while others work: it takes no more than two thirds of what there is.
	if r.account.TrySet(size) && b.options.Budget.Free() >= all/2 {
		return nil
	}
	return b.spill(r, nil)
}

// spill moves the rows of a reader to files, and behind them more, which may be nil.
func (b *Build) spill(r *reader, more *vector.Batch) error {
	b.spilling.Lock()
	defer b.spilling.Unlock()
	if b.InMemory() {
		if len(b.node.Keys) > 0 && b.level < spill.MaxLevel {
			b.parts = spill.NewPartitions(b.options.Resources, b.level)
		} else {
			f, err := b.options.Spill.Create()
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

func (b *Build) write(in *vector.Batch) error {
	if b.file != nil {
		for lo := 0; lo < in.N; lo += b.options.BatchRows {
			if err := b.w.Write(in.Slice(lo, min(lo+b.options.BatchRows, in.N))); err != nil {
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
	return b.parts.WriteKeys(keys, in.Cols, in.N)
}

func (b *Build) finish(ctx context.Context) error {
	b.count = b.read.Load()
	b.facts.any = b.count > 0
	if b.spilled.Load() {
		for i := range b.readers {
			if err := b.spill(&b.readers[i], nil); err != nil {
				return err
			}
		}
		if b.parts != nil {
			return b.parts.Flush()
		}
		return b.file.Flush()
	}
	size := int64(0)
	for i := range b.readers {
		size += b.readers[i].rows.bytes
	}
	rows, err := rowsOf(ctx, b.readers, b.options)
	if err != nil {
		return err
	}
	if b.table, err = newTable(ctx, rows, b.node, b.options); err != nil {
		return err
	}
	for i := range b.readers {
		b.readers[i].account.Close()
	}
	b.facts.nullKey = b.table.nullKey
	return b.account.Set(size + b.table.bytes())
}

// Rows returns the rows of a right side that is in memory.
func (b *Build) Rows() *vector.Batch { return b.table.rows }

// Unique reports whether every key has at most one row. The right side must be in memory.
func (b *Build) Unique() bool { return b.table.unique }

// Read returns the number of rows that were read.
func (b *Build) Read() int64 { return b.read.Load() }

// Keys returns the set of non-null keys of a right column, if the right side and the set fit in
// memory; else nil.
func (b *Build) Keys(column int) *keys.Set {
	v := b.table.rows.Cols[column]
	held := b.account.Held()
	if !b.account.TrySet(held + keys.SetBytes(v)) {
		return nil
	}
	keys := keys.SetOf(v)
	if keys == nil || !b.account.TrySet(held+keys.Bytes()) {
		_ = b.account.Set(held) // less than before, which does not fail
		return nil
	}
	return keys
}

// Mark allocates the flags for rows of the table with a partner, and reports whether the memory was
// available.
func (b *Build) Mark() bool {
	if !b.account.TrySet(b.account.Held() + rowMarksBytes(b.count)) {
		return false
	}
	b.marks = newRowMarks(b.count)
	return true
}

// Close releases memory and files, and closes the right input.
func (b *Build) Close() {
	b.right.Close()
	b.account.Close()
	for i := range b.readers {
		b.readers[i].account.Close()
	}
	if b.parts != nil {
		b.parts.Close()
	}
	_ = b.file.Close() // a temporary file: nothing is lost
	b.table.close()
	b.table = nil
}
