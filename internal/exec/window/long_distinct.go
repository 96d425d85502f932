package window

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/exec/extsort"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/exec/spill"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// earlierRows knows for each row that counts the last one before it and the first one behind it
// with equal arguments: -1 and the number of rows where there is none.
type earlierRows struct {
	rows *spill.Pages
	at   span  // the frame that slides
	n    int64 // values that its rows have
}

// newEarlierRows sorts the rows by their arguments, and what it finds by their numbers.
func newEarlierRows(ctx context.Context, p *longPartition, c *plan.WindowCall) (_ *earlierRows, err error) {
	long := vector.Long
	values := extsort.Over(&pagesInput{p: p, make: func(b *vector.Batch, lo int) *vector.Batch {
		keys, numbers := make([]string, 0, b.N), make([]int64, 0, b.N)
		var key []byte
		counts := agg.Lookup(c.Agg.Name).Counts
		for i := range b.N {
			null := false
			key = key[:0]
			for _, a := range c.Args {
				null = null || b.Cols[a].IsNull(i)
				key = vector.KeyText(key, b.Cols[a], i)
			}
			if !countsIn(b, c.Filter, i) || null && counts {
				continue
			}
			keys, numbers = append(keys, string(key)), append(numbers, int64(lo+i))
		}
		return &vector.Batch{N: len(keys), Cols: []*vector.Vector{vector.FromStrings(keys), vector.FromLongs(numbers)}}
	}}, []vector.Type{vector.String, long}, []plan.SortKey{{Column: 0}, {Column: 1}}, p.res)
	defer values.Close()
	chains := extsort.Over(&chainInput{sorted: values, rows: p.n()}, []vector.Type{long, long, long}, []plan.SortKey{{Column: 0}}, p.res)
	defer chains.Close()
	e := &earlierRows{}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	if e.rows, err = spill.NewPages([]vector.Type{long, long}, p.peers.PerPage(), p.res); err != nil {
		return nil, err
	}
	if err = operator.Drain(ctx, chains, func(b *vector.Batch) error {
		b = b.Compact()
		return e.add(b, b.Cols[0].LongAt)
	}); err != nil {
		return nil, err
	}
	if err = e.add(&vector.Batch{N: 1}, func(int) int64 { return int64(p.n()) }); err != nil { // rows behind the last one that counts
		return nil, err
	}
	return e, e.rows.Finish()
}

// add appends what is known of the rows with the numbers of b, and of those between that do not
// count: noRow behind them. A batch without columns fills up to its number.
func (e *earlierRows) add(b *vector.Batch, number func(i int) int64) error {
	var earlier, later []int64
	for i := range b.N {
		for number := int(number(i)); e.rows.Len()+len(earlier) < number; {
			earlier, later = append(earlier, -1), append(later, noRow)
		}
		if b.Cols != nil {
			earlier, later = append(earlier, b.Cols[1].LongAt(i)), append(later, b.Cols[2].LongAt(i))
		}
	}
	return e.rows.Add(&vector.Batch{N: len(earlier), Cols: []*vector.Vector{vector.FromLongs(earlier), vector.FromLongs(later)}})
}

// noRow is what is behind a row that does not count.
const noRow = -1

// slide moves a frame to rows lo up to hi and returns how many values these have. A row costs what
// its frame has more or less than that of the row before.
func (e *earlierRows) slide(lo, hi int) (int64, error) {
	if lo >= hi {
		return 0, nil
	}
	if lo >= e.at.hi || hi <= e.at.lo { // nothing in common
		e.at, e.n = span{lo, lo}, 0
	}
	for e.at.lo > lo {
		e.at.lo--
		if err := e.step(e.at.lo, true, 1); err != nil {
			return 0, err
		}
	}
	for e.at.hi < hi {
		if err := e.step(e.at.hi, false, 1); err != nil {
			return 0, err
		}
		e.at.hi++
	}
	for e.at.lo < lo {
		if err := e.step(e.at.lo, true, -1); err != nil {
			return 0, err
		}
		e.at.lo++
	}
	for e.at.hi > hi {
		e.at.hi--
		if err := e.step(e.at.hi, false, -1); err != nil {
			return 0, err
		}
	}
	return e.n, nil
}

// step counts a row at the first or last position of the frame in or out: it changes the number of
// values if no other row there has its value.
func (e *earlierRows) step(row int, first bool, by int64) error {
	b, at, err := e.rows.At(row)
	if err != nil {
		return err
	}
	earlier, later := b.Cols[0].LongAt(at), b.Cols[1].LongAt(at)
	switch {
	case later == noRow:
	case first && later >= int64(e.at.hi), !first && earlier < int64(e.at.lo):
		e.n += by
	}
	return nil
}

// in reports whether a row is the first of its value in a frame.
func (e *earlierRows) in(rows *frame, row int) (bool, error) {
	for {
		before, err := e.rows.Long(row)
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

func (e *earlierRows) close() { e.rows.Close() }

// pagesInput gives what make makes of each page of a partition.
type pagesInput struct {
	p    *longPartition
	make func(b *vector.Batch, lo int) *vector.Batch
	next int
}

func (o *pagesInput) Next(ctx context.Context) (*vector.Batch, error) {
	for o.next < o.p.rows.Count() {
		if err := scheduler.Yield(ctx); err != nil {
			return nil, err
		}
		b, err := o.p.rows.Page(o.next)
		if err != nil {
			return nil, err
		}
		lo := o.next * o.p.rows.PerPage()
		o.next++
		if out := o.make(b, lo); out.N > 0 {
			return out, nil
		}
	}
	return nil, io.EOF
}

func (o *pagesInput) Close() {}

// chainInput gives, for values and row numbers that are sorted, each row's number, that of the row
// before it with the same value, -1 if there is none, and that of the row behind it, rows if there
// is none.
type chainInput struct {
	sorted operator.Operator
	rows   int
	key    string
	number int64 // of the row that waits for the one behind it
	before int64
	any    bool
}

func (o *chainInput) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := o.sorted.Next(ctx)
	if errors.Is(err, io.EOF) && o.any {
		o.any = false
		return &vector.Batch{N: 1, Cols: []*vector.Vector{
			vector.FromLongs([]int64{o.number}), vector.FromLongs([]int64{o.before}), vector.FromLongs([]int64{int64(o.rows)}),
		}}, nil
	}
	if err != nil {
		return nil, err
	}
	b = b.Compact()
	var numbers, earlier, later []int64
	for i := range b.N {
		key, number, before := b.Cols[0].StringAt(i), b.Cols[1].LongAt(i), int64(-1)
		if o.any {
			behind := int64(o.rows)
			if key == o.key {
				behind, before = number, o.number
			}
			numbers, earlier, later = append(numbers, o.number), append(earlier, o.before), append(later, behind)
		}
		o.key, o.number, o.before, o.any = key, number, before, true
	}
	cols := []*vector.Vector{vector.FromLongs(numbers), vector.FromLongs(earlier), vector.FromLongs(later)}
	return &vector.Batch{N: len(numbers), Cols: cols}, nil
}

func (o *chainInput) Close() {}
