package exec

import (
	"context"
	"io"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// earlierRows knows for each row that counts the last one before it with equal arguments.
type earlierRows struct{ rows *pages }

// newEarlierRows sorts the rows by their arguments, and what it finds by their numbers.
func newEarlierRows(ctx context.Context, p *longPartition, c *plan.WindowCall) (_ *earlierRows, err error) {
	long := vector.Long
	values := newSortOf(&pagesInput{p: p, make: func(b *vector.Batch, lo int) *vector.Batch {
		keys, numbers := make([]string, 0, b.N), make([]int64, 0, b.N)
		var key []byte
		for i := range b.N {
			if !countsIn(b, c.Filter, i) {
				continue
			}
			key = key[:0]
			for _, a := range c.Args {
				key = vector.KeyText(key, b.Cols[a], i)
			}
			keys, numbers = append(keys, string(key)), append(numbers, int64(lo+i))
		}
		return &vector.Batch{N: len(keys), Cols: []*vector.Vector{vector.FromStrings(keys), vector.FromLongs(numbers)}}
	}}, []vector.Type{vector.String, long}, []plan.SortKey{{Column: 0}, {Column: 1}}, 0, -1, p.env)
	defer values.Close()
	chains := newSortOf(&chainInput{sorted: values}, []vector.Type{long, long}, []plan.SortKey{{Column: 0}}, 0, -1, p.env)
	defer chains.Close()
	e := &earlierRows{}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	if e.rows, err = newPages([]vector.Type{long}, p.peers.per, p.env); err != nil {
		return nil, err
	}
	if err = Drain(ctx, chains, func(b *vector.Batch) error {
		b = b.Compact()
		var earlier []int64
		for i := range b.N {
			for number := int(b.Cols[0].LongAt(i)); e.rows.rows+len(earlier) < number; { // rows that do not count
				earlier = append(earlier, -1)
			}
			earlier = append(earlier, b.Cols[1].LongAt(i))
		}
		return e.rows.add(&vector.Batch{N: len(earlier), Cols: []*vector.Vector{vector.FromLongs(earlier)}})
	}); err != nil {
		return nil, err
	}
	return e, e.rows.finish()
}

// in reports whether a row is the first of its value in a frame.
func (e *earlierRows) in(rows *frame, row int) (bool, error) {
	for {
		before, err := e.rows.long(row)
		if err != nil || before < int64(rows.parts[0].lo) {
			return true, err
		}
		row = int(before)
		for _, part := range rows.parts[:rows.n] {
			if part.lo <= row && row < part.hi {
				return false, nil
			}
		}
	}
}

func (e *earlierRows) close() { e.rows.close() }

// pagesInput gives what make makes of each page of a partition.
type pagesInput struct {
	p    *longPartition
	make func(b *vector.Batch, lo int) *vector.Batch
	next int
}

func (o *pagesInput) Next(ctx context.Context) (*vector.Batch, error) {
	for o.next < o.p.rows.count() {
		if err := stop(ctx); err != nil {
			return nil, err
		}
		b, err := o.p.rows.page(o.next)
		if err != nil {
			return nil, err
		}
		lo := o.next * o.p.rows.per
		o.next++
		if out := o.make(b, lo); out.N > 0 {
			return out, nil
		}
	}
	return nil, io.EOF
}

func (o *pagesInput) Close() {}

// chainInput gives, for values and row numbers that are sorted, each row's number and that of the row before it with the same value, -1
// if there is none.
type chainInput struct {
	sorted Operator
	key    string
	number int64
	any    bool
}

func (o *chainInput) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := o.sorted.Next(ctx)
	if err != nil {
		return nil, err
	}
	b = b.Compact()
	numbers, earlier := make([]int64, b.N), make([]int64, b.N)
	for i := range b.N {
		key, number := b.Cols[0].StringAt(i), b.Cols[1].LongAt(i)
		numbers[i], earlier[i] = number, -1
		if o.any && key == o.key {
			earlier[i] = o.number
		}
		o.key, o.number, o.any = key, number, true
	}
	return &vector.Batch{N: b.N, Cols: []*vector.Vector{vector.FromLongs(numbers), vector.FromLongs(earlier)}}, nil
}

func (o *chainInput) Close() {}
