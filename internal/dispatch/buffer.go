package dispatch

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/vector"
)

// buffer holds the rows of a part until it is whole, in memory and, when the query has too little
// of it, in a file.
type buffer struct {
	spill   *budget.SpillDir // nil: what does not fit is refused
	memory  *budget.Budget
	account budget.Account
	batches []*vector.Batch
	bytes   int64
	count   int // of the batches that were added
	file    *budget.SpillFile
	w       *vector.FrameWriter
	r       *vector.FrameReader

	// did is what the operators of the servers did that gave the rows, for one who wants to know.
	did exec.PartProfile
	// runs are the rows of single segments, in their order; nil: nobody keeps them.
	runs []exec.Operator
}

func newBuffer(memory *budget.Budget, spill *budget.SpillDir) *buffer {
	return &buffer{spill: spill, memory: memory, account: budget.NewAccount(memory)}
}

func (b *buffer) add(rows *vector.Batch) error {
	b.count++
	if b.file != nil {
		return b.w.Write(rows)
	}
	b.batches = append(b.batches, rows)
	b.bytes += rows.Bytes()
	if b.spill == nil {
		return b.account.Set(b.bytes)
	}
	// Who merges the rows needs memory too.
	if b.account.TrySet(b.bytes) && b.memory.Free() >= b.bytes/2 {
		return nil
	}
	var err error
	if b.file, err = b.spill.Create(); err != nil {
		return err
	}
	b.w = vector.NewFrameWriter(b.file)
	for _, rows := range b.batches {
		if err := b.w.Write(rows); err != nil {
			return err
		}
	}
	b.batches = nil
	return b.account.Set(0)
}

// Next returns the rows in their order, then io.EOF. Nothing is added any more.
func (b *buffer) Next(ctx context.Context) (*vector.Batch, error) {
	if b.runs == nil {
		return b.next()
	}
	for len(b.runs) > 0 {
		rows, err := b.runs[0].Next(ctx)
		if !errors.Is(err, io.EOF) {
			return rows, err
		}
		b.runs = b.runs[1:]
	}
	return nil, io.EOF
}

func (b *buffer) next() (*vector.Batch, error) {
	if b.file == nil {
		if len(b.batches) == 0 {
			return nil, io.EOF
		}
		rows := b.batches[0]
		b.batches = b.batches[1:]
		return rows, nil
	}
	if b.r == nil {
		if err := b.file.Flush(); err != nil {
			return nil, err
		}
		b.r = vector.NewFrameReader(b.file.Reader())
	}
	return b.r.Next()
}

func (b *buffer) close() {
	b.account.Close()
	_ = b.file.Close() // a temporary file: nothing is lost
	b.batches, b.runs = nil, nil
}
