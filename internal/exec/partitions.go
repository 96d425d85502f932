package exec

import (
	"sync"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/vector"
)

// spillFanOut is into how many files rows are spread at once; each takes a write buffer. It is
// 2^spillBits.
const (
	spillBits   = 4
	spillFanOut = 1 << spillBits
)

// partitions are files of rows, spread by a hash of some columns. Equal keys meet in one file.
// Deeper levels use other bits of the hash, so that a file can be split again. Many goroutines may
// write.
type partitions struct {
	env   *Env
	level int

	files [spillFanOut]partition
}

// partition is one of the files.
type partition struct {
	mu   sync.Mutex
	file *budget.SpillFile // nil: there are no rows
	w    *vector.FrameWriter
	// pending collects rows, so that frames do not become tiny.
	pending *vector.BatchBuilder
}

func newPartitions(env *Env, level int) *partitions { return &partitions{env: env, level: level} }

// partitionOf returns the file that a hash belongs to.
func (p *partitions) partitionOf(hash uint64) int {
	return int(hash >> (64 - spillBits*(uint(p.level)+1)) & (spillFanOut - 1))
}

// writeKeys spreads n rows of cols over the files by the hash of keys.
func (p *partitions) writeKeys(keys, cols []*vector.Vector, n int) error {
	hashes := make([]uint64, n)
	vector.HashRows(keys, hashes)
	return p.write(hashes, cols, n)
}

// write spreads n rows of cols over the files by their hashes.
func (p *partitions) write(hashes []uint64, cols []*vector.Vector, n int) error {
	var rows [spillFanOut][]uint32
	for i, h := range hashes[:n] {
		f := p.partitionOf(h)
		rows[f] = append(rows[f], uint32(i))
	}
	b := &vector.Batch{N: n, Cols: cols}
	for f := range rows {
		if len(rows[f]) == 0 {
			continue
		}
		if err := p.files[f].append(p.env, b, rows[f]); err != nil {
			return err
		}
	}
	return nil
}

// append adds rows of b. Text is copied with the frame, so little is held.
func (f *partition) append(env *Env, b *vector.Batch, rows []uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		file, err := env.Spill.Create()
		if err != nil {
			return err
		}
		types := make([]vector.Type, len(b.Cols))
		for i, c := range b.Cols {
			types[i] = c.Type
		}
		f.file, f.w, f.pending = file, vector.NewFrameWriter(file), vector.NewBatchBuilder(types, 0)
	}
	if len(rows)*4 >= env.BatchRows && f.pending.Rows() == 0 {
		return f.w.Write(&vector.Batch{N: b.N, Cols: b.Cols, Sel: rows})
	}
	// The batch is only valid during the call: what stays pending must not point into its text.
	own := (&vector.Batch{N: b.N, Cols: b.Cols, Sel: rows}).Compact()
	for i, c := range own.Cols {
		own.Cols[i] = c.OwnStrings()
	}
	f.pending.Append(own)
	if f.pending.Rows() >= env.BatchRows {
		return f.w.Write(f.pending.Build())
	}
	return nil
}

// flush ends writing.
func (p *partitions) flush() error {
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

// open returns the rows of file f, or nil if it has none.
func (p *partitions) open(f int) Operator {
	if p.files[f].file == nil {
		return nil
	}
	return frames{vector.NewFrameReader(p.files[f].file.Reader())}
}

// drop removes a file that was read.
func (p *partitions) drop(f int) {
	if p.files[f].file != nil {
		_ = p.files[f].file.Close() // a temporary file: nothing is lost
		p.files[f].file = nil
	}
}

func (p *partitions) close() {
	for f := range p.files {
		p.drop(f)
	}
}
