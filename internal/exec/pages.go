package exec

import (
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// pages are rows on disk that are read by their number: frames of equally many rows each, of which
// those read last stay decoded as far as there is memory. Rows are added first, then finish is
// called, and from then on they are read. It belongs to one goroutine.
type pages struct {
	env   *Env
	per   int // rows of a page
	rows  int
	build *vector.BatchBuilder
	file  *budget.SpillFile
	buf   []byte
	ends  []int64 // by page: where it ends in the file

	account budget.Account
	cached  []cachedPage // the one used last comes last
	held    int64
}

type cachedPage struct {
	number int
	batch  *vector.Batch
	bytes  int64
}

const (
	// A page has leastPageBytes to mostPageBytes, or as near as leastPageRows rows allow: pages are
	// small beside the memory there is, for several places of the rows are looked at in turn.
	leastPageBytes, mostPageBytes = 4 << 10, 256 << 10
	leastPageRows                 = 8
	pageShare                     = 32
	// Of the decoded pages freePages need not be reserved, like the buffers of files; there are never
	// more than mostPages.
	freePages, mostPages = 2, 64
)

// pageRows returns how many rows of about the given bytes a page should have.
func pageRows(rowBytes, memory int64, batchRows int) int {
	bytes := min(max(memory/pageShare, leastPageBytes), mostPageBytes)
	n := leastPageRows
	for n*2 <= batchRows && int64(n)*2*max(rowBytes, 1) <= bytes {
		n *= 2
	}
	return n
}

func newPages(types []vector.Type, per int, env *Env) (*pages, error) {
	file, err := env.Spill.Create()
	if err != nil {
		return nil, err
	}
	return &pages{env: env, per: per, build: vector.NewBatchBuilder(types, 0), file: file, account: budget.NewAccount(env.Budget)}, nil
}

// add appends the rows of b.
func (p *pages) add(b *vector.Batch) error {
	b = b.Compact()
	p.rows += b.N
	for lo := 0; lo < b.N; {
		n := min(p.per-p.build.Rows(), b.N-lo)
		p.build.Append(b.Slice(lo, lo+n))
		lo += n
		if p.build.Rows() == p.per {
			if err := p.write(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pages) write() error {
	var err error
	if p.buf, err = vector.AppendFrame(p.buf[:0], p.build.Build()); err != nil {
		return err
	}
	p.ends = append(p.ends, p.start(len(p.ends))+int64(len(p.buf)))
	_, err = p.file.Write(p.buf)
	return err
}

func (p *pages) start(page int) int64 {
	if page == 0 {
		return 0
	}
	return p.ends[page-1]
}

// finish ends writing.
func (p *pages) finish() error {
	if p.build.Rows() > 0 {
		if err := p.write(); err != nil {
			return err
		}
	}
	p.build = nil
	return p.file.Flush()
}

// at returns a batch that has a row, and which of its rows that is.
func (p *pages) at(row int) (*vector.Batch, int, error) {
	b, err := p.page(row / p.per)
	return b, row % p.per, err
}

// long returns the whole number that the first column has in a row.
func (p *pages) long(row int) (int64, error) {
	b, i, err := p.at(row)
	if err != nil {
		return 0, err
	}
	return b.Cols[0].LongAt(i), nil
}

func (p *pages) count() int { return len(p.ends) }

func (p *pages) page(number int) (*vector.Batch, error) {
	last := len(p.cached) - 1
	for i := last; i >= 0; i-- {
		if c := p.cached[i]; c.number == number {
			if i < last {
				copy(p.cached[i:], p.cached[i+1:])
				p.cached[last] = c
			}
			return c.batch, nil
		}
	}
	start := p.start(number)
	size := int(p.ends[number] - start)
	if cap(p.buf) < size {
		p.buf = make([]byte, size)
	}
	if n, err := p.file.ReadAt(p.buf[:size], start); n < size {
		return nil, fault.Runtime("Reading spilled rows failed.").WithCause(err)
	}
	b, _, err := vector.DecodeFrame(p.buf[:size])
	if err != nil {
		return nil, err
	}
	p.keep(cachedPage{number, b, b.Bytes()})
	return b, nil
}

// keep makes a page one of those that stay, in the place of others where memory is short.
func (p *pages) keep(c cachedPage) {
	p.cached, p.held = append(p.cached, c), p.held+c.bytes
	for len(p.cached) > mostPages || len(p.cached) > freePages && !p.reserve() {
		p.held -= p.cached[0].bytes
		p.cached = append(p.cached[:0], p.cached[1:]...)
	}
	if len(p.cached) <= freePages {
		p.account.TrySet(0)
	}
}

// reserve reports whether the decoded pages fit, with as much left for others.
func (p *pages) reserve() bool {
	return p.account.TrySet(p.held) && p.env.Budget.Free() >= p.held
}

func (p *pages) close() {
	if p == nil {
		return
	}
	p.cached = nil
	p.account.Close()
	_ = p.file.Close() // a temporary file: nothing is lost
}
