package exec

import (
	"sync"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/vector"
)

// spillFanOut is into how many files rows are spread at once; each takes a write buffer. It is 2^spillBits.
const (
	spillBits   = 4
	spillFanOut = 1 << spillBits
)

// partitions are files of rows, spread by a hash of some columns. Equal keys meet in one file. Deeper levels use other bits of the
// hash, so that a file can be split again. Many goroutines may write.
type partitions struct {
	env   *Env
	level int

	mu    sync.Mutex
	files [spillFanOut]*budget.SpillFile
	w     [spillFanOut]*vector.FrameWriter
	// pending collects rows for each file, so that frames do not become tiny.
	pending [spillFanOut]*vector.BatchBuilder
}

func newPartitions(env *Env, level int) *partitions { return &partitions{env: env, level: level} }

// partitionOf returns the file that a hash belongs to.
func (p *partitions) partitionOf(hash uint64) int {
	return int(hash >> (64 - spillBits*(uint(p.level)+1)) & (spillFanOut - 1))
}

// spread returns, per file, which of the n rows go there by the hash of keys.
func (p *partitions) spread(keys []*vector.Vector, n int) [spillFanOut][]uint32 {
	hashes := make([]uint64, n)
	vector.HashRows(keys, hashes)
	var rows [spillFanOut][]uint32
	for i, h := range hashes {
		f := p.partitionOf(h)
		rows[f] = append(rows[f], uint32(i))
	}
	return rows
}

// write spreads n rows of cols over the files by the hash of keys.
func (p *partitions) write(keys, cols []*vector.Vector, n int) error {
	rows := p.spread(keys, n)
	b := &vector.Batch{N: n, Cols: cols}
	p.mu.Lock()
	defer p.mu.Unlock()
	for f := range rows {
		if len(rows[f]) == 0 {
			continue
		}
		if err := p.append(f, b, rows[f]); err != nil {
			return err
		}
	}
	return nil
}

// append adds rows of b to file f. Text is copied with the frame, so little is held.
func (p *partitions) append(f int, b *vector.Batch, rows []uint32) error {
	if p.files[f] == nil {
		file, err := p.env.Spill.Create()
		if err != nil {
			return err
		}
		types := make([]vector.Type, len(b.Cols))
		for i, c := range b.Cols {
			types[i] = c.Type
		}
		p.files[f], p.w[f] = file, vector.NewFrameWriter(file)
		p.pending[f] = vector.NewBatchBuilder(types, 0)
	}
	if len(rows)*4 >= p.env.BatchRows && p.pending[f].Rows() == 0 {
		return p.w[f].Write(&vector.Batch{N: b.N, Cols: b.Cols, Sel: rows})
	}
	// The batch is only valid during the call: what stays pending must not point into its text.
	own := (&vector.Batch{N: b.N, Cols: b.Cols, Sel: rows}).Compact()
	for i, c := range own.Cols {
		own.Cols[i] = c.OwnStrings()
	}
	p.pending[f].Append(own)
	if p.pending[f].Rows() >= p.env.BatchRows {
		return p.w[f].Write(p.pending[f].Build())
	}
	return nil
}

// flush ends writing.
func (p *partitions) flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for f := range p.files {
		if p.files[f] == nil {
			continue
		}
		if p.pending[f].Rows() > 0 {
			if err := p.w[f].Write(p.pending[f].Build()); err != nil {
				return err
			}
		}
		if err := p.files[f].Flush(); err != nil {
			return err
		}
	}
	return nil
}

// open returns the rows of file f, or nil if it has none.
func (p *partitions) open(f int) Operator {
	if p.files[f] == nil {
		return nil
	}
	return frames{vector.NewFrameReader(p.files[f].Reader())}
}

// drop removes a file that was read.
func (p *partitions) drop(f int) {
	if p.files[f] != nil {
		_ = p.files[f].Close() // a temporary file: nothing is lost
		p.files[f] = nil
	}
}

func (p *partitions) close() {
	for f := range p.files {
		p.drop(f)
	}
}
