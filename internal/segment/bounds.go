package segment

import (
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

// NewBounds returns a Reader of a segment of which only the number of rows and their least and
// greatest time are known. Its one column is TimeColumn: every block has the bounds of all rows,
// and a number of values. Nobody reads its values.
func NewBounds(rows int, least, greatest int64) Reader {
	info := Info{Rows: rows, HasTimes: rows > 0, MinTime: least, MaxTime: greatest, Columns: []ColumnInfo{
		{Name: TimeColumn, Type: vector.Long, Distinct: -1, Min: least, Max: greatest, MinExact: true, MaxExact: true},
	}}
	return &bounds{memoryTable{info: info}}
}

type bounds struct{ memoryTable }

// Column returns the column of times.
func (b *bounds) Column(name string) (Column, error) {
	if name != TimeColumn {
		return nil, nil
	}
	return &boundsColumn{memoryColumn{table: &b.memoryTable, info: b.info.Columns[0]}}, nil
}

type boundsColumn struct{ memoryColumn }

func (c *boundsColumn) Read(*Buffer, int, int) (*vector.Vector, error) { return nil, c.unknown() }

func (c *boundsColumn) ReadRows(*Buffer, []uint32) (*vector.Vector, error) { return nil, c.unknown() }

func (c *boundsColumn) Codes(*Buffer, int, int, []uint32) (*vector.Vector, error) {
	return nil, c.unknown()
}

func (c *boundsColumn) SelectCodes(CodeFilter, int, int, vector.Bitmap) error { return c.unknown() }

func (c *boundsColumn) SelectLongs(int64, int64, int, int, vector.Bitmap) error { return c.unknown() }

func (c *boundsColumn) unknown() error {
	return invariant.Failed("the times of a segment that is not open are read")
}

func (c *boundsColumn) LongRange(int) (least, greatest int64, known bool) {
	return c.table.info.MinTime, c.table.info.MaxTime, true
}

func (c *boundsColumn) Totals(block int) (t Totals, known bool) {
	return Totals{Values: min(BlockRows, c.table.info.Rows-block*BlockRows)}, true
}
