package segment

import (
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// NewTable returns a Reader of rows that are kept elsewhere, for Merge: a column is loaded when it
// is asked for and kept by nobody, so that only those that are being merged are in memory. Info has
// the rows, the order they are in and the columns with their types; load returns all values of one,
// texts as codes of a dictionary, or a constant.
func NewTable(info Info, load func(name string) (*vector.Vector, error)) Reader {
	return &loadedTable{memoryTable: memoryTable{info: info}, load: load}
}

type loadedTable struct {
	memoryTable
	load func(name string) (*vector.Vector, error)
}

// Column loads a column.
func (t *loadedTable) Column(name string) (Column, error) {
	info := t.info.Column(name)
	if info == nil {
		return nil, nil
	}
	v, err := t.load(name)
	if err != nil {
		return nil, err
	}
	if v.Type != info.Type || v.Len != t.info.Rows {
		return nil, fault.Defensive("Column [%s] was loaded as [%s] of [%d] rows, and has [%s] of [%d]", name, v.Type, v.Len, info.Type, t.info.Rows)
	}
	c := &memoryColumn{table: &t.memoryTable, info: *info, values: v, dict: leafOf(v).Dict}
	c.info.Distinct = -1
	c.info.Nulls = nullsOf(v)
	return c, nil
}

func nullsOf(v *vector.Vector) int {
	switch {
	case v.Const && v.Valid != nil && !v.Valid.Get(0):
		return v.Len
	case v.Const || v.Valid == nil:
		return 0
	}
	return v.Len - v.Valid.Count(v.Len)
}
