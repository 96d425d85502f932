package ingest

import (
	"context"
	"maps"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/hengedb/henge/internal/vector"
)

// groupFlaws are the rows of a row group whose fields are not all what they must be. Columns are read one after the other and know no records, so
// that those are read a second time, as objects, if there is anything to say of them.
type groupFlaws struct {
	file  *parquetFile
	group parquet.RowGroup
	found map[int]flaw    // by row of the batch
	whole *parquetObjects // nil: not needed yet
	next  int64           // row of the group that whole gives next
}

func (g *groupFlaws) add(row int, f flaw) {
	if g.found == nil {
		g.found = map[int]flaw{}
	}
	g.found[row] |= f
}

// take notes the flawed rows of b, which begins at a row of the group, in what s gives out, and returns the rows that are left.
func (g *groupFlaws) take(s *sink, b *vector.Batch, first int64) (*vector.Batch, error) {
	var bad []int
	for _, row := range slices.Sorted(maps.Keys(g.found)) {
		o, err := g.object(first + int64(row))
		if err != nil {
			return nil, err
		}
		s.out.errs = append(s.out.errs, ParseError{Record: int64(row) + 1, Object: o, Flat: o})
		if g.found[row]&noTime != 0 {
			bad = append(bad, row)
		}
	}
	clear(g.found)
	if len(bad) == 0 {
		return b, nil
	}
	b.Sel = make([]uint32, 0, b.N-len(bad))
	for row := range b.N {
		if len(bad) > 0 && bad[0] == row {
			bad = bad[1:]
			continue
		}
		b.Sel = append(b.Sel, uint32(row))
	}
	return b.Compact(), nil
}

// object returns a row of the group; rows are asked for in their order.
func (g *groupFlaws) object(row int64) (*Object, error) {
	if g.whole == nil {
		one := *g.file
		one.groups = []parquet.RowGroup{g.group}
		g.whole = &parquetObjects{parquetFile: &one}
	}
	for {
		r, err := g.whole.next(context.Background())
		if err != nil {
			return nil, err
		}
		if g.next++; g.next > row {
			return r.Object, nil
		}
	}
}

func (g *groupFlaws) close() error {
	if g.whole == nil {
		return nil
	}
	return g.whole.closeGroup()
}

// timeColumn reads the times of rows from whole numbers.
type timeColumn struct {
	flat  *flatColumn // nil: the file has no such column
	when  *Instants
	flaws *groupFlaws
}

func (c *timeColumn) read(n int) (*vector.Vector, error) {
	var given *vector.Vector
	if c.flat != nil {
		var err error
		if given, err = c.flat.read(n); err != nil {
			return nil, err
		}
	}
	out := &column{typ: vector.Long, when: c.when}
	out.longs = make([]int64, 0, n)
	for i := range n {
		if given == nil || given.IsNull(i) {
			out.null()
		} else {
			out.instant(c.when.Format.Integer(given.Longs[i]))
		}
		if out.flaw != 0 {
			c.flaws.add(i, out.flaw)
			out.flaw = 0
		}
	}
	return out.build(), nil
}

func (c *timeColumn) close() error {
	if c.flat == nil {
		return nil
	}
	return c.flat.close()
}
