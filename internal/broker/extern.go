package broker

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// externalChunk is how many bytes of text a query reads at once. It is a part of what tasks read,
// for queries are many and wait for others.
const externalChunk = 128 << 10

// Externals reads external data (EXTERN and its shorthands) in place, while the client waits: in
// the order of its files, one piece at a time, so that a query needs little memory for any amount
// of data. It implements exec.Externals.
type Externals struct {
	// Access defines the permitted resources, as for ingestion.
	Access *ingest.Access
	// Memory is the budget of the pieces in flight.
	Memory *budget.Budget
	// TempDir is the directory for inputs that must be copied before they are read; Disk accounts for
	// their bytes.
	TempDir string
	Disk    *budget.Budget
	// Decoders is the number of goroutines that parse; 0: one.
	Decoders int
	// Rows, if not nil, counts the rows.
	Rows *atomic.Int64
}

// Open starts to read the data of a node. A record that cannot be parsed fails the query with a
// fault that names its position. note, if not nil, receives warnings about data that is read
// nevertheless.
func (e *Externals) Open(ctx context.Context, ext *plan.External, note func(text string)) (exec.Operator, error) {
	table, err := msq.ExternalTable(ext)
	if err != nil {
		return nil, err
	}
	decoders := max(1, e.Decoders)
	x := &external{table: table, rows: e.Rows, memory: budget.NewAccount(e.Memory), options: &ingest.Options{
		Access: e.Access, ChunkBytes: externalChunk, Decoders: decoders, TempDir: e.TempDir, Disk: e.Disk,
		OnParseError: func(e *ingest.ParseError) error { return fault.InvalidInput("%s", e.Error()) },
	}}
	if note != nil {
		x.options.OnNotice = func(n *ingest.Notice) { note(n.Error()) }
	}
	if err := x.memory.Set(int64(decoders+1) * externalChunk); err != nil {
		return nil, err
	}
	if x.splits, err = table.Splits(ctx, x.options, 0); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// external yields the rows of one file after the other.
type external struct {
	table   *ingest.Table
	options *ingest.Options
	splits  []ingest.Split
	reader  *ingest.Reader
	memory  budget.Account
	rows    *atomic.Int64
}

// Next implements exec.Operator.
func (x *external) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if x.reader == nil {
			if len(x.splits) == 0 {
				return nil, io.EOF
			}
			var err error
			if x.reader, err = x.table.Open(ctx, x.splits[0], x.options); err != nil {
				return nil, err
			}
			x.splits = x.splits[1:]
		}
		b, err := x.reader.Next(ctx)
		if !errors.Is(err, io.EOF) {
			if x.rows != nil && err == nil {
				x.rows.Add(int64(b.N))
			}
			return b, err
		}
		if err := x.reader.Close(); err != nil {
			return nil, err
		}
		x.reader = nil
	}
}

// Close implements exec.Operator.
func (x *external) Close() {
	if x.reader != nil {
		_ = x.reader.Close() // nothing of it is used any more
		x.reader = nil
	}
	x.memory.Close()
}
