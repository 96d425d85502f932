package broker

import (
	"context"
	"errors"
	"io"

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
// the order of its files, a piece at a time, so that a query holds little of it however much there
// is. It implements exec.Externals.
type Externals struct {
	// Access says what may be read: what ingestion may, too.
	Access *ingest.Access
	// Memory is where the pieces in flight are reserved.
	Memory *budget.Budget
	// TempDir is for inputs that must be copied to be read, Disk counts their bytes.
	TempDir string
	Disk    *budget.Budget
	// Decoders is the number of goroutines that parse; 0: one.
	Decoders int
}

// Open starts reading a node's data. A record that can't be parsed ends the query with a fault
// that names its place. What a user should know of data that is read all the same is told to note,
// which may be nil.
func (e *Externals) Open(ctx context.Context, ext *plan.External, note func(text string)) (exec.Operator, error) {
	table, err := msq.ExternalTable(ext)
	if err != nil {
		return nil, err
	}
	decoders := max(1, e.Decoders)
	x := &external{table: table, memory: budget.NewAccount(e.Memory), options: &ingest.Options{
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
