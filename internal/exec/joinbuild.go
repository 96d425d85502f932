package exec

import (
	"context"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// joinBuild is the right input of a join, read to its end: a table when it fits in memory; otherwise files, spread by the hash of the
// keys, or without keys one file.
type joinBuild struct {
	env     *Env
	node    *plan.Join
	right   Operator
	types   []vector.Type
	level   int
	account budget.Account
	rows    *joinRows
	facts   joinFacts
	count   int64

	table *joinTable
	marks rowMarks // rows of the table with a partner, for joins that ask; or
	parts *partitions
	file  *budget.SpillFile
	w     *vector.FrameWriter
}

// buildJoin reads right and takes it over: the rows' text may lie in what right keeps open.
func buildJoin(ctx context.Context, n *plan.Join, right Operator, level int, env *Env) (*joinBuild, error) {
	b := &joinBuild{env: env, node: n, right: right, types: types(n.Right.Columns()), level: level, account: budget.NewAccount(env.Budget)}
	b.rows = newJoinRows(b.types)
	if err := Drain(ctx, right, b.add); err != nil {
		b.close()
		return nil, err
	}
	if err := b.finish(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *joinBuild) inMemory() bool { return b.parts == nil && b.file == nil }

func (b *joinBuild) add(in *vector.Batch) error {
	b.count += int64(in.Rows())
	if most := b.env.MaxSubqueryRows; most > 0 && b.count > most {
		return fault.ResourceLimit("Cannot issue the query, subqueries generated results beyond maximum[%d] rows. Raise [maxSubqueryRows] in "+
			"the query context or leave it out: without it what does not fit in memory spills", most)
	}
	if !b.inMemory() {
		return b.write(in.Compact())
	}
	b.rows.append(in)
	size := b.rows.bytes + int64(b.rows.n)*joinRowBytes(len(b.node.Keys))
	if b.env.Spill == nil || b.level >= maxSpillLevel {
		return b.account.Set(size)
	}
	// The table stays while others work: it takes no more than two thirds of what there is.
	if b.account.TrySet(size) && b.env.Budget.Free() >= size/2 {
		return nil
	}
	return b.spill()
}

// spill moves the rows so far to files.
func (b *joinBuild) spill() error {
	if len(b.node.Keys) > 0 {
		b.parts = newPartitions(b.env, b.level)
	} else {
		f, err := b.env.Spill.Create()
		if err != nil {
			return err
		}
		b.file, b.w = f, vector.NewFrameWriter(f)
	}
	if err := b.write(b.rows.build()); err != nil {
		return err
	}
	return b.account.Set(0)
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
		keys[i] = joinKey(in.Cols[k.Right])
	}
	b.facts.nullKey = b.facts.nullKey || withoutKey(keys, b.node.Keys, in.N) != nil
	return b.parts.writeKeys(keys, in.Cols, in.N)
}

func (b *joinBuild) finish() error {
	b.facts.any = b.count > 0
	switch {
	case b.parts != nil:
		return b.parts.flush()
	case b.file != nil:
		return b.file.Flush()
	}
	size := b.rows.bytes
	b.table = newJoinTable(b.rows.build(), b.node.Keys, b.env.Budget.Free())
	b.facts.nullKey = b.table.nullKey
	return b.account.Set(size + b.table.bytes())
}

// keys returns the set of the keys of a right column that are not null, when the right side is in memory and so may be the set; else nil.
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
	if b.parts != nil {
		b.parts.close()
	}
	_ = b.file.Close() // a temporary file: nothing is lost
	b.table = nil
}
