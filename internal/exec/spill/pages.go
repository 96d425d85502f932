package spill

import (
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Pages are rows on disk that are read by number: frames with equal numbers of rows. The most
// recently read frames remain decoded as long as memory is available. First all rows are added,
// then Finish is called, then rows are read. It belongs to one goroutine.
type Pages struct {
	res   operator.Resources
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

// LeastPageRows is the minimum number of rows of a page.
const LeastPageRows = 8

const (
	// A page has leastPageBytes to mostPageBytes, or as near as LeastPageRows rows allow: pages are
	// small beside the memory there is, for several places of the rows are looked at in turn.
	leastPageBytes, mostPageBytes = 4 << 10, 256 << 10
	pageShare                     = 32
	// Of the decoded pages freePages need not be reserved, like the buffers of files; there are never
	// more than mostPages.
	freePages, mostPages = 2, 64
)

// PageRows returns the number of rows per page for rows of about the given size in bytes.
func PageRows(rowBytes, memory int64, batchRows int) int {
	bytes := min(max(memory/pageShare, leastPageBytes), mostPageBytes)
	n := LeastPageRows
	for n*2 <= batchRows && int64(n)*2*max(rowBytes, 1) <= bytes {
		n *= 2
	}
	return n
}

// NewPages returns an empty file whose pages have per rows.
func NewPages(types []vector.Type, per int, res operator.Resources) (*Pages, error) {
	file, err := res.Spill.Create()
	if err != nil {
		return nil, err
	}
	return &Pages{res: res, per: per, build: vector.NewBatchBuilder(types, 0), file: file, account: budget.NewAccount(res.Budget)}, nil
}

// Add appends the rows of b.
func (p *Pages) Add(b *vector.Batch) error {
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

func (p *Pages) write() error {
	var err error
	if p.buf, err = vector.AppendFrame(p.buf[:0], p.build.Build()); err != nil {
		return err
	}
	p.ends = append(p.ends, p.start(len(p.ends))+int64(len(p.buf)))
	_, err = p.file.Write(p.buf)
	return err
}

func (p *Pages) start(page int) int64 {
	if page == 0 {
		return 0
	}
	return p.ends[page-1]
}

// Finish ends writing.
func (p *Pages) Finish() error {
	if p.build.Rows() > 0 {
		if err := p.write(); err != nil {
			return err
		}
	}
	p.build = nil
	return p.file.Flush()
}

// At returns the batch that contains a row, and the index of the row in it.
func (p *Pages) At(row int) (*vector.Batch, int, error) {
	b, err := p.Page(row / p.per)
	return b, row % p.per, err
}

// Long returns the integer in the first column of a row.
func (p *Pages) Long(row int) (int64, error) {
	b, i, err := p.At(row)
	if err != nil {
		return 0, err
	}
	return b.Cols[0].LongAt(i), nil
}

// Len returns the number of rows.
func (p *Pages) Len() int { return p.rows }

// PerPage returns the number of rows per page.
func (p *Pages) PerPage() int { return p.per }

// Count returns the number of pages.
func (p *Pages) Count() int { return len(p.ends) }

// Page returns the rows of a page, which remain valid.
func (p *Pages) Page(number int) (*vector.Batch, error) {
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
func (p *Pages) keep(c cachedPage) {
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
func (p *Pages) reserve() bool {
	return p.account.TrySet(p.held) && p.res.Budget.Free() >= p.held
}

// Close removes the file. A nil Pages has none.
func (p *Pages) Close() {
	if p == nil {
		return
	}
	p.cached = nil
	p.account.Close()
	_ = p.file.Close() // a temporary file: nothing is lost
}
