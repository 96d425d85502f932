package spill

import (
	"sync"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/vector"
)

// FanOut is into how many files rows are spread at once; each takes a write buffer. It is
// 2^fanOutBits.
const (
	fanOutBits = 4
	FanOut     = 1 << fanOutBits
)

// MaxLevel limits the number of repartitionings: each level uses four bits of the hash.
const MaxLevel = 8

// Partitions are files of rows that are partitioned by a hash of some columns. Equal keys are in
// the same file. Deeper levels use other bits of the hash, so that a file can be partitioned again.
// Many goroutines may write.
type Partitions struct {
	res   operator.Resources
	level int

	files [FanOut]partition
}

// partition is one of the files.
type partition struct {
	mu   sync.Mutex
	file *budget.SpillFile // nil: there are no rows
	w    *vector.FrameWriter
	// pending collects rows, so that frames do not become tiny.
	pending *vector.BatchBuilder
}

// NewPartitions returns files without rows. Level 0 uses the top bits of hashes, each further level
// the next lower bits.
func NewPartitions(res operator.Resources, level int) *Partitions {
	return &Partitions{res: res, level: level}
}

// partitionOf returns the file that a hash belongs to.
func (p *Partitions) partitionOf(hash uint64) int {
	return int(hash >> (64 - fanOutBits*(uint(p.level)+1)) & (FanOut - 1))
}

// WriteKeys partitions n rows of cols by the hash of keys.
func (p *Partitions) WriteKeys(keys, cols []*vector.Vector, n int) error {
	hashes := make([]uint64, n)
	vector.HashRows(keys, hashes)
	return p.Write(hashes, cols, n)
}

// Write partitions n rows of cols by their hashes.
func (p *Partitions) Write(hashes []uint64, cols []*vector.Vector, n int) error {
	var rows [FanOut][]uint32
	for i, h := range hashes[:n] {
		f := p.partitionOf(h)
		rows[f] = append(rows[f], uint32(i))
	}
	b := &vector.Batch{N: n, Cols: cols}
	for f := range rows {
		if len(rows[f]) == 0 {
			continue
		}
		if err := p.files[f].append(&p.res, b, rows[f]); err != nil {
			return err
		}
	}
	return nil
}

// append adds rows of b. Text is copied with the frame, so little is held.
func (f *partition) append(res *operator.Resources, b *vector.Batch, rows []uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		file, err := res.Spill.Create()
		if err != nil {
			return err
		}
		types := make([]vector.Type, len(b.Cols))
		for i, c := range b.Cols {
			types[i] = c.Type
		}
		f.file, f.w, f.pending = file, vector.NewFrameWriter(file), vector.NewBatchBuilder(types, 0)
	}
	if len(rows)*4 >= res.BatchRows && f.pending.Rows() == 0 {
		return f.w.Write(&vector.Batch{N: b.N, Cols: b.Cols, Sel: rows})
	}
	// The batch is only valid during the call: what stays pending must not point into its text.
	own := (&vector.Batch{N: b.N, Cols: b.Cols, Sel: rows}).Compact()
	for i, c := range own.Cols {
		own.Cols[i] = c.OwnStrings()
	}
	f.pending.Append(own)
	if f.pending.Rows() >= res.BatchRows {
		return f.w.Write(f.pending.Build())
	}
	return nil
}

// Flush ends writing.
func (p *Partitions) Flush() error {
	for i := range p.files {
		f := &p.files[i]
		if f.file == nil {
			continue
		}
		if f.pending.Rows() > 0 {
			if err := f.w.Write(f.pending.Build()); err != nil {
				return err
			}
		}
		if err := f.file.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// Open returns the rows of file f, or nil if it has none.
func (p *Partitions) Open(f int) operator.Operator {
	if p.files[f].file == nil {
		return nil
	}
	return operator.Frames(vector.NewFrameReader(p.files[f].file.Reader()))
}

// Drop removes a file that was read.
func (p *Partitions) Drop(f int) {
	if p.files[f].file != nil {
		_ = p.files[f].file.Close() // a temporary file: nothing is lost
		p.files[f].file = nil
	}
}

// Close removes the files.
func (p *Partitions) Close() {
	for f := range p.files {
		p.Drop(f)
	}
}
